"""The steps around the solver: requests, trivial checks, verification, lexicographic objectives, re-solves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from building import (
    INF,
    at_least,
    at_most,
    between,
    equal,
    many_knapsacks,
    maximize,
    minimize,
    problem,
)
from found_codes import message_values
from msgspec import structs
from scripted import Scripted, codes, optimal
from solvers import ALL, GENERAL

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain, Universe
from gpusched_dsl.ir.magnitudes import power_of_two
from gpusched_dsl.ir.problem import Family, Problem, Term
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solution import Loading
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.protocol import Backend, Capabilities, SolveOptions
from gsdsl_backends.registry import backend

KNAPSACK = problem(maximize(6, 10, 12), columns=3, rows=[at_most(5, 1, 2, 3)], upper=1, integer=True)


def refused(
    one: Problem, chosen: Backend | str, options: SolveOptions | None = None, start: Floats | None = None
) -> str:
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(one, chosen, options, start)
    return caught.value.diagnostics[0].code


# --- requests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        SolveOptions(time_limit=-1.0),
        SolveOptions(time_limit=float("nan")),
        SolveOptions(gap=-0.1),
        SolveOptions(gap=float("inf")),
        SolveOptions(threads=0),
        SolveOptions(seed=-1),
        SolveOptions(seed=2**31),
    ],
)
def test_senseless_options_are_refused(options: SolveOptions) -> None:
    assert refused(KNAPSACK, "highs", options) == "GSM4011"


def test_everything_wrong_with_a_request_is_told_at_once() -> None:
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(KNAPSACK, "highs", SolveOptions(gap=-1.0, threads=0), np.zeros(2))
    assert codes(caught) == ["GSM4011", "GSM4011", "GSM4010"]


def test_start_must_fit() -> None:
    assert refused(KNAPSACK, "highs", start=np.zeros(4)) == "GSM4010"
    assert refused(KNAPSACK, "highs", start=np.array([0, np.inf, 0])) == "GSM4010"


@pytest.mark.parametrize(
    ("lacking", "options", "start"),
    [
        ("integers", SolveOptions(), None),
        ("time_limit", SolveOptions(time_limit=1.0), None),
        ("warm_start", SolveOptions(), np.zeros(3)),
    ],
)
def test_more_than_a_backend_accepts(lacking: str, options: SolveOptions, start: Floats | None) -> None:
    unable = Scripted(capabilities=structs.replace(Capabilities(), **{lacking: False}))
    assert refused(KNAPSACK, unable, options, start) == "GSM4003"
    assert not unable.opened


# --- screening --------------------------------------------------------------------------------------------------


def test_numbers_that_are_none_are_named() -> None:
    nodes = Universe("Nodes", ("n1", "n2"))
    jobs = Universe("Jobs", ("j1", "j2", "j3"))
    run = Family("run", 0, ProductDomain((IntervalDomain(0, 2, 1, jobs), IntervalDomain(0, 1, 1, nodes))))
    good = problem(minimize(*range(6)), columns=6, rows=[at_least(1, *[1] * 6), at_least(2, *[1] * 6)])
    good = replace(good, variables=(run,))
    values = good.matrix.values.copy()
    values[6 + 3] = np.nan
    term = good.objectives[0].terms[0]
    costs = term.coefficients.copy()
    costs[1] = np.inf
    bad = replace(
        good,
        matrix=structs.replace(good.matrix, values=values),
        lower=np.array([0, 0, np.nan, 0, 0, 0]),
        row_upper=np.array([np.nan, np.inf]),
        objectives=(structs.replace(good.objectives[0], terms=(Term(None, term.columns, costs),)),),
    )
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(bad, Scripted())
    assert codes(caught) == ["GSM4012"] * 4
    messages = [d.message for d in caught.value.diagnostics]
    assert message_values(messages[0]) == ("run[j2,n2]", "row[1]", "nan")
    assert "row[0]" in messages[1]
    assert "run[j2,n1]" in messages[2]
    assert message_values(messages[3]) == ("run[j2,n1]", "inf")


def test_bounds_that_cross_by_a_rounding_error_are_no_contradiction() -> None:
    crossed = problem(maximize(1), columns=1, lower=0.1 + 0.2, upper=0.3)
    assert crossed.lower[0] > crossed.upper[0]
    solved = solve_problem(crossed, "highs")
    assert solved.status == "optimal"
    assert solved.objective == pytest.approx(0.3)


def test_no_solver_is_opened_for_what_needs_none() -> None:
    nothing = Scripted()
    assert solve_problem(problem(minimize(1), columns=1, lower=2, upper=1), nothing).status == "infeasible"
    assert solve_problem(problem(minimize(offset=2), columns=0), nothing).objective == 2
    assert not nothing.opened


# --- nothing is believed ----------------------------------------------------------------------------------------


def test_infeasible_point_is_refused_in_the_authors_words() -> None:
    nodes = Universe("Nodes", ("n1", "n2"))
    one = problem(maximize(1, 1), columns=2, rows=[at_most(4, 1, 0), at_most(4, 1, 1)])
    one = replace(one, constraints=(Family("capacity", 0, IntervalDomain(0, 1, 1, nodes)),))
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(one, Scripted(optimal(4.0, 1.0, objective=5.0)))
    finding = caught.value.diagnostics[0]
    assert finding.code == "GSM4008"
    assert {"capacity[n2]", "5.0", "4.0"} <= set(message_values(finding.message))


@pytest.mark.parametrize(
    "values",
    [
        (1.0, 1.0, 0.5),  # not whole
        (1.0, 2.0, 0.0),  # above its bound
        (1.0, 1.0, 1.0),  # breaks the row
        (1.0, np.nan, 0.0),
        (1.0, np.inf, 0.0),
    ],
)
def test_every_kind_of_broken_point_is_refused(values: tuple[float, ...]) -> None:
    objective = float(np.array([6, 10, 12]) @ np.array(values))
    assert refused(KNAPSACK, Scripted(optimal(*values, objective=objective))) == "GSM4008"


def test_wrong_claims_are_refused() -> None:
    assert refused(KNAPSACK, Scripted(optimal(1, 1, 0, objective=17.0))) == "GSM4009"
    assert refused(KNAPSACK, Scripted(optimal(1, 1, 0, objective=16.0, bound=15.0))) == "GSM4009"
    assert refused(KNAPSACK, Scripted(SolverResult(Status.OPTIMAL))) == "GSM4007"
    assert refused(KNAPSACK, Scripted(optimal(1, 1, objective=16.0))) == "GSM4007"


def test_integers_are_rounded_and_the_objective_is_that_of_the_reported_point() -> None:
    solved = solve_problem(KNAPSACK, Scripted(optimal(1e-9, 1 - 4e-7, 1 + 3e-7, objective=22 - 4e-7)))
    assert solved.point is not None
    assert solved.point.tolist() == [0, 1, 1]
    assert solved.objective == 22.0
    assert solved.is_integral


def test_values_beyond_a_bound_by_rounding_are_moved_onto_it() -> None:
    one = problem(minimize(1, 1), columns=2, rows=[at_least(1, 1, 1)])
    solved = solve_problem(one, Scripted(optimal(-1e-9, 1.0, objective=1.0)))
    assert solved.point is not None
    assert solved.point.tolist() == [0, 1]


def test_rounding_that_breaks_a_row_is_repaired_by_the_continuous_columns() -> None:
    # y <= 1e6 b lets y be 1 with b = 1e-6; with b = 0 the other source must serve.
    one = problem(
        minimize(0, 1, 1 + 1e-9),
        columns=3,
        rows=[at_most(0, -1e6, 1, 0), equal(1, 0, 1, 1)],
        upper=[1, INF, INF],
        integer=[0],
    )
    claimed = optimal(1e-6, 1.0, 0.0, objective=1.0)
    real = backend("highs")

    class Cheated(Scripted):
        def open(self, problem: Problem) -> Scripted:
            return super().open(problem) if problem.is_mip else real.open(problem)  # type: ignore[return-value]

    solved = solve_problem(one, Cheated(claimed), SolveOptions(tighten=False))
    assert solved.point is not None
    assert solved.point.tolist() == [0, 0, 1]
    assert solved.is_integral
    assert solved.verification is not None
    assert solved.verification.integrality == 0


def test_point_that_is_feasible_only_with_fractions_is_marked() -> None:
    one = problem(minimize(0, 1), columns=2, rows=[at_most(0, -1e6, 1), at_least(1, 0, 1)], upper=[1, INF], integer=[0])
    scripted = Scripted(optimal(1e-6, 1.0, objective=1.0), SolverResult(Status.INFEASIBLE))
    solved = solve_problem(one, scripted, SolveOptions(tighten=False))
    assert not solved.is_integral
    assert solved.point is not None
    assert solved.point.tolist() == [1e-6, 1.0]


# --- objectives in order ----------------------------------------------------------------------------------------


def test_earlier_objectives_are_kept_as_rows() -> None:
    one = problem(maximize(2, 1, offset=5), minimize(1, 3), columns=2, rows=[at_most(3, 1, 1)], upper=2, integer=True)
    scripted = Scripted(optimal(2, 1, objective=10.0), optimal(2, 1, objective=5.0))
    solved = solve_problem(one, scripted)
    second = scripted.opened[1]
    assert second.rows == 2
    side, coefficients = second.row_lower[1], second.matrix.values[-2:]
    assert coefficients.tolist() == [1.0, 0.5]
    assert side == pytest.approx(2.5, abs=1e-6)
    assert side < 2.5
    assert second.row_upper[1] == np.inf
    assert scripted.starts[1] is not None
    assert scripted.starts[1].tolist() == [2, 1]
    assert [o.value for o in solved.objectives] == [10.0, 5.0]
    assert (solved.objective, solved.bound, solved.gap) == (10.0, 10.0, 0.0)
    assert solved.row_duals is None
    assert scripted.closed == 2


def test_a_limit_ends_the_sequence_with_the_best_point() -> None:
    one = problem(maximize(1, 1), minimize(1, 0), columns=2, rows=[at_most(3, 1, 1)], upper=2)
    stopped = SolverResult(Status.LIMIT, np.array([1.0, 1.0]), 2.0, 3.0, reason="time")
    solved = solve_problem(one, Scripted(stopped))
    assert (solved.status, solved.reason) == ("limit", "time")
    first, second = solved.objectives
    assert (first.value, first.bound, first.status) == (2.0, 3.0, "limit")
    assert (second.value, second.bound, second.status) == (1.0, None, None)
    assert first.gap == pytest.approx(0.5)

    later = SolverResult(Status.LIMIT, reason="interrupt")
    solved = solve_problem(one, Scripted(optimal(1, 2, objective=3.0), later))
    assert (solved.status, solved.reason) == ("limit", "interrupt")
    assert solved.point is not None
    assert [o.status for o in solved.objectives] == ["optimal", "limit"]


def test_the_time_limit_is_for_all_objectives() -> None:
    one = problem(maximize(1, 1), minimize(1, 0), columns=2, rows=[at_most(3, 1, 1)], upper=2)
    scripted = Scripted(optimal(1, 2, objective=3.0), optimal(1, 2, objective=1.0))
    solve_problem(one, scripted, SolveOptions(time_limit=50.0))
    first, second = (o.time_limit for o in scripted.options)
    assert first is not None
    assert second is not None
    assert 49 < second < first <= 50


def test_a_solver_that_loses_the_point_is_given_more_room_then_refused() -> None:
    one = problem(maximize(1, 1), minimize(1, 0), columns=2, rows=[at_most(3, 1, 1)], upper=2)
    lost = SolverResult(Status.INFEASIBLE)
    scripted = Scripted(optimal(1, 2, objective=3.0), lost, optimal(1, 2, objective=1.0))
    assert solve_problem(one, scripted).status == "optimal"
    assert scripted.opened[2].row_lower[1] < scripted.opened[1].row_lower[1] < 3
    assert refused(one, Scripted(optimal(1, 2, objective=3.0), lost, lost)) == "GSM4007"


# --- re-solving -------------------------------------------------------------------------------------------------


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", GENERAL)
@pytest.mark.parametrize("integer", [False, True])
def test_changes_reach_the_solver(name: str, integer: bool) -> None:
    def built(costs: tuple[float, ...], side: float, factor: float, upper: float, offset: float, sense: str) -> Problem:
        make = maximize if sense == "maximize" else minimize
        rows = [at_most(side, factor, 1), between(1, 5, 1, 1)]
        return problem(make(*costs, offset=offset), columns=2, rows=rows, upper=upper, integer=integer)

    variants = [
        built((3, 2), 6, 2, 4, 0, "maximize"),
        built((3, 5), 6, 2, 4, 0, "maximize"),  # costs
        built((3, 5), 6, 2, 2, 10, "maximize"),  # bounds, offset
        built((3, 5), 3, 2, 2, 10, "maximize"),  # sides
        built((3, 5), 3, 3, 2, 10, "maximize"),  # a coefficient
        built((3, 5), 3, 3, 2, 10, "minimize"),  # the sense
        built((3e-6, 5e-6), 3, 3, 2, 10, "minimize"),  # costs so small that they are scaled
        built((3, 5), 3, 3, 2, 10, "maximize"),
    ]
    in_place = backend(name).capabilities.in_place_update
    expected = Loading.IN_PLACE if in_place else Loading.BACKEND_CANNOT_UPDATE
    solved = solve_problem(variants[0], name, SolveOptions(gap=0.0))
    assert solved.loading is Loading.FIRST
    for variant in variants[1:]:
        fresh = solve_problem(variant, name, SolveOptions(gap=0.0))
        solved = resolve(solved, variant)
        assert solved.loading is expected
        assert solved.status == fresh.status == "optimal"
        assert solved.objective == pytest.approx(fresh.objective, rel=1e-9)
        assert solved.problem is variant


def test_many_changed_coefficients_are_loaded_in_bulk_and_right() -> None:
    columns = 3000
    ones = np.ones(columns)

    def built(factor: float) -> Problem:
        return problem(minimize(*ones), columns=columns, rows=[at_least(10, *(factor * ones))], upper=1)

    solved = solve_problem(built(1.0), "highs")
    assert solved.objective == pytest.approx(10)
    solved = resolve(solved, built(2.0))
    assert solved.loading is Loading.IN_PLACE
    assert solved.objective == pytest.approx(5)


def test_how_a_changed_problem_is_loaded() -> None:
    first = problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)])
    wider = problem(minimize(1, 2, 3), columns=3, rows=[at_least(1, 1, 1, 0)])
    sparser = problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 0)])
    whole = problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)], integer=True)
    renamed = replace(first, variables=(Family("y", 0, IntervalDomain(0, 1)),))
    ranked = problem(minimize(1, 2), minimize(1, 0), columns=2, rows=[at_least(1, 1, 1)])
    for other in (wider, sparser, whole):
        solved = resolve(solve_problem(first, "highs", SolveOptions(tighten=False)), other)
        assert solved.loading is Loading.CARRIED
        assert solved.status == "optimal"
    assert resolve(solve_problem(first, "highs"), renamed).loading is Loading.TOO_MUCH_CHANGED
    assert resolve(solve_problem(first, "highs"), ranked).loading is Loading.SEVERAL_OBJECTIVES
    for other in (first, wider):
        assert resolve(solve_problem(first, "scip"), other).loading is Loading.BACKEND_CANNOT_UPDATE
        closed = solve_problem(first, "highs")
        closed.close()
        assert resolve(closed, other).loading is Loading.NO_SESSION


def test_resolve_takes_the_session_and_starts_from_the_earlier_point() -> None:
    scripted = Scripted(optimal(1, 1, 0, objective=16.0), optimal(0, 1, 1, objective=22.0))
    first = solve_problem(KNAPSACK, scripted)
    second = resolve(first, KNAPSACK)
    assert first.session is None
    assert second.session is scripted
    assert len(scripted.updated) == 1
    assert scripted.starts[1] is not None
    assert scripted.starts[1].tolist() == [1, 1, 0]


def test_a_resolve_that_needs_no_solver_leaves_no_stale_session() -> None:
    first = problem(minimize(1), columns=1, rows=[at_least(1, 1)], upper=5)
    crossed = problem(minimize(1), columns=1, rows=[at_least(1, 1)], lower=6, upper=5)
    solved = resolve(solve_problem(first, "highs"), crossed)
    assert solved.status == "infeasible"
    assert solved.session is None
    again = resolve(solved, first)
    assert again.loading is Loading.NO_SESSION
    assert again.objective == 1


# --- figures ----------------------------------------------------------------------------------------------------


def test_relative_gap() -> None:
    assert relative_gap(10.0, 9.0) == pytest.approx(0.1)
    assert relative_gap(-10.0, -11.0) == pytest.approx(0.1)
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(0.0, -1.0) == pytest.approx(1e9)


def test_power_of_two() -> None:
    assert [power_of_two(x) for x in (1.0, 1.9, 2.0, 0.3, 0.0)] == [1.0, 1.0, 2.0, 0.25, 1.0]


@pytest.mark.parametrize("name", ALL)
def test_solved_carries_what_a_report_needs(name: str) -> None:
    terms = (
        Term("run", np.array([0, 1], dtype=np.int32), np.array([6.0, 10.0])),
        Term("bonus", np.array([2], dtype=np.int32), np.array([12.0]), 3.0),
    )
    one = replace(KNAPSACK, objectives=(structs.replace(KNAPSACK.objectives[0], terms=terms, name="total", unit="$"),))
    solved = solve_problem(one, name)
    assert [(t.name, t.value) for t in solved.terms] == [("run", 10.0), ("bonus", 15.0)]
    assert (solved.objective, solved.objectives[0].unit) == (25.0, "$")
    assert solved.solve_seconds > 0
    assert solved.load_seconds > 0
    assert set(solved.statistics) == {"nodes", "iterations"}
    assert all(version[0].isdigit() for version in solved.versions.values())


@pytest.mark.parametrize("name", ALL)
def test_seed_and_threads_are_accepted(name: str) -> None:
    for threads in (1, 2, 1):
        solved = solve_problem(KNAPSACK, name, SolveOptions(threads=threads, seed=7))
        assert solved.objective == 22


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", ALL)
def test_solvers_are_silent(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    solve_problem(many_knapsacks(40, 5), name, SolveOptions(time_limit=2.0))
    assert solve_problem(KNAPSACK, name, start=np.array([5.0, 5.0, 5.0])).objective == 22
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


@pytest.mark.parametrize(("given", "second"), [((0, 1, 1), (0, 1, 1)), ((1, 1, 0), (0, 1, 0)), ((0, 0, 1), (0, 1, 0))])
def test_a_start_that_is_better_for_the_next_objective_is_its_start(
    given: tuple[float, ...], second: tuple[float, ...]
) -> None:
    """The first answer is worse for the second objective than the first start, which it equals for the first one."""
    both = problem(
        minimize(1, 0, 0), columns=3, rows=[at_most(2, 1, 1, 1), at_least(1, 1, 1, 1)], upper=1, integer=True
    )
    both = replace(both, objectives=(minimize(1, 0, 0), maximize(0, 1, 1)))
    solver = Scripted(optimal(0, 1, 0, objective=0), optimal(0, 1, 1, objective=2))
    solved = solve_problem(both, solver, SolveOptions(heuristic="off"), np.array(given, dtype=np.float64))
    assert [o.value for o in solved.objectives] == [0, 2]
    assert solver.starts[1] is not None
    assert tuple(solver.starts[1]) == second
