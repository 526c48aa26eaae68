"""Whoever stops the search gets the best conflict found so far, and no claim that was not proved."""

from __future__ import annotations

import numpy as np
import pytest
from building import at_most, equal, problem

from gpusched_dsl.explaining.conflict import find_conflict
from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.explaining.explain import explain
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import solve_problem
from gpusched_dsl.solving.variants.solver import VariantSolver
from gsdsl_backends.protocol import SolverProgress


class StopsAfter:
    """A monitor that is asked a number of times and then wants to stop."""

    def __init__(self, times: int) -> None:
        self.times = times

    def progress(self, progress: SolverProgress) -> None:
        pass

    @property
    def stop_requested(self) -> bool:
        self.times -= 1
        return self.times < 0


def pigeons(holes: int) -> Problem:
    """One pigeon more than holes: infeasible in whole numbers, with rows that stand aside."""
    pigeon = holes + 1
    columns = pigeon * holes
    place = np.arange(columns).reshape(pigeon, holes)
    rows = []
    for p in range(pigeon):
        row = np.zeros(columns)
        row[place[p]] = 1
        rows.append(equal(1, *row))
    for h in range(holes):
        row = np.zeros(columns)
        row[place[:, h]] = 1
        rows.append(at_most(1.5, *row))
    rows += [at_most(columns, *np.ones(columns)) for _ in range(3)]
    return problem(columns=columns, rows=rows, upper=1.0, integer=True)


def test_stopping_at_any_time_claims_nothing_wrong() -> None:
    one = pigeons(2)
    elements = Elements(one)
    kinds = set()
    for times in (0, 4, 9, 16, 25):
        conflict = find_conflict(one, VariantSolver(monitor=StopsAfter(times)))
        if conflict is None:
            kinds.add("nothing yet")
            continue
        kinds.add("whole" if conflict.complete else "so far")
        assert conflict.complete or not conflict.minimal
        part = elements.part(conflict.mask).problem
        solved = solve_problem(part, "highs")
        solved.close()
        assert solved.status == "infeasible"
    assert {"nothing yet", "so far"} <= kinds


def test_a_stopped_explanation_says_so() -> None:
    told = explain(pigeons(3), monitor=StopsAfter(25))
    assert told.status in ("infeasible", "unknown")
    if told.status == "infeasible":
        assert "the search ended early" in str(told)
    assert explain(pigeons(3), monitor=StopsAfter(0)).status == "unknown"


def test_no_time_no_claim() -> None:
    told = explain(pigeons(3), time_limit=0.0)
    assert told.status == "unknown"
    assert told.conflict is None


def test_data_that_no_solver_takes_are_told() -> None:
    one = problem(columns=2, rows=[at_most(3, 1, 1), at_most(4, 1, float("nan"))], upper=1.0)
    with pytest.raises(DiagnosticError, match="GSM4012"):
        explain(one)
