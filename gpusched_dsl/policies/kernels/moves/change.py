"""A change of a schedule: the new places of jobs and kinds of nodes; and its execution.

A job keeps what the change does not name. Units of shared GPUs are given back before any are taken, so that two jobs
may exchange parts of full GPUs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.kernels.compiled import compiled_in_place
from gpusched_dsl.policies.kernels.row_guard import RowGuard, holds, keep_place, kept_node, kept_way
from gpusched_dsl.policies.workload import NONE, Schedule, Workload


class ScheduleChange(NamedTuple):
    """Arrays are overwritten in place: one buffer serves all candidates.

    `shape` is the number of jobs named, the node that changes its kind (NONE: none does), and its new kind.
    """

    shape: Ints  # (3,)
    job: Ints  # (J,) the first `shape[0]` count
    way: Ints  # (J,) NONE: postponed
    node: Ints  # (J,) NONE: postponed
    gpu: Ints  # (J,) which shared GPU, for a way that is a part of one, else NONE


def empty_change(work: Workload) -> ScheduleChange:
    """A buffer that names nothing."""
    jobs = len(work.due)
    shape = np.array([0, NONE, NONE], dtype=np.int64)
    return ScheduleChange(shape, *(np.full(jobs, NONE, dtype=np.int64) for _ in range(4)))


@compiled_in_place
def clear(change: ScheduleChange) -> None:
    """Name nothing."""
    change.shape[0] = 0
    change.shape[1] = NONE
    change.shape[2] = NONE


@compiled_in_place
def name_job(change: ScheduleChange, j: int, way: int, node: int, gpu: int) -> None:
    """Send a job to a node, a way of NONE to the queue."""
    i = change.shape[0]
    change.job[i] = j
    change.way[i] = way
    change.node[i] = node
    change.gpu[i] = gpu
    change.shape[0] = i + 1


@compiled_in_place
def copy_change(into: ScheduleChange, change: ScheduleChange) -> None:
    """Overwrite one buffer by another."""
    for i in range(len(change.shape)):
        into.shape[i] = change.shape[i]
    for i in range(change.shape[0]):
        into.job[i] = change.job[i]
        into.way[i] = change.way[i]
        into.node[i] = change.node[i]
        into.gpu[i] = change.gpu[i]


@compiled_in_place
def keeps_rows(guard: RowGuard | None, plan: Schedule, change: ScheduleChange) -> bool:
    """Whether a plan breaks no row of the guard after a change."""
    if guard is None:
        return True
    for i in range(change.shape[0]):
        j = change.job[i]
        keep_place(guard, j, plan.node[j], plan.way[j])
        plan.node[j], plan.way[j] = change.node[i], change.way[i]
        if change.way[i] == NONE:
            plan.node[j] = NONE
    fits = holds(guard, plan.node, plan.way)
    for i in range(change.shape[0]):
        j = change.job[i]
        plan.node[j], plan.way[j] = kept_node(guard, j), kept_way(guard, j)
    return fits


@compiled_in_place
def apply(work: Workload, plan: Schedule, change: ScheduleChange) -> None:
    """Carry a change out, in place."""
    for i in range(change.shape[0]):
        take_out(work, plan, change.job[i])
    n = change.shape[1]
    if n >= 0:
        before, after = plan.kind[n], change.shape[2]
        for r in range(work.room.shape[1]):
            taken = work.room[before, r] - plan.left[n, r] if before >= 0 else 0.0
            plan.left[n, r] = work.room[after, r] - taken
        plan.kind[n] = after
    for i in range(change.shape[0]):
        if change.way[i] >= 0:
            _put_in(work, plan, change.job[i], change.way[i], change.node[i], change.gpu[i])
    for n in range(len(plan.kind)):
        if plan.jobs[n] == 0:
            _close(work, plan, n)


@compiled_in_place
def _close(work: Workload, plan: Schedule, n: int) -> None:
    """A node without jobs: its place in the order of opening is free, and its kind if it was rented."""
    plan.opened[n] = NONE
    if work.node_kind[n] < 0:
        plan.kind[n] = NONE
    for r in range(work.room.shape[1]):  # exactly, without what rounding left
        plan.left[n, r] = work.room[plan.kind[n], r] if plan.kind[n] >= 0 else np.inf


@compiled_in_place
def take_out(work: Workload, plan: Schedule, j: int) -> None:
    """Remove a job from its node, if it runs; the node keeps its kind."""
    w, n, g = plan.way[j], plan.node[j], plan.gpu[j]
    if w < 0:
        return
    plan.jobs[n] -= 1
    if g >= 0:
        plan.spare[n, g] += work.size[w]
        if plan.spare[n, g] == work.parts:
            plan.spare[n, g] = NONE
            plan.used[n] -= work.parts
    else:
        plan.used[n] -= work.size[w]
    for r in range(work.room.shape[1]):
        plan.left[n, r] += work.needs[w, r]
    plan.way[j] = NONE
    plan.node[j] = NONE
    plan.gpu[j] = NONE


@compiled_in_place
def _put_in(work: Workload, plan: Schedule, j: int, w: int, n: int, g: int) -> None:
    if plan.opened[n] == NONE:
        last = NONE
        for turn in plan.opened:  # no `max()`: with Numba 0.68 it makes an array, which `in_place` functions must not
            last = max(last, turn)
        plan.opened[n] = last + 1
    plan.jobs[n] += 1
    if g >= 0:
        if plan.spare[n, g] == NONE:
            plan.spare[n, g] = work.parts
            plan.used[n] += work.parts
        plan.spare[n, g] -= work.size[w]
    else:
        plan.used[n] += work.size[w]
    for r in range(work.room.shape[1]):
        plan.left[n, r] -= work.needs[w, r]
    plan.way[j] = w
    plan.node[j] = n
    plan.gpu[j] = g
