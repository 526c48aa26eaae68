"""Re-solving after columns and rows were added, removed or moved: results equal those from scratch, faster."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from building import at_least, at_most, equal, maximize, minimize, problem
from labelled import change, random_labelled
from msgspec import structs
from solvers import GENERAL

from gpusched_dsl.ir.changes import changes
from gpusched_dsl.ir.domains import IntervalDomain, Universe
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.solving.solution import Loading, Solution
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.highs.basis import basis_at
from gsdsl_backends.highs.loading import load
from gsdsl_backends.highs.quiet import QuietHighs
from gsdsl_backends.highs.relaxation import dual_bound, is_feasible, rest_of, undecided_columns
from gsdsl_backends.highs.run import limit_to
from gsdsl_backends.highs.session import HighsSession
from gsdsl_backends.highs.warm_resolve import Relaxations, ResolveAttempt
from gsdsl_backends.protocol import SolveOptions

EXACT = SolveOptions(gap=0.0)


def same_answer(again: Solution, fresh: Solution) -> None:
    assert again.status is fresh.status
    if fresh.objective is not None:
        assert again.objective == pytest.approx(fresh.objective, rel=1e-6, abs=1e-6)
        assert again.bound == pytest.approx(fresh.objective, rel=1e-6, abs=1e-6)


def walk(seed: int, name: str, integers: bool, steps: int) -> list[Solution]:
    """Change a random problem again and again; every re-solve must say what a solve from scratch says."""
    draw = random.Random(seed)
    made = random_labelled(draw, integers)
    solved = solve_problem(made.problem(draw), name, EXACT)
    all_solved = [solved]
    for _ in range(steps):
        for _ in range(draw.randint(1, 2)):
            change(made, draw, integers)
        one = made.problem(draw)
        solved = resolve(solved, one)
        fresh = solve_problem(one, name, EXACT)
        fresh.close()
        same_answer(solved, fresh)
        all_solved.append(solved)
    solved.close()
    return all_solved


def ways(all_solved: list[Solution]) -> set[Loading]:
    return {s.loading for s in all_solved[1:]}


@pytest.mark.quick(2)
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("name", GENERAL)
def test_random_changes(name: str, integers: bool) -> None:
    steps, walks = (12, 8) if name == "highs" else (6, 3)
    all_solved = [s for seed in range(walks) for s in walk(seed, name, integers, steps)]
    assert Status.INFEASIBLE in {s.status for s in all_solved}
    if name == "highs":
        assert {Loading.CARRIED, Loading.IN_PLACE} <= ways(all_solved)
    if name == "highs" and integers:
        proved = [s for s in all_solved if s.statistics.get("proved_by_relaxation")]
        assert {s.problem.objectives[0].sense for s in proved} == {"minimize", "maximize"}
        assert sum(s.problem.is_mip and s.status is Status.OPTIMAL for s in all_solved) > len(proved)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
@pytest.mark.parametrize("integers", [False, True])
def test_many_random_changes(seed: int, integers: bool) -> None:
    walk(seed, "highs", integers, 25)
    if seed % 6 == 0:
        walk(seed, "scip", integers, 8)


# --- what is kept ----------------------------------------------------------------------------------------------------


def assignment(jobs: list[int], places: int, whole: bool, capacity: float = 3.0) -> Problem:
    """Every job goes somewhere, a place takes `capacity` of them; costs depend on the job's own number."""
    costs = [float((job * 37 + place * 11) % 23 + 1) for job in jobs for place in range(places)]
    rows = []
    for at in range(len(jobs)):
        row = np.zeros(len(costs))
        row[at * places : (at + 1) * places] = 1
        rows.append(equal(1, *row))
    for place in range(places):
        row = np.zeros(len(costs))
        row[place::places] = 1
        rows.append(at_most(capacity, *row))
    one = problem(minimize(*costs), columns=len(costs), rows=rows, upper=1, integer=whole)
    universe = Universe("Jobs", tuple(f"j{job}" for job in jobs))
    job_set = IntervalDomain(0, len(jobs) - 1, 1, universe)
    from gpusched_dsl.ir.domains import ProductDomain

    return replace(
        one,
        variables=(Family("x", 0, ProductDomain((job_set, IntervalDomain(1, places)))),),
        constraints=(Family("once", 0, job_set), Family("room", len(jobs), IntervalDomain(1, places))),
    )


def test_a_linear_problem_goes_on_from_its_basis() -> None:
    before = assignment(list(range(30)), 12, whole=False)
    after = assignment([*range(1, 30), 77], 12, whole=False)
    fresh = solve_problem(after, "highs", SolveOptions(extra={"presolve": "off"}))
    again = resolve(solve_problem(before, "highs", SolveOptions(extra={"presolve": "off"})), after)
    same_answer(again, fresh)
    assert again.loading is Loading.CARRIED
    assert again.statistics["iterations"] < fresh.statistics["iterations"] / 3
    assert again.row_duals is not None
    assert again.row_duals.shape == (after.rows,)


@pytest.mark.parametrize("name", ["highs", "scip"])
def test_a_point_starts_the_changed_problem(name: str) -> None:
    before = assignment(list(range(8)), 4, whole=True)
    after = assignment([7, 0, 1, 2, 3, 4, 5, 9], 4, whole=True)
    solved = solve_problem(before, name, EXACT)
    assert solved.point is not None
    carried = changes(before, after).point(solved.point)
    chosen = {before.variables[0].index_of(int(c)) for c in np.flatnonzero(solved.point > 0.5)}
    assert {after.variables[0].index_of(int(c)) for c in np.flatnonzero(carried > 0.5)} == {
        key for key in chosen if key[0] != "j6"
    }
    again = resolve(solved, after)
    same_answer(again, solve_problem(after, name, EXACT))


def test_no_branching_where_the_relaxation_is_proof() -> None:
    # With that pass it is no problem with integers.
    whole = structs.replace(EXACT, without=frozenset({"network_integrality"}))
    solved = solve_problem(assignment(list(range(20)), 8, whole=True), "highs", whole)
    for job in range(20, 24):
        after = assignment([*range(job - 19, job), 100 + job], 8, whole=True)
        solved = resolve(solved, after)
        same_answer(solved, solve_problem(after, "highs", EXACT))
        assert solved.statistics["proved_by_relaxation"] == 1.0
        assert solved.statistics["nodes"] == 0


def knapsacks(count: int) -> Problem:
    """Different knapsacks of 8 for two items of 5: the relaxation takes 1 and 0.6, which cannot be rounded up."""
    rows = [at_most(8, *[0.0] * (2 * at), 5, 5, *[0.0] * (2 * (count - at - 1))) for at in range(count)]
    worth = [value + 0.01 * at for at in range(count) for value in (5, 4)]
    return problem(maximize(*worth), columns=2 * count, rows=rows, upper=1, integer=True)


def test_many_columns_are_rounded_within_the_gap() -> None:
    """A gap of 95 % allows any rounding: of up to 24 columns, one after the other or several at a time."""
    one, highs = knapsacks(12), QuietHighs()
    load(highs, replace(one, integer=np.zeros(24, dtype=np.bool_)))

    def solve_other(rest: Problem, options: SolveOptions) -> SolverResult:
        raise AssertionError("the rounded point is near enough")

    attempt = ResolveAttempt(highs, one, Relaxations(), SolveOptions(gap=0.95), highs.run, solve_other)
    found, _ = attempt.answer(None)
    assert found is not None
    assert found.values is not None
    assert is_feasible(one, found.values)
    assert found.bound == pytest.approx(sum(1.6 * 0.01 * at + 7.4 for at in range(12)))


def test_attempts_that_prove_nothing_become_rare() -> None:
    tries = Relaxations()
    tried = []
    for _ in range(40):
        tried.append(tries.worth_trying())
        if tried[-1]:
            tries.record(proved=False)
    assert [at for at, true in enumerate(tried) if true] == [0, 2, 6, 14, 30]
    tries.waiting = 0
    tries.record(proved=True)
    assert tries.worth_trying()


def test_a_gap_between_relaxation_and_optimum_is_branched_on() -> None:
    """Half a knapsack item is worth more than any whole one: the relaxation proves nothing."""

    def built(room: float) -> Problem:
        return problem(maximize(5, 4, 3), columns=3, rows=[at_most(room, 2, 3, 1)], upper=1, integer=True)

    solved = resolve(solve_problem(built(5), "highs", EXACT), built(4))
    assert solved.objective == pytest.approx(8)
    assert "proved_by_relaxation" not in solved.statistics
    # The relaxation is worth 9 1/3.
    for absolute_gap, is_enough in ((1.3, False), (1.4, True)):
        wide = structs.replace(EXACT, extra={"mip_abs_gap": absolute_gap})
        solved = resolve(solve_problem(built(5), "highs", wide), built(4))
        assert ("proved_by_relaxation" in solved.statistics) == is_enough
        assert solved.objective == pytest.approx(8)


def test_the_time_limit_of_a_re_solve_is_its_own() -> None:
    """HiGHS counts the time of linear runs on from one to the next."""
    before = assignment(list(range(60)), 30, whole=False)
    solved = solve_problem(before, "highs", SolveOptions(time_limit=60.0))
    for job in range(60, 66):
        solved = resolve(solved, assignment([*range(1, 60), job], 30, whole=False), SolveOptions(time_limit=60.0))
        assert solved.status is Status.OPTIMAL
    session = solved.session
    assert isinstance(session, HighsSession)
    spent = session._highs.getRunTime()
    limit_to(session._highs, 5.0, branches=False)
    assert session._highs.getOptionValue("time_limit")[1] == pytest.approx(spent + 5.0, abs=0.5)


# --- bounds and the rest ---------------------------------------------------------------------------------------------


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(30))
def test_any_multipliers_give_a_bound(seed: int) -> None:
    draw = random.Random(seed)
    one = random_labelled(draw, integers=True).problem(draw)
    solved = solve_problem(one, "highs", EXACT)
    relaxed = solve_problem(replace(one, integer=np.zeros(one.columns, dtype=bool)), "highs")
    sign = -1 if one.objectives[0].sense == "maximize" else 1
    for _ in range(5):
        bound = dual_bound(one, np.array([draw.uniform(-3, 3) for _ in range(one.rows)]))
        assert bound is not None  # all columns are bounded
        if solved.objective is not None:
            assert sign * bound.value <= sign * solved.objective + 1e-9
    if relaxed.objective is not None:
        assert relaxed.row_duals is not None
        best = dual_bound(one, relaxed.row_duals)
        assert best is not None
        assert best.value == pytest.approx(relaxed.objective, abs=1e-6)


def test_multipliers_that_bound_nothing() -> None:
    free = problem(minimize(1, 1), columns=2, rows=[at_least(1, 1, 2)], lower=-np.inf)
    assert dual_bound(free, np.array([1.0])) is None
    tight = problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 2)], lower=-np.inf)
    bound = dual_bound(tight, np.array([1.0]))
    assert bound is not None
    assert bound.value == 1.0


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(30))
def test_reduced_costs_decide_only_what_they_may(seed: int) -> None:
    """With all columns whole, every optimum lies in the rest whose slack is the distance to the optimum."""
    draw = random.Random(seed)
    one = random_labelled(draw, integers=True).problem(draw)
    one = replace(one, integer=np.ones(one.columns, dtype=bool))
    solved = solve_problem(one, "highs", EXACT)
    relaxed = solve_problem(replace(one, integer=np.zeros(one.columns, dtype=bool)), "highs")
    if solved.objective is None or relaxed.point is None or relaxed.row_duals is None:
        return
    bound = dual_bound(one, relaxed.row_duals)
    assert bound is not None
    free = undecided_columns(one, relaxed.point, bound, abs(solved.objective - bound.value) + 1e-6)
    if not free.any():
        assert is_feasible(one, relaxed.point, 1e-6)
        return
    rest = rest_of(one, relaxed.point, free)
    few = solve_problem(rest.problem, "highs", EXACT)
    assert few.objective == pytest.approx(solved.objective, abs=1e-6)
    assert few.point is not None
    full = rest.complete_point(few.point)
    assert is_feasible(one, full, 1e-6)
    assert one.objectives[0].value(full) == pytest.approx(few.objective, abs=1e-6)


def test_a_basis_is_read_off_a_point() -> None:
    one = problem(minimize(1, 1, 1), columns=3, rows=[at_most(3, 1, 1, 0), at_least(1, 0, 1, 1)], upper=[2, 1, 9])
    basis = basis_at(one, np.array([2.0, 1.0, 0.0]))
    assert basis.basic_columns.tolist() == [True, True, False]
    assert basis.upper_columns.tolist() == [True, True, False]
    assert basis.basic_rows.tolist() == [False, False]
    columns, rows = basis.codes(one)
    assert columns.tolist() == [1, 1, 0]
    assert rows.tolist() == [2, 0]
