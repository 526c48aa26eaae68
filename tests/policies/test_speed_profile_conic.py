"""Random single-job problems against the convex forms of smooth laws, solved by conic solvers."""

from __future__ import annotations

import numpy as np
import pytest
from conic import ConicProfile
from instances import LIMIT, Instance, random_ladder

from gpusched_dsl.ir.distributions import Distribution, Exponential, survival_points, uniform
from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import speed_profiles


def random_law(rng: np.random.Generator, kind: str) -> Distribution:
    mean = rng.uniform(20, 60)
    points = np.array([0.0, *np.sort(rng.uniform(5, 95, 3)), LIMIT])
    made: dict[str, Distribution] = {
        "uniform": uniform(float(rng.uniform(0, 30)), LIMIT),
        "truncated": Exponential(mean).truncate(high=LIMIT),
        "censored": Exponential(mean).censor(LIMIT),
        "points": survival_points(points, np.array([1.0, *np.sort(rng.uniform(0.05, 1, 4))[::-1]])),
    }
    return made[kind]


def agree(seed: int, kind: str, count: int) -> None:
    rng = np.random.default_rng(seed)
    cases = []
    for _ in range(count):
        speed, rate = random_ladder(rng, int(rng.integers(3, 8)))
        left = LIMIT / speed.max() + (LIMIT / speed.min() - LIMIT / speed.max()) * rng.uniform(0.05, 0.95)
        cases.append(Instance(speed, rate, random_law(rng, kind), 0.0, left))
    for case in cases:
        ladders = filter_levels(case.speed, case.rate)
        found = speed_profiles(ladders, [case.law], case.left, LIMIT)
        count = int(ladders.counts[0])
        if count > 1:
            model = ConicProfile(case.law, count)
            energy = model.solve(ladders.speed[0], ladders.rate[0], case.left, LIMIT)
            assert found.energy[0] == pytest.approx(energy, rel=1e-6)


@pytest.mark.parametrize("kind", ["uniform", "truncated", "censored", "points"])
def test_energies_are_those_of_conic_solvers(kind: str) -> None:
    agree(1, kind, 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uniform", "truncated", "censored", "points"])
def test_energies_are_those_of_conic_solvers_on_hundreds(kind: str) -> None:
    agree(2, kind, 250)
