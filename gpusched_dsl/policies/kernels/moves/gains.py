"""The gain of a change from the stored sums alone: O(jobs of the change), and as exact as the full price.

With `TOTAL` every job is paid to its end, so a change moves the price by its own jobs. With `FIRST_END` the price of
running is theta R, theta the first end and R the rates of all nodes. A change moves R by its own nodes, and theta is
the first end of its own jobs or of the other jobs. `DeltaEvaluation` has it without any two jobs (the first three ends)
and without any node. `NODE_FIRST_END` does the same within each node.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled_in_place
from gpusched_dsl.policies.kernels.moves.delta_evaluation import EPSILON, DeltaEvaluation
from gpusched_dsl.policies.kernels.pricing import FIRST_END, NODE_FIRST_END, TOTAL
from gpusched_dsl.policies.workload import NONE, Schedule, Workload


@compiled_in_place
def exchange_gain(work: Workload, plan: Schedule, delta: DeltaEvaluation, a: int, b: int) -> float:
    """Return the price after jobs a and b have exchanged their places, or their places in the queue, minus the price
    before. Infinite if one of them has no such way or finds no room.

    A place is a node, a number of units and, for a part, a GPU: nothing is packed anew. Job b runs, on another node.
    """
    old_b, n = plan.way[b], plan.node[b]
    old_a, m = plan.way[a], plan.node[a]
    new_a = work.way_at[a, plan.kind[n], work.size[old_b]]
    new_b = NONE
    if new_a < 0 or n == m or work.way_at[b, plan.kind[n], work.size[old_b]] < 0:  # b must not be moved
        return np.inf
    if not fits_instead(work.needs, work.room[plan.kind[n]], plan.left[n], old_b, new_a):
        return np.inf
    if m >= 0:
        new_b = work.way_at[b, plan.kind[m], work.size[old_a]]
        if new_b < 0 or not fits_instead(work.needs, work.room[plan.kind[m]], plan.left[m], old_a, new_b):
            return np.inf
    gain = delta.alone[new_a] - delta.alone[old_b]
    gain += work.postponed[b] if new_b < 0 else delta.alone[new_b]
    gain -= work.postponed[a] if old_a < 0 else delta.alone[old_a]
    if delta.price_kind == TOTAL:
        return float(gain)
    more_n, more_m = 0.0, 0.0
    if work.node_rate.shape[1] == 0:  # else rates go by kinds and used GPUs, which stay
        more_n = work.rate[new_a] - work.rate[old_b]
        if m >= 0:
            more_m = work.rate[new_b] - work.rate[old_a]
    if delta.price_kind == FIRST_END:
        end = work.time[new_a]
        if new_b >= 0:
            end = min(end, work.time[new_b])
        end = min(end, end_without(delta, a, b))
        return float(gain + (delta.sums[1] + more_n + more_m) * end - delta.sums[1] * delta.ends[0])
    end = min(work.time[new_a], delta.second_end[n] if delta.ender[n] == b else delta.end[n])
    gain += (delta.rate[n] + more_n) * end - delta.rate[n] * delta.end[n]
    if m >= 0:
        end = min(work.time[new_b], delta.second_end[m] if delta.ender[m] == a else delta.end[m])
        gain += (delta.rate[m] + more_m) * end - delta.rate[m] * delta.end[m]
    return float(gain)


@compiled_in_place
def reshape_gain(work: Workload, plan: Schedule, delta: DeltaEvaluation, n: int, kind: int, ways: Ints) -> float:
    """Return the price after node n has become of a kind with `ways[i]` for its i-th job, minus the price before.

    Infinite if a way is missing, or if GPUs, rooms or nodes of the kind do not suffice. Parts of GPUs keep their size.
    """
    old_kind = plan.kind[n]
    if kind != old_kind and delta.of_kind[kind] >= work.stock[kind]:
        return np.inf
    first = delta.member_from[n]
    used, gain, rate, end = plan.used[n], 0.0, 0.0, np.inf
    for i in range(plan.jobs[n]):
        j, w = delta.member[first + i], ways[i]
        if w < 0:
            return np.inf
        old = plan.way[j]
        used += work.size[w] - work.size[old]
        gain += delta.alone[w] - delta.alone[old]
        rate += work.rate[w]
        end = min(end, work.time[w])
    if used > work.units[kind]:
        return np.inf
    for r in range(work.room.shape[1]):
        needs = 0.0
        for i in range(plan.jobs[n]):
            needs += work.needs[ways[i], r]
        if needs > work.room[kind, r] * (1.0 + EPSILON):
            return np.inf
    gain += work.idle[kind] * (work.units[kind] - used) / work.parts
    gain -= work.idle[old_kind] * (work.units[old_kind] - plan.used[n]) / work.parts
    if delta.price_kind == TOTAL:
        return float(gain)
    if work.node_rate.shape[1] > 0:
        rate = work.node_rate[kind, used // work.parts]
    if delta.price_kind == NODE_FIRST_END:
        return float(gain + rate * end - delta.rate[n] * delta.end[n])
    end = min(end, delta.ends[3] if plan.node[delta.enders[0]] == n else delta.ends[0])
    return float(gain + (delta.sums[1] - delta.rate[n] + rate) * end - delta.sums[1] * delta.ends[0])


@compiled_in_place
def shift_gain(work: Workload, plan: Schedule, delta: DeltaEvaluation, j: int, m: int, way: int) -> float:
    """Return the price after job j, of complete GPUs, has moved to the existing node m, minus the price before.

    Infinite if it finds no room.
    """
    old, n, kind = plan.way[j], plan.node[j], plan.kind[m]
    if plan.used[m] + work.size[way] > work.units[kind]:
        return np.inf
    for r in range(work.room.shape[1]):
        if work.needs[way, r] > plan.left[m, r] + EPSILON * work.room[kind, r]:
            return np.inf
    gain = delta.alone[way] - delta.alone[old]
    from_idle, to_idle = work.idle[plan.kind[n]] / work.parts, work.idle[kind] / work.parts
    last, first = plan.jobs[n] == 1, plan.jobs[m] == 0
    gain += -from_idle * (work.units[plan.kind[n]] - plan.used[n]) if last else from_idle * work.size[old]
    gain += to_idle * (work.units[kind] - work.size[way]) if first else -to_idle * work.size[way]
    if delta.price_kind == TOTAL:
        return float(gain)
    rate_n, rate_m = delta.rate[n] - work.rate[old], delta.rate[m] + work.rate[way]
    if work.node_rate.shape[1] > 0:
        rate_n = work.node_rate[plan.kind[n], (plan.used[n] - work.size[old]) // work.parts]
        rate_m = work.node_rate[kind, (plan.used[m] + work.size[way]) // work.parts]
    if last:
        rate_n = 0.0
    if delta.price_kind == FIRST_END:
        end = min(work.time[way], end_without(delta, j, j))
        rates = delta.sums[1] - delta.rate[n] - delta.rate[m] + rate_n + rate_m
        return float(gain + rates * end - delta.sums[1] * delta.ends[0])
    if not last:
        gain += rate_n * (delta.second_end[n] if delta.ender[n] == j else delta.end[n])
    gain -= delta.rate[n] * delta.end[n]
    gain += rate_m * min(work.time[way], delta.end[m])
    if not first:
        gain -= delta.rate[m] * delta.end[m]
    return float(gain)


@compiled_in_place
def end_without(delta: DeltaEvaluation, a: int, b: int) -> float:
    """The first end of all jobs but two."""
    if delta.enders[0] != a and delta.enders[0] != b:
        return float(delta.ends[0])
    if delta.enders[1] != a and delta.enders[1] != b:
        return float(delta.ends[1])
    return float(delta.ends[2])


@compiled_in_place
def fits_instead(needs: Floats, room: Floats, left: Floats, old: int, new: int) -> bool:
    """Whether the further capacities of a node suffice once one way gives place to another."""
    for r in range(len(room)):  # noqa: SIM110
        if needs[new, r] - needs[old, r] - left[r] > EPSILON * room[r]:
            return False
    return True
