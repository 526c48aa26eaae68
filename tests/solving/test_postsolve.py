"""From the original problem to the reformulated one and back: starts, points, objectives, bounds, duals, re-solves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from building import INF, at_least, at_most, maximize, minimize, problem
from defining import function, largest, nonlinear, of, power, product
from msgspec import structs
from scripted import Scripted, codes, optimal

from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import ReformulatedProblem, Target
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import Tolerances
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.map_start import map_start
from gpusched_dsl.solving.postsolve import postsolve
from gpusched_dsl.solving.run import Solving
from gpusched_dsl.solving.solution import Loading, Solution
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.protocol import Capabilities, SolveOptions

EXACT = SolveOptions(gap=0.0)
ANY = Capabilities(accepts=frozenset({"product", "power", "exp", "log", "abs", "extreme", "indicator"}))
# x + 4 max(x, y) under x + y >= 3
SPREAD = nonlinear(minimize(1, 0, 4), columns=2, terms=[largest(of(1), of(0, 1))], rows=[at_least(3, 1, 1)], upper=9)
# the same with rows: v >= x, v >= y behind the others
BY_HAND = problem(
    minimize(1, 0, 4), columns=3, rows=[at_least(3, 1, 1, 0), at_least(0, -1, 0, 1), at_least(0, 0, -1, 1)], upper=9
)


def by_hand(original: Problem, made: Problem, **more: object) -> ReformulatedProblem:
    columns = original.columns
    return ReformulatedProblem(original, made, invert=lambda point: point[:columns], **more)  # type: ignore[arg-type]


def run(
    reformulated: ReformulatedProblem, *answers: SolverResult, start: Floats | None = None
) -> tuple[Solution, Scripted]:
    backend = Scripted(*answers)
    solving = Solving(backend, reformulated, EXACT, None, Tolerances(), Deadline())
    return postsolve(solving.run(map_start(reformulated, start))), backend


def test_terms_are_computed_from_declared_columns() -> None:
    # The solver says 5 for a maximum of 2: fine for the rows, and the objective is better than it knows.
    solved, _ = run(
        by_hand(SPREAD, BY_HAND), SolverResult(Status.LIMIT, np.array([1.0, 2.0, 5.0]), 21.0, 5.0, reason="time")
    )
    assert solved.problem is SPREAD
    assert solved.point == pytest.approx([1, 2, 2])
    assert solved.objective == 9.0
    assert solved.bound == 5.0
    assert solved.reformulated.problem is BY_HAND


def test_an_objective_that_gets_worse_is_refused() -> None:
    without_rows = replace(BY_HAND, row_lower=np.array([3.0, -INF, -INF]))
    with pytest.raises(DiagnosticError) as caught:
        run(by_hand(SPREAD, without_rows), optimal(1.0, 2.0, 0.0, objective=1.0))
    assert codes(caught) == ["GSM4009"]


def test_a_point_that_breaks_the_original_is_refused() -> None:
    without_rows = replace(BY_HAND, row_lower=np.full(3, -INF))
    with pytest.raises(DiagnosticError) as caught:
        run(by_hand(SPREAD, without_rows), optimal(0.0, 0.0, 0.0, objective=0.0))
    assert codes(caught) == ["GSM4008"]


@pytest.mark.parametrize(("sense", "bound"), [("minimize", 8.0), ("maximize", 10.0)])
def test_bounds_are_widened_by_the_error_of_approximations(sense: str, bound: float) -> None:
    turn: Callable[..., object] = minimize if sense == "minimize" else maximize
    one = replace(SPREAD, objectives=(turn(1, 0, 4),))
    made = replace(BY_HAND, objectives=one.objectives)
    solved, _ = run(by_hand(one, made, bound_error=1.0), optimal(1.0, 2.0, 2.0, objective=9.0))
    assert (solved.objective, solved.bound) == (9.0, bound)


def test_rows_that_stand_keep_their_dual_values() -> None:
    original = replace(SPREAD, row_lower=np.array([3.0]))
    answer = structs.replace(
        optimal(1.5, 1.5, 1.5, objective=7.5), row_duals=np.array([2.5, 1.5, 2.5]), reduced_costs=np.zeros(3)
    )
    solved, _ = run(by_hand(original, BY_HAND), answer)
    assert solved.row_duals == pytest.approx([2.5])
    assert solved.reduced_costs is not None
    assert len(solved.reduced_costs) == 3
    solved, _ = run(by_hand(original, BY_HAND, rows=np.array([-1])), answer)
    assert solved.row_duals is not None
    assert np.isnan(solved.row_duals).all()


def test_starts_are_completed_and_lifted() -> None:
    reformulated = replace(
        by_hand(SPREAD, BY_HAND), map_start=lambda point: np.array([point[0], point[1], 10 * point[2]])
    )
    _, backend = run(reformulated, optimal(0.0, 3.0, 3.0, objective=12.0), start=np.array([1.0, 3.0, np.nan]))
    assert backend.starts[0] == pytest.approx([1, 3, 30])


def test_a_start_without_a_value_begins_at_0() -> None:
    one = nonlinear(minimize(1, 1), columns=1, terms=[power(of(1), -1)], upper=9)
    assert map_start(reformulate(one, Target("any", ANY.accepts)), np.zeros(2)) == pytest.approx([0, 0])


def test_linear_problems_are_not_touched() -> None:
    solved = solve_problem(BY_HAND, "highs")
    assert solved.reformulated.problem is BY_HAND
    assert solved.problem is BY_HAND
    assert solved.reformulated.notes == ()


def test_what_was_done_is_told() -> None:
    solved = solve_problem(SPREAD, "highs")
    assert solved.objective == pytest.approx(7.5)
    assert [note.term for note in solved.reformulated.notes] == ["term 2"]


def test_resolve_compares_prepared_problems() -> None:
    first = solve_problem(SPREAD, "highs", EXACT)
    again = resolve(first, replace(SPREAD, row_lower=np.array([5.0]), objectives=(minimize(1, 0, 3),)))
    assert again.loading is Loading.IN_PLACE
    assert again.objective == pytest.approx(10.0)
    arguments = SPREAD.definitions[0].arguments
    other = replace(SPREAD.definitions[0], arguments=structs.replace(arguments, constants=np.array([0.0, 1.0])))
    last = resolve(again, replace(SPREAD, definitions=(other,)))
    assert last.loading is Loading.IN_PLACE  # the same rows with other sides
    assert last.objective == pytest.approx(2 + 4 * 2)


def test_resolve_sees_other_terms() -> None:
    one = nonlinear(
        minimize(1, 0, 1), columns=2, terms=[product(of(1), of(0, 1))], rows=[at_least(4, 0, 0, 1)], upper=9
    )
    first = solve_problem(one, "scip", EXACT)
    again = resolve(first, replace(one, definitions=(largest(of(1), of(0, 1))(np.array([2], dtype=np.int32), 3),)))
    assert again.loading is Loading.TERMS_CHANGED
    assert again.objective == pytest.approx(4.0)


def test_numbers_of_terms_must_be_finite() -> None:
    bad = function("exp", of(np.nan))
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(nonlinear(minimize(0, 1), columns=1, terms=[bad]), "scip")
    assert codes(caught) == ["GSM4012"]


def test_integers_that_a_reformulation_needs_are_refused_where_there_are_none() -> None:
    one = nonlinear(maximize(0, 1), columns=1, terms=[function("abs", of(1, plus=-1))], lower=-3, upper=4)
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(one, Scripted(capabilities=Capabilities(integers=False)))
    assert codes(caught)[0].startswith(("GSM32", "GSM4003"))


def test_several_objectives_with_terms() -> None:
    one = nonlinear(
        minimize(0, 0, 1), maximize(1, -1), columns=2, terms=[largest(of(1), of(0, 1))], rows=[at_least(4, 1, 2)],
        upper=9,
    )  # fmt: skip
    solved = solve_problem(one, "highs", EXACT)
    assert [o.value for o in solved.objectives] == pytest.approx([4 / 3, 0.0], abs=1e-5)


def test_limits_without_a_point_keep_the_bound() -> None:
    solved, _ = run(by_hand(SPREAD, BY_HAND, bound_error=2.0), SolverResult(Status.LIMIT, bound=5.0, reason="time"))
    assert (solved.point, solved.bound, solved.problem) == (None, 3.0, SPREAD)


def test_redundant_rows_of_a_solve_by_scip() -> None:
    one = nonlinear(
        maximize(1, 1, 0), columns=2, terms=[product(of(1), of(0, 1))], rows=[at_most(4, 0, 0, 1)], lower=1, upper=4
    )
    assert solve_problem(one, "scip", EXACT).objective == pytest.approx(5.0)
