"""Rows of a model asked for jobs in slots: all columns of a job at once, those that it has and those that it has not.

The column of job j on node k in slot h is `column[first[j] + place[k * H + h]]` of the guard. What a job takes is
on the trail of the guard until the caller commits it, or takes it back.
"""

from __future__ import annotations

from typing import NamedTuple

from gpusched_dsl.ir.arrays import Bools, Ints
from gpusched_dsl.policies.kernels.compiled import compiled_in_place
from gpusched_dsl.policies.kernels.row_guard import (
    COLUMN,
    FIRST,
    PLACE,
    RowGuard,
    column_of,
    commit,
    lower_of,
    mark,
    take,
    undo,
    upper_of,
)
from gpusched_dsl.policies.kernels.slotted_cluster import SlottedCluster
from gpusched_dsl.policies.workload import NONE


class SlottedRows(NamedTuple):
    """The guard of a decision with slots. With `starts` a job has one column, that of its first slot."""

    guard: RowGuard
    starts: bool
    deep: Bools  # (J,) a row demands something of the job, or links it to other variables


@compiled_in_place
def enters(rows: SlottedRows, cluster: SlottedCluster, j: int, k: int, h: int) -> bool:
    """Let job j run on node k from slot h to its end, and nowhere else; without an effect where a row refuses that.

    Slots after the last one have no columns.
    """
    slots = cluster.allowed.shape[2]
    end = h + 1 if rows.starts else min(h + cluster.length[j, cluster.class_of[k]], slots)
    at = mark(rows.guard)
    for t in range(h, end):
        c = column_of(rows.guard, j, k * slots + t)
        if c == NONE or not take(rows.guard, c, 1.0):
            undo(rows.guard, at)
            return False
    if not has_no_other(rows, j, end - h):
        undo(rows.guard, at)
        return False
    return True


@compiled_in_place
def has_no_other(rows: SlottedRows, j: int, own: int) -> bool:
    """Exclude all columns of job j but the `own` that it has; whether no row is broken by that."""
    if not rows.deep[j]:
        return True
    guard, ints = rows.guard, rows.guard.ints
    wanted = 0  # rows may leave no choice about some others
    first = ints[COLUMN] + ints[ints[FIRST] + j]
    for at in range(first, first + ints[COLUMN] - ints[PLACE]):  # as many as there are places
        c = ints[at]
        if c == NONE:
            continue
        if lower_of(guard, c) > 0.0:
            wanted += 1
        elif upper_of(guard, c) > 0.0 and not take(guard, c, 0.0):
            return False
    return wanted == own


@compiled_in_place
def first_block_that_enters(rows: SlottedRows, cluster: SlottedCluster, j: int, node: Ints, begin: Ints) -> int:
    """Let job j take the first of some blocks that no row refuses. Its place among them, NONE if there is none."""
    for at in range(len(node)):
        if enters(rows, cluster, j, node[at], begin[at]):
            return at
    return NONE


@compiled_in_place
def take_single_slots(rows: SlottedRows, j: int, k: int, slots: int, order: Ints, chosen: Ints) -> bool:
    """Let job j take as many slots of node k as `chosen` has places, the first ones that no row refuses."""
    at = mark(rows.guard)
    found = 0
    for h in order:
        if found == len(chosen):
            break
        c = column_of(rows.guard, j, k * slots + h)
        before = mark(rows.guard)
        if c != NONE and take(rows.guard, c, 1.0):
            chosen[found] = h
            found += 1
        else:
            undo(rows.guard, before)
    if found == len(chosen) and has_no_other(rows, j, found):
        return True
    undo(rows.guard, at)
    return False


@compiled_in_place
def leave_out(rows: SlottedRows, j: int) -> None:
    """Let job j run nowhere, if no row is broken by that."""
    at = mark(rows.guard)
    if has_no_other(rows, j, 0):
        commit(rows.guard)
    else:
        undo(rows.guard, at)
