"""Complete runs after one plan with a frozen queue, and the search for a queue whose run costs least.

A frozen queue is an order of the jobs and a list of the ways of each job, and neither changes until the end. At each
arrival and completion all jobs are placed anew by the rules of a policy in this order. So a frozen queue is a schedule:
the spaces of R. H. Storer, S. D. Wu, R. Vaccari, New Search Spaces for Sequencing Problems with Application to Job Shop
Scheduling, Management Science 38, 1992. It is searched by simulated annealing: one job moves to another place of the
queue, or another of its ways becomes the first of its list.

The placement depends on which jobs are present alone, so a run that is planned again, at any event, follows the same
schedule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_at_once, compiled_in_place
from gpusched_dsl.policies.kernels.construct import Lookups, Scratch, begin, place_jobs
from gpusched_dsl.policies.kernels.finishing import finish
from gpusched_dsl.policies.kernels.free_capacity import copy_schedule
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule, Workload

PRESENT, TO_COME, ENDED = 0, 1, 2
TOLERANCE = 1e-9  # of the work of a job, and of a time
FIRST_STEP = 2.0  # mean places that a job moves; the other scales are multiples of it
WARMTH, COOLEST = 0.002, 1e-3  # the first temperature, of the first cost; the last one, of the first
AT_FIRST, NOW, BEST = 0, 1, 2


class FrozenJobs(NamedTuple):
    """J jobs with W ways at the time of a plan. Times are in the unit of the clock, work is in fractions of a job."""

    done: Floats  # (J,)
    ends: Floats  # (J,) the real work
    came: Floats  # (J,) arrival
    due: Floats  # (J,)
    weight: Floats  # (J,) money by time of tardiness
    lasts: Floats  # (W,) real time of the complete job
    full: Floats  # (W,) planned time of the complete job, in the unit of the workload
    rate: Floats  # (W,) money by time
    price: Floats  # (K,) money by time of a node in use; empty where jobs are charged by their own rates


class BestQueue(NamedTuple):
    """The best frozen queue of a search."""

    queue: Ints
    ranked: Ints
    costs: Floats  # (3,) of the first queue, the present one and the best one


@compiled
def follow(
    work: Workload, look: Lookups, lines: Instructions, scratch: Scratch, start: Schedule, plan: Schedule,
    jobs: FrozenJobs, queue: Ints, now: float, rng: np.random.Generator, limit: float, counts_time: bool,
) -> float:  # fmt: skip
    """Return the money of a run from `now` to its end; infinite if jobs wait for ever.

    From `limit` on, it is infinite. `start` has no jobs; `work.time` is overwritten, with the times left. With
    `counts_time`, the sum of the times to the ends of jobs is returned instead of the money.
    """
    count = len(queue)
    done = jobs.done.copy()
    status = np.empty(len(done), np.int64)
    status[:] = ENDED
    near = TOLERANCE * max(1.0, abs(now))
    unfinished = count
    for j in queue:
        status[j] = PRESENT if jobs.came[j] <= now + near else TO_COME
    line = np.empty(count, np.int64)
    money = 0.0
    while unfinished > 0:
        present, arrival = 0, np.inf
        for j in queue:
            if status[j] == PRESENT:
                line[present] = j
                present += 1
                left = min(max(1.0 - done[j], TOLERANCE), 1.0)
                for w in range(work.first_way[j], work.first_way[j + 1]):
                    work.time[w] = jobs.full[w] * left
            elif status[j] == TO_COME:
                arrival = min(arrival, jobs.came[j])
        here = line[:present]
        copy_schedule(start, plan)
        if present > 0:
            begin(work, look, scratch, plan)
            place_jobs(work, look, lines, scratch, plan, here, NONE, 0, len(lines.place), False, rng, None)
            if len(lines.finish) > 0:
                finish(work, look, lines.finish, plan, here, start, None)
        until, paid = arrival, 0.0
        for j in here:
            w = plan.way[j]
            if w != NONE:
                until = min(until, now + max(jobs.ends[j] - done[j], 0.0) * jobs.lasts[w])
                if len(jobs.price) == 0:
                    paid += jobs.rate[w]
        if len(jobs.price) > 0:
            for n in range(len(plan.kind)):
                if plan.jobs[n] > 0:
                    paid += jobs.price[plan.kind[n]]
        if until == np.inf:
            return np.inf
        passed = max(until - now, 0.0)
        money += passed * (float(present) if counts_time else paid)
        now = max(until, now)
        near = TOLERANCE * max(1.0, abs(now))
        for j in here:
            w = plan.way[j]
            if w != NONE:
                done[j] += passed / jobs.lasts[w]
                left = jobs.ends[j] - done[j]
                if left <= TOLERANCE * max(1.0, jobs.ends[j]) or left * jobs.lasts[w] <= near:
                    status[j] = ENDED
                    unfinished -= 1
                    if not counts_time:
                        money += jobs.weight[j] * max(0.0, now - jobs.due[j]) if now > jobs.due[j] else 0.0
        for j in queue:
            if status[j] == TO_COME and jobs.came[j] <= now + near:
                status[j] = PRESENT
        if money >= limit:
            return np.inf
    return money


@compiled_at_once
def anneal(
    work: Workload, look: Lookups, lines: Instructions, scratch: Scratch, start: Schedule, plan: Schedule,
    jobs: FrozenJobs, queue: Ints, now: float, rng: np.random.Generator, best: BestQueue, first: int, stop: int,
    steps: int, counts_time: bool,
) -> None:  # fmt: skip
    """Take the steps `first` to `stop - 1` of a search of so many; how they are cut into calls changes nothing.

    `queue` and `lines.ranked` are the present ones, `best` has the best. A step that costs more is taken with a chance
    that falls with its cost, in units of a temperature: `WARMTH` of the first cost, then less and less.
    """
    ranked, first_way, costs = lines.ranked, work.first_way, best.costs
    count = len(queue)
    if first == 0:
        costs[:] = follow(work, look, lines, scratch, start, plan, jobs, queue, now, rng, np.inf, counts_time)
        best.queue[:] = queue
        best.ranked[:] = ranked
    warmth = WARMTH * costs[AT_FIRST] if costs[AT_FIRST] < np.inf else 0.0
    for step in range(first, stop if count > 0 else first):
        temperature = warmth * COOLEST ** (step / steps)
        limit = costs[NOW] + temperature * -np.log(1.0 - rng.random())
        moves = count > 1 and rng.random() < 0.5
        at = int(rng.random() * count)
        if moves:
            scale = FIRST_STEP * 4.0 ** int(rng.random() * 3.0)
            to = at + int(np.rint(rng.standard_normal() * scale))
            if to == at:
                to = at + 1
            to = min(max(to, 0), count - 1)
            shift(queue, at, to)
        else:
            low, high = first_way[queue[at]], first_way[queue[at] + 1]
            while high > low and ranked[high - 1] == NONE:
                high -= 1
            if high - low < 2:
                continue
            at, to = low + 1 + int(rng.random() * (high - low - 1)), low
            shift(ranked, at, to)
        found = follow(work, look, lines, scratch, start, plan, jobs, queue, now, rng, limit, counts_time)
        if found < np.inf:
            costs[NOW] = found
            if found < costs[BEST]:
                costs[BEST] = found
                best.queue[:] = queue
                best.ranked[:] = ranked
        elif moves:
            shift(queue, to, at)
        else:
            shift(ranked, to, at)


@compiled_in_place
def shift(row: Ints, at: int, to: int) -> None:
    """Move an entry of a row to another place."""
    moved = row[at]
    while at < to:
        row[at] = row[at + 1]
        at += 1
    while at > to:
        row[at] = row[at - 1]
        at -= 1
    row[to] = moved
