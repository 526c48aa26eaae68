"""What a job in slots takes in the rows is taken back, to the last bit, if it does not start."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.problem import Matrix, Problem
from gpusched_dsl.policies.kernels.row_guard import RowGuard, arrays_of, commit, restart
from gpusched_dsl.policies.kernels.slotted import free_nodes, startable_node
from gpusched_dsl.policies.kernels.slotted_cluster import (
    UNGUARDED,
    Guard,
    SlottedCluster,
    SlottedState,
    empty_plan,
    empty_state,
)
from gpusched_dsl.policies.kernels.slotted_rows import SlottedRows
from gpusched_dsl.policies.rows.guard import guard_of
from gpusched_dsl.policies.workload import NONE

JOBS, NODES, SLOTS = 2, 2, 2


def one_job_in_each_slot(refused_nodes: int) -> RowGuard:
    """Return the rows "one job in each slot", and "no job" on the first nodes."""
    entries = np.arange(JOBS * NODES * SLOTS).reshape(JOBS, NODES, SLOTS)
    rows = [entries[:, :, h].ravel() for h in range(SLOTS)] + [entries[:, n].ravel() for n in range(refused_nodes)]
    columns = np.concatenate(rows)
    count = entries.size
    problem = Problem(
        name="slots",
        variables=(),
        constraints=(),
        lower=np.zeros(count),
        upper=np.ones(count),
        integer=np.ones(count, dtype=bool),
        matrix=Matrix(np.cumsum([0, *map(len, rows)]), columns, np.ones(len(columns))),
        row_lower=np.full(len(rows), -np.inf),
        row_upper=np.concatenate((np.ones(SLOTS), np.zeros(refused_nodes))),
        objectives=(),
    )
    places = NODES * SLOTS
    return guard_of(
        problem, np.arange(JOBS) * places, np.arange(places), np.arange(count), np.arange(count) // places,
        np.full(JOBS, SLOTS),
    )  # fmt: skip


def state_of(guard: RowGuard) -> list[Floats | Ints]:
    arrays = arrays_of(guard)
    return [arrays.bounds.copy(), arrays.sums.copy(), arrays.infinite.copy(), guard.ints[:2].copy()]


def start(reserved: bool, first_only: bool, refused_nodes: int) -> tuple[list[int], bool]:
    """Return the nodes of both jobs in turn, the second asked without `reserve`, and whether the first left a trace."""
    cluster = SlottedCluster(
        class_of=np.zeros(NODES, dtype=np.int64),
        allowed=np.ones((JOBS, 1, SLOTS), dtype=np.bool_),
        key=np.zeros((JOBS, 1, 1)),
        length=np.full((JOBS, 1), SLOTS),
        first=np.zeros(JOBS, dtype=np.int64),
        order=np.arange(JOBS),
        value=np.zeros((JOBS, 0)),
    )
    plan = empty_plan(cluster, 0)
    state: SlottedState = empty_state(cluster, Guard(UNGUARDED, np.zeros((0, 1)), np.zeros((0, SLOTS))))
    rows = SlottedRows(one_job_in_each_slot(refused_nodes), starts=False, deep=np.zeros(JOBS, dtype=np.bool_))
    restart(rows.guard)
    before = state_of(rows.guard)
    assert free_nodes(cluster, plan, state, 0)
    state.known[:] = 0 if reserved else 1
    first = int(startable_node(cluster, plan, state, 0, 0, first_only, rows))
    left = any((was != now).any() for was, now in zip(before, state_of(rows.guard), strict=True))
    commit(rows.guard)
    state.known[:] = 1
    return [first, int(startable_node(cluster, plan, state, 1, 0, first_only, rows))], left


@pytest.mark.parametrize("first_only", [True, False])
@pytest.mark.parametrize("refused_nodes", [0, 1])
def test_a_job_without_a_place_leaves_no_trace_in_the_rows(first_only: bool, refused_nodes: int) -> None:
    """Services need all nodes, so the first job waits; the second one has the node that the first would have had."""
    assert start(True, first_only, refused_nodes) == ([NONE, refused_nodes], False)


@pytest.mark.parametrize("first_only", [True, False])
def test_a_job_that_rows_refuse_everywhere_leaves_no_trace(first_only: bool) -> None:
    assert start(False, first_only, NODES) == ([NONE, NONE], False)


def test_a_job_that_starts_is_kept_in_the_rows() -> None:
    """It has the one place in each slot, so the second job waits."""
    assert start(False, True, 0) == ([0, NONE], True)
