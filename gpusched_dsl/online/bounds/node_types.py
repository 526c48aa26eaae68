"""A bound that knows that a node has one type at a time, where the nodes of a pool may have any type.

Let T[v, b] be the time that nodes have type v in bin b. The shares of nodes that jobs use on this type, times the time
that they use them, add up to at most T[v, b]; and no job runs on this type for longer than T[v, b]:

    sum over jobs j of share[j, v, b] <= T[v, b],    time[j, v, b] <= T[v, b].

For prices y[b] of shares and m[j, v, b] >= 0 of the time of pairs of a job and a type, where the sum M[v, b] of m over
jobs is at most y[b], these rows add up to

    sum of (y[b] - M[v, b]) share[j, v, b] + m[j, v, b] time[j, v, b]  <=  sum over v of y[b] T[v, b].

The right side is at most y[b] times all nodes times the length of b, so jobs that pay the left side together pay at
most what they pay in the relaxation without types (`time_indexed.py`, m = 0), and the bound follows in the same way.
With few jobs it is larger: a job alone on a node pays for all of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.online.bounds.least_schedules import OfBins, least_costs
from gpusched_dsl.online.bounds.priced_jobs import priced_jobs, room_in
from gpusched_dsl.online.bounds.timed_jobs import TimedJobs, undominated

MOST_PRICES = 200_000  # pairs times bins


def by_types(jobs: TimedJobs) -> TimedJobs | None:
    """Return the jobs with a pool for each type that a node can have, each with all nodes; None if types do not matter.

    Types that another one dominates are left out: all jobs could run there instead.
    """
    if len(jobs.capacity) != 1:
        return None
    jobs = jobs.with_ways(np.flatnonzero(_undominated_types(jobs)[jobs.type]))
    _, pool = np.unique(jobs.type, return_inverse=True)
    count = int(pool.max()) + 1
    if count == 1:
        return None
    capacity, node = np.repeat(jobs.capacity, count), np.repeat(jobs.node, count)
    return undominated(replace(jobs, pool=pool, capacity=capacity, node=node))


def pairs_in(jobs: TimedJobs) -> int:
    """Return the number of pairs of a job and a type."""
    return len(np.unique(jobs.owner * len(jobs.capacity) + jobs.pool))


class LagrangianOfTypes:
    """The bound of jobs by types (`by_types`), at prices of shares, (L, B), and of pairs, (K, B), in one array."""

    def __init__(self, jobs: TimedJobs, starts: Floats) -> None:
        types = len(jobs.capacity)
        keys, pair = np.unique(jobs.owner * types + jobs.pool, return_inverse=True)
        self.type_of_pair: Ints = keys % types
        room = room_in(jobs, starts)[:, 0]
        self._has_type = (self.type_of_pair == np.arange(types)[:, None]).astype(np.float64)
        self.limited, self.room = room > 0, room
        per_room = np.divide(1.0, room, out=np.zeros(room.shape), where=self.limited)
        self.scale = np.concatenate((per_room, np.repeat(per_room[:1], len(keys), axis=0)))
        self.jobs, self.size = priced_jobs(jobs, starts, pair)
        self._used = OfBins(np.empty((len(room), types, len(starts))), np.empty((len(keys), len(starts))))

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return the bound at prices, and a subgradient there."""
        measures = len(self.room)
        of_shares, of_pairs, used = prices[:measures], prices[measures:], self._used
        of_pools = np.repeat(of_shares[:, None], used.pools.shape[1], axis=1)
        of_pools[0] -= self._of_types(of_pairs)
        costs = least_costs(self.jobs, OfBins(of_pools, of_pairs), used)
        slopes = (used.pools.sum(axis=1) - self.room, used.pairs - used.pools[0][self.type_of_pair])
        limited: Bools = np.concatenate((self.limited, np.repeat(self.limited[:1], len(of_pairs), axis=0)))
        value = float(costs.sum() - np.vdot(of_shares, self.room))
        return value, np.where(limited, np.concatenate(slopes), 0.0)

    def within(self, prices: Floats) -> Floats:
        """Return prices with more for shares, and less for pairs, where those of a type together cost more than shares.

        As the nearest such prices y' of shares in the sense of least squares, with k prices > 0 of pairs of the type v:
        y' = y + sum over v of max(0, M[v] - y') / k[v], by Newton's method, which ends, as there is a piece for each
        type. Those of pairs are multiplied by a common factor.
        """
        measures = len(self.room)
        of_pairs, most = prices[measures:], prices[0]
        of_type, count = self._of_types(of_pairs), np.maximum(self._of_types((of_pairs > 0).astype(np.float64)), 1.0)
        for _ in of_type:
            is_over = of_type > most
            excess = most - prices[0] - (np.where(is_over, of_type - most, 0.0) / count).sum(axis=0)
            most = most - excess / (1.0 + (is_over / count).sum(axis=0))
        fits = np.divide(most, of_type, out=np.ones(of_type.shape), where=of_type > most)
        return np.concatenate((most[None], prices[1:measures], of_pairs * fits[self.type_of_pair]))

    def _of_types(self, of_pairs: Floats) -> Floats:
        """Return the sums over jobs, (V, B)."""
        found: Floats = self._has_type @ of_pairs
        return found


def _undominated_types(jobs: TimedJobs) -> Bools:
    """Return for each type whether no other one has for each way of a job one with as little time, cost and share."""
    count = int(jobs.type.max()) + 1
    kept = np.bincount(jobs.type, minlength=count) > 0
    for type_ in range(count):
        for other in np.flatnonzero(kept):
            if kept[type_] and other != type_ and _dominates(jobs, int(other), type_):
                kept[type_] = False
    return kept


def _dominates(jobs: TimedJobs, other: int, type_: int) -> bool:
    ways, others = np.flatnonzero(jobs.type == type_), np.flatnonzero(jobs.type == other)
    owner = jobs.owner
    counts = np.bincount(owner[others], minlength=len(jobs.came))
    if (counts[owner[ways]] == 0).any():
        return False
    is_as_good = np.ones((len(ways), len(others)), dtype=np.bool_)
    for column in (jobs.time, jobs.cost, jobs.uses):
        is_as_good &= column[others][None, :] <= column[ways][:, None] * (1 + ROUNDING)
    is_as_good &= owner[others][None, :] == owner[ways][:, None]
    return bool(is_as_good.any(axis=1).all())
