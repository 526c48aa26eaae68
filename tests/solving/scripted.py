"""A backend with scripted results that records its requests."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.protocol import Capabilities, Monitor, SolveOptions


class Scripted:
    """A backend that answers what it was told to, and remembers what it was asked."""

    name = "scripted"

    def __init__(self, *answers: SolverResult, capabilities: Capabilities | None = None) -> None:
        self.answers = list(answers)
        self.capabilities = capabilities or Capabilities(in_place_update=True)
        self.opened: list[Problem] = []
        self.updated: list[Problem] = []
        self.starts: list[Floats | None] = []
        self.options: list[SolveOptions] = []
        self.closed = 0

    def versions(self) -> dict[str, str]:
        return {"scripted": "1"}

    def open(self, problem: Problem) -> Scripted:
        self.opened.append(problem)
        return self

    def update(self, problem: Problem) -> None:
        self.updated.append(problem)

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        self.starts.append(start)
        self.options.append(options)
        return self.answers.pop(0)

    def close(self) -> None:
        self.closed += 1


def optimal(*values: float, objective: float, bound: float | None = None) -> SolverResult:
    return SolverResult(Status.OPTIMAL, np.array(values), objective, objective if bound is None else bound)


def codes(error: pytest.ExceptionInfo[DiagnosticError]) -> list[str]:
    return [d.code for d in error.value.diagnostics]
