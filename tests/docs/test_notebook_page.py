"""The cells of docs/reference/notebook.md run in their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from notebook_shell import opened_shell

from gpusched_dsl.options.table import rows

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "notebook.md"


def test_the_cells_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    results = []
    with opened_shell(tmp_path) as shell:
        for cell in cells:
            done = shell.run_cell(cell)
            done.raise_error()
            results.append(done.result)
    assert len(cells) == 8
    assert [row.method for row in results[3].rows] == ["highs", "scip"]
    assert results[4][0] == shell.user_ns["assign"].solve(settings={"hours[a]": "3[h]"}).objective
    assert "<iframe" in results[5]._repr_html_()
    assert results[7] == pytest.approx(3.0)


def test_the_options_that_cells_lack() -> None:
    def names(door: str) -> set[str]:
        verbs = ("solve", "run", "compare", "explain", "check")
        return {f"--{row.name.replace('_', '-')}" for verb in verbs for row in rows(verb, door)}

    sentence = PAGE.read_text(encoding="utf-8").partition("(cli.md) without ")[2].partition(";")[0]
    assert set(re.findall(r"`(--[\w-]+)`", sentence)) == names("cli") - names("notebook")
