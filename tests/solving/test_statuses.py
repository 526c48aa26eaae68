"""Statuses, gaps and messages of small problems, by every backend that supports them."""

from __future__ import annotations

import numpy as np
import pyscipopt
import pytest
from building import at_least, at_most, equal, maximize, minimize, problem
from defining import function, largest, nonlinear, of, power
from solvers import GENERAL

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import solve_problem

INF = np.inf
SQUARE = [power(of(1.0), 2.0)]


def parabola(*rows: object, costs: tuple[float, ...] = (0, -2, 1), lower: float = -INF) -> Problem:
    return nonlinear(minimize(*costs), columns=2, terms=SQUARE, rows=rows, lower=lower)  # type: ignore[arg-type]


UNBOUNDED = {
    "a line beside a parabola": parabola(at_least(1, 1, 1, 0)),
    "a ray that begins off the axes": parabola(at_least(5, 1, 1, 0), at_least(-3, 1, 0, 0)),
    "coupled columns": nonlinear(
        minimize(0, 0, -1, 1),
        columns=3,
        terms=SQUARE,
        rows=[equal(0, 0, 1, -1, 0), at_least(1, 1, 1, 0, 0)],
        lower=-INF,
    ),
    "a logarithm": nonlinear(maximize(0, 1), columns=1, terms=[function("log", of(1.0))], lower=1.0),
}
BOUNDED = {
    "a parabola": (parabola(at_least(1, 1, 1, 0), costs=(-4, 1, 1)), -5.25),  # y = 1 - x, x = 5/2
    "a line that the parabola stops": (parabola(equal(1, 1, 1, 0)), -3.0),  # y = 1 - x, x = -1
}


@pytest.mark.quick(6)
@pytest.mark.parametrize("name", ["scip", "cvxpy"])
@pytest.mark.parametrize("case", UNBOUNDED)
def test_unbounded_nonlinear_problems(case: str, name: str) -> None:
    assert solve_problem(UNBOUNDED[case], name).status == "unbounded"


@pytest.mark.parametrize("name", ["scip", "cvxpy"])
@pytest.mark.parametrize("case", BOUNDED)
def test_bounded_ones_are_not_called_unbounded(case: str, name: str) -> None:
    stated, best = BOUNDED[case]
    solved = solve_problem(stated, name)
    assert solved.status == "optimal"
    assert solved.objective == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("name", ["scip", "cvxpy"])
def test_infeasible_nonlinear_problems_stay_infeasible(name: str) -> None:
    assert solve_problem(parabola(at_most(-1, 0, 0, 1)), name).status == "infeasible"


@pytest.mark.parametrize("name", GENERAL)
@pytest.mark.parametrize("integer", [[], [0]])
def test_a_lexicographic_goal_uses_none_of_the_slack(name: str, integer: list[int]) -> None:
    first, second = maximize(1, 1, name="first"), minimize(2, 1, name="second")
    stated = problem(first, second, columns=2, rows=[at_most(3, 1, 1)], upper=10.0, integer=integer)
    solved = solve_problem(stated, name)
    assert solved.status == "optimal"
    assert [one.value for one in solved.objectives] == [3.0, 3.0]
    assert solved.point is not None
    assert solved.point.tolist() == [0.0, 3.0]


def test_random_lexicographic_goals_keep_the_first_objective() -> None:
    rng = np.random.default_rng(16)
    for number in range(20):
        costs = rng.integers(1, 6, size=(2, 4)).astype(float)
        rows = [at_least(float(rng.integers(1, 9)), *rng.integers(0, 4, size=4).astype(float)) for _ in range(2)]
        integer = [0] if number % 2 else []
        alone = solve_problem(problem(minimize(*costs[0]), columns=4, rows=rows, upper=9.0, integer=integer))
        both = problem(minimize(*costs[0]), maximize(*costs[1]), columns=4, rows=rows, upper=9.0, integer=integer)
        solved = solve_problem(both)
        assert (alone.objective is None) == (solved.objective is None)
        if alone.objective is not None:
            assert solved.objective == pytest.approx(alone.objective, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["scip", "cvxpy"])
def test_the_gap_of_an_optimum_of_zero(name: str) -> None:
    stated = nonlinear(
        minimize(0, 0, 1), columns=2, terms=[power(of(1, 1, plus=-0.1), 2.0)], rows=[at_least(0.1, 1, 1, 0)],
        lower=-5.0, upper=5.0,
    )  # fmt: skip
    solved = solve_problem(stated, name)
    assert solved.objective == pytest.approx(0.0, abs=1e-6)
    assert solved.gap == 0.0


def test_relative_gap() -> None:
    assert relative_gap(100.0, 99.0) == 0.01
    assert relative_gap(-100.0, -101.0) == 0.01
    assert relative_gap(9.8e-11, -5.1e-9) > 1.0
    assert relative_gap(9.8e-11, -5.1e-9, largest_cost=1.0) == 0.0
    assert relative_gap(3e-7, 1e-7, largest_cost=1e-3) == pytest.approx(2 / 3)
    assert relative_gap(0.0, -1.0, largest_cost=1.0) == pytest.approx(1e9)


@pytest.mark.parametrize("name", ["scip", "cvxpy"])
def test_a_maximum_that_bounds_decide_is_convex(name: str) -> None:
    """`max(2/x, -y)` with x and y positive is `2/x`."""
    stated = nonlinear(
        minimize(0, 0, 0, 1), columns=2, lower=[1, 1], upper=[5, 4], rows=[at_most(6, 1, 1, 0, 0)],
        terms=[power(of(1.0), -1.0), largest(of(0, 0, 2.0), of(0, -1.0))],
    )  # fmt: skip
    solved = solve_problem(stated, name)
    assert solved.status == "optimal"
    assert solved.objective == pytest.approx(0.4, abs=1e-6)


@pytest.mark.parametrize("cost", [1e21, 1.0])
def test_messages_of_scip_are_notes_not_output(cost: float, capfd: pytest.CaptureFixture[str]) -> None:
    stated = problem(minimize(cost), columns=1, rows=[at_least(1.0, 1e21 if cost == 1.0 else 1.0)])
    with pytest.raises(DiagnosticError) as refused:
        solve_problem(stated, "scip")
    assert [d.code for d in refused.value.diagnostics] == ["GSM4006"]
    assert "infinite" in refused.value.diagnostics[0].notes[0]
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_messages_of_scip_are_kept_where_other_code_prints_them(capfd: pytest.CaptureFixture[str]) -> None:
    other = pyscipopt.Model()
    other.redirectOutput()
    with pytest.raises(DiagnosticError):
        solve_problem(problem(minimize(1e21), columns=1, rows=[at_least(1.0, 1.0)]), "scip")
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
