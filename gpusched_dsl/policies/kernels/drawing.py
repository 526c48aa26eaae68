"""Many passes with drawn queues, ways and nodes, of which the best different schedules are kept.

Pass 0 draws nothing. A later one swaps neighbours in the queue from the front to the back, so that a job may drift far;
then every job in its turn draws its way, if it has more than one to draw from, and its node, if there are several.
Schedules are the same if their nodes are, whatever the nodes' numbers: kind, units in use, jobs with their sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.construct import Lookups, Scratch, construct
from gpusched_dsl.policies.kernels.finishing import finish
from gpusched_dsl.policies.kernels.pricing import price
from gpusched_dsl.policies.kernels.rooms import copy_schedule
from gpusched_dsl.policies.workload import NONE, Floats, Instructions, Ints, Schedule, Workload

_PRIME, _FACTOR = 2_147_483_647, 48_271  # products stay below 2 ** 62


class Pool(NamedTuple):
    """The best different schedules so far, cheapest first, then the earliest: arrays of `Schedule`, one more axis."""

    node: Ints  # (P, J)
    way: Ints
    gpu: Ints
    kind: Ints  # (P, N)
    used: Ints
    jobs: Ints
    opened: Ints
    left: Floats  # (P, N, R)
    spare: Ints  # (P, N, G)
    price: Floats  # (P,)
    digest: Ints  # (P,) equal for schedules that are the same
    found: Ints  # (P,) the pass
    held: Ints  # (1,) how many there are


@compiled
def make_pool(plan: Schedule, keep: int) -> Pool:
    """An empty pool for `keep` schedules."""
    jobs, nodes = len(plan.node), len(plan.kind)
    return Pool(
        np.empty((keep, jobs), np.int64),
        np.empty((keep, jobs), np.int64),
        np.empty((keep, jobs), np.int64),
        np.empty((keep, nodes), np.int64),
        np.empty((keep, nodes), np.int64),
        np.empty((keep, nodes), np.int64),
        np.empty((keep, nodes), np.int64),
        np.empty((keep, nodes, plan.left.shape[1])),
        np.empty((keep, nodes, plan.spare.shape[1]), np.int64),
        np.empty(keep),
        np.empty(keep, np.int64),
        np.empty(keep, np.int64),
        np.zeros(1, np.int64),
    )


@compiled
def pooled(pool: Pool, at: int) -> Schedule:
    """The schedule at a place of the pool; its arrays are the pool's."""
    return Schedule(
        pool.node[at],
        pool.way[at],
        pool.gpu[at],
        pool.kind[at],
        pool.used[at],
        pool.jobs[at],
        pool.opened[at],
        pool.left[at],
        pool.spare[at],
    )


@compiled
def randomised(
    work: Workload, look: Lookups, instructions: Instructions, scratch: Scratch, start: Schedule, plan: Schedule,
    pool: Pool, first: int, stop: int, kind_of_price: int, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Passes `first` to `stop - 1`, each from `start`; the result does not depend on how passes are cut into calls."""
    queue = scratch.queue[: len(instructions.order)]
    for turn in range(first, stop):
        copy_schedule(start, plan)
        draw_queue(instructions, queue, turn > 0, rng)
        construct(work, look, instructions, scratch, plan, queue, turn > 0, rng)
        finish(work, look, instructions.finish, plan, queue, start)
        keep(work, pool, plan, price(work, plan, kind_of_price), turn)


@compiled
def draw_queue(instructions: Instructions, queue: Ints, drawing: bool, rng: np.random.Generator) -> None:
    """The queue of a pass: that of the policy, neighbours swapped with the chance of the one in front."""
    queue[:] = instructions.order
    if not drawing:
        return
    for at in range(len(queue) - 1):
        chance = instructions.swap_chance[queue[at]]
        if chance > 0 and rng.random() < chance:
            queue[at], queue[at + 1] = queue[at + 1], queue[at]


@compiled
def keep(work: Workload, pool: Pool, plan: Schedule, cost: float, turn: int) -> bool:
    """Put a schedule into the pool if it is new and good enough."""
    size, count = len(pool.price), pool.held[0]
    if count == size and not cost < pool.price[size - 1]:
        return False
    mark = digest(work, plan)
    for at in range(count):
        if pool.digest[at] == mark and are_same(work, pooled(pool, at), plan):
            return False
    at = min(count, size - 1)
    while at > 0 and pool.price[at - 1] > cost:
        copy_schedule(pooled(pool, at - 1), pooled(pool, at))
        pool.price[at], pool.digest[at], pool.found[at] = pool.price[at - 1], pool.digest[at - 1], pool.found[at - 1]
        at -= 1
    copy_schedule(plan, pooled(pool, at))
    pool.price[at], pool.digest[at], pool.found[at] = cost, mark, turn
    pool.held[0] = min(count + 1, size)
    return True


@compiled
def digest(work: Workload, plan: Schedule) -> int:
    """A number that schedules which are the same share, and others most likely do not."""
    tenants = np.zeros(len(plan.kind), np.int64)
    for j in range(len(plan.node)):
        if plan.node[j] != NONE:
            tenants[plan.node[j]] += _mix(j * 1_009 + work.size[plan.way[j]])
    total = 0
    for n in range(len(plan.kind)):
        if plan.jobs[n] > 0:
            total += _mix(_mix(tenants[n]) + 7_919 * plan.kind[n] + plan.used[n])
    return total % _PRIME


@compiled
def _mix(number: int) -> int:
    number = number % _PRIME
    number = (number * number + _FACTOR * number + 12_345) % _PRIME
    return (number * _FACTOR) % _PRIME


@compiled
def are_same(work: Workload, one: Schedule, other: Schedule) -> bool:
    """Whether two schedules differ in the numbers of nodes alone."""
    match = np.full(len(one.kind), NONE)
    back = np.full(len(one.kind), NONE)
    for j in range(len(one.node)):
        n, m = one.node[j], other.node[j]
        if n == NONE or m == NONE:
            if n != m:
                return False
            continue
        if work.size[one.way[j]] != work.size[other.way[j]]:
            return False
        if match[n] == NONE and back[m] == NONE:
            if one.kind[n] != other.kind[m] or one.used[n] != other.used[m]:
                return False
            match[n], back[m] = m, n
        elif match[n] != m or back[m] != n:
            return False
    return True
