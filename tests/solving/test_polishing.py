"""Points that miss comparisons, and rows of terms, by a solver's tolerance are moved to clean ones nearby."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from building import at_least, at_most, maximize, minimize
from defining import function, holds, largest, nonlinear, of, power, product
from msgspec import structs
from scripted import Scripted, codes, optimal

import gpusched_dsl as gs
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.linearisation import linearise, sensitivities
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import Tolerances, verify
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.polishing import polish
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import Capabilities, SolveOptions

TIGHT = Tolerances(1e-10, 1e-10)
ANY = Capabilities(accepts=frozenset({"product", "power", "exp", "log", "abs", "extreme", "holds", "indicator"}))

# One row over a term of two columns each, tight at the point.
TERMS = {
    "1 / y": (power(of(0, 1), -1), (1.0, 1e-3), 1000.0),
    "x * y": (product(of(1), of(0, 1)), (30.0, 40.0), 1200.0),
    "x * y * y": (product(of(1), of(0, 1), of(0, 1)), (3.0, 4.0), 48.0),
    "exp(x + y)": (function("exp", of(1, 1)), (4.0, 8.0), float(np.exp(12))),
    "log(x)": (function("log", of(1)), (1e-3, 1.0), float(np.log(1e-3))),
    "abs(x - y)": (function("abs", of(1, -1)), (1.0, 4.0), 3.0),
    "max(x, y)": (largest(of(1), of(0, 1)), (3.0, 3.0), 3.0),
    "sqrt(x)": (power(of(1), 0.5), (4.0, 1.0), 2.0),
}


def tight(name: str, at_least_it: bool) -> tuple[Problem, Floats]:
    term, point, value = TERMS[name]
    row = at_least(value, 0, 0, 1) if at_least_it else at_most(value, 0, 0, 1)
    return nonlinear(minimize(1, 1), columns=2, terms=[term], rows=[row], lower=1e-5, upper=100), np.array([*point, 0])


@pytest.mark.parametrize("at_least_it", [True, False])
@pytest.mark.parametrize("name", TERMS)
def test_rows_of_terms_hold_after_a_move(name: str, at_least_it: bool) -> None:
    problem, exact = tight(name, at_least_it)
    assert verify(problem, exact, Tolerances(1e-9, 1e-9)).feasible
    refused = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        off = exact * (1 + 1e-5 * rng.uniform(-1, 1, size=3))
        refused += not verify(problem, off, TIGHT).feasible
        found = polish(problem, off, TIGHT, SolveOptions(), None)
        assert found is not None
        assert verify(problem, found, TIGHT).feasible
        assert found[:2] == pytest.approx(exact[:2], rel=3e-5)
    assert refused >= 2


def test_derivatives_agree_with_differences() -> None:
    for name, (term, point, _) in TERMS.items():
        problem = nonlinear(minimize(1), columns=2, terms=[term], lower=1e-5, upper=100)
        here = np.array([*point, 0.0]) * np.array([1.0, 1.01, 1.0])
        near = linearise(problem.definitions, here)
        for column in (0, 1):
            step = 1e-6 * max(1e-3, here[column])
            there = here.copy()
            there[column] += step
            move = complete(problem.definitions, there) - near.point
            left = near.matrix.activity(move)[0]  # the first row is `dt - sum f_k da_k`
            assert abs(left) <= 1e-4 * abs(move[2]) + 1e-12, (name, column)


def test_a_comparison_is_made_true_and_stays_so() -> None:
    # r == [y >= 3], r >= 1
    problem = nonlinear(
        minimize(1, 1), columns=2, terms=[holds(of(0, 1), lower=3.0)], rows=[at_least(1, 0, 0, 1)], upper=5
    )
    near = np.array([1.0, 3 - 1e-7, 1.0])
    assert not verify(problem, near).feasible
    assert verify(problem, near, trust_comparisons=True).feasible
    found = polish(problem, near, Tolerances(), SolveOptions(), None)
    assert found is not None
    assert found.tolist() == [1.0, 3.0, 1.0]


def test_what_a_witness_says_counts_within_the_tolerance_only() -> None:
    problem = nonlinear(minimize(1), columns=1, terms=[holds(of(1), lower=3.0)], rows=[at_least(1, 0, 1)], upper=5)
    for said, value, feasible in ((1, 3 - 1e-7, True), (0, 3 - 1e-7, False), (1, 3 - 1e-4, False), (0, 3.0, True)):
        assert verify(problem, np.array([value, said]), trust_comparisons=True).feasible is feasible, (said, value)
    # Its opposite counts the same truth: no point makes both true.
    opposite = nonlinear(minimize(1), columns=1, terms=[holds(of(1), lower=3.0)], rows=[at_most(0, 0, 1)], upper=5)
    for said in (0, 1):
        point = np.array([3 - 1e-7, said])
        verdicts = [verify(one, point, trust_comparisons=True).feasible for one in (problem, opposite)]
        assert sum(verdicts) == 1


def test_a_point_far_off_is_left_alone() -> None:
    problem, exact = tight("x * y", True)
    assert polish(problem, 0.9 * exact, Tolerances(), SolveOptions(), None) is None
    whole = nonlinear(minimize(1), columns=1, terms=[], rows=[at_least(1, 1)], upper=3, integer=True)
    assert polish(whole, np.array([1.4]), Tolerances(), SolveOptions(), None) is None


# --- around a solver -------------------------------------------------------------------------------------------------


def test_a_refused_point_at_a_limit_is_a_limit() -> None:
    problem, _ = tight("x * y", True)
    broken = SolverResult(Status.LIMIT, np.array([1.0, 1.0, 1200.0]), 2.0, 0.0, reason="time")
    solved = solve_problem(problem, Scripted(broken, capabilities=ANY))
    assert (solved.status, solved.reason, solved.point) == ("limit", "time", None)


def test_a_point_near_a_clean_one_at_a_limit_is_moved() -> None:
    problem, exact = tight("x * y", True)
    off = exact * (1 - 1e-6)
    broken = SolverResult(Status.LIMIT, np.array([off[0], off[1], 1200.0]), float(off[:2].sum()), 0.0, reason="time")
    solved = solve_problem(problem, Scripted(broken, capabilities=ANY))
    assert (solved.status, solved.reason) == ("limit", "time")
    assert solved.point is not None
    assert solved.point[0] * solved.point[1] >= 1200 * (1 - 1e-9)


def test_the_second_run_is_tight_and_its_point_is_taken() -> None:
    problem, exact = tight("x * y", True)
    able = Capabilities(accepts=ANY.accepts, tightens=True)
    wrong = optimal(30.0, 30.0, 1200.0, objective=60.0)
    scripted = Scripted(wrong, optimal(*exact[:2], 1200.0, objective=70.0), capabilities=able)
    solved = solve_problem(problem, scripted)
    assert [o.tight for o in scripted.options] == [False, True]
    assert (solved.status, solved.objective) == ("optimal", 70.0)
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(problem, Scripted(wrong, wrong, capabilities=able))
    assert codes(caught) == ["GSM4008"]
    infeasible = solve_problem(problem, Scripted(wrong, SolverResult(Status.INFEASIBLE), capabilities=able))
    assert infeasible.status == "infeasible"


def test_the_second_run_takes_a_multiple_of_the_first_at_most() -> None:
    problem, exact = tight("x * y", True)
    able = Capabilities(accepts=ANY.accepts, tightens=True, time_limit=True)
    wrong = structs.replace(optimal(30.0, 30.0, 1200.0, objective=60.0), solve_seconds=20.0)
    for first, limit, least, most in ((20.0, None, 40.0, 40.0), (0.1, None, 1.0, 1.0), (20.0, 30.0, 25.0, 30.0)):
        second = optimal(*exact[:2], 1200.0, objective=70.0)
        scripted = Scripted(structs.replace(wrong, solve_seconds=first), second, capabilities=able)
        solve_problem(problem, scripted, SolveOptions(time_limit=limit))
        given = scripted.options[1].time_limit
        assert given is not None
        assert least <= given <= most


def test_an_optimum_that_a_move_makes_much_worse_is_no_longer_proved() -> None:
    problem, exact = tight("x * y", True)
    off = exact * (1 - 1e-4)
    claimed = optimal(off[0], off[1], 1200.0, objective=float(off[:2].sum()))
    solved = solve_problem(problem, Scripted(claimed, capabilities=ANY), SolveOptions(gap=1e-6))
    assert (solved.status, solved.reason) == ("limit", "accuracy")
    assert solved.objective == pytest.approx(70.0, rel=3e-4)
    assert solved.bound == claimed.bound


def test_tolerances_of_terms_scale_with_their_rows() -> None:
    text = """model m {
      var x >= 1e-5; var y >= 1e-5; minimize o: 5*x + 10*y; constraint c: 1 >= 4/x + 120/y;
    } scenario s for m { }"""
    result = gs.loads(text).solve(backend="scip")
    best = (np.sqrt(5 * 4) + np.sqrt(10 * 120)) ** 2  # by Cauchy and Schwarz
    assert (result.status, result.objective) == ("optimal", pytest.approx(best, rel=1e-4))


@pytest.mark.parametrize(("factor", "status"), [(60.0, "optimal"), (1.0, "limit")])
def test_a_bound_may_be_off_by_what_a_term_makes_of_an_error(factor: float, status: str) -> None:
    row = at_least(0, 1, -1, 0)
    problem = nonlinear(
        maximize(0, 0, 1), columns=2, terms=[function("abs", of(factor, -factor))], rows=[row], lower=0, upper=1
    )
    problem = replace(problem, row_upper=problem.row_lower)
    claimed = structs.replace(optimal(0.5, 0.5, 0.0, objective=0.0), bound=1.2e-5)
    solved = solve_problem(problem, Scripted(claimed, capabilities=ANY), SolveOptions(gap=1e-6))
    assert (solved.status, solved.objective) == (status, 0.0)


def test_what_counts_of_an_error_in_a_column() -> None:
    terms = [power(of(2, 0), 2), product(of(0, 1), of(0, 0, 3)), holds(of(1, 1), lower=3)]
    problem = nonlinear(minimize(0, 0.5, 0, 5, 7), columns=2, terms=terms, lower=-9, upper=9)
    point = complete(problem.definitions, np.array([1.5, -2.0, 0, 0, 0]))
    costs = problem.objectives[0].costs(problem.columns)
    # 5 * y * 3 * (2 x)^2: 5 * 36... in y, 5 * 3 * y in the square, and that times 2 * 2 * (2 x) in x
    assert sensitivities(problem.definitions, costs, point) == pytest.approx([30 * 12, 5 * 27, 30, 5, 7])
