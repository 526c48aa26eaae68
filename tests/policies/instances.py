"""Random single-job problems, and independent ways to solve and certify them."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.distributions import (
    Distribution,
    Exponential,
    LogNormal,
    Normal,
    Weibull,
    discrete,
    mixture,
    survival_points,
    uniform,
)

LIMIT = 100.0


@dataclass(frozen=True)
class Instance:
    """One job: rungs in any order, the law of its work, what is done, the time left."""

    speed: Floats
    rate: Floats
    law: Distribution
    done: float
    left: float


def random_law(rng: np.random.Generator, kind: str) -> Distribution:
    """A law of some kind, some of them cut off or renormalised at the limit or before it."""
    mean = rng.uniform(15, 80)
    made: dict[str, Distribution] = {
        "uniform": uniform(rng.choice([0.0, rng.uniform(0, 40)]), rng.uniform(50, LIMIT)),
        "exponential": Exponential(mean, rng.choice([0.0, rng.uniform(0, 30)])),
        "weibull": Weibull(mean, rng.uniform(0.6, 4)),
        "lognormal": LogNormal(mean, rng.uniform(0.2, 1.2)),
        "normal": Normal(mean, rng.uniform(5, 20)),
        "mixture": mixture([Weibull(mean, 2.0), Exponential(20.0)], np.array([0.4, 0.6])),
        "discrete": _discrete(rng),
        "points": _points(rng),
    }
    law = made[kind]
    match rng.integers(4):
        case 0:
            return law.truncate(high=LIMIT)
        case 1:
            return law.censor(rng.uniform(70, LIMIT))
        case 2:
            return law.truncate(low=float(rng.uniform(0, min(20.0, law.support[1] / 2))))
    return law


KINDS = ("uniform", "exponential", "weibull", "lognormal", "normal", "mixture", "discrete", "points")


def _discrete(rng: np.random.Generator) -> Distribution:
    count = int(rng.integers(1, 12))
    values = rng.choice(np.arange(1.0, LIMIT + 1), count, replace=False)
    values[0] = rng.choice([LIMIT, 60.0])
    return discrete(values, rng.choice([1.0, 2.0, 3.0], count) if rng.random() < 0.5 else rng.random(count) + 0.01)


def _points(rng: np.random.Generator) -> Distribution:
    """Linear between points, with flat parts and jumps."""
    count = int(rng.integers(2, 9))
    points = np.sort(rng.choice(np.arange(0.0, LIMIT, 5), count)) + rng.choice([0.0, 3.0])
    survival = np.sort(rng.choice(np.linspace(0.05, 1, 12), count))[::-1]
    return survival_points(points, survival)


def random_ladder(rng: np.random.Generator, rungs: int) -> tuple[Floats, Floats]:
    """GPU counts with concave speeds and idle power or rounded prices, or any numbers, in any order."""
    if rng.random() < 0.6:
        count = np.arange(1, rungs + 1)
        speed = rng.uniform(0.5, 2) * count ** rng.uniform(0.5, 1.0)
        rate = np.round(count * rng.uniform(0.5, 4) + rng.choice([0.0, 0.5, 2.0]), int(rng.integers(1, 4)))
    else:
        speed, rate = rng.uniform(0.5, 5, rungs), rng.uniform(0.5, 5, rungs)
    order = rng.permutation(rungs)
    return speed[order], rate[order]


def random_instance(rng: np.random.Generator, kind: str) -> Instance:
    speed, rate = random_ladder(rng, int(rng.integers(2, 9)))
    law = random_law(rng, kind)
    while float(law.survival(np.array(0.0))) < 1e-3:  # no work is left whatever is done
        law = random_law(rng, kind)
    done = float(rng.choice([0.0, rng.uniform(0, 40)]))
    while float(law.survival(np.array(done))) < 1e-3:
        done /= 2
    shortest, longest = (LIMIT - done) / speed.max(), (LIMIT - done) / speed.min()
    return Instance(speed, rate, law, done, float(shortest + (longest - shortest) * rng.uniform(-0.05, 1.0)))


def padded(rows: list[Floats]) -> Floats:
    width = max(map(len, rows))
    return np.array([np.pad(r, (0, width - len(r)), constant_values=np.nan) for r in rows])


def cells(law: Distribution, done: float) -> tuple[Floats, Floats]:
    """Ends of the cells on which the survival of a discrete law given W > done is constant, and its levels there."""
    assert law.atoms is not None
    ends = np.unique(np.append(law.atoms[0][(law.atoms[0] > done) & (law.atoms[0] < LIMIT)], LIMIT))
    starts = np.append(done, ends[:-1])
    return ends, law.survival(starts) / law.survival(np.array(done))


def segment_energy(case: Instance) -> float:
    """The least energy by linear programming: how much of each cell runs on each rung, any rungs; NaN if infeasible."""
    ends, level = cells(case.law, case.done)
    length = np.diff(ends, prepend=case.done)
    count, rungs = len(ends), len(case.speed)
    pace = np.tile(1 / case.speed, count)
    costs = np.outer(level, case.rate / case.speed).ravel()
    columns = np.arange(count * rungs)
    starts = np.append(columns[::rungs], len(columns)).astype(np.int32)
    index = np.concatenate((columns, columns)).astype(np.int32)
    highs = highspy.Highs()
    highs.silent()
    highs.passModel(
        len(columns), count + 1, len(index), int(highspy.MatrixFormat.kRowwise), 1, 0.0, costs,
        np.zeros(len(columns)), np.full(len(columns), np.inf), np.append(length, -np.inf), np.append(length, case.left),
        np.append(starts, len(index)).astype(np.int32), index, np.append(np.ones(len(columns)), pace),
        np.zeros(len(columns), dtype=np.int32),
    )  # fmt: skip
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return float("nan")
    return float(highs.getInfo().objective_function_value)


def upgraded_energy(case: Instance, speed: Floats, rate: Floats) -> float:
    """The least energy by upgrading cells one by one, the cheapest time first, on a filtered ladder."""
    ends, level = cells(case.law, case.done)
    length = np.diff(ends, prepend=case.done)
    cost, pace = rate / speed, 1 / speed
    energy = float(np.sum(level * length) * cost[0])
    missing = float(length.sum() * pace[0] - case.left)
    gain = pace[:-1] - pace[1:]
    price = np.outer(level, np.diff(cost) / gain)
    saving = np.outer(length, gain)
    for at in np.argsort(price, axis=None):
        if missing <= 0:
            break
        saved = min(missing, float(saving.flat[at]))
        energy += saved * float(price.flat[at])
        missing -= saved
    return energy
