"""The event loop of the comparison: a decision at every arrival and at the first completion after each decision.

Pre-emption and migration cost nothing; progress is a fraction of a job, wherever it was made. Over a step a node in use
costs its whole VM, and a job that ends late its weight for every second.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.gpuspb.instance import Instance
from benchmarks.gpuspb.methods import Method, instructions_of, workload_of
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.controlled_search import run
from gpusched_dsl.policies.workload import NONE, Schedule, Workload, empty_schedule

DONE = 1e-9  # of a job: less left to do is nothing


@dataclass(frozen=True)
class Bill:
    """What a run cost in dollars, how many decisions it took and how long they took in all."""

    rent: float
    tardiness: float
    events: int
    most_jobs: int
    cpu_seconds: float

    @property
    def total(self) -> float:
        return self.rent + self.tardiness


def simulate(instance: Instance, method: Method, seed: int = 1) -> Bill:
    """Run all jobs of an instance to their end by one method."""
    jobs = len(instance.submitted)
    left = np.ones(jobs)
    node = np.full(jobs, NONE)
    column = np.full(jobs, NONE)
    now, arrived, rent, tardiness, events, most, cpu = 0.0, 0, 0.0, 0.0, 0, 0, 0.0
    while True:
        while arrived < jobs and instance.submitted[arrived] <= now + 1e-6:
            arrived += 1
        here = np.flatnonzero(left[:arrived] > DONE)
        if not len(here):
            if arrived == jobs:
                return Bill(rent, tardiness, events, most, cpu)
            now = float(instance.submitted[arrived])
            continue
        most = max(most, len(here))
        before = time.process_time()
        work = workload_of(instance, method, here, left[here], now)
        instructions = instructions_of(instance, method, work, here)
        initial = None if method.preemptive else _running(work, node[here], column[here])
        plan = run(work, instructions, method.settings, [seed, events], initial).schedule
        cpu += time.process_time() - before
        events += 1
        node[:], column[:] = NONE, NONE
        node[here], column[here] = plan.node, np.where(plan.way >= 0, plan.way % len(instance.way_kind), NONE)
        running = np.flatnonzero(plan.way >= 0)
        lasts = work.time[plan.way[running]]
        step = lasts.min(initial=np.inf)
        if arrived < jobs:
            step = min(step, float(instance.submitted[arrived]) - now)
        if not np.isfinite(step):
            raise ValueError("nothing runs, and nothing will arrive")
        rent += step * float(instance.price[plan.kind[plan.jobs > 0]].sum())
        now += step
        ran = here[running]
        left[ran] *= 1.0 - step / lasts
        ended = ran[(left[ran] <= DONE) | (lasts - step <= 1e-6)]
        left[ended], node[ended] = 0.0, NONE
        tardiness += float((instance.weight[ended] * np.maximum(0.0, now - instance.deadline[ended])).sum())


def _running(work: Workload, node: Ints, column: Ints) -> Schedule:
    """The schedule that goes on: the jobs that run, where and how they do."""
    plan = empty_schedule(work)
    ways = len(work.job) // len(work.due)
    for turn, j in enumerate(np.flatnonzero(node >= 0).tolist()):
        n, way = node[j], j * ways + column[j]
        plan.node[j], plan.way[j] = n, way
        plan.kind[n], plan.opened[n] = work.kind[way], turn
        plan.left[n] = work.room[work.kind[way]]
        plan.used[n] += work.size[way]
        plan.jobs[n] += 1
    return plan
