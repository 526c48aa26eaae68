"""Loads put on the nodes that do not train, slot by slot: the cheapest nodes, equal parts, or nodes dealt in turn."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.slotted_cover import EXACT, cheapest_nodes
from gpusched_dsl.policies.kernels.slotted_cluster import EQUAL, LEAST, ROUND_ROBIN, Cluster, Plan, Serving


@compiled
def serve_slot(cluster: Cluster, serving: Serving, plan: Plan, h: int) -> None:
    """Put the loads of slot h on the nodes that do not train in it."""
    if serving.kind == LEAST:
        _least(cluster, serving, plan, h)
    elif serving.kind == EQUAL:
        _equal(cluster, serving, plan, h)
    elif serving.kind == ROUND_ROBIN:
        _round_robin(cluster, serving, plan, h)


@compiled
def _least(cluster: Cluster, serving: Serving, plan: Plan, h: int) -> None:
    """The nodes of least cost; within a class those of lowest number, the first services first, in equal parts.

    What no node can take within its capacity is split over the nodes of the service in proportion to capacity.
    """
    services, classes = serving.capacity.shape
    nodes = len(cluster.class_of)
    free = np.zeros(classes, dtype=np.int64)
    class_by_id = np.zeros(nodes, dtype=np.int64)
    idle = 0
    for k in range(nodes):
        if plan.job[k, h] < 0:
            free[cluster.class_of[k]] += 1
            class_by_id[idle] = cluster.class_of[k]
            idle += 1
    load = serving.load[:, h].copy()
    if load.sum() <= 0:
        return
    count = np.zeros((services, classes), dtype=np.int64)
    _, excess, proven = cheapest_nodes(
        free, serving.capacity, load, serving.whole, serving.unit, class_by_id[:idle], count
    )
    if not proven:
        plan.unproven[0] += 1
    given = np.zeros(nodes, dtype=np.bool_)
    for s in range(services):
        rest = load[s]
        part = np.zeros(classes)  # of each node of a class
        order = np.argsort(serving.unit[s], kind="mergesort")
        for c in order:
            if count[s, c] > 0 and rest > 0:
                take = min(rest, count[s, c] * serving.capacity[s, c])
                part[c] = take / count[s, c]
                rest -= take
        if rest > EXACT * load[s] and excess > 0:
            plan.excess[s, h] = rest
            total = (count[s] * serving.capacity[s]).sum()
            if total > 0:
                part += rest * serving.capacity[s] / total
        for c in range(classes):
            wanted = count[s, c]
            for k in range(nodes):
                if wanted == 0:
                    break
                if cluster.class_of[k] == c and plan.job[k, h] < 0 and not given[k]:
                    given[k] = True
                    plan.share[s, k, h] = part[c]
                    wanted -= 1


@compiled
def _equal(cluster: Cluster, serving: Serving, plan: Plan, h: int) -> None:
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
def _round_robin(cluster: Cluster, serving: Serving, plan: Plan, h: int) -> None:
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
