"""Speed ladders of many jobs at once, filtered to the rungs that an optimal profile can use.

Source: Filippini et al., A Stochastic Approach for Scheduling AI Training Jobs in GPU-based Systems (2024), section 5,
with the filter that makes it right for any set of rungs: idle power, fractions of a GPU, speeds that are not concave.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.language.deprecation import warn_deprecated

# Costs and slopes that differ relatively by less are equal: a rung that saves nothing but rounding is dropped.
EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Ladders:
    """One ladder per row: `counts[p]` rungs from slow to fast, then repetitions of the last one.

    `speed` is work per time, `rate` cost per time, `cost` cost per unit of work (rate / speed), `rung` the column each
    came from before the filter; all have the shape (ladders, rungs). With Q = cost and r = 1 / speed (time of a unit
    of work), Q and the price of time saved, `time_price[k]` = (Q[k+1] - Q[k]) / (r[k] - r[k+1]), increase strictly
    along a ladder.
    """

    speed: Floats
    rate: Floats
    cost: Floats
    rung: Codes
    counts: Codes

    @property
    def size(self) -> int:
        return len(self.counts)

    @cached_property
    def pace(self) -> Floats:
        """Time per unit of work."""
        return np.asarray(1.0 / self.speed)

    @cached_property
    def pace_gain(self) -> Floats:
        """Return the time saved per unit of work from each rung to the next, S; 0 after the last."""
        return np.asarray(self.pace[:, :-1] - self.pace[:, 1:])

    @cached_property
    def cost_gain(self) -> Floats:
        """Return the additional cost of each next rung per unit of work; 0 after the last."""
        return np.asarray(self.cost[:, 1:] - self.cost[:, :-1])

    @cached_property
    def time_price(self) -> Floats:
        """Return the price of time saved from each rung to the next, increasing; infinite after the last."""
        real = self.pace_gain > 0
        return np.where(real, self.cost_gain / np.where(real, self.pace_gain, 1.0), np.inf)

    def take(self, rows: Codes) -> Ladders:
        return Ladders(self.speed[rows], self.rate[rows], self.cost[rows], self.rung[rows], self.counts[rows])


def filter_levels(speed: ArrayLike, rate: ArrayLike) -> Ladders:
    """The ladders of all rows of `speed` and `rate` (shape (ladders, rungs), any order; NaN: no rung).

    Dropped are rungs that a faster one does not cost more per unit of work than, and those on or above the segment
    between two others in the plane of time and cost per unit of work: mixing these two is as good. No optimal value is
    lost. Raises ValueError where a row has no rung or a number cannot be.
    """
    speed, rate = np.atleast_2d(np.asarray(speed, dtype=np.float64)), np.atleast_2d(np.asarray(rate, dtype=np.float64))
    there = ~(np.isnan(speed) | np.isnan(rate))
    if not there.any(axis=1).all():
        raise ValueError("a ladder without a rung")
    if not (np.isfinite(speed) & np.isfinite(rate) & (speed > 0) & (rate >= 0))[there].all():
        raise ValueError("speeds must be positive and rates nonnegative")
    rung, counts = _along_the_hull(np.where(there, speed, np.nan), rate)
    speed, rate = (np.take_along_axis(a, rung, axis=1) for a in (speed, rate))
    return Ladders(speed, rate, rate / speed, rung, counts)


def __getattr__(name: str) -> Any:
    """The former name of `filter_levels`."""
    if name == "filtered":
        warn_deprecated("filtered", "filter_levels", since="0.1")
        return filter_levels
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _along_the_hull(speed: Floats, rate: Floats) -> tuple[Codes, Codes]:
    """From the rung that costs least per unit of work, always to the faster one at the lowest price of time saved."""
    pace = 1.0 / speed
    cost = rate * pace
    every = np.arange(len(speed))
    pace = np.where(np.isnan(pace), np.inf, pace)  # no rung is never faster
    here = _fastest_of_least(np.where(np.isnan(cost), np.inf, cost), pace)
    path = [here]
    counts = np.ones(len(speed), dtype=np.int64)
    while True:
        saved = pace[every, here][:, None] - pace
        faster = saved > 0
        price = np.where(faster, (cost - cost[every, here][:, None]) / np.where(faster, saved, 1.0), np.inf)
        on = faster.any(axis=1)
        if not on.any():
            return np.stack(path, axis=1), counts
        here = np.where(on, _fastest_of_least(price, pace), here)
        path.append(here)
        counts += on


def _fastest_of_least(values: Floats, pace: Floats) -> Codes:
    """In each row the place of the least value; of equal ones, that of the fastest rung."""
    least = values.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        tied = values <= least + EQUAL * np.abs(least)
    return np.asarray(np.where(tied, pace, np.inf).argmin(axis=1))
