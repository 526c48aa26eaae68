"""Steps after all jobs are placed: smaller nodes, assignment of idle GPUs, larger parts of GPUs.

Jobs that were pinned before the pass keep their ways, and their nodes keep their kinds.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.construct import Lookups
from gpusched_dsl.policies.kernels.ranking import TOLERANCE, are_same
from gpusched_dsl.policies.kernels.row_guard import RowGuard, holds, holds_with, keep_place, kept_way
from gpusched_dsl.policies.rules import FINISH_CODES
from gpusched_dsl.policies.workload import NONE, Schedule, Workload

SMALLER_TYPE, EXPAND_PARTS = FINISH_CODES["smaller_type"], FINISH_CODES["expand_parts"]
GROW, GROW_BY_ONE = FINISH_CODES["grow by speedup"], FINISH_CODES["grow_by_one by speedup"]
GROW_BY_TIME, GROW_IF_CHEAPER = FINISH_CODES["grow_by_one by time"], FINISH_CODES["grow_if_cheaper by time"]
_SLACK = 1e-9


@compiled
def finish(
    work: Workload, look: Lookups, rules: Ints, plan: Schedule, queue: Ints, start: Schedule,
    guard: RowGuard | None = None,
) -> None:  # fmt: skip
    """The finishing rules one after the other, each on all nodes in their order. `start`: before the pass.

    A change that breaks a row of `guard` is not made.
    """
    if not is_needed(rules, plan):
        return
    node, way, gpu, kind, used = plan.node, plan.way, plan.gpu, plan.kind, plan.used
    left, spare = plan.left, plan.spare
    units, family, stock, room, parts = work.units, work.family, work.stock, work.room, work.parts
    size, time, needs, way_at, weight = work.size, work.time, work.needs, work.way_at, work.weight
    form, like_at = work.form, work.like_at
    at, on = find_tenants(node, queue, start.node, len(kind))
    for code in rules:
        kinds = np.zeros(len(units), np.int64)
        for k in kind:
            if k != NONE:
                kinds[k] += 1
        for n in range(len(kind)):
            tenants = on[at[n] : at[n + 1]]
            if len(tenants) == 0:
                continue
            if code == SMALLER_TYPE:
                if work.node_kind[n] == NONE and start.jobs[n] == 0:
                    shrink(
                        look.smallest_first, units, family, stock, kinds, form, time, needs, room, like_at, tenants,
                        n, node, way, kind, used, left, guard,
                    )  # fmt: skip
            elif code in (GROW, GROW_BY_ONE):
                while grow(
                    units, parts, size, time, needs, room, way_at, weight, tenants, n, node, way, kind, used,
                    left, code == GROW, guard,
                ):  # fmt: skip
                    pass
            elif code in (GROW_BY_TIME, GROW_IF_CHEAPER):
                while grow_by_time(work, tenants, n, node, way, kind, used, left, code == GROW_IF_CHEAPER, guard):
                    pass
            elif code == EXPAND_PARTS:
                for shared in range(spare.shape[1]):
                    while spare[n, shared] > 0 and expand(
                        parts, size, time, needs, room, way_at, weight, tenants, n, shared, node, way, gpu, kind,
                        left, spare, guard,
                    ):  # fmt: skip
                        pass


@compiled_in_place
def is_needed(rules: Ints, plan: Schedule) -> bool:
    """Whether any of the finishing rules may change something: no part can be enlarged where GPUs are not shared."""
    for code in rules:  # noqa: SIM110 - a generator is slow where it is compiled
        if code != EXPAND_PARTS or plan.spare.shape[1] > 0:
            return True
    return False


@compiled
def find_tenants(node: Ints, queue: Ints, before: Ints, nodes: int) -> tuple[Ints, Ints]:
    """The jobs on each node that the pass has placed, in the order of the queue: node n has `on[at[n]:at[n + 1]]`."""
    at = np.zeros(nodes + 1, np.int64)
    for j in queue:
        if node[j] != NONE and before[j] == NONE:
            at[node[j] + 1] += 1
    for n in range(nodes):
        at[n + 1] += at[n]
    ends = at.copy()
    on = np.empty(at[nodes], np.int64)
    for j in queue:
        n = node[j]
        if n != NONE and before[j] == NONE:
            on[ends[n]] = j
            ends[n] += 1
    return at, on


@compiled_in_place
def shrink(
    smallest_first: Ints, units: Ints, family: Ints, stock: Ints, kinds: Ints, form: Ints, time: Floats,
    needs: Floats, room: Floats, like_at: Ints, tenants: Ints, n: int, node: Ints, way: Ints, kind: Ints, used: Ints,
    left: Floats, guard: RowGuard | None,
) -> None:  # fmt: skip
    """Change a node to the smallest kind of its family for its used GPUs, unless a job becomes slower."""
    old, new = kind[n], NONE
    for k in smallest_first:
        if family[k] == family[old] and units[k] >= used[n] and kinds[k] < stock[k]:
            new = k
            break
    if new == NONE or units[new] >= units[old]:
        return
    for j in tenants:
        other = like_at[j, new, form[way[j]]]
        if other == NONE or (time[other] > time[way[j]] and not are_same(time[other], time[way[j]])):
            return
    for r in range(needs.shape[1]):
        taken = 0.0
        for j in tenants:
            taken += needs[like_at[j, new, form[way[j]]], r]
        if taken > room[new, r] + _SLACK * abs(room[new, r]):
            return
    if guard is not None:
        for j in tenants:
            keep_place(guard, j, n, way[j])
            way[j] = like_at[j, new, form[way[j]]]
        fits = holds(guard, node, way)
        for j in tenants:
            way[j] = kept_way(guard, j)
        if not fits:
            return
    for r in range(needs.shape[1]):
        left[n, r] = room[new, r]
    for j in tenants:
        way[j] = like_at[j, new, form[way[j]]]
        for r in range(needs.shape[1]):
            left[n, r] -= needs[way[j], r]
    kind[n] = new
    kinds[old] -= 1
    kinds[new] += 1


@compiled_in_place
def grow(
    units: Ints, parts: int, size: Ints, time: Floats, needs: Floats, room: Floats, way_at: Ints, weight: Floats,
    tenants: Ints, n: int, node: Ints, way: Ints, kind: Ints, used: Ints, left: Floats, all_at_once: bool,
    guard: RowGuard | None,
) -> bool:  # fmt: skip
    """Give the idle GPUs of a node, all or one, to the job that they speed up most; False if none becomes faster.

    Of equal jobs to the one with the larger weight, then to the earlier one in the queue.
    """
    k = kind[n]
    idle = (units[k] - used[n]) // parts * parts
    if idle == 0:
        return False
    step = idle if all_at_once else parts
    best, best_way, best_ratio = NONE, NONE, 1.0
    for j in tenants:
        w = way[j]
        if size[w] < parts:
            continue
        larger = way_at[j, k, size[w] + step]
        if larger == NONE or not can_change(needs, room, left, n, k, w, larger):
            continue
        ratio = time[w] / time[larger] if time[larger] > 0 else np.inf
        if ratio <= 1 or are_same(ratio, 1.0):
            continue
        if is_better(ratio, best_ratio, weight, j, best) and holds_with(guard, node, way, j, larger):
            best, best_way, best_ratio = j, larger, ratio
    if best == NONE:
        return False
    change(needs, left, n, way[best], best_way)
    way[best] = best_way
    used[n] += step
    return True


@compiled_in_place
def grow_by_time(
    work: Workload, tenants: Ints, n: int, node: Ints, way: Ints, kind: Ints, used: Ints, left: Floats,
    if_cheaper: bool, guard: RowGuard | None,
) -> bool:  # fmt: skip
    """Give one idle GPU of a node to the job that it saves most time; False if it saves none any.

    With `if_cheaper` only where what the node costs more until the job ends is no more than what being late costs less.
    """
    k, parts = kind[n], work.parts
    if work.units[k] - used[n] < parts:
        return False
    best, best_way, best_gain = NONE, NONE, 0.0
    for j in tenants:
        w = way[j]
        if work.size[w] < parts:
            continue
        larger = work.way_at[j, k, work.size[w] + parts]
        if larger == NONE or not can_change(work.needs, work.room, left, n, k, w, larger):
            continue
        gain = work.time[w] - work.time[larger]
        if gain <= TOLERANCE * abs(work.time[w]):
            continue
        if if_cheaper:
            more = work.rate[larger] - work.rate[w]
            if work.node_rate.shape[1] > 0:
                in_use = used[n] // parts
                more = work.node_rate[k, in_use + 1] - work.node_rate[k, in_use]
            if more * work.time[larger] > work.late[w] - work.late[larger]:
                continue
        if is_better(gain, best_gain, work.weight, j, best) and holds_with(guard, node, way, j, larger):
            best, best_way, best_gain = j, larger, gain
    if best == NONE:
        return False
    change(work.needs, left, n, way[best], best_way)
    way[best] = best_way
    used[n] += parts
    return True


@compiled_in_place
def expand(
    parts: int, size: Ints, time: Floats, needs: Floats, room: Floats, way_at: Ints, weight: Floats, tenants: Ints,
    n: int, shared: int, node: Ints, way: Ints, gpu: Ints, kind: Ints, left: Floats, spare: Ints,
    guard: RowGuard | None,
) -> bool:  # fmt: skip
    """Enlarge the part of the job on a shared GPU that gains most time; return False if none gains any.

    Every job asks for the largest part that makes it faster. Of equal jobs the one with the larger weight, then the
    earlier one in the queue. A job that comes to have the whole GPU no longer counts as one with a part.
    """
    k = kind[n]
    best, best_way, best_gain = NONE, NONE, 0.0
    for j in tenants:
        if gpu[j] != shared:
            continue
        w = way[j]
        for larger_size in range(size[w] + spare[n, shared], size[w], -1):
            larger = way_at[j, k, larger_size]
            if larger == NONE or not can_change(needs, room, left, n, k, w, larger):
                continue
            gain = time[w] - time[larger]
            if gain <= TOLERANCE * abs(time[w]) or not holds_with(guard, node, way, j, larger):
                continue
            if is_better(gain, best_gain, weight, j, best):
                best, best_way, best_gain = j, larger, gain
            break
    if best == NONE:
        return False
    spare[n, shared] -= size[best_way] - size[way[best]]
    change(needs, left, n, way[best], best_way)
    way[best] = best_way
    if size[best_way] == parts:
        spare[n, shared] = NONE
        gpu[best] = NONE
    return True


@compiled_in_place
def is_better(value: float, best_value: float, weight: Floats, j: int, best: int) -> bool:
    """Whether a job gains more than the best so far, or as much while being late costs more for it."""
    if best == NONE:
        return True
    if are_same(value, best_value):
        return bool(weight[j] > weight[best] and not are_same(weight[j], weight[best]))
    return value > best_value


@compiled_in_place
def can_change(needs: Floats, room: Floats, left: Floats, n: int, k: int, w: int, larger: int) -> bool:
    """Whether the further capacities of the node allow the change of a job from one way to another."""
    for r in range(needs.shape[1]):  # noqa: SIM110 - a generator is slow where it is compiled
        if needs[larger, r] - needs[w, r] > left[n, r] + _SLACK * abs(room[k, r]):
            return False
    return True


@compiled_in_place
def change(needs: Floats, left: Floats, n: int, w: int, larger: int) -> None:
    """Update the further capacities for the change of a job from one way to another."""
    for r in range(needs.shape[1]):
        left[n, r] -= needs[larger, r] - needs[w, r]
