"""Products with a factor that rows make superfluous."""

from __future__ import annotations

import numpy as np
from brute import feasible_points
from one_kind_problems import linked_products

from gpusched_dsl.compiling.passes.implied_factors import Implications
from gpusched_dsl.compiling.work_budget import WorkBudget


def test_facts_hold_at_every_point() -> None:
    rng, found = np.random.default_rng(3), 0
    for _ in range(15):
        problem = linked_products(rng)
        points = feasible_points(problem)
        implications = Implications(problem, np.ones(problem.columns, dtype=np.bool_))
        first, second = (a.ravel() for a in np.meshgrid(np.arange(4), np.arange(6)))
        for value in (0, 1):
            for y, other in np.stack((first, second))[
                :, implications.forces(first, second, value, WorkBudget(10**9))
            ].T:
                if y != other and len(points):
                    found += 1
                    assert (points[points[:, y] == value, other] == 0).all()
    assert found > 20
