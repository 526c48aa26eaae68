"""Places jobs in slots: started as time advances, or in the cheapest later slots."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.row_guard import commit, mark, undo
from gpusched_dsl.policies.kernels.slotted_cluster import SlottedCluster, SlottedSchedule, SlottedState
from gpusched_dsl.policies.kernels.slotted_cover import sort
from gpusched_dsl.policies.kernels.slotted_rows import SlottedRows, first_node_that_enters

SAME = 1e-12  # relative: sums of the same slots in another order


@compiled_in_place
def put(cluster: SlottedCluster, plan: SlottedSchedule, state: SlottedState, j: int, k: int, h: int) -> None:
    """Job j runs on node k from slot h to its end."""
    c = cluster.class_of[k]
    slots = plan.job.shape[1]
    end = h + cluster.length[j, c]
    plan.node[j] = k
    plan.last[j] = end - 1
    for t in range(h, min(end, slots)):
        plan.job[k, t] = j
        state.left[c, t] -= 1


@compiled_in_place
def free_nodes(cluster: SlottedCluster, plan: SlottedSchedule, state: SlottedState, h: int) -> bool:
    """Return the free node of lowest number in every class: without a job in slot h and not used by a service.

    Returns whether there is any.
    """
    for c in range(len(state.first_free)):
        state.first_free[c] = -1
    found = False
    for k in range(len(cluster.class_of)):
        c = cluster.class_of[k]
        if state.first_free[c] < 0 and plan.job[k, h] < 0 and state.taken[k] == 0:
            state.first_free[c] = k
            found = True
    return found


@compiled_in_place
def startable_node(
    cluster: SlottedCluster,
    plan: SlottedSchedule,
    state: SlottedState,
    j: int,
    h: int,
    first_only: bool,
    rows: SlottedRows | None,
) -> int:
    """The node on which job j may start in slot h: the best by key, then by number, that is free and passes the guard.

    Nodes on which rows refuse the job are no candidates; it is entered in the rows of the node that is returned. With
    `first_only` the guard is asked about the best candidate alone. NONE if there is none.
    """
    classes, slots = state.left.shape
    column = h if cluster.key.shape[2] > 1 else 0
    for c in range(classes):
        state.tried[c] = 0
    for _ in range(classes):
        best = -1
        for c in range(classes):
            if state.tried[c] == 1 or state.first_free[c] < 0 or not cluster.allowed[j, c, h]:
                continue
            key = cluster.key[j, c, column]
            least = cluster.key[j, best, column] if best >= 0 else np.inf
            if best < 0 or key < least or (key == least and state.first_free[c] < state.first_free[best]):
                best = c
        if best < 0:
            return -1
        passes = True
        for t in range(h, min(h + (1 if state.here_only else cluster.length[j, best]), slots)):
            passes = passes and state.known[best, t] == 1
        if rows is None:
            if passes:
                return int(state.first_free[best])
            if first_only:
                return -1
        elif passes or first_only:
            at = mark(rows.guard)
            k = first_node_that_enters(rows, cluster, plan, state, j, best, h)
            if k >= 0 and passes:
                commit(rows.guard)
                return k
            undo(rows.guard, at)
            if k >= 0:
                return -1
        state.tried[best] = 1
    return -1


@compiled_in_place
def may_start(cluster: SlottedCluster, j: int, h: int) -> bool:
    """Whether the policy lets a job start in a slot on any node."""
    if cluster.first[j] > h:
        return False
    for c in range(cluster.allowed.shape[1]):  # noqa: SIM110 - a generator is slow where it is compiled
        if cluster.allowed[j, c, h]:
            return True
    return False


@compiled_in_place
def next_start(
    cluster: SlottedCluster,
    plan: SlottedSchedule,
    state: SlottedState,
    h: int,
    place: int,
    blocking: bool,
    first_only: bool,
    rows: SlottedRows | None = None,
) -> tuple[int, int]:
    """Start the next of the waiting jobs that can start in slot h, from `place` of the queue on.

    Returns its place and the place to go on from; NONE if no job starts. With `blocking`, a job without a place lets
    none behind it start, unless the policy does not let it start in this slot.
    """
    if not free_nodes(cluster, plan, state, h):
        return -1, -1
    for i in range(place, len(cluster.order)):
        j = cluster.order[i]
        if plan.node[j] < 0 and may_start(cluster, j, h):
            k = startable_node(cluster, plan, state, j, h, first_only, rows)
            if k >= 0:
                put(cluster, plan, state, j, k, h)
                return j, i + 1
            if blocking:
                break
    return -1, -1


@compiled
def put_cheapest(cluster: SlottedCluster, plan: SlottedSchedule, state: SlottedState, j: int, singly: bool) -> int:
    """Place job j in the consecutive slots of least key on one node in which it may train.

    Blocks of equal key go to the node of lowest number, then to the earliest slot. Without a block, and with `singly`,
    the job takes single slots: the cheapest ones of the node where these cost least. Returns the node, NONE if the job
    is left out.
    """
    nodes, slots = plan.job.shape
    classes = len(state.left)
    usable = np.zeros(slots, dtype=np.bool_)
    cost = np.zeros((classes, slots))
    _block_costs(cluster, j, cost)
    node, begin, least = -1, -1, 0.0
    for k in range(nodes):
        c = cluster.class_of[k]
        if cluster.length[j, c] > 0:
            _mark_usable_slots(cluster, plan, state, j, k, usable)
            h = _block(usable, cluster.length[j, c], cost[c])
            if h >= 0 and (node < 0 or cost[c, h] < least - SAME * abs(least)):
                node, begin, least = k, h, cost[c, h]
    if node >= 0:
        put(cluster, plan, state, j, node, begin)
    elif singly:
        node = _put_singly(cluster, plan, state, j, usable)
    return node


@compiled_in_place
def _block_costs(cluster: SlottedCluster, j: int, cost: Floats) -> None:
    """The cost of a block of job j by the class of its node and its first slot."""
    classes, slots = cost.shape
    width = cluster.key.shape[2]
    for c in range(classes):
        length = cluster.length[j, c]
        for h in range(slots - length + 1 if length > 0 else 0):
            cost[c, h] = 0.0
            for t in range(h, h + length):
                cost[c, h] += cluster.key[j, c, t if width > 1 else 0]


@compiled_in_place
def _mark_usable_slots(
    cluster: SlottedCluster, plan: SlottedSchedule, state: SlottedState, j: int, k: int, usable: Bools
) -> None:
    """In which slots job j may be put on node k."""
    c = cluster.class_of[k]
    for h in range(len(usable)):
        usable[h] = cluster.allowed[j, c, h] and plan.job[k, h] < 0 and state.known[c, h] == 1


@compiled_in_place
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
def _put_singly(cluster: SlottedCluster, plan: SlottedSchedule, state: SlottedState, j: int, usable: Bools) -> int:
    """Put job j into the cheapest single slots of the node where these cost least, if any node has enough of them."""
    nodes, slots = plan.job.shape
    width = cluster.key.shape[2]
    key = np.zeros(slots)
    order = np.zeros(slots, dtype=np.int64)
    chosen = np.zeros(slots, dtype=np.int64)
    node, least = -1, 0.0
    for k in range(nodes):
        c = cluster.class_of[k]
        length = cluster.length[j, c]
        if length == 0:
            continue
        _mark_usable_slots(cluster, plan, state, j, k, usable)
        count = 0
        for h in range(slots):
            key[h] = cluster.key[j, c, h if width > 1 else 0] if usable[h] else np.inf
            count += usable[h]
        if count < length:
            continue
        sort(key, order)
        cost = 0.0
        for i in range(length):
            cost += key[order[i]]
        if node < 0 or cost < least - SAME * abs(least):
            node, least = k, cost
            chosen[:] = 0
            for i in range(length):
                chosen[order[i]] = 1
    if node >= 0:
        plan.node[j] = node
        for h in range(slots):
            if chosen[h] == 1:
                plan.last[j] = h
                plan.job[node, h] = j
                state.left[cluster.class_of[node], h] -= 1
    return node
