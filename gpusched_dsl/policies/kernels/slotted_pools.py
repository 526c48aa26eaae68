"""Jobs and services take nodes in turn, the worst off first: the policy that makes the least performance large.

The performance of a job whose last slot is h is `(value[j, 0] - h) / value[j, 1]`; that of a service is the part of its
latency bound that is left, `(bound - t) / bound` with t the least response time at which its pool takes the load.
T. Kang, H. Lee, S. Kim (Energies 15(2), 474, 2022) give the aim, the rule of turns is a reconstruction.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.slotted import first_slots, free_nodes, start, startable
from gpusched_dsl.policies.kernels.slotted_cover import EXACT
from gpusched_dsl.policies.kernels.slotted_guard import UNKNOWN, nodes_left
from gpusched_dsl.policies.kernels.slotted_cluster import Cluster, Guard, Plan, Serving
from gpusched_dsl.policies.workload import Floats, Ints

HALVINGS = 200


@compiled
def most_within(rate: float, time: float) -> float:
    """The largest load of a node for which the mean response time 1 / (rate - load) + 1 / rate is at most `time`."""
    product = rate * time
    return rate * (product - 2.0) / (product - 1.0) if product > 2.0 else 0.0


@compiled
def response_time(pool: Ints, rate: Floats, load: float) -> float:
    """The least time at which `pool[c]` nodes of each class take the load; infinite if they are too slow for it.

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
    while taken(pool, rate, high) < load:
        low = high
        high *= 2.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if taken(pool, rate, middle) < load:
            low = middle
        else:
            high = middle
    return high


@compiled
def taken(pool: Ints, rate: Floats, time: float) -> float:
    """What a pool takes within a response time."""
    total = 0.0
    for c in range(len(pool)):
        if pool[c] > 0:
            total += pool[c] * most_within(rate[c], time)
    return total


@compiled
def by_performance(cluster: Cluster, guard: Guard, serving: Serving, plan: Plan) -> None:
    """Slot by slot, the job or service of least performance takes the next node, until no taking helps the least."""
    jobs, classes, slots = cluster.allowed.shape
    services = len(serving.load)
    nodes = len(cluster.class_of)
    left = nodes_left(cluster, slots)
    known = np.full((classes, slots), UNKNOWN)
    first = first_slots(cluster)
    shortest = np.zeros(jobs)
    for j in range(jobs):
        shortest[j] = np.inf
        for c in range(classes):
            if cluster.length[j, c] > 0:
                shortest[j] = min(shortest[j], cluster.length[j, c])
    last = np.full(jobs, -1)  # the last slot of jobs that have been started
    pool_of = np.zeros(nodes, dtype=np.int64)  # 0: in no pool, else the number of the service and 1
    first_free = np.zeros(classes, dtype=np.int64)
    pool = np.zeros((services, classes), dtype=np.int64)
    time = np.zeros(services)
    shut = np.zeros(services, dtype=np.bool_)
    closed = np.zeros(jobs, dtype=np.bool_)
    for h in range(slots):
        pool_of[:] = 0
        pool[:] = 0
        time[:] = np.inf
        closed[:] = False
        for s in range(services):
            shut[s] = serving.load[s, h] <= 0
        least_fixed = np.inf  # the least performance of jobs that run or are closed
        for j in range(jobs):
            if plan.node[j] >= 0 and last[j] >= h:
                least_fixed = min(least_fixed, (cluster.value[j, 0] - last[j]) / cluster.value[j, 1])
        while True:
            free_nodes(cluster, plan, pool_of, h, first_free)
            if first_free.max() < 0:
                break
            s, j, least = _worst(cluster, serving, plan, h, first, shortest, time, shut, closed)
            if s < 0 and j < 0:
                break
            if least_fixed < least and _all_in_time(serving, time, h):
                break
            if s >= 0:
                k = _fastest(serving, s, first_free)
                if k < 0:
                    shut[s] = True
                    continue
                pool_of[k] = s + 1
                pool[s, cluster.class_of[k]] += 1
                time[s] = response_time(pool[s], serving.capacity[s], serving.load[s, h])
            else:
                k = startable(cluster, guard, left, known, first_free, j, h, False)
                if k < 0:
                    closed[j] = True
                    least_fixed = min(least_fixed, least)
                else:
                    start(cluster, plan, left, known, j, k, h)
                    last[j] = h + cluster.length[j, cluster.class_of[k]] - 1
                    least_fixed = min(least_fixed, (cluster.value[j, 0] - last[j]) / cluster.value[j, 1])
        shut[:] = True
        while True:  # the jobs that still wait
            _, j, _ = _worst(cluster, serving, plan, h, first, shortest, time, shut, closed)
            if j < 0:
                break
            free_nodes(cluster, plan, pool_of, h, first_free)
            k = startable(cluster, guard, left, known, first_free, j, h, False)
            if k < 0:
                closed[j] = True
            else:
                start(cluster, plan, left, known, j, k, h)
                last[j] = h + cluster.length[j, cluster.class_of[k]] - 1
        _split(cluster, serving, plan, h, pool_of, pool, time)


@compiled
def _worst(
    cluster: Cluster,
    serving: Serving,
    plan: Plan,
    h: int,
    first: Ints,
    shortest: Floats,
    time: Floats,
    shut: Ints,
    closed: Ints,
) -> tuple[int, int, float]:
    """The service or the waiting job of least performance, and that; services before jobs, those listed first first.

    The performance of a waiting job is what it would be if it were started one slot later.
    """
    least = np.inf
    s, j = -1, -1
    for each in range(len(time)):
        if not shut[each]:
            value = (serving.bound[each] - time[each]) / serving.bound[each]
            if s < 0 or value < least:
                s, least = each, value
    for each in cluster.order:
        if plan.node[each] < 0 and first[each] <= h and not closed[each]:
            value = (cluster.value[each, 0] - (h + shortest[each])) / cluster.value[each, 1]
            if (s < 0 and j < 0) or value < least:
                s, j, least = -1, each, value
    return s, j, least


@compiled
def _all_in_time(serving: Serving, time: Floats, h: int) -> bool:
    for s in range(len(time)):
        if serving.load[s, h] > 0 and time[s] > serving.bound[s]:
            return False
    return True


@compiled
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
def _split(
    cluster: Cluster, serving: Serving, plan: Plan, h: int, pool_of: Ints, pool: Ints, time: Floats
) -> None:
    """Loads in proportion to what the nodes take at the pool's response time: the same time on all of them.

    A pool that is too slow is loaded in proportion to its rates.
    """
    for s in range(len(time)):
        load = serving.load[s, h]
        if load <= 0:
            continue
        weight = np.zeros(len(serving.capacity[s]))
        total = 0.0
        for c in range(len(weight)):
            if pool[s, c] > 0:
                rate = serving.capacity[s, c]
                weight[c] = most_within(rate, time[s]) if np.isfinite(time[s]) else rate
                total += pool[s, c] * weight[c]
        if total <= 0:
            plan.excess[s, h] = load
            continue
        for k in range(len(pool_of)):
            if pool_of[k] == s + 1:
                plan.share[s, k, h] = load * weight[cluster.class_of[k]] / total
