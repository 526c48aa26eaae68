"""The jobs of a time-indexed bound, and their ways to run that can matter in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.ir.arrays import Floats, Ints

MOST_PAIRS = 1 << 22  # pairs of ways of one job that are compared


@dataclass(frozen=True, slots=True)
class TimedJobs:
    """J jobs; job j has the ways `first[j]` to `first[j + 1]`. `cost` is of the complete job in each way."""

    first: Ints  # (J + 1,)
    time: Floats  # (W,)
    cost: Floats  # (W,)
    uses: Floats  # (W,) of the pool
    pool: Ints  # (W,)
    capacity: Floats  # (P,)
    came: Floats  # (J,)
    due: Floats  # (J,) infinite: never
    weight: Floats  # (J,) money by time of tardiness

    @property
    def owner(self) -> Ints:
        return np.repeat(np.arange(len(self.came)), np.diff(self.first))

    def best(self, by: Floats) -> Ints:
        """Return the way of each job with the least of these values of ways."""
        found: Ints = np.lexsort((by, self.owner))[self.first[:-1]]
        return found

    def levels(self, count: int) -> Floats:
        """Return `count` of the times of each job, from its least to its largest, shape (J, count)."""
        ordered = self.time[np.lexsort((self.time, self.owner))]
        places = np.rint(np.outer(np.diff(self.first) - 1, np.linspace(0.0, 1.0, count))).astype(np.int64)
        found: Floats = ordered[self.first[:-1, None] + places]
        return found


def undominated(jobs: TimedJobs) -> TimedJobs:
    """Return the jobs without ways that another way of the same job and pool dominates in time, cost and work.

    The work is the use of the pool times the time. In the relaxation the other way does the same fraction of a job and
    needs no more of anything. Jobs with very many ways keep all of them, which only takes longer.
    """
    counts, owner = np.diff(jobs.first), jobs.owner
    if int((counts**2).sum()) > MOST_PAIRS:
        return jobs
    own = np.repeat(np.arange(len(owner)), counts[owner])
    other = np.repeat(jobs.first[:-1][owner], counts[owner]) + ranges(counts[owner])
    table = (jobs.time, jobs.cost, jobs.uses * jobs.time)
    is_as_good = (jobs.pool[own] == jobs.pool[other]) & np.logical_and.reduce([c[other] <= c[own] for c in table])
    is_better = is_as_good & (np.logical_or.reduce([c[other] < c[own] for c in table]) | (other < own))
    kept = np.ones(len(owner), dtype=np.bool_)
    kept[own[is_better]] = False
    left = np.flatnonzero(kept)
    first = np.append(0, np.cumsum(np.bincount(owner[left], minlength=len(counts))))
    return replace(
        jobs, first=first, time=jobs.time[left], cost=jobs.cost[left], uses=jobs.uses[left], pool=jobs.pool[left]
    )
