"""The balance of lines that `make lint` prints: what it counts, and when it fails."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import line_budget
import pytest


def test_the_balance_is_against_the_last_release() -> None:
    """The last version with a date in the changelog."""
    root = Path(__file__).resolve().parents[1]
    dated = re.search(r"^## ([\d.]+) \(\d{4}-", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    budget = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["line_budget"]
    assert dated is not None
    assert budget["release"] == dated[1]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of three lines in the core, two in an edge, and what is not counted."""
    for name, lines in {
        "gpusched_dsl/a.py": 1,
        "backends/gsdsl_backends/b.py": 2,
        "edges/editor/c.py": 2,
        "edges/editor/tests/d.py": 9,
        "tests/e.py": 9,
        "gpusched_dsl/page.md": 9,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n" * lines)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "gpusched_dsl" / "new.py").write_text("x\n" * 9)  # not under version control
    monkeypatch.setattr(line_budget, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("lines", "files", "fails"), [(3, 2, False), (2, 2, True), (3, 1, True)])
def test_the_core_stays_below_its_maximum(
    lines: int, files: int, fails: bool, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = f"lines = {lines}\nfiles = {files}\nrelease = '0.1'\nreleased = [9, 1]\n"
    (project / "pyproject.toml").write_text(f"[tool.line_budget]\n{budget}")
    assert line_budget.main() == fails
    out, err = capsys.readouterr()
    assert out == (
        f"core: 3 lines in 2 files (at most {lines} in {files}); edges: 2 in 1; since 0.1: -4 lines, +2 files\n"
    )
    assert bool(err) == fails
