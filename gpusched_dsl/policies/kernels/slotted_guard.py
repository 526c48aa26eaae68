"""`reserve`: whether the nodes that do not train can still serve, slot by slot and without one more node.

What is asked depends on the class of that node and on how many nodes of each class are left in the slot, so answers are
kept until a job is put into the slot.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.slotted_cover import EXACT, least_excess
from gpusched_dsl.policies.kernels.slotted_cluster import (
    ALL_SERVICES,
    EQUAL_PARTS,
    ONE_SERVICE_EACH,
    UNGUARDED,
    Cluster,
    Guard,
)
from gpusched_dsl.policies.workload import Floats, Ints

UNKNOWN, NO, YES = -1, 0, 1


@compiled
def can_serve(kind: int, left: Ints, capacity: Floats, load: Floats) -> bool:
    """Whether `left[c]` nodes of each class can take the loads of a slot.

    `ALL_SERVICES`: each service may have the capacity of every node; `ONE_SERVICE_EACH`: a node serves one service;
    `EQUAL_PARTS`: the load of a service is split equally over the nodes on which it runs.
    """
    services, classes = capacity.shape
    for s in range(services):
        if load[s] <= 0:
            continue
        total = 0.0
        nodes = 0
        least = np.inf
        for c in range(classes):
            if left[c] > 0 and capacity[s, c] > 0:
                total += left[c] * capacity[s, c]
                nodes += left[c]
                least = min(least, capacity[s, c])
        if kind == EQUAL_PARTS:
            if nodes == 0 or load[s] > nodes * least * (1.0 + EXACT):
                return False
        elif total < load[s] * (1.0 - EXACT):
            return False
    if kind == ONE_SERVICE_EACH:
        count = np.zeros((services, classes), dtype=np.int64)
        excess, _ = least_excess(left, capacity, load, count)
        return bool(excess <= EXACT * (1.0 + load.sum()))
    return True


@compiled
def may_train(
    cluster: Cluster, guard: Guard, left: Ints, known: Ints, klass: int, begin: int, end: int
) -> bool:
    """Whether a node of a class may train in the slots `begin` to `end` (excluded; slots after the last one count not).

    `left` (C, H) are the nodes that do not train in each slot, `known` (C, H) the answers so far. With `EQUAL_PARTS`
    only the first slot is looked at, as the paper's FIFO does.
    """
    if guard.kind == UNGUARDED:
        return True
    last = min(end, left.shape[1])
    if guard.kind == EQUAL_PARTS:
        last = min(last, begin + 1)
    for h in range(begin, last):
        if known[klass, h] == UNKNOWN:
            rest = left[:, h].copy()
            rest[klass] -= 1
            served = can_serve(guard.kind, rest, guard.capacity, guard.load[:, h].copy())
            known[klass, h] = YES if served else NO
        if known[klass, h] == NO:
            return False
    return True


@compiled
def nodes_left(cluster: Cluster, slots: int) -> Ints:
    """How many nodes of each class do not train, before any job is placed."""
    classes = cluster.length.shape[1]
    left = np.zeros((classes, slots), dtype=np.int64)
    for c in cluster.class_of:
        left[c] += 1
    return left
