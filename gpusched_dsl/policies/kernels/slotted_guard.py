"""`reserve`: whether the nodes that do not train can still serve when one more node trains.

The answer for a slot depends on how many nodes of each class are left in it and on the class of the node that would
train. Answers are kept, and asked for again where a job has been put.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.slotted_cluster import EQUAL_PARTS, Guard
from gpusched_dsl.policies.kernels.slotted_cover import EXACT, least_excess


@compiled_in_place
def is_enough(kind: int, left: Ints, capacity: Floats, load: Floats) -> bool:
    """Whether `left[c]` nodes of each class can serve the loads of a slot, without sharing by services.

    `EQUAL_PARTS`: the load of a service is split equally over the nodes on which it runs; else each service may have
    the capacity of every node.
    """
    services, classes = capacity.shape
    for s in range(services):
        if load[s] <= 0:
            continue
        most = 0.0
        nodes = 0
        least = np.inf
        for c in range(classes):
            if left[c] > 0 and capacity[s, c] > 0:
                most += left[c] * capacity[s, c]
                nodes += left[c]
                least = min(least, capacity[s, c])
        if kind == EQUAL_PARTS:
            most = nodes * least if nodes > 0 else 0.0
        if most < load[s] * (1.0 - EXACT):
            return False
    return True


@compiled
def ask(guard: Guard, left: Ints, known: Ints, begin: int, end: int) -> None:
    """Answers for the slots from `begin` to `end` (excluded): `known[c, h]` is 1 if a node of class c may train in h.

    `left` (C, H) are the nodes that do not train.
    """
    classes, slots = left.shape
    services = len(guard.capacity)
    rest = np.zeros(classes, dtype=np.int64)
    load = np.zeros(services)
    for h in range(begin, min(end, slots)):
        _copy_slot(guard, left, h, rest, load)
        for c in range(classes):
            rest[c] -= 1
            known[c, h] = 1 if rest[c] >= 0 and is_enough(guard.kind, rest, guard.capacity, load) else 0
            rest[c] += 1


@compiled
def ask_one_service_each(guard: Guard, left: Ints, known: Ints, begin: int, end: int) -> None:
    """The same where a node serves one service. Where it was not found out, the answer is no."""
    classes, slots = left.shape
    services = len(guard.capacity)
    rest = np.zeros(classes, dtype=np.int64)
    load = np.zeros(services)
    count = np.zeros((services, classes), dtype=np.int64)
    for h in range(begin, min(end, slots)):
        _copy_slot(guard, left, h, rest, load)
        for c in range(classes):
            rest[c] -= 1
            known[c, h] = 0
            if rest[c] >= 0 and is_enough(guard.kind, rest, guard.capacity, load):
                excess, _ = least_excess(rest, guard.capacity, load, count)
                known[c, h] = 1 if excess == 0.0 else 0
            rest[c] += 1


@compiled_in_place
def _copy_slot(guard: Guard, left: Ints, h: int, rest: Ints, load: Floats) -> None:
    for c in range(len(rest)):
        rest[c] = left[c, h]
    for s in range(len(load)):
        load[s] = guard.load[s, h]
