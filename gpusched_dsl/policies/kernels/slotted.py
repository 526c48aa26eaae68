"""Jobs put into slots: started as time goes on, or into the cheapest slots ahead."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.slotted_guard import UNKNOWN, may_train, nodes_left
from gpusched_dsl.policies.kernels.slotted_serving import serve_slot
from gpusched_dsl.policies.kernels.slotted_cluster import LEAST, Bools, Cluster, Guard, Plan, Serving
from gpusched_dsl.policies.workload import Floats, Ints

SAME = 1e-12  # relative: sums of the same slots in another order


@compiled
def first_slots(cluster: Cluster) -> Ints:
    """The first slot in which each job may run anywhere; the number of slots where it may not."""
    jobs, _, slots = cluster.allowed.shape
    first = np.full(jobs, slots)
    for j in range(jobs):
        for h in range(slots):
            if cluster.allowed[j, :, h].any():
                first[j] = h
                break
    return first


@compiled
def start(cluster: Cluster, plan: Plan, left: Ints, known: Ints, j: int, k: int, h: int) -> None:
    """Job j runs on node k from slot h to its end."""
    c = cluster.class_of[k]
    slots = plan.job.shape[1]
    end = h + cluster.length[j, c]
    plan.node[j] = k
    plan.begin[j] = h
    plan.beyond[j] = max(0, end - slots)
    for t in range(h, min(end, slots)):
        plan.job[k, t] = j
        left[c, t] -= 1
        known[:, t] = UNKNOWN


@compiled
def startable(
    cluster: Cluster, guard: Guard, left: Ints, known: Ints, first_free: Ints, j: int, h: int, first_only: bool
) -> int:
    """The node on which job j starts in slot h: the best by key, then by number, that is free and passes the guard.

    `first_free[c]` is the free node of lowest number in a class, NONE if there is none. With `first_only` the best free
    node is the only one that is asked.
    """
    classes = len(first_free)
    column = h if cluster.key.shape[2] > 1 else 0
    tried = np.zeros(classes, dtype=np.bool_)
    for _ in range(classes):
        best = -1
        for c in range(classes):
            if tried[c] or first_free[c] < 0 or not cluster.allowed[j, c, h]:
                continue
            if (
                best < 0
                or cluster.key[j, c, column] < cluster.key[j, best, column]
                or (cluster.key[j, c, column] == cluster.key[j, best, column] and first_free[c] < first_free[best])
            ):
                best = c
        if best < 0:
            return -1
        if may_train(cluster, guard, left, known, best, h, h + cluster.length[j, best]):
            return int(first_free[best])
        if first_only:
            return -1
        tried[best] = True
    return -1


@compiled
def free_nodes(cluster: Cluster, plan: Plan, taken: Ints, h: int, first_free: Ints) -> None:
    """The free node of lowest number in every class: it neither trains in slot h nor is `taken`."""
    first_free[:] = -1
    for k in range(len(cluster.class_of)):
        c = cluster.class_of[k]
        if first_free[c] < 0 and plan.job[k, h] < 0 and taken[k] == 0:
            first_free[c] = k


@compiled
def start_now(
    cluster: Cluster, guard: Guard, serving: Serving, plan: Plan, blocking: bool, first_only: bool
) -> None:
    """Slot by slot, the waiting jobs in their order start where they can.

    With `blocking`, no job starts before one that is ahead of it in the queue. Where loads are put on the cheapest
    nodes, these are chosen before jobs are started in the slot; else loads are put on what jobs leave.
    """
    jobs, classes, slots = cluster.allowed.shape
    nodes = len(cluster.class_of)
    left = nodes_left(cluster, slots)
    known = np.full((classes, slots), UNKNOWN)
    first = first_slots(cluster)
    waiting = cluster.order.copy()
    count = len(waiting)
    taken = np.zeros(nodes, dtype=np.int64)
    first_free = np.zeros(classes, dtype=np.int64)
    for h in range(slots):
        taken[:] = 0
        if serving.kind == LEAST:
            serve_slot(cluster, serving, plan, h)
            for k in range(nodes):
                taken[k] = int(plan.share[:, k, h].any())
        free_nodes(cluster, plan, taken, h, first_free)
        kept = 0
        blocked = False
        for place in range(count):
            j = waiting[place]
            k = -1
            if not blocked and first[j] <= h:
                k = startable(cluster, guard, left, known, first_free, j, h, first_only)
                blocked = blocking and k < 0
            if k < 0:
                waiting[kept] = j
                kept += 1
            else:
                start(cluster, plan, left, known, j, k, h)
                free_nodes(cluster, plan, taken, h, first_free)
        count = kept
        if serving.kind != LEAST:
            serve_slot(cluster, serving, plan, h)


@compiled
def cheapest_slots_ahead(cluster: Cluster, guard: Guard, serving: Serving, plan: Plan, singly: bool) -> None:
    """Every job in its turn takes the block of slots of least key on one node, in all of which it may train there.

    Blocks of equal key go to the node of lowest number, then to the earliest slot. Without a block, and with `singly`,
    the job takes single slots: the cheapest ones of the node where these cost least. A job that cannot run is left out.
    """
    jobs, classes, slots = cluster.allowed.shape
    nodes = len(cluster.class_of)
    left = nodes_left(cluster, slots)
    known = np.full((classes, slots), UNKNOWN)
    usable = np.zeros(slots, dtype=np.bool_)
    cost = np.zeros((classes, slots))
    for j in cluster.order:
        _block_costs(cluster, j, cost)
        node, begin, least = -1, -1, 0.0
        for k in range(nodes):
            c = cluster.class_of[k]
            if cluster.length[j, c] > 0:
                _usable(cluster, guard, left, known, plan, j, k, usable)
                h = _block(usable, cluster.length[j, c], cost[c])
                if h >= 0 and (node < 0 or cost[c, h] < least - SAME * abs(least)):
                    node, begin, least = k, h, cost[c, h]
        if node >= 0:
            start(cluster, plan, left, known, j, node, begin)
        elif singly:
            _singly(cluster, guard, left, known, plan, j)
    for h in range(slots):
        serve_slot(cluster, serving, plan, h)


@compiled
def _block_costs(cluster: Cluster, j: int, cost: Floats) -> None:
    """The cost of a block of job j by the class of its node and its first slot."""
    classes, slots = cost.shape
    width = cluster.key.shape[2]
    for c in range(classes):
        length = cluster.length[j, c]
        for h in range(slots - length + 1 if length > 0 else 0):
            cost[c, h] = 0.0
            for t in range(h, h + length):
                cost[c, h] += cluster.key[j, c, t if width > 1 else 0]


@compiled
def _usable(
    cluster: Cluster, guard: Guard, left: Ints, known: Ints, plan: Plan, j: int, k: int, usable: Bools
) -> None:
    """In which slots job j may be put on node k."""
    c = cluster.class_of[k]
    for h in range(len(usable)):
        usable[h] = (
            cluster.allowed[j, c, h]
            and plan.job[k, h] < 0
            and may_train(cluster, guard, left, known, c, h, h + 1)
        )


@compiled
def _block(usable: Bools, length: int, cost: Floats) -> int:
    """The first slot of the cheapest block, the earliest of equal ones; NONE where there is none."""
    begin = -1
    run = 0
    for h in range(len(usable)):
        run = run + 1 if usable[h] else 0
        if run >= length:
            at = h - length + 1
            if begin < 0 or cost[at] < cost[begin] - SAME * abs(cost[begin]):
                begin = at
    return begin


@compiled
def _singly(cluster: Cluster, guard: Guard, left: Ints, known: Ints, plan: Plan, j: int) -> None:
    """Put job j into the cheapest single slots of the node where these cost least, if any node has enough of them."""
    slots = plan.job.shape[1]
    width = cluster.key.shape[2]
    usable = np.zeros(slots, dtype=np.bool_)
    cost_of = np.zeros(slots)
    chosen = np.zeros(slots, dtype=np.bool_)
    node, least = -1, 0.0
    for k in range(len(cluster.class_of)):
        c = cluster.class_of[k]
        length = cluster.length[j, c]
        if length == 0:
            continue
        _usable(cluster, guard, left, known, plan, j, k, usable)
        if usable.sum() < length:
            continue
        for h in range(slots):
            cost_of[h] = cluster.key[j, c, h if width > 1 else 0] if usable[h] else np.inf
        order = np.argsort(cost_of, kind="mergesort")[:length]
        cost = cost_of[order].sum()
        if node < 0 or cost < least - SAME * abs(least):
            node, least = k, cost
            chosen[:] = False
            chosen[order] = True
    if node < 0:
        return
    plan.node[j] = node
    for h in range(slots):
        if chosen[h]:
            if plan.begin[j] < 0:
                plan.begin[j] = h
            plan.job[node, h] = j
            left[cluster.class_of[node], h] -= 1
            known[:, h] = UNKNOWN
