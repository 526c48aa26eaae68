"""List schedules: every one is a plan, there is none where CP-SAT proves that no plan exists, and solvers get it."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from projects import grounded, project, random_plant

from gpusched_dsl.ir.definitions.scheduling import loads_fit, none_overlap
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.list_schedule import list_schedule, schedule_start
from gpusched_dsl.solving.primal.resource_profile import ResourceProfile
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend


def check_plants(seeds: range) -> Counter[bool]:
    """Whether there was a schedule, for every plant that has a plan."""
    found: Counter[bool] = Counter()
    for seed in seeds:
        problem = grounded(random_plant(Random(seed)))
        point = list_schedule(problem, HeuristicBudget(60))
        best = solve_problem(problem, "cpsat", SolveOptions(heuristic="off", gap=0.0))
        if point is None:
            assert best.status in ("optimal", "infeasible"), seed
            found[False] += best.status == "optimal"
            continue
        assert best.status == "optimal", seed
        report = verify(problem, point)
        assert report.feasible, (seed, [str(w) for w in report.worst])
        assert report.integrality == 0, seed
        assert best.objective is not None
        assert report.objectives[0].value >= best.objective - 1e-6, seed
        found[True] += 1
    return found


def test_plants_have_a_schedule_where_they_have_a_plan() -> None:
    found = check_plants(range(12))
    assert found[True] >= 7
    assert found[False] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 300, 40))
def test_many_plants(start: int) -> None:
    found = check_plants(range(start, start + 40))
    assert found[True] >= 20
    assert found[False] <= 4


@pytest.mark.parametrize("solver", ["highs", "scip", "cpsat"])
def test_solvers_begin_from_a_schedule(solver: str) -> None:
    """30 tasks and two resources: without a start, HiGHS and SCIP have no plan after a minute."""
    problem = grounded(project(30, 200, 3))
    point = list_schedule(problem, HeuristicBudget(60))
    assert point is not None
    solved = solve_problem(problem, solver, SolveOptions(time_limit=3))
    assert solved.point is not None
    assert solved.objective is not None
    assert solved.objective <= problem.objectives[0].value(point)
    assert not solved.warnings


def test_a_schedule_remains_where_no_time_is_left_for_the_solver() -> None:
    solved = solve_problem(grounded(project(30, 200, 3)), "highs", SolveOptions(time_limit=2.5))
    assert solved.point is not None


def test_no_schedule_is_looked_for_without_time_or_when_it_is_not_wanted() -> None:
    problem = grounded(project(10, 100, 1))
    assert list_schedule(problem, HeuristicBudget(60)) is not None
    assert list_schedule(problem, HeuristicBudget(0)) is None
    options = SolveOptions(heuristic="off")
    assert schedule_start(problem, backend("highs"), SolveOptions(), None) is not None
    assert schedule_start(problem, backend("highs"), options, None) is None


def test_the_earliest_time_is_the_first_at_which_nothing_breaks() -> None:
    """Against all integer times, judged by the functions that verify plans."""
    random = Random(1)
    for _ in range(300):
        capacity = random.choice((None, 2.0, 3.0))
        profile = ResourceProfile(capacity)
        for _ in range(random.randint(0, 6)):
            length, demand = float(random.randint(0, 3)), float(random.randint(0, 3))
            after = float(random.randint(0, 6))
            time = profile.earliest(after, length, demand)
            fits = [t for t in range(int(after), 40) if _is_valid(profile, float(t), length, demand)]
            assert time == (fits[0] if fits else np.inf)
            if fits:
                profile.place(time, length, demand)


def _is_valid(profile: ResourceProfile, time: float, length: float, demand: float) -> bool:
    begin, ends = np.append(profile.begin, time), np.append(profile.end, time + length)
    entry, ones = np.zeros(len(begin), dtype=np.int64), np.ones(len(begin))
    if profile.capacity is None:
        return bool(none_overlap(entry, 1, begin, ends - begin, ones)[0])
    loads = np.append(profile.demand, demand)
    return bool(loads_fit(entry, begin, ends - begin, ones, loads, np.array([profile.capacity]))[0])
