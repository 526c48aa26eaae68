"""A lower bound on the cost of a run by any method: each job on its own, at prices of the capacity of the cluster.

Time is cut into bins, the last one without end. In bin b, the jobs of a run together use at most C[p] times the length
of b of pool p (nodes of one kind), for every measure of use: GPUs, and shares of nodes rounded by functions f
(`rounded_shares`) such that the rounded shares of the jobs on a node add up to at most 1; so for instance no two jobs
that need more than half of a node each run there together. Let every job pay a price y[l, p, b] >= 0 for its use by
measure l, in addition to its cost. Together the jobs of a run pay at most sum of y C[p] length of b more than the run
costs. So for any prices

    sum over jobs of the least cost of a schedule of this job by itself at these prices  -  sum of y C[p] length of b

is a lower bound on the cost of every run, with any halts, moves and waiting: the Lagrangian relaxation of the capacity
(M. L. Fisher, Optimal Solution of Scheduling Problems Using Lagrange Multipliers: Part I, Operations Research 21,
1973). The least cost by itself is exact but for the time within a bin (`least_schedules.py`): a job that completes in
bin k is late by at least start of k - due + its running time in k.

Prices are raised where schedules use more than there is, and lowered elsewhere (`subgradient.py`). At the best ones the
bound is the optimum of the linear relaxation in which each job mixes complete schedules. A relaxation by fractions of
work is weaker, as it charges only the late fraction of a job for tardiness.

With costs 0, due times equal to arrivals and weights 1 / jobs this bounds the mean completion time.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.online.bounds.least_schedules import OfBins, least_costs
from gpusched_dsl.online.bounds.node_types import MOST_PRICES, LagrangianOfTypes, by_types, pairs_in
from gpusched_dsl.online.bounds.priced_jobs import priced_jobs, room_in
from gpusched_dsl.online.bounds.subgradient import largest_value
from gpusched_dsl.online.bounds.timed_jobs import TimedJobs, possible, undominated
from gpusched_dsl.policies.decide import Stop
from gpusched_dsl.policies.search import never

MOST_COLUMNS = 500_000  # ways times bins
BINS = (6, 256)  # the fewest and the most


def time_indexed_bound(jobs: TimedJobs, is_stopped: Stop = never) -> float | None:
    """The bound; None without jobs, or if there are too many ways. `is_stopped` ends the search for better prices."""
    usable = possible(jobs)
    jobs = undominated(usable)
    ways = len(jobs.time)
    count = min(BINS[1], MOST_COLUMNS // max(ways, 1))
    if not ways or count < BINS[0]:
        return None
    starts = bins_of(jobs, count)
    lagrangian = Lagrangian(jobs, starts)
    bound = largest_value(lagrangian.at, lagrangian.scale, lagrangian.size, is_stopped)
    typed = by_types(usable)
    if typed is not None and len(starts) * pairs_in(typed) <= MOST_PRICES:
        of_types = LagrangianOfTypes(typed, starts)
        bound = max(bound, largest_value(of_types.at, of_types.scale, of_types.size, is_stopped, of_types.within))
    return bound


class Lagrangian:
    """The bound at any prices of capacity, shape (measures, pools, bins)."""

    def __init__(self, jobs: TimedJobs, starts: Floats) -> None:
        self.room = room_in(jobs, starts)
        self.limited = self.room > 0
        self.scale = np.divide(1.0, self.room, out=np.zeros(self.room.shape), where=self.limited)
        self.jobs, self.size = priced_jobs(jobs, starts, np.zeros(len(jobs.time), dtype=np.int64))
        self._of_pairs = np.zeros((1, len(starts)))
        self._used = OfBins(np.empty(self.room.shape), np.empty((1, len(starts))))

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return the bound at prices >= 0, which are 0 where capacity is unlimited, and a subgradient there."""
        costs = least_costs(self.jobs, OfBins(prices, self._of_pairs), self._used)
        value = float(costs.sum() - np.vdot(prices, self.room))
        return value, np.where(self.limited, self._used.pools - self.room, 0.0)


def bins_of(jobs: TimedJobs, count: int) -> Floats:
    """The starts of at most `count` bins: at equal distances up to about the end of all work, and at events.

    The work is the least, or that of the cheapest ways if it is more.
    """
    shortest, begin = jobs.time[jobs.best(jobs.time)], float(jobs.came.min())
    lengths = []
    for load, most in jobs.loads:
        work = jobs.time * load
        amounts = [float(work[jobs.best(by)].sum()) for by in (work, jobs.cost)]
        lengths.append(max(amounts) / max(float(most.sum()), 1e-300))
    end = max(float((jobs.came + shortest).max()), begin + max(lengths))
    events = np.concatenate((jobs.came, jobs.due[np.isfinite(jobs.due)]))
    events = np.sort(events[(events > begin) & (events < end)])
    half = count // 2
    picked = events[np.linspace(0, len(events) - 1, min(half, len(events))).astype(np.int64)] if len(events) else events
    return np.unique(np.concatenate((np.linspace(begin, end, count - len(picked)), picked)))
