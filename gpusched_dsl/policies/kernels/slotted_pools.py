"""Jobs and services take nodes in turn, lowest performance first: a policy that maximises the least performance.

The performance of a job is a function of its last slot, stated by the policy; that of a service is the part of its
latency bound that is left, `(bound - t) / bound` with t the least response time at which its pool takes the load.
D.-K. Kang, K.-B. Lee, Y.-C. Kim (Energies 15(2), 474, 2022) give the aim, the rule of turns is a reconstruction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.slotted import free_nodes, may_start, put, startable_node
from gpusched_dsl.policies.kernels.slotted_cluster import Serving, SlottedCluster, SlottedSchedule, SlottedState
from gpusched_dsl.policies.kernels.slotted_cover import EXACT
from gpusched_dsl.policies.kernels.slotted_rows import SlottedRows

HALVINGS = 200
EQUAL = 1e-9  # performances that differ by less are equal


@compiled_in_place
def most_within(rate: float, time: float) -> float:
    """The largest load of a node for which the mean response time 1 / (rate - load) + 1 / rate is at most `time`."""
    product = rate * time
    return rate * (product - 2.0) / (product - 1.0) if product > 2.0 else 0.0


@compiled_in_place
def response_time(pool: Ints, rate: Floats, load: float) -> float:
    """Return the least response time at which `pool[c]` nodes of each class serve the load; infinite if they are too
    slow.

    What they take grows with the time, continuously, from nothing to the sum of the rates: halving finds it.
    """
    total = 0.0
    fastest = 0.0
    for c in range(len(pool)):
        if pool[c] > 0:
            total += pool[c] * rate[c]
            fastest = max(fastest, rate[c])
    if total <= load * (1.0 + EXACT):
        return np.inf
    low = 2.0 / fastest
    high = 2.0 * low
    while load_taken(pool, rate, high) < load:
        low = high
        high *= 2.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if load_taken(pool, rate, middle) < load:
            low = middle
        else:
            high = middle
    return high


@compiled_in_place
def load_taken(pool: Ints, rate: Floats, time: float) -> float:
    """Return the load that a pool serves within a response time."""
    total = 0.0
    for c in range(len(pool)):
        if pool[c] > 0:
            total += pool[c] * most_within(rate[c], time)
    return total


@compiled_in_place
def performance(cluster: SlottedCluster, j: int, last: int) -> float:
    """Return the performance of job j if `last` is its last slot; after the last slot of all it continues linearly."""
    slots = cluster.value.shape[1]
    if last < slots:
        return float(cluster.value[j, last])
    slope = cluster.value[j, slots - 1] - cluster.value[j, slots - 2] if slots > 1 else 0.0
    return float(cluster.value[j, slots - 1] + (last - slots + 1) * slope)


class Turns(NamedTuple):
    """The results of the turns of one slot."""

    pool: Ints  # (S, C) nodes that a service has taken
    time: Floats  # (S,) the response time of its pool
    shut: Ints  # (S,) 1: takes no more part in the slot
    closed: Ints  # (J,) the same of a job
    least: Floats  # (1,) the least performance of the jobs that run or are closed
    shortest: Ints  # (J,) the fewest slots in which a job is done


def new_turns(cluster: SlottedCluster, services: int) -> Turns:
    """Arrays for `begin_slot` to fill."""
    jobs, classes, _ = cluster.allowed.shape
    length = np.where(cluster.length > 0, cluster.length, np.iinfo(np.int64).max)
    return Turns(
        pool=np.zeros((services, classes), dtype=np.int64),
        time=np.zeros(services),
        shut=np.zeros(services, dtype=np.int64),
        closed=np.zeros(jobs, dtype=np.int64),
        least=np.zeros(1),
        shortest=length.min(axis=1, initial=np.iinfo(np.int64).max),
    )


@compiled_in_place
def begin_slot(
    cluster: SlottedCluster, serving: Serving, plan: SlottedSchedule, state: SlottedState, turns: Turns, h: int
) -> None:
    """Start a slot: no pool has a node, and all waiting jobs take part."""
    turns.least[0] = np.inf
    for k in range(len(state.taken)):
        state.taken[k] = 0
    for s in range(len(turns.time)):
        turns.time[s] = np.inf
        turns.shut[s] = 0 if serving.load[s, h] > 0 else 1
        for c in range(turns.pool.shape[1]):
            turns.pool[s, c] = 0
    for j in range(len(plan.node)):
        turns.closed[j] = 0
        if plan.node[j] >= 0 and plan.last[j] >= h:
            turns.least[0] = min(turns.least[0], performance(cluster, j, plan.last[j]))


@compiled_in_place
def take_turns(
    cluster: SlottedCluster,
    serving: Serving,
    plan: SlottedSchedule,
    state: SlottedState,
    turns: Turns,
    h: int,
    rows: SlottedRows | None = None,
) -> int:
    """Give the next node to the job or service of least performance until that no longer helps; then start the waiting
    jobs in turn. Stops after each started job and returns it, NONE at the end.
    """
    while free_nodes(cluster, plan, state, h):
        s, j, least = _worst(cluster, serving, plan, turns, h)
        if s < 0 and j < 0:
            return -1
        if turns.least[0] < least - EQUAL and _all_in_time(serving, turns.time, h):
            for each in range(len(turns.shut)):
                turns.shut[each] = 1
            turns.least[0] = np.inf
            continue
        if s >= 0:
            k = _fastest(serving, s, state.first_free)
            if k < 0:
                turns.shut[s] = 1
                continue
            state.taken[k] = s + 1
            turns.pool[s, cluster.class_of[k]] += 1
            turns.time[s] = response_time(turns.pool[s], serving.capacity[s], serving.load[s, h])
        else:
            k = startable_node(cluster, plan, state, j, h, False, rows)
            if k >= 0:
                put(cluster, plan, state, j, k, h)
                turns.least[0] = min(turns.least[0], performance(cluster, j, plan.last[j]))
                return j
            turns.closed[j] = 1
            turns.least[0] = min(turns.least[0], least)
    return -1


@compiled_in_place
def _worst(
    cluster: SlottedCluster, serving: Serving, plan: SlottedSchedule, turns: Turns, h: int
) -> tuple[int, int, float]:
    """The service or the waiting job of least performance, and that; services before jobs, those listed first first.

    The performance of a waiting job is what it would be if it were started one slot later.
    """
    least = np.inf
    s, j = -1, -1
    for each in range(len(turns.time)):
        if turns.shut[each] == 0:
            value = (serving.bound[each] - turns.time[each]) / serving.bound[each]
            if s < 0 or value < least - EQUAL:
                s, least = each, value
    for each in cluster.order:
        if plan.node[each] < 0 and turns.closed[each] == 0 and may_start(cluster, each, h):
            value = performance(cluster, each, h + turns.shortest[each])
            if (s < 0 and j < 0) or value < least - EQUAL:
                s, j, least = -1, each, value
    return s, j, least


@compiled_in_place
def _all_in_time(serving: Serving, time: Floats, h: int) -> bool:
    late = False
    for s in range(len(time)):
        late = late or (serving.load[s, h] > 0 and time[s] > serving.bound[s])
    return not late


@compiled_in_place
def _fastest(serving: Serving, s: int, first_free: Ints) -> int:
    """The free node of the highest service rate, then of lowest number; NONE if the service runs on none of them."""
    best = -1
    highest = 0.0
    for c in range(len(first_free)):
        rate = serving.capacity[s, c]
        if first_free[c] >= 0 and rate > 0 and (rate > highest or (rate == highest and first_free[c] < best)):
            best, highest = first_free[c], rate
    return best


@compiled
def split(
    cluster: SlottedCluster, serving: Serving, plan: SlottedSchedule, state: SlottedState, turns: Turns, h: int
) -> None:
    """Split loads in proportion to the load of the nodes at the pool's response time: the same time on all of them.

    A pool that is too slow is loaded in proportion to its rates.
    """
    for s in range(len(turns.time)):
        load = serving.load[s, h]
        if load <= 0:
            continue
        weight = np.zeros(turns.pool.shape[1])
        total = 0.0
        for c in range(len(weight)):
            if turns.pool[s, c] > 0:
                rate = serving.capacity[s, c]
                weight[c] = most_within(rate, turns.time[s]) if np.isfinite(turns.time[s]) else rate
                total += turns.pool[s, c] * weight[c]
        if total <= 0:
            plan.excess[s, h] = load
            continue
        for k in range(len(state.taken)):
            if state.taken[k] == s + 1:
                plan.share[s, k, h] = load * weight[cluster.class_of[k]] / total
