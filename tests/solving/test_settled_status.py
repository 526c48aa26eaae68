"""The status follows from objective, bound and requested gap, whatever the solver or an approximation says."""

from __future__ import annotations

import numpy as np
import pytest
from building import at_least, at_most, maximize, minimize, problem
from drafts import Draft
from scripted import Scripted

from gpusched_dsl.ir.definitions import PartialExpectation
from gpusched_dsl.ir.distributions import Normal
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions


def knapsack() -> Problem:
    return problem(maximize(1000, 1), columns=2, rows=[at_most(2, 1, 1)], upper=1, integer=True)


@pytest.mark.parametrize(("gap", "status"), [(1e-3, Status.OPTIMAL), (1e-5, Status.LIMIT)])
def test_a_time_limit_within_the_gap_is_optimal(gap: float, status: Status) -> None:
    stopped = SolverResult(Status.LIMIT, np.array([1.0, 1.0]), 1001.0, 1002.1, reason="time")
    options = SolveOptions(gap=gap, heuristic="off")
    solved = solve_problem(knapsack(), Scripted(stopped), options)
    assert (solved.status, solved.objectives[0].status) == (status, status)
    assert solved.reason == ("" if status is Status.OPTIMAL else "time")


@pytest.mark.parametrize(("sense", "bound", "settled"), [
    ("maximize", 1001.9, 1001.0), ("maximize", 1001.1, 1001.0), ("maximize", 1002.4, 1002.0),
    ("maximize", 1002.0, 1002.0),
    ("maximize", 1002.0 - 1e-5, 1002.0 - 1e-5), ("minimize", 1000.3, 1001.0), ("minimize", 999.2, 1000.0),
])  # fmt: skip
def test_a_bound_between_two_values_is_rounded(sense: str, bound: float, settled: float) -> None:
    rows = [at_most(2, 1, 1) if sense == "maximize" else at_least(2, 1, 1)]
    stated = maximize(1000, 1) if sense == "maximize" else minimize(1000, 1)
    whole = problem(stated, columns=2, rows=rows, upper=2, integer=True)
    stopped = SolverResult(Status.LIMIT, np.array([1.0, 1.0]), 1001.0, bound, reason="time")
    solved = solve_problem(whole, Scripted(stopped), SolveOptions(gap=0.0, heuristic="off"))
    assert solved.bound == settled
    assert solved.status is (Status.OPTIMAL if settled == 1001.0 else Status.LIMIT)


def test_a_bound_on_continuous_columns_stays() -> None:
    parts = problem(maximize(1000, 1), columns=2, rows=[at_most(2, 1, 1)], upper=2, integer=[0])
    stopped = SolverResult(Status.LIMIT, np.array([1.0, 1.0]), 1001.0, 1001.9, reason="time")
    assert solve_problem(parts, Scripted(stopped), SolveOptions(gap=0.0, heuristic="off")).bound == 1001.9


def newsvendor() -> Problem:
    draft = Draft()
    x = draft.columns("x", 1, 0, np.inf, integer=False)[0]
    sold = draft.partial_expectation("sold", [x], [0], (Normal(200.0, 30.0),))[0]
    draft.minimize({x: 1.0, sold: -4.0})
    return draft.problem()


@pytest.mark.parametrize(("gap", "status"), [(1e-4, Status.OPTIMAL), (0.0, Status.LIMIT)])
def test_chords_that_miss_the_gap_are_no_proof(gap: float, status: Status) -> None:
    solved = solve_problem(newsvendor(), options=SolveOptions(gap=gap))
    assert any(isinstance(d, PartialExpectation) for d in solved.problem.definitions)
    assert solved.status is status
    assert solved.reason == ("" if status is Status.OPTIMAL else "accuracy")
    assert solved.objectives[0].gap is not None
    assert 0 < solved.objectives[0].gap <= 1e-4
    solved.close()
