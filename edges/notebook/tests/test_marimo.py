"""Models, results and errors in a marimo notebook."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from notebook_texts import ASSIGN

NOTEBOOK = '''\
import marimo

app = marimo.App()


@app.cell
def _():
    from gsdsl_notebook import gsm, progress
    TEXT = """{text}"""
    return TEXT, gsm, progress


@app.cell
def _(TEXT, gsm):
    assign = gsm(TEXT)
    assign
    return (assign,)


@app.cell
def _(assign, progress):
    import time

    with progress() as watch:
        time.sleep(0.6)
    assign.solve(monitor=watch)
    return


@app.cell
def _(TEXT, gsm):
    wrong = gsm(TEXT.replace("price[n] *", "price[j] *"))
    return (wrong,)


@app.cell
def _(wrong):
    print("never", wrong)
    return
'''


@pytest.mark.slow
def test_a_notebook(tmp_path: Path) -> None:
    pytest.importorskip("marimo")
    (tmp_path / "notebook.py").write_text(NOTEBOOK.format(text=ASSIGN), encoding="utf-8")
    command = [sys.executable, "-m", "marimo", "export", "ipynb", "notebook.py", "--include-outputs", "-o", "out.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280)
    assert (tmp_path / "out.ipynb").exists(), done.stderr
    cells = [cell for cell in json.loads((tmp_path / "out.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    outputs = [json.dumps(cell["outputs"]) for cell in cells]
    assert "<math" in outputs[1]
    assert "data:image/svg+xml" in outputs[2]
    assert "GSM1203" in outputs[3]
    assert "^ an element of `Jobs`" in outputs[3]
    assert "Traceback" not in outputs[3]
    assert "never" not in outputs[4]
