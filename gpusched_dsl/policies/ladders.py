"""Speed ladders of many jobs at once, filtered to the rungs that an optimal profile can use.

Source: Filippini et al., A Stochastic Approach for Scheduling AI Training Jobs in GPU-based Systems (2024), section 5,
with the filter that makes it right for any set of rungs: idle power, fractions of a GPU, speeds that are not concave.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.matrix import Floats

# Costs and slopes that differ relatively by less are equal: a rung that saves nothing but rounding is dropped.
EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Ladders:
    """One ladder per row: `counts[p]` rungs from slow to fast, then repetitions of the last one.

    `speed` is work per time, `rate` cost per time, `rung` the column each came from before the filter; all have the
    shape (ladders, rungs). With Q = rate / speed (cost of a unit of work) and r = 1 / speed (its time), Q and the
    price of time saved, `time_price[k]` = (Q[k+1] - Q[k]) / (r[k] - r[k+1]), increase strictly along a ladder.
    """

    speed: Floats
    rate: Floats
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
    def cost(self) -> Floats:
        """Cost per unit of work, Q."""
        return np.asarray(self.rate / self.speed)

    @cached_property
    def pace_gain(self) -> Floats:
        """Time saved per unit of work from each rung to the next, S; 0 behind the last."""
        return np.asarray(self.pace[:, :-1] - self.pace[:, 1:])

    @cached_property
    def cost_gain(self) -> Floats:
        """What each next rung costs more per unit of work; 0 behind the last."""
        return np.asarray(self.cost[:, 1:] - self.cost[:, :-1])

    @cached_property
    def time_price(self) -> Floats:
        """The price of time saved from each rung to the next, increasing; infinite behind the last."""
        real = self.pace_gain > 0
        return np.where(real, self.cost_gain / np.where(real, self.pace_gain, 1.0), np.inf)

    def take(self, rows: Codes) -> Ladders:
        return Ladders(self.speed[rows], self.rate[rows], self.rung[rows], self.counts[rows])


def filtered(speed: ArrayLike, rate: ArrayLike, allowed: ArrayLike | None = None) -> Ladders:
    """The ladders of all rows of `speed` and `rate` (shape (ladders, rungs), any order; NaN: no rung).

    Dropped are rungs that are not `allowed`, those that a faster one does not cost more per unit of work than, and
    those on or above the segment between two others in the plane of time and cost per unit of work: mixing these
    two is as good. No optimal value is lost. Raises ValueError where a row has no rung or a number is not positive.
    """
    speed, rate = np.atleast_2d(np.asarray(speed, dtype=np.float64)), np.atleast_2d(np.asarray(rate, dtype=np.float64))
    there = ~(np.isnan(speed) | np.isnan(rate))
    if allowed is not None:
        there &= np.atleast_2d(np.asarray(allowed, dtype=np.bool_))
    if not there.any(axis=1).all():
        raise ValueError("a ladder without a rung")
    if not (np.isfinite(speed) & np.isfinite(rate) & (speed > 0) & (rate >= 0))[there].all():
        raise ValueError("speeds must be positive and rates not negative")
    order = np.lexsort((np.where(there, rate, np.inf), np.where(there, speed, np.inf)), axis=-1)
    speed, rate, there = (np.take_along_axis(a, order, axis=1) for a in (speed, rate, there))
    kept = _on_hull(speed, rate, _cheapest(speed, rate, there))
    # Kept rungs to the front, then the last of them again.
    front = np.argsort(~kept, axis=1, kind="stable")
    counts = kept.sum(axis=1)
    widest = int(counts.max())
    place = np.take_along_axis(front, np.minimum(np.arange(widest), counts[:, None] - 1), axis=1)
    speed, rate, rung = (np.take_along_axis(a, place, axis=1) for a in (speed, rate, order))
    return Ladders(speed, rate, rung, counts)


def _cheapest(speed: Floats, rate: Floats, there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rungs, sorted by speed and rate, that cost less per unit of work than every faster one."""
    first = there.copy()  # of one speed the cheapest, which stands first
    first[:, 1:] &= speed[:, 1:] != speed[:, :-1]
    cost = np.where(first, rate / np.where(first, speed, 1.0), np.inf)
    none = np.full((len(cost), 1), np.inf)
    behind = np.minimum.accumulate(np.concatenate((cost, none), axis=1)[:, :0:-1], axis=1)[:, ::-1]
    return first & (behind > cost * (1 + EQUAL))


def _on_hull(speed: Floats, rate: Floats, there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rungs below every segment between a slower and a faster one."""
    pace = np.where(there, 1.0 / np.where(there, speed, 1.0), np.nan)
    cost = rate * pace
    width = speed.shape[1]
    slow, fast = np.triu_indices(width, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        price = (cost[:, fast] - cost[:, slow]) / (pace[:, slow] - pace[:, fast])  # of time saved, from rung to rung
    kept = there.copy()
    for rung in range(1, width - 1):
        dearest_before = np.fmax.reduce(price[:, fast == rung], axis=1)
        cheapest_behind = np.fmin.reduce(price[:, slow == rung], axis=1)
        kept[:, rung] &= ~(dearest_before >= cheapest_behind * (1 - EQUAL))  # NaN: an end of the ladder
    return kept
