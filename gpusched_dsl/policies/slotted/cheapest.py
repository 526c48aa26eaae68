"""The cheapest slots of a job on one node: all blocks are listed, and the first one is taken that no row refuses."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.kernels.row_guard import commit, undo
from gpusched_dsl.policies.kernels.slotted import put
from gpusched_dsl.policies.kernels.slotted_cluster import SlottedCluster, SlottedSchedule, SlottedState
from gpusched_dsl.policies.kernels.slotted_rows import (
    SlottedRows,
    first_block_that_enters,
    leave_out,
    take_single_slots,
)
from gpusched_dsl.policies.workload import NONE

SAME = 1e-12  # relative: sums of the same slots in another order


def put_cheapest(
    cluster: SlottedCluster,
    plan: SlottedSchedule,
    state: SlottedState,
    job: int,
    *,
    singly: bool,
    rows: SlottedRows | None = None,
) -> int:
    """Place a job in the consecutive slots of least key on one node in which it may run, and where no row refuses it.

    Blocks of equal key go to the node of lowest number, then to the earliest slot. Without a block, and with `singly`,
    the job takes single slots: the cheapest ones of the node where these cost least. Returns the node, NONE if the job
    is left out.
    """
    slots = np.flatnonzero(cluster.allowed[job].any(axis=0))
    window = slice(int(slots.min(initial=0)), int(slots.max(initial=-1)) + 1)
    of_class = cluster.allowed[job, :, window] & (state.known[:, window] == 1)
    usable = of_class[cluster.class_of] & (plan.job[:, window] < 0)  # by nodes and slots
    node, begin, cost = _blocks(cluster, job, usable, window)
    if rows is not None:
        order = np.lexsort((begin, node, ranks_of(cost)))
        node, begin = node[order], begin[order]
        at = int(first_block_that_enters(rows, cluster, job, node, begin))
    else:
        at = int(ranks_of(cost).argmin()) if len(cost) else NONE
    if at != NONE:
        if rows is not None:
            commit(rows.guard)
        put(cluster, plan, state, job, int(node[at]), int(begin[at]))
        return int(node[at])
    chosen = _put_singly(cluster, plan, state, job, usable, window, rows) if singly else NONE
    if chosen == NONE and rows is not None:
        leave_out(rows, job)
    return chosen


def _blocks(cluster: SlottedCluster, job: int, usable: Bools, window: slice) -> tuple[Ints, Ints, Floats]:
    """Return node, first slot and cost of every block in which a job may run, by nodes and slots."""
    slots = usable.shape[1]
    length = cluster.length[job]
    before = np.zeros((len(usable), slots + 1), dtype=np.int32)
    np.cumsum(usable, axis=1, out=before[:, 1:])
    found: list[tuple[Ints, Ints, Floats]] = []
    for c in np.flatnonzero((length > 0) & (length <= slots)).tolist():
        size = int(length[c])
        mine = np.flatnonzero(cluster.class_of == c)
        at, begin = np.nonzero(before[mine, size:] - before[mine, : slots - size + 1] == size)
        cost = np.lib.stride_tricks.sliding_window_view(_keys(cluster, job, c, window), size).sum(axis=1)
        found.append((mine[at], begin, cost[begin]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    node, begin, cost = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.argsort(node, kind="stable")
    return node[order], begin[order] + window.start, cost[order]


def _keys(cluster: SlottedCluster, job: int, kind: int, window: slice) -> Floats:
    """The keys of a job on nodes of a class in the slots of a window."""
    found: Floats = np.broadcast_to(cluster.key[job, kind], cluster.allowed.shape[2])[window]
    return found


def ranks_of(cost: Floats) -> Ints:
    """Return numbers in the order of costs, equal ones for costs that differ by rounding."""
    scale = SAME * float(np.abs(cost).max(initial=0.0))
    return np.rint(cost / scale).astype(np.int64) if scale else np.zeros(cost.shape, dtype=np.int64)


def _put_singly(
    cluster: SlottedCluster,
    plan: SlottedSchedule,
    state: SlottedState,
    job: int,
    usable: Bools,
    window: slice,
    rows: SlottedRows | None,
) -> int:
    """Put a job into the cheapest single slots of the node where these cost least."""
    slots = cluster.allowed.shape[2]
    found: list[tuple[float, int, Ints]] = []
    for node in np.flatnonzero(usable.any(axis=1)).tolist():
        kind = int(cluster.class_of[node])
        key = _keys(cluster, job, kind, window)
        order = np.flatnonzero(usable[node])
        order = order[np.argsort(key[order], kind="stable")]
        size = int(cluster.length[job, kind])
        if not 0 < size <= len(order):
            continue
        chosen = order[:size] + window.start
        if rows is not None:
            if not take_single_slots(rows, job, node, slots, order + window.start, chosen):
                continue
            undo(rows.guard, 0)
        found.append((float(key[chosen - window.start].sum()), node, chosen))
    if not found:
        return NONE
    _, node, chosen = found[int(np.argmin(ranks_of(np.array([cost for cost, _, _ in found]))))]
    if rows is not None:
        take_single_slots(rows, job, node, slots, chosen.copy(), chosen)
        commit(rows.guard)
    plan.node[job], plan.last[job] = node, chosen.max()
    plan.job[node, chosen] = job
    state.left[cluster.class_of[node], chosen] -= 1
    return node
