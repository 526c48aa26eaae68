"""The arrays of relaxations over time: jobs as `least_costs` takes them, and the room in bins."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.bounds.least_schedules import PricedJobs
from gpusched_dsl.online.bounds.timed_jobs import TimedJobs


def room_in(jobs: TimedJobs, starts: Floats) -> Floats:
    """Return how much of each pool there is in each bin, times its length: (measures, pools, bins); 0: no limit."""
    lengths = np.diff(starts, append=np.inf)
    with np.errstate(invalid="ignore"):
        room = np.array([most[:, None] * lengths for _, most in jobs.loads])
    return np.where(np.isfinite(room) & (room > 0), room, 0.0)


def priced_jobs(jobs: TimedJobs, starts: Floats, pair: Ints) -> tuple[PricedJobs, float]:
    """Return the jobs for `least_costs`, and the order of magnitude of what they cost."""
    counts = np.isfinite(jobs.due) & (jobs.weight > 0)
    loads = np.array([load for load, _ in jobs.loads])
    weight = np.where(counts, jobs.weight, 0.0)
    size = float(jobs.cost[jobs.best(jobs.cost)].sum() + weight @ jobs.time[jobs.best(jobs.time)])
    return PricedJobs(
        jobs.first, jobs.time, jobs.cost, jobs.pool, pair, loads, jobs.came, jobs.due, weight, starts
    ), size
