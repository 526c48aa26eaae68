"""The jobs of a time-indexed bound, and their ways to run that can matter in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.tolerances import ROUNDING

ROUNDINGS = (1, 2, 3)
MOST_PAIRS = 1 << 22  # pairs of ways of one job that are compared


@dataclass(frozen=True, slots=True)
class TimedJobs:
    """J jobs; job j has the ways `first[j]` to `first[j + 1]`. `cost` is of the complete job in each way.

    A pool has equal nodes, each with `node` of its capacity. A way that uses no more than that runs on one of them. Of
    a gang one worker counts. A node has one type at a time, and a job runs only on nodes of the type of its way.
    """

    first: Ints  # (J + 1,)
    time: Floats  # (W,)
    cost: Floats  # (W,)
    uses: Floats  # (W,) of the pool
    pool: Ints  # (W,)
    capacity: Floats  # (P,)
    node: Floats  # (P,)
    came: Floats  # (J,)
    due: Floats  # (J,) infinite: never
    weight: Floats  # (J,) money by time of tardiness
    type: Ints  # (W,) of the node

    @property
    def owner(self) -> Ints:
        return np.repeat(np.arange(len(self.came)), np.diff(self.first))

    def best(self, by: Floats) -> Ints:
        """Return the way of each job with the least of these values of ways."""
        found: Ints = np.lexsort((by, self.owner))[self.first[:-1]]
        return found

    def with_ways(self, ways: Ints) -> TimedJobs:
        """Return the jobs with these ways, in ascending order, alone."""
        first = np.append(0, np.cumsum(np.bincount(self.owner[ways], minlength=len(self.came))))
        time, cost, uses = (column[ways] for column in (self.time, self.cost, self.uses))
        pool, type_ = self.pool[ways], self.type[ways]
        return replace(self, first=first, time=time, cost=cost, uses=uses, pool=pool, type=type_)

    @property
    def share(self) -> Floats:
        """Return the share of a node that each way uses; at most 1, unless it runs on several."""
        node = self.node[self.pool]
        return np.divide(self.uses, node, out=np.zeros(len(node)), where=node > 0)

    @property
    def loads(self) -> list[tuple[Floats, Floats]]:
        """What ways use of the pools, and how much each pool has: GPUs, and rounded shares of nodes.

        Without those that another one implies, as it is at least as much for each way.
        """
        nodes = np.divide(self.capacity, self.node, out=np.zeros(len(self.node)), where=self.node > 0)
        shares, rows = [self.share, *rounded_shares(self.share)], [(self.uses, self.capacity)]
        rows += [(load, nodes) for load in shares[1:]]
        return [rows[at] for at in range(len(rows)) if not _is_implied(at, shares)]


def possible(jobs: TimedJobs) -> TimedJobs:
    """Return the jobs without ways that use more of a pool than it has, where another way is left."""
    fits = jobs.uses <= jobs.capacity[jobs.pool] * (1 + ROUNDING)
    left = np.bincount(jobs.owner[fits], minlength=len(jobs.came))
    return jobs.with_ways(np.flatnonzero(fits | (left == 0)[jobs.owner]))


def undominated(jobs: TimedJobs) -> TimedJobs:
    """Return the jobs without ways that another way of the same job and pool dominates in time, cost and work.

    The work is the use of the pool times the time, also with uses rounded as in `rounded_shares`. In the relaxation the
    other way does the same fraction of a job and needs no more of anything. Jobs with very many ways keep all of them,
    which only takes longer.
    """
    counts, owner = np.diff(jobs.first), jobs.owner
    if int((counts**2).sum()) > MOST_PAIRS:
        return jobs
    own = np.repeat(np.arange(len(owner)), counts[owner])
    other = np.repeat(jobs.first[:-1][owner], counts[owner]) + ranges(counts[owner])
    table = (jobs.time, jobs.cost, *(load * jobs.time for load, _ in jobs.loads))
    is_as_good = (jobs.pool[own] == jobs.pool[other]) & np.logical_and.reduce([c[other] <= c[own] for c in table])
    is_better = is_as_good & (np.logical_or.reduce([c[other] < c[own] for c in table]) | (other < own))
    kept = np.ones(len(owner), dtype=np.bool_)
    kept[own[is_better]] = False
    return jobs.with_ways(np.flatnonzero(kept))


def rounded_shares(share: Floats) -> list[Floats]:
    """Return shares of nodes, rounded such that those of jobs that fit together on one node still add up to at most 1.

    For k = 1, 2, 3: x where (k + 1) x is an integer, else floor((k + 1) x) / k. With k = 1 a job that uses more than
    half of a node needs a node of its own. These are the dual feasible functions of S. P. Fekete and J. Schepers, New
    Classes of Fast Lower Bounds for Bin Packing Problems, Mathematical Programming 91, 2001. A way on several nodes
    counts nothing.
    """
    found = []
    for k in ROUNDINGS:
        times = (k + 1) * share
        exact = np.abs(times - np.rint(times)) <= ROUNDING
        rounded = np.where(exact, share, np.floor(times) / k)
        found.append(np.where(share <= 1 + ROUNDING, rounded, 0.0))
    return found


def _is_implied(at: int, loads: list[Floats]) -> bool:
    """Whether another load is at least as large for each way; of equal ones the first is kept."""
    load = loads[at]
    return any(
        (load <= other + ROUNDING).all() and (place < at or (load < other - ROUNDING).any())
        for place, other in enumerate(loads)
        if place != at
    )
