"""Small texts from parsing to the result: a model body, its data, and the solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.result import Result

Solve = Callable[..., Result]
Refused = Callable[..., list[Diagnostic]]
Values = Callable[..., dict[Any, Any]]


def text_of(body: str, data: str = "", goal: str = "var free >= 0; minimize nothing: free;") -> str:
    """A text with one model and one scenario; without variables of its own the model needs a `goal`."""
    return f"model M {{\n{body}\n{goal}\n}}\nscenario S for M {{\n{data}\n}}\n"


@pytest.fixture
def solve() -> Solve:
    """Solve a body with its data."""

    def run(body: str, data: str = "", goal: str = "var free >= 0; minimize nothing: free;", **options: Any) -> Result:
        return gs.loads(text_of(body, data, goal)).solve(**options)

    return run


@pytest.fixture
def values(solve: Solve) -> Values:
    """All values of a parameter, let or variable by key (a plain key for one index, none for a scalar)."""

    def run(name: str, body: str, data: str = "", **options: Any) -> dict[Any, Any]:
        rows = solve(body, data, **options).table(name, zeros=True).rows()
        return {(row[0] if len(row) == 2 else row[:-1]): row[-1] for row in rows}

    return run


@pytest.fixture
def refused() -> Refused:
    """The errors of a body and its data."""

    def run(body: str, data: str = "", goal: str = "var free >= 0; minimize nothing: free;") -> list[Diagnostic]:
        with pytest.raises(DiagnosticError) as error:
            gs.loads(text_of(body, data, goal)).ground()
        return list(error.value.diagnostics)

    return run
