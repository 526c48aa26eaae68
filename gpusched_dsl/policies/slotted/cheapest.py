"""The cheapest slots of a job that no row of the model refuses: all blocks are listed and tried, cheapest first."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.kernels.slotted import SAME, put
from gpusched_dsl.policies.kernels.slotted_cluster import SlottedCluster, SlottedSchedule, SlottedState
from gpusched_dsl.policies.kernels.slotted_rows import (
    SlottedRows,
    confirm,
    first_block_that_enters,
    leave_out,
    take_back,
    take_single_slots,
)
from gpusched_dsl.policies.workload import NONE


def put_cheapest_that_enters(
    rows: SlottedRows,
    cluster: SlottedCluster,
    plan: SlottedSchedule,
    state: SlottedState,
    job: int,
    *,
    singly: bool,
) -> int:
    """Place a job as `put_cheapest` does, in the first block or the first slots that no row refuses.

    Returns the node, NONE if the job is left out.
    """
    kind = cluster.class_of
    usable = cluster.allowed[job][kind] & (plan.job < 0) & (state.known[kind] == 1)  # (K, H)
    node, begin, cost = _blocks(cluster, job, usable)
    order = np.lexsort((begin, node, _ranks(cost)))
    at = int(first_block_that_enters(rows, cluster, job, node[order], begin[order]))
    if at >= 0:
        confirm(rows)
        chosen = int(node[order[at]])
        put(cluster, plan, state, job, chosen, int(begin[order[at]]))
        return chosen
    chosen = _put_singly(rows, cluster, plan, state, job, usable) if singly else NONE
    if chosen == NONE:
        leave_out(rows, job)
    return chosen


def _blocks(cluster: SlottedCluster, job: int, usable: Bools) -> tuple[Ints, Ints, Floats]:
    """Return node, first slot and cost of every block in which a job may run, by nodes and slots."""
    slots = usable.shape[1]
    length = cluster.length[job]
    before: Ints = np.zeros((len(usable), slots + 1), dtype=np.int64)
    before[:, 1:] = np.cumsum(usable, axis=1)
    is_block, cost = np.zeros(usable.shape, dtype=np.bool_), np.zeros(usable.shape)
    for c in np.flatnonzero((length > 0) & (length <= slots)).tolist():
        size = int(length[c])
        mine = cluster.class_of == c
        is_block[mine, : slots - size + 1] = before[mine, size:] - before[mine, : slots - size + 1] == size
        key = np.broadcast_to(cluster.key[job, c], slots)
        cost[mine, : slots - size + 1] = np.lib.stride_tricks.sliding_window_view(key, size).sum(axis=1)
    node, begin = np.nonzero(is_block)
    return node, begin, cost[node, begin]


def _ranks(cost: Floats) -> Ints:
    """Return numbers in the order of costs, equal ones for costs that differ by rounding."""
    scale = SAME * float(np.abs(cost).max(initial=0.0))
    return np.rint(cost / scale).astype(np.int64) if scale else np.zeros(len(cost), dtype=np.int64)


def _put_singly(
    rows: SlottedRows, cluster: SlottedCluster, plan: SlottedSchedule, state: SlottedState, job: int, usable: Bools
) -> int:
    """Put a job into the cheapest single slots of the node where these cost least."""
    slots = usable.shape[1]
    found: list[tuple[float, int, Ints]] = []
    for node in np.flatnonzero(usable.any(axis=1)).tolist():
        kind = int(cluster.class_of[node])
        key = np.broadcast_to(cluster.key[job, kind], slots)
        order = np.flatnonzero(usable[node])
        order = order[np.argsort(key[order], kind="stable")]
        chosen = np.zeros(int(cluster.length[job, kind]), dtype=np.int64)
        if 0 < len(chosen) <= len(order) and take_single_slots(rows, job, node, slots, order, chosen):
            take_back(rows)
            found.append((float(key[chosen].sum()), node, chosen))
    if not found:
        return NONE
    cheapest = _ranks(np.array([cost for cost, _, _ in found]))
    _, node, chosen = found[int(np.argmin(cheapest))]
    take_single_slots(rows, job, node, slots, chosen.copy(), chosen)
    confirm(rows)
    plan.node[job], plan.last[job] = node, chosen.max()
    plan.job[node, chosen] = job
    state.left[cluster.class_of[node], chosen] -= 1
    return node
