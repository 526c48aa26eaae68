"""Starts jobs in slots as time advances."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled_in_place
from gpusched_dsl.policies.kernels.row_guard import commit, mark, undo
from gpusched_dsl.policies.kernels.slotted_cluster import SlottedCluster, SlottedSchedule, SlottedState
from gpusched_dsl.policies.kernels.slotted_rows import SlottedRows, enters


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
        state.tried[c] = state.first_free[c]
    while True:
        best = -1
        for c in range(classes):
            if state.tried[c] < 0 or not cluster.allowed[j, c, h]:
                continue
            key = cluster.key[j, c, column]
            least = cluster.key[j, best, column] if best >= 0 else np.inf
            if best < 0 or key < least or (key == least and state.tried[c] < state.tried[best]):
                best = c
        if best < 0:
            return -1
        passes = True
        for t in range(h, min(h + (1 if state.here_only else cluster.length[j, best]), slots)):
            passes = passes and state.known[best, t] == 1
        k = state.tried[best]
        if rows is None:
            if passes:
                return int(k)
            if first_only:
                return -1
            state.tried[best] = -1
        elif not (passes or first_only):
            state.tried[best] = -1
        else:
            at = mark(rows.guard)
            # Jobs that were placed before the pass may follow in later slots.
            if stays_free(plan, k, h, h + cluster.length[j, best]) and enters(rows, cluster, j, k, h):
                if passes:
                    commit(rows.guard)
                    return int(k)
                undo(rows.guard, at)
                return -1
            state.tried[best] = next_free_node(cluster, plan, state, best, k + 1, h)


@compiled_in_place
def stays_free(plan: SlottedSchedule, k: int, h: int, end: int) -> bool:
    """Whether a node has no job from one slot to another."""
    for t in range(h, min(end, plan.job.shape[1])):  # noqa: SIM110 - a generator is slow where it is compiled
        if plan.job[k, t] >= 0:
            return False
    return True


@compiled_in_place
def next_free_node(
    cluster: SlottedCluster, plan: SlottedSchedule, state: SlottedState, c: int, first: int, h: int
) -> int:
    """Return the free node of lowest number, from one on, of a class; NONE if there is none."""
    for k in range(first, len(cluster.class_of)):
        if cluster.class_of[k] == c and plan.job[k, h] < 0 and state.taken[k] == 0:
            return k
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
