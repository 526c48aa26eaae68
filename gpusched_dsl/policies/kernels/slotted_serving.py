"""Loads put on the nodes that do not train in a slot: in equal parts, on nodes dealt in turn, or on counted nodes."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.slotted_cluster import Serving, SlottedCluster, SlottedSchedule
from gpusched_dsl.policies.kernels.slotted_cover import EXACT, sort


@compiled_in_place
def free_by_class(cluster: SlottedCluster, plan: SlottedSchedule, h: int, free: Ints, class_by_id: Ints) -> int:
    """Count the nodes of each class that do not train in slot h and list their classes by rising id."""
    free[:] = 0
    found = 0
    for k in range(len(cluster.class_of)):
        if plan.job[k, h] < 0:
            free[cluster.class_of[k]] += 1
            class_by_id[found] = cluster.class_of[k]
            found += 1
    return found


@compiled
def spread_loads(cluster: SlottedCluster, serving: Serving, plan: SlottedSchedule, h: int, count: Ints) -> None:
    """Put loads on `count[s, c]` nodes for each service: of a class those of lowest number, the first services first.

    The classes with the cheapest unit of load are filled first, their nodes in equal parts. What is above the
    capacities is split in proportion to them.
    """
    services, classes = count.shape
    given = np.zeros(len(cluster.class_of), dtype=np.int64)
    part = np.zeros(classes)  # of each node of a class
    order = np.zeros(classes, dtype=np.int64)
    for s in range(services):
        rest = serving.load[s, h]
        least = EXACT * rest
        part[:] = 0.0
        most = 0.0
        sort(serving.unit[s], order)
        for i in range(classes):
            c = order[i]
            if count[s, c] > 0:
                most += count[s, c] * serving.capacity[s, c]
                take = min(rest, count[s, c] * serving.capacity[s, c])
                part[c] = take / count[s, c]
                rest -= take
        if rest > least:
            plan.excess[s, h] = rest
            for klass in range(classes):
                if count[s, klass] > 0:
                    part[klass] += rest * serving.capacity[s, klass] / most
        for klass in range(classes):
            wanted = count[s, klass]
            for k in range(len(given)):
                if wanted > 0 and cluster.class_of[k] == klass and plan.job[k, h] < 0 and given[k] == 0:
                    given[k] = 1
                    plan.share[s, k, h] = part[klass]
                    wanted -= 1


@compiled_in_place
def serve_equal_parts(cluster: SlottedCluster, serving: Serving, plan: SlottedSchedule, h: int) -> None:
    """Every load in equal parts over all nodes that do not train and on which the service runs."""
    for s in range(len(serving.capacity)):
        if serving.load[s, h] <= 0:
            continue
        nodes = 0
        for k in range(len(cluster.class_of)):
            if plan.job[k, h] < 0 and serving.capacity[s, cluster.class_of[k]] > 0:
                nodes += 1
        if nodes == 0:
            plan.excess[s, h] = serving.load[s, h]
        for k in range(len(cluster.class_of)):
            if plan.job[k, h] < 0 and serving.capacity[s, cluster.class_of[k]] > 0:
                plan.share[s, k, h] = serving.load[s, h] / nodes


@compiled
def deal_in_turn(cluster: SlottedCluster, serving: Serving, plan: SlottedSchedule, h: int) -> None:
    """Nodes that do not train are dealt in turn to the services with a load, which split it equally over theirs.

    A node on which the service whose turn it is does not run goes to the next one that runs there.
    """
    services = len(serving.capacity)
    dealt = np.full(len(cluster.class_of), -1)
    nodes = np.zeros(services, dtype=np.int64)
    turn = 0
    for k in range(len(cluster.class_of)):
        if plan.job[k, h] >= 0:
            continue
        for step in range(services):
            s = (turn + step) % services
            if serving.load[s, h] > 0 and serving.capacity[s, cluster.class_of[k]] > 0:
                dealt[k] = s
                nodes[s] += 1
                turn = s + 1
                break
    for s in range(services):
        if nodes[s] == 0 and serving.load[s, h] > 0:
            plan.excess[s, h] = serving.load[s, h]
    for k in range(len(cluster.class_of)):
        if dealt[k] >= 0:
            plan.share[dealt[k], k, h] = serving.load[dealt[k], h] / nodes[dealt[k]]
