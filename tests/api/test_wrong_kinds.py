"""Lists of names, files and sizes of the wrong kind are errors with advice, not of Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpusched_dsl as gs

TEXT = "model M { var x >= 0 <= 3; maximize f: x; } scenario S for M { }"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda model: model.compare("highs"), "methods must be a list of names of solvers and policies, not `"),
        (lambda model: model.compare(["highs", 3]), "methods must be a list"),
        (lambda model: model.compare(None), "methods must be a list"),
        (lambda model: model.run(method=["highs", None]), "methods must be a list"),
        (lambda model: model.run(method=3), "methods must be a list"),
        (lambda model: model.solve(without="aggregation"), "`without` must be a list of names of passes"),
        (lambda model: model.solve(without=[1]), "`without` must be a list"),
        (lambda model: model.explain(without=None), "`without` must be a list"),
        (lambda model: model.run(journal=3), "the journal must be the path of a file, not `3`"),
        (lambda model: model.why("j", 0.0, journal=3), "the journal must be the path"),
        (lambda model: gs.loads(TEXT, memory="2 GB"), "the memory must be an integer number of bytes"),
        (lambda model: gs.load("x.gsm", memory=0), "the memory must be an integer number of bytes"),
        (lambda model: gs.load(7), "the file to load must be a path"),
        (lambda model: gs.loads(Path("m.gsm")), "the text of a model must be a `str`, not `"),
        (lambda model: gs.compile(TEXT.encode()), "the text of a model must be a `str`, not a value"),
    ],
)
def test_what_is_wrong_is_said(call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(gs.DiagnosticError) as error:
        call(gs.loads(TEXT))
    [found] = error.value.diagnostics
    assert found.code == "GSM4011"
    assert words in found.message


def test_a_path_for_a_text_has_advice() -> None:
    with pytest.raises(gs.DiagnosticError) as error:
        gs.loads(Path("m.gsm"))  # type: ignore[arg-type]
    assert error.value.diagnostics[0].help == "`load` reads a file"


def test_a_text_for_names_has_advice() -> None:
    with pytest.raises(gs.DiagnosticError) as error:
        gs.loads(TEXT).solve(without="aggregation")
    assert error.value.diagnostics[0].help == "write `without=['aggregation']`"
    assert gs.loads(TEXT).solve(without=["aggregation"]).objective == 3
