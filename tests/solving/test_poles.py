"""Terms with a pole within the bounds: no backend claims of them what a point refutes."""

from __future__ import annotations

import numpy as np
import pytest
from building import at_most, maximize, minimize
from defining import Made, function, nonlinear, of, power, product
from poles import best_on_grid, random_problem_with_poles
from scripted import Scripted, codes

import gpusched_dsl as gs
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import Tolerances, verify
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.refutation import find_feasible_point
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import Capabilities, SolveOptions, SolverProgress
from gsdsl_backends.scip.backend import ScipBackend

ANY = Capabilities(accepts=ScipBackend.capabilities.accepts)
# Bounds of SCIP are right within its tolerances, 1e-6 of an objective here.
BOUND = 1e-4


def with_two_shares(goal: str) -> str:
    variables, row = "var q1 >= 0 <= 10; var q2 >= 0 <= 10;", "constraint c: q1 + q2 <= 5;"
    return f"model m {{ {variables} {goal}; {row} }} scenario s for m {{ }}"


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "goal",
    [
        "maximize o: exp(q1 / (5 * q2))",
        "maximize o: q1 / q2",
        "maximize o: 1 / q2",
        "maximize o: exp(1 / q2)",
        "maximize o: 1 / (10 - 2 * q2) - q1 / 9",
        "minimize o: log(q1) + q2",
        "minimize o: log(5 - q1)",
    ],
)
def test_an_objective_with_a_pole_in_reach_is_unbounded(goal: str) -> None:
    assert gs.loads(with_two_shares(goal)).solve(backend="scip", time_limit=20).status == "unbounded"


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(300))
def test_no_point_of_a_grid_refutes_a_claim(seed: int) -> None:
    problem = random_problem_with_poles(seed)
    try:
        solved = solve_problem(problem, "scip", SolveOptions(time_limit=3.0))
    except DiagnosticError as refused:
        assert refused.diagnostics[0].code in ("GSM3206", "GSM4007", "GSM4008")  # noqa: PT017
        return
    best = best_on_grid(problem)
    if best is None:
        return
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    bound = solved.objectives[0].bound
    assert solved.status != "infeasible"
    assert bound is None or sign * (bound - best) <= BOUND * max(1.0, abs(best))
    if solved.status == "unbounded":
        assert sign * best < -10  # close to the pole a logarithm is -20
    if solved.objective is not None:
        assert verify(problem, solved.point, solved.tolerances).feasible  # type: ignore[arg-type]


def test_values_above_the_infinity_of_a_solver_are_not_unbounded() -> None:
    problem = nonlinear(maximize(0, 1), columns=1, terms=[function("exp", of(1.0))], upper=100.0)
    solved = solve_problem(problem, "scip")
    assert (solved.status, solved.reason, solved.objectives[0].bound) == ("limit", "accuracy", None)
    assert solved.objective is None or solved.objective <= np.exp(100.0) * (1 + 1e-9)


class Recording:
    """Keeps the bounds that a solver shows while it works."""

    stop_requested = False

    def __init__(self) -> None:
        self.shown: list[SolverProgress] = []

    def progress(self, progress: SolverProgress) -> None:
        self.shown.append(progress)


@pytest.mark.parametrize("seed", [389, 413])
def test_no_wrong_bound_is_shown_on_the_way(seed: int) -> None:
    problem, recording = random_problem_with_poles(seed), Recording()
    solve_problem(problem, "scip", SolveOptions(time_limit=4.0), monitor=recording)
    assert recording.shown
    assert [p.bound for p in recording.shown if p.bound is not None] == []


# --- claims of any solver --------------------------------------------------------------------------------------------


def curved(side: float) -> Problem:
    """Points within a thin ring: `side <= x ** 2 + y ** 2 <= side + 1e-3`."""
    terms: list[Made] = [power(of(1, 0), 2), power(of(0, 1), 2)]
    return nonlinear(minimize(1, 1), columns=2, terms=terms, rows=[(side, [0, 0, 1, 1], side + 1e-3)], upper=10.0)


@pytest.mark.parametrize(
    "problem",
    [
        nonlinear(maximize(0, 0, 1), columns=2, terms=[power(of(0, 1), -1)], rows=[at_most(5, 1, 1)], upper=10.0),
        nonlinear(
            minimize(0, 1, 0), columns=1, terms=[function("log", of(1)), power(of(1), -1)], rows=[(-9, [0, 1], -8)],
            upper=3.0,
        ),
        nonlinear(
            maximize(1, 0, 0), columns=2, terms=[product(of(1), of(0, 1))], rows=[(3, [0, 0, 1], 3.001)], upper=4.0,
            integer=[1],
        ),
        curved(9.0),
    ],
)  # fmt: skip
def test_a_wrong_claim_that_there_is_no_point_is_refuted(problem: Problem) -> None:
    solved = solve_problem(problem, Scripted(SolverResult(Status.INFEASIBLE, solve_seconds=1.0), capabilities=ANY))
    assert (solved.status, solved.reason, solved.objectives[0].bound) == ("limit", "accuracy", None)
    assert solved.point is not None
    assert verify(problem, solved.point).feasible
    assert "claims that the problem is infeasible" in solved.warnings[0].message


def test_a_right_claim_stays() -> None:
    terms: list[Made] = [power(of(1), 2), power(of(0, 1), 2)]
    problem = nonlinear(minimize(1, 1), columns=2, terms=terms, rows=[(300, [0, 0, 1, 1], np.inf)], upper=10.0)
    assert find_feasible_point(problem, Tolerances(), 1.0) is None
    solved = solve_problem(problem, Scripted(SolverResult(Status.INFEASIBLE), capabilities=ANY))
    assert (solved.status, solved.warnings) == ("infeasible", ())


def test_a_point_without_a_value_is_named() -> None:
    problem = nonlinear(maximize(0, 0, 1), columns=2, terms=[power(of(0, 1), -1)], upper=10.0)
    wrong = SolverResult(Status.OPTIMAL, np.array([1.0, 0.0, 7.0]), 7.0, 7.0)
    with pytest.raises(DiagnosticError) as error:
        solve_problem(problem, Scripted(wrong, capabilities=ANY))
    assert codes(error) == ["GSM4008"]
    assert "has no finite objective or row" in error.value.diagnostics[0].message
    assert "denominators" in str(error.value.diagnostics[0].help)
