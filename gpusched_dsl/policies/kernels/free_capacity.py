"""Free capacity of nodes: whether a node has room for a way, and the rest before and after.

Whole GPUs come from those that are not given out in parts. A part comes from a shared GPU of the node with the least
units left that suffice, the first such; else from a GPU that is shared from now on.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled_in_place, compiled_inline
from gpusched_dsl.policies.workload import NEVER, NONE, Schedule, Workload

_SLACK = 1e-9  # of a capacity: sums of needs are rounded


@compiled_in_place
def has_capacity(needs: Floats, left: Floats, room: Floats, w: int, n: int, k: int) -> bool:
    """Whether the rest of the further capacities of node n, of kind k, suffices for a way."""
    for r in range(needs.shape[1]):  # noqa: SIM110 - a generator is slow where it is compiled
        if needs[w, r] > left[n, r] + _SLACK * abs(room[k, r]):
            return False
    return True


@compiled_in_place
def tightest_gpu(spare: Ints, n: int, size: int) -> int:
    """Return the shared GPU of a node with the fewest free units that fit `size`, NONE if there is none."""
    found, least = NONE, NEVER
    for gpu in range(spare.shape[1]):
        if size <= spare[n, gpu] < least:
            found, least = gpu, spare[n, gpu]
    return found


@compiled_in_place
def has_capacity_when_empty(units: Ints, parts: int, needs: Floats, room: Floats, k: int, size: int, w: int) -> bool:
    """Whether a node of the kind has room for a way while nothing runs on it."""
    if max(size, parts if size < parts else 0) > units[k]:
        return False
    for r in range(needs.shape[1]):  # noqa: SIM110 - as above
        if needs[w, r] > room[k, r] + _SLACK * abs(room[k, r]):
            return False
    return True


@compiled_in_place
def has_room(work: Workload, plan: Schedule, n: int, w: int) -> bool:
    """Whether an open node, of the kind of the way, has room for it."""
    k, size = plan.kind[n], work.size[w]
    free = work.units[k] - plan.used[n]
    if size < work.parts:
        if free < work.parts and tightest_gpu(plan.spare, n, size) == NONE:
            return False
    elif free < size:
        return False
    return has_capacity(work.needs, plan.left, work.room, w, n, k)


@compiled_in_place
def refill(work: Workload, plan: Schedule, n: int, k: int) -> None:
    """The further capacities of an empty node of a kind; NONE: it has none yet."""
    for r in range(work.room.shape[1]):
        plan.left[n, r] = np.inf if k == NONE else work.room[k, r]


@compiled_inline
def put(work: Workload, plan: Schedule, j: int, n: int, w: int, gpu: int, turn: int) -> None:
    """Run a job on a node that has room for it, a part on the shared GPU `gpu`; NONE: on one more shared GPU.

    A node without jobs is opened, with the kind of the way, as the `turn`-th.
    """
    size = work.size[w]
    if plan.jobs[n] == 0:
        if work.node_kind[n] == NONE:
            plan.kind[n] = work.kind[w]
            refill(work, plan, n, work.kind[w])
        plan.opened[n] = turn
    plan.node[j], plan.way[j], plan.chosen[j] = n, w, w
    plan.jobs[n] += 1
    for r in range(work.needs.shape[1]):
        plan.left[n, r] -= work.needs[w, r]
    if size >= work.parts:
        plan.used[n] += size
        return
    if gpu == NONE:
        gpu = 0
        while plan.spare[n, gpu] != NONE:
            gpu += 1
        plan.spare[n, gpu] = work.parts
        plan.used[n] += work.parts
    plan.spare[n, gpu] -= size
    plan.gpu[j] = gpu


@compiled_in_place
def pin(work: Workload, plan: Schedule, jobs: Ints, nodes: Ints, ways: Ints) -> int:
    """Run jobs that run already on their nodes, in the ways given, where there is room; gives how many found room."""
    put_down = 0
    for i in range(len(jobs)):
        n, w = nodes[i], ways[i]
        k, size = work.kind[w], work.size[w]
        if plan.jobs[n] == 0:
            if not has_capacity_when_empty(work.units, work.parts, work.needs, work.room, k, size, w):
                continue
        elif plan.kind[n] != k or not has_room(work, plan, n, w):
            continue
        put(work, plan, jobs[i], n, w, tightest_gpu(plan.spare, n, size), put_down)
        put_down += 1
    return put_down


@compiled_in_place
def copy_schedule(source: Schedule, target: Schedule) -> None:
    """Copy `source` to `target`."""
    for j in range(len(source.node)):
        target.node[j], target.way[j], target.gpu[j] = source.node[j], source.way[j], source.gpu[j]
        target.chosen[j] = source.chosen[j]
    for n in range(len(source.kind)):
        target.kind[n], target.used[n] = source.kind[n], source.used[n]
        target.jobs[n], target.opened[n] = source.jobs[n], source.opened[n]
        for r in range(source.left.shape[1]):
            target.left[n, r] = source.left[n, r]
        for gpu in range(source.spare.shape[1]):
            target.spare[n, gpu] = source.spare[n, gpu]
