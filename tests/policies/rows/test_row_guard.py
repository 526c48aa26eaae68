"""The rows that kernels ask: what follows from a place equals the propagation of solvers, and undo is exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_mips import random_mip, whole_points

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.problem import Matrix, Problem
from gpusched_dsl.policies.kernels.row_guard import (
    REFUSING,
    ROWS,
    RowGuard,
    admits,
    admits_value,
    arrays_of,
    commit,
    enter,
    holds,
    mark,
    restart,
    settle,
    take,
    undo,
)
from gpusched_dsl.policies.rows.guard import guard_of
from gpusched_dsl.policies.workload import NONE
from gpusched_dsl.solving.primal.propagation import PropagationDomain
from gpusched_dsl.solving.primal.rows import rows_of

NO_PLACES = np.zeros(0, dtype=np.int64)


def without_places(one: Problem) -> RowGuard:
    return guard_of(one, NO_PLACES, NO_PLACES, NO_PLACES, NO_PLACES, NO_PLACES)


def with_places(one: Problem, jobs: int, nodes: int) -> RowGuard:
    """The first columns are places: job j on node n is column j * nodes + n, and way j is the only one of job j."""
    column = np.arange(jobs * nodes)
    return guard_of(
        one, np.arange(jobs) * nodes, np.arange(nodes), column, column // nodes, np.ones(jobs, dtype=np.int64)
    )


def state(guard: RowGuard) -> list[Floats | Ints]:
    arrays = arrays_of(guard)
    return [arrays.bounds.copy(), arrays.sums.copy(), arrays.infinite.copy(), arrays.queued.copy()]


def assert_same_state(guard: RowGuard, box: PropagationDomain) -> None:
    arrays = arrays_of(guard)
    assert arrays.bounds[:, 0].tolist() == box.lower.tolist()
    assert arrays.bounds[:, 1].tolist() == box.upper.tolist()
    rows = slice(0, len(box.least))
    # The least value is read below an upper side alone, the largest one above a lower side.
    at_most, at_least = np.isfinite(arrays.sides[rows, 1]), np.isfinite(arrays.sides[rows, 0])
    assert (at_most | at_least).any()
    np.testing.assert_allclose(arrays.sums[rows, 0][at_most], box.least[at_most], atol=1e-9)
    np.testing.assert_allclose(arrays.sums[rows, 1][at_least], box.most[at_least], atol=1e-9)
    assert arrays.infinite[rows, 0][at_most].tolist() == box.least_open[at_most].tolist()
    assert arrays.infinite[rows, 1][at_least].tolist() == box.most_open[at_least].tolist()


@pytest.mark.parametrize("seed", range(60))
def test_steps_equal_those_of_solvers_and_are_taken_back_exactly(seed: int) -> None:
    one = random_mip(seed, columns=9, rows=6, continuous=0)
    draw = np.random.default_rng(seed)
    guard, box = without_places(one), PropagationDomain(one, rows_of(one))
    fits = settle(guard)
    assert fits == box.settle()
    if not fits:
        return
    assert_same_state(guard, box)
    for _ in range(8):
        before, at, box_at = state(guard), mark(guard), box.mark
        column = int(draw.integers(9))
        low, high = arrays_of(guard).bounds[column].astype(int)
        value = float(draw.integers(low, high + 1))
        fits = take(guard, column, value)
        assert fits == box.narrow(np.array([column]), np.array([value]), np.array([value]))
        assert not arrays_of(guard).queued.any()
        if fits:
            assert_same_state(guard, box)
        if not fits or draw.random() < 0.5:
            if not fits:
                assert 0 <= guard.ints[REFUSING] < one.rows
            undo(guard, at)
            box.undo(box_at)
            for array, old in zip(state(guard), before, strict=True):
                assert array.tolist() == old.tolist()


def test_to_close_a_column_follows_no_row_that_only_limits_it() -> None:
    """So that a question about a full node costs what its demands cost, not all jobs in all of their rows."""
    one = random_mip(0, columns=9, rows=6, continuous=0)
    matrix = Matrix(one.matrix.starts, one.matrix.columns, np.abs(one.matrix.values))
    sides = np.full(one.rows, -np.inf), np.full(one.rows, 1e3)
    one = replace(one, matrix=matrix, row_lower=sides[0], row_upper=sides[1], lower=np.zeros(9), upper=np.ones(9))
    sides[0][0] = 0.0  # demands something
    guard = without_places(one)
    assert settle(guard)
    commit(guard)
    for column in range(9):
        assert take(guard, column, 0.0)
    demanding = int((np.asarray(matrix.row_of) == 0).sum())
    assert guard.ints[ROWS] == demanding > 0


@pytest.mark.parametrize("seed", range(40))
def test_no_point_is_lost_where_columns_are_continuous(seed: int) -> None:
    one = random_mip(seed, columns=8, rows=5, continuous=2)
    whole = replace(
        one, integer=np.ones(8, dtype=np.bool_), lower=np.maximum(one.lower, -3), upper=np.minimum(one.upper, 3)
    )
    points = np.array(whole_points(whole)).reshape(-1, 8)
    draw = np.random.default_rng(seed)
    guard = without_places(one)
    assert settle(guard) or not len(points)
    for _ in range(5):
        column = int(draw.integers(6))
        if arrays_of(guard).bounds[column, 0] > arrays_of(guard).bounds[column, 1]:
            return
        value = float(draw.integers(arrays_of(guard).bounds[column, 0], arrays_of(guard).bounds[column, 1] + 1))
        points = points[points[:, column] == value]
        at = mark(guard)
        if not (admits_value(guard, column, value) and take(guard, column, value)):
            assert not len(points)
            undo(guard, at)
            return
        commit(guard)
        low, high = arrays_of(guard).bounds.T
        assert ((points >= low - 1e-9) & (points <= high + 1e-9)).all()


@pytest.mark.parametrize("seed", range(80))
def test_places_are_admitted_where_propagation_of_all_rows_finds_no_broken_one(seed: int) -> None:
    jobs, nodes = 3, 3
    one = random_mip(seed, columns=11, rows=5, continuous=0)
    draw = np.random.default_rng(seed)
    lower, upper = one.lower.copy(), one.upper.copy()
    lower[:9], upper[:9] = 0, 1
    matrix = one.matrix
    if seed % 2:  # most rows limit places alone
        row = matrix.row_of
        kept = (matrix.columns < 9) | (row % 3 == 0)
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(row[kept], minlength=one.rows))))
        columns, values = matrix.columns[kept], matrix.values[kept]
        matrix = Matrix(starts, columns, np.where(columns < 9, np.abs(values), values))
    one = replace(one, lower=lower, upper=upper, matrix=matrix)
    if seed % 4 == 1:
        one = replace(one, row_lower=np.full(one.rows, -np.inf))
    guard = with_places(one, jobs, nodes)
    # The same rows, with those that let a job run in one place at most.
    arrays = arrays_of(guard)
    everything = replace(
        one,
        matrix=Matrix(arrays.row_starts, arrays.row_columns.astype(np.int32), arrays.row_values),
        row_lower=arrays.sides[:, 0],
        row_upper=arrays.sides[:, 1],
        constraints=(),
    )
    box = PropagationDomain(everything, rows_of(everything))
    fits = settle(guard)
    assert fits == box.settle()
    if not fits:
        return
    for j in draw.permutation(jobs):
        for n in draw.permutation(nodes):
            before, at = state(guard), box.mark
            expected = box.upper[j * nodes + n] == 1 and box.narrow(np.array([j * nodes + n]), np.ones(1), np.ones(1))
            assert admits(guard, j, n) == expected
            for array, old in zip(state(guard), before, strict=True):
                assert array.tolist() == old.tolist()
            if expected:
                assert enter(guard, j, n)
                break
            box.undo(at)


def test_a_plan_is_asked_as_a_whole() -> None:
    one = random_mip(0, columns=4, rows=1, continuous=0)
    one = replace(
        one, lower=np.zeros(4), upper=np.ones(4),
        matrix=Matrix(np.array([0, 4]), np.arange(4, dtype=np.int32), np.ones(4)),
        row_lower=np.array([-np.inf]), row_upper=np.array([1.0]),
    )  # fmt: skip
    guard = with_places(one, 2, 2)
    ways = np.arange(2)
    assert holds(guard, np.array([0, NONE]), ways)
    assert holds(guard, np.array([NONE, 1]), ways)
    assert not holds(guard, np.array([0, 0]), ways)
    restart(guard)
    assert arrays_of(guard).bounds.tolist() == arrays_of(guard).start_bounds.tolist()
