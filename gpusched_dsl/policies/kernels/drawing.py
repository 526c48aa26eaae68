"""Many passes with drawn queues, ways and nodes; keeps the best different schedules.

Pass 0 draws nothing. A later one swaps neighbours in the queue from the front to the back, so that a job may drift far;
then every job in its turn draws its way, if it has more than one to draw from, and its node, if there are several.
Schedules are the same if their nodes are, whatever the nodes' numbers: kind, units in use, jobs with their sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.construct import Lookups, Scratch, begin, place_jobs, sum_odds
from gpusched_dsl.policies.kernels.finishing import finish
from gpusched_dsl.policies.kernels.free_capacity import copy_schedule
from gpusched_dsl.policies.kernels.pricing import price
from gpusched_dsl.policies.kernels.row_guard import CLOSES, RowGuard, holds, restart
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule, Workload

_PRIME, _FACTOR = 2_147_483_647, 48_271  # products stay below 2 ** 62


class SchedulePool(NamedTuple):
    """The best different schedules, cheapest first, then the earliest. `pooled_schedule` builds schedules
    of its rows.
    """

    whole: Ints  # (P, 4 J + 4 N + N G) node, way, gpu; kind, used, jobs, opened; spare; chosen
    left: Floats  # (P, N R)
    price: Floats  # (P,)
    digest: Ints  # (P,) equal for schedules that are the same
    found: Ints  # (P,) the pass
    held: Ints  # (1,) how many there are


def make_pool(plan: Schedule, keep: int) -> SchedulePool:
    """An empty pool for `keep` schedules."""
    width = 4 * len(plan.node) + 4 * len(plan.kind) + plan.spare.size
    return SchedulePool(
        np.empty((keep, width), np.int64),
        np.empty((keep, plan.left.size)),
        np.empty(keep),
        np.empty(keep, np.int64),
        np.empty(keep, np.int64),
        np.zeros(1, np.int64),
    )


def pooled_schedule(pool: SchedulePool, at: int, plan: Schedule) -> Schedule:
    """A copy of the schedule at a place of the pool; `plan` lends its shapes."""
    names = ("node", "way", "gpu", "kind", "used", "jobs", "opened", "spare", "chosen")
    shapes = {name: getattr(plan, name).shape for name in names}
    ends = np.cumsum([np.prod(shape, dtype=np.int64) for shape in shapes.values()])
    pieces = np.split(pool.whole[at], ends[:-1])
    arrays = {name: piece.reshape(shape).copy() for (name, shape), piece in zip(shapes.items(), pieces, strict=True)}
    return Schedule(**arrays, left=pool.left[at].reshape(plan.left.shape).copy())


def has_finish(instructions: Instructions) -> bool | None:
    """Return whether there are finishing rules; None if not, for which kernels leave them out."""
    return True if len(instructions.finish) else None


@compiled
def draw_passes(
    work: Workload, look: Lookups, instructions: Instructions, scratch: Scratch, start: Schedule, plan: Schedule,
    pool: SchedulePool, first: int, stop: int, kind_of_price: int, rng: np.random.Generator,
    guard: RowGuard | None = None, finishes: bool | None = True,
) -> None:  # fmt: skip
    """Passes `first` to `stop - 1`, each from `start`; the result does not depend on how passes are cut into calls.

    `finishes` is None where there are no finishing rules: then they are not compiled.
    """
    queue = scratch.queue[: len(instructions.order)]
    sum_odds(work, instructions, scratch)
    for turn in range(first, stop):
        drawing = turn > 0
        copy_schedule(start, plan)
        draw_queue(instructions.order, instructions.swap_chance, queue, drawing, rng)
        begin(work, look, scratch, plan)
        if guard is not None:
            restart(guard)
        place_jobs(
            work, look, instructions, scratch, plan, queue, NONE, 0, len(instructions.place), drawing, rng, guard
        )
        if finishes is not None:
            finish(work, look, instructions.finish, plan, queue, start, guard)
        cost = price(work, plan, kind_of_price)
        if guard is not None and guard.ints[CLOSES] == 1 and not holds(guard, plan.node, plan.way):
            cost = np.inf  # a row demands a job that does not run
        keep(work, pool, plan, cost, turn)


@compiled_in_place
def draw_queue(order: Ints, swap_chance: Floats, queue: Ints, drawing: bool, rng: np.random.Generator) -> None:
    """The queue of a pass: that of the policy, neighbours swapped with the chance of the one in front."""
    for at in range(len(order)):
        queue[at] = order[at]
    if drawing:
        for at in range(len(queue) - 1):
            chance = swap_chance[queue[at]]
            if chance > 0 and rng.random() < chance:
                queue[at], queue[at + 1] = queue[at + 1], queue[at]


@compiled
def keep(work: Workload, pool: SchedulePool, plan: Schedule, cost: float, turn: int) -> bool:
    """Put a schedule into the pool if it is new and good enough."""
    whole, prices, digests, found = pool.whole, pool.price, pool.digest, pool.found
    size, held = len(prices), pool.held[0]
    if held == size and not cost < prices[size - 1]:
        return False
    jobs, nodes, gpus, rest = len(plan.node), len(plan.kind), plan.spare.shape[1], plan.left.shape[1]
    mark = digest(work.form, plan.node, plan.way, plan.kind, plan.used, plan.jobs)
    for at in range(held):
        if digests[at] == mark and is_same(work.form, plan.node, plan.way, plan.kind, plan.used, whole[at]):
            return False
    at = min(held, size - 1)
    while at > 0 and prices[at - 1] > cost:
        prices[at], digests[at], found[at] = prices[at - 1], digests[at - 1], found[at - 1]
        for place in range(whole.shape[1]):
            whole[at, place] = whole[at - 1, place]
        for place in range(pool.left.shape[1]):
            pool.left[at, place] = pool.left[at - 1, place]
        at -= 1
    prices[at], digests[at], found[at] = cost, mark, turn
    for j in range(jobs):
        whole[at, j] = plan.node[j]
        whole[at, jobs + j] = plan.way[j]
        whole[at, 2 * jobs + j] = plan.gpu[j]
        whole[at, whole.shape[1] - jobs + j] = plan.chosen[j]
    first = 3 * jobs
    for n in range(nodes):
        whole[at, first + n] = plan.kind[n]
        whole[at, first + nodes + n] = plan.used[n]
        whole[at, first + 2 * nodes + n] = plan.jobs[n]
        whole[at, first + 3 * nodes + n] = plan.opened[n]
        for gpu in range(gpus):
            whole[at, first + 4 * nodes + n * gpus + gpu] = plan.spare[n, gpu]
        for r in range(rest):
            pool.left[at, n * rest + r] = plan.left[n, r]
    pool.held[0] = min(held + 1, size)
    return True


@compiled
def digest(form: Ints, node: Ints, way: Ints, kind: Ints, used: Ints, jobs: Ints) -> int:
    """A number that schedules which are the same share, and others most likely do not."""
    tenants = np.zeros(len(kind), np.int64)
    for j in range(len(node)):
        if node[j] != NONE:
            tenants[node[j]] += _mix(j * 1_009 + form[way[j]])
    total = 0
    for n in range(len(kind)):
        if jobs[n] > 0:
            total += _mix(_mix(tenants[n]) + 7_919 * kind[n] + used[n])
    return int(total % _PRIME)


@compiled_in_place
def _mix(number: int) -> int:
    number = number % _PRIME
    number = (number * number + _FACTOR * number + 12_345) % _PRIME
    return (number * _FACTOR) % _PRIME


@compiled
def is_same(form: Ints, node: Ints, way: Ints, kind: Ints, used: Ints, row: Ints) -> bool:
    """Whether a schedule differs from a row of the pool only in the numbers of nodes."""
    jobs, nodes = len(node), len(kind)
    match = np.full(nodes, NONE)
    back = np.full(nodes, NONE)
    for j in range(jobs):
        n, m = node[j], row[j]
        if n == NONE or m == NONE:
            if n != m:
                return False
            continue
        if form[way[j]] != form[row[jobs + j]]:
            return False
        if match[n] == NONE and back[m] == NONE:
            if kind[n] != row[3 * jobs + m] or used[n] != row[3 * jobs + nodes + m]:
                return False
            match[n], back[m] = m, n
        elif match[n] != m or back[m] != n:
            return False
    return True
