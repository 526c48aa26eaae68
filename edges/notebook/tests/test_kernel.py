"""A notebook that a real kernel executes, with progress below a cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from notebook_texts import ASSIGN, THREE

SLOW_WATCH = """\
import time
from gsdsl_notebook import progress
with progress(time_limit=60) as watch:
    time.sleep(1.0)
"""


@pytest.mark.slow
def test_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(
        "GSDSL_COMPILED_KERNELS", raising=False
    )  # of the kernel: to compile all takes longer than the run
    monkeypatch.setenv("GSDSL_PYTHON_KERNELS", "1")
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = [
        "%load_ext gpusched_dsl",
        f"%%gsm assign\n{ASSIGN}",
        "%gsm solve assign",
        "assign.solve()['run']",
        "%%gsm assign\n" + ASSIGN.replace("price[n] *", "price[j] *"),
        "assign.solve('Tody')",
        SLOW_WATCH,
        f"%%gsm three --quiet\n{THREE}",
        "%gsm run three --online EveryEvent --method Greedy",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    updates: list[str] = []

    class Client(nbclient.NotebookClient):  # type: ignore[misc,name-defined]
        def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
            if msg["msg_type"] in ("display_data", "update_display_data"):
                updates.append(msg["content"]["data"].get("text/html", ""))
            return super().process_message(msg, cell, cell_index)

    done = Client(notebook, timeout=280, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell.outputs for cell in done.cells]
    assert "<math" in outputs[1][-1].data["text/html"]
    assert "data:image/svg+xml" in outputs[2][-1].data["text/html"]
    assert "shape: (3," in outputs[3][-1].data["text/plain"]
    for failed, code in ((outputs[4], "GSM1203"), (outputs[5], "GSM6007")):
        assert failed[-1].output_type == "error"
        shown = "\n".join(failed[-1].traceback)
        assert code in shown
        assert "^" in shown or "did you mean" in shown
        assert "Traceback" not in shown
        assert ".py" not in shown
    bars = [html for html in updates if "<progress" in html]
    assert len(bars) >= 2
    assert "at most" in bars[0]
    assert updates[updates.index(bars[-1]) + 1] == "", "the progress is removed"
    assert "finished" in outputs[8][-1].data["text/html"]
