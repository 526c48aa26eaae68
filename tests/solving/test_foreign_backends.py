"""A backend of another package that fails is named as such; one of our own that fails is a defect of ours."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from gpusched_dsl.api import compile as compiled
from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends import registry
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.protocol import Backend

TEXT = "model M { var x integer >= 0.5 <= 8; var y integer >= 0 <= 8; maximize x + y; constraint k: 2*x + 3*y <= 12; }"
SCENARIO = " scenario S for M { }"
SOURCE = """
from gsdsl_backends.highs.backend import HighsBackend

class Failing(HighsBackend):
    name = "failing"

    def open(self, problem):
        opened = super().open(problem)
        if PLACE == "open":
            raise TypeError("no such matrix\\nat all")
        session = Session()
        session.__dict__.update(inner=opened)
        return session

class Session:
    def solve(self, options, start, monitor):
        if PLACE == "solve":
            return [][3]
        return PLACE

    def close(self):
        self.inner.close()
"""


def failing(place: str, monkeypatch: pytest.MonkeyPatch) -> Backend:
    module = types.ModuleType("other_solver.backend")
    module.__dict__["PLACE"] = place
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(SOURCE, "other_solver/backend.py", "exec"), module.__dict__)
    made: Backend = module.__dict__["Failing"]()
    return made


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("open", "TypeError: no such matrix"),
        ("solve", "IndexError: list index out of range"),
        ("nothing", "returned `str`"),
    ],
)
def test_the_failure_of_another_package(place: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(compiled(TEXT + SCENARIO), failing(place, monkeypatch))
    [finding] = caught.value.diagnostics
    assert finding.code == "GSM4007"
    assert words in finding.message


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package as it is installed: the command line solves with it in another process."""
    files = {
        "other_solver/__init__.py": "",
        "other_solver/backend.py": "PLACE = 'solve'\n" + SOURCE,
        "other_solver-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: other-solver\nVersion: 1.0\n",
        "other_solver-1.0.dist-info/entry_points.txt": f"[{registry.GROUP}]\nfailing = other_solver.backend:Failing\n",
        "m.gsm": TEXT + SCENARIO,
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_known_backends", registry._known_backends.__wrapped__)
    assert main(["solve", str(tmp_path / "m.gsm"), "--backend", "failing"]) == 1
    told = capsys.readouterr().err
    assert "GSM4007" in told
    assert "defect of gsdsl" not in told


def test_a_failure_of_our_own_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(HighsBackend, "open", broken)
    with pytest.raises(ZeroDivisionError):
        solve_problem(compiled(TEXT + SCENARIO), HighsBackend())
