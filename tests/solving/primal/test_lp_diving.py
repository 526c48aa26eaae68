"""Dives end at points that satisfy everything, or nowhere; most small problems have one, near the optimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from building import at_least, at_most, minimize, problem

import gpusched_dsl as gs
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.lp_diving import LpDiving
from gpusched_dsl.solving.primal.propagation import PropagationDomain
from gpusched_dsl.solving.primal.rows import rows_of
from gpusched_dsl.solving.relaxation import solve_relaxed
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend

ROOT = Path(__file__).parents[3]


def cover(seed: int) -> Problem:
    """Eight integer columns that cover four demands at least cost, within one room, and a continuous one."""
    rng = np.random.default_rng(seed)
    rows = [at_least(float(rng.integers(3, 12)), *rng.integers(0, 5, 8), 0.5) for _ in range(4)]
    rows.append(at_most(30, *rng.integers(1, 6, 8), 1))
    goal = minimize(*rng.integers(1, 20, 8), 11)
    return problem(goal, columns=9, rows=rows, upper=[4.0] * 9, integer=list(range(8)))


@pytest.mark.parametrize("upwards", [True, False])
def test_points_of_dives(upwards: bool) -> None:
    feasible = points = near = 0
    for seed in range(30):
        one = cover(seed)
        exact = solve_problem(one, "highs", SolveOptions(gap=0.0))
        relaxed = solve_relaxed(one, backend("highs"), SolveOptions(), None).point
        box = PropagationDomain(one, rows_of(one))
        feasible += exact.point is not None
        if relaxed is None or not box.settle():
            assert exact.point is None
            continue
        diving = LpDiving(one, HeuristicBudget(60.0))
        point = diving.dive(box, relaxed, upwards=upwards)
        diving.close()
        if point is None:
            continue
        checked = verify(one, np.where(one.integer, np.rint(point), point))
        assert checked.feasible, seed
        assert np.abs(point - np.rint(point))[one.integer].max() < 1e-6
        assert exact.objective is not None
        value = one.objectives[0].value(point)
        assert value >= exact.objective - 1e-6
        points += 1
        near += value <= 1.2 * exact.objective
    assert feasible > 15
    assert points >= 0.9 * feasible
    assert near >= 0.7 * points


def test_no_time_is_no_point() -> None:
    one = cover(0)
    relaxed = solve_relaxed(one, backend("highs"), SolveOptions(), None).point
    assert relaxed is not None
    diving = LpDiving(one, HeuristicBudget(0.0))
    assert diving.dive(PropagationDomain(one, rows_of(one)), relaxed, upwards=True) is None
    diving.close()


def test_local_search_begins_at_a_dive() -> None:
    """40 jobs of Gavel: fixing alone is 0.2 % above the optimum, a dive reaches it."""
    model = gs.load(ROOT / "models/capacity_planning/scenarios/gavel_40_jobs.gsm")
    best = model.solve(gap=1e-6).objective
    assert model.solve(backend="search", solver_options={"steps": 1}).objective == pytest.approx(best, rel=1e-6)
