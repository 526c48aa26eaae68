"""All jobs in one call; `exponential` laws, or seven `mixed` families. Laws are gathered once, when jobs arrive."""

from pathlib import Path

import numpy as np
import scipy.special  # noqa: F401

from benchmarks.child import Lap
from benchmarks.speed_profile.data import LIMIT
from gpusched_dsl.ir.distributions import (
    Distribution,
    Exponential,
    LogNormal,
    Weibull,
    discrete,
    survival_points,
    uniform,
)
from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import ProfileStatus, speed_profiles


def run(folder: Path, lap: Lap, laws: str) -> dict[str, float]:
    given = np.load(folder / "jobs.npz")
    jobs = {name: given[name] for name in given.files}
    made = exponential(jobs["mean"]) if laws == "exponential" else mixed(jobs["mean"])
    lap("read")
    gathered = Laws.of(made)
    lap("gather")
    for name in ("first call", "solve"):
        ladders = filter_levels(jobs["speed"], jobs["rate"])
        found = speed_profiles(ladders, gathered, jobs["left"], LIMIT, jobs["done"], jobs["job"])
        lap(name)
    assert (found.status == ProfileStatus.OK).all()
    return {"profiles": len(found.energy), "energy": float(f"{found.energy.sum():.5g}")}


def exponential(mean: np.ndarray) -> list[Distribution]:
    return [Exponential(m).censor(LIMIT) for m in mean.tolist()]


def mixed(mean: np.ndarray) -> list[Distribution]:
    rng = np.random.default_rng(1)
    made: list[Distribution] = []
    for number, m in enumerate(mean.tolist()):
        points = np.append(np.sort(rng.uniform(20, LIMIT, 19)), LIMIT)
        law: Distribution = (
            uniform(float(rng.uniform(0, 20)), LIMIT),
            Exponential(m),
            Exponential(m).truncate(high=LIMIT),
            Weibull(m, float(rng.uniform(0.8, 3))),
            LogNormal(m, float(rng.uniform(0.3, 1))),
            discrete(np.arange(1.0, LIMIT + 1), rng.random(100)),
            survival_points(points, np.sort(rng.uniform(0.05, 1, 20))[::-1]),
        )[number % 7]
        made.append(law.censor(LIMIT))
    return made
