"""Bounds that follow from fixed columns: never a feasible point lost, and back to exactly where it was."""

from __future__ import annotations

import numpy as np
import pytest
from building import INF, at_least, at_most, between, equal, minimize, problem
from small_mips import random_mip, whole_points

from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.fix_and_propagate import fix, fix_what_fits
from gpusched_dsl.solving.primal.propagation import PropagationDomain
from gpusched_dsl.solving.primal.rows import distinct_numbers, entries, rows_of


def test_rows_say_what_follows() -> None:
    one = problem(minimize(1, 1, 1), columns=3, rows=[equal(1, 1, 1, 1), at_most(3, 2, 0, 2)], upper=1, integer=True)
    box = PropagationDomain(one, rows_of(one))
    assert box.settle()
    assert box.narrow(np.array([0]), np.array([1.0]), np.array([1.0]))
    assert box.upper.tolist() == [1, 0, 0]
    box.undo(0)
    assert box.upper.tolist() == [1, 1, 1]
    assert not box.narrow(np.array([0, 1]), np.ones(2), np.ones(2))
    assert box.conflict == 0


def test_one_infinite_term_is_bounded_by_the_others_and_two_by_none() -> None:
    one = problem(
        minimize(1, 1, 1), columns=3, rows=[at_most(5, 1, 1, 0), at_least(-2, 0, -1, -1)],
        lower=[-3, -INF, -INF], upper=[3, INF, INF],
    )  # fmt: skip
    box = PropagationDomain(one, rows_of(one))
    assert box.settle()
    assert box.upper[1] == 8
    assert np.isinf(box.upper[2])
    assert box.narrow(np.array([1]), np.array([2.0]), np.array([2.0]))
    assert box.upper.tolist() == [3, 2, 0]


@pytest.mark.parametrize("seed", range(40))
def test_no_feasible_point_is_lost_and_steps_are_taken_back_exactly(seed: int) -> None:
    one = random_mip(seed, columns=6, rows=4, continuous=0)
    draw = np.random.default_rng(seed)
    points = np.array(whole_points(one)).reshape(-1, 6)
    box = PropagationDomain(one, rows_of(one))
    settled = box.settle()
    assert settled or not len(points)
    if not settled:
        return
    for _ in range(6):
        before = [a.copy() for a in (box.lower, box.upper, box.least, box.most, box.least_open, box.most_open)]
        mark = box.mark
        columns = draw.choice(6, size=int(draw.integers(1, 4)), replace=False)
        values = np.array([draw.integers(box.lower[c], box.upper[c] + 1) for c in columns], dtype=float)
        agreeing = points[(points[:, columns] == values).all(axis=1)]
        if box.narrow(columns, values, values):
            assert ((agreeing >= box.lower) & (agreeing <= box.upper)).all()
        else:
            assert not len(agreeing)
        box.undo(mark)
        for array, old in zip(
            (box.lower, box.upper, box.least, box.most, box.least_open, box.most_open), before, strict=True
        ):
            np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_fixed_wholly_is_feasible(seed: int) -> None:
    one = random_mip(seed, columns=8, rows=4, continuous=0)
    box = PropagationDomain(one, rows_of(one))
    if not box.settle():
        return
    targets = np.random.default_rng(seed).integers(0, 2, 8).astype(float)
    done = fix(box, np.arange(8), targets, HeuristicBudget(10.0), first=8)
    assert done == bool((box.lower == box.upper).all())
    if done:
        assert verify(one, box.lower).feasible
    else:
        assert not whole_points(one) or (box.lower < box.upper).any()


def test_a_column_that_contradicts_is_kept_from_its_value() -> None:
    one = problem(minimize(1, 1, 1), columns=3, rows=[equal(1, 1, 1, 1)], upper=1, integer=True)
    box = PropagationDomain(one, rows_of(one))
    assert fix(box, np.arange(3), np.zeros(3), HeuristicBudget(10.0), first=3)
    assert box.lower.tolist() == [0, 0, 1]


def test_dead_ends_are_left_by_going_back() -> None:
    # With x0 = 1 both values of x1 break a row, which no single row says as long as x1 is open.
    one = problem(
        minimize(1, 1, 1), columns=3, upper=1, integer=True,
        rows=[between(2, 2, 1, 1, 1), at_most(1, 1, 1, -1), at_most(1, 1, -1, 1)],
    )  # fmt: skip
    assert [p.tolist() for p in whole_points(one)] == [[0, 1, 1]]
    box = PropagationDomain(one, rows_of(one))
    assert box.narrow(np.array([0]), np.ones(1), np.ones(1))
    box.undo(0)
    assert fix(box, np.arange(3), np.array([1.0, 1, 0]), HeuristicBudget(10.0), first=1)
    assert box.lower.tolist() == [0, 1, 1]
    box.undo(0)
    assert not fix(box, np.arange(3), np.array([1.0, 1, 0]), HeuristicBudget(10.0), first=1, dead_ends=0)


def test_steps_on_columns_without_bounds_are_taken_back() -> None:
    one = problem(
        minimize(1, 1, 1), columns=3, rows=[at_most(5, 1, 1, -2), at_least(-2, 0, -1, -1)],
        lower=[-INF, -INF, -INF], upper=[INF, INF, INF],
    )  # fmt: skip
    box = PropagationDomain(one, rows_of(one))
    before = [a.copy() for a in (box.lower, box.upper, box.least, box.most, box.least_open, box.most_open)]
    assert box.least_open.tolist() == [3, 2]
    assert box.narrow(np.array([0, 1]), np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    assert box.least_open.tolist() == [0, 0]  # the last column is bounded by then, from both sides
    box.undo(0)
    after = (box.lower, box.upper, box.least, box.most, box.least_open, box.most_open)
    for array, old in zip(after, before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_what_fits_is_fixed_and_the_rest_named() -> None:
    one = problem(minimize(1, 1, 1), columns=3, rows=[at_most(2, 1, 1, 1)], upper=1, integer=True)
    box = PropagationDomain(one, rows_of(one))
    left = fix_what_fits(box, np.arange(3), np.ones(3), HeuristicBudget(10.0))
    assert left.tolist() == [2]
    assert box.lower.tolist() == [1, 1, 0]


def test_no_time_fixes_nothing() -> None:
    one = random_mip(3)
    box = PropagationDomain(one, rows_of(one))
    assert not fix(box, np.arange(6), np.zeros(8), HeuristicBudget(0.0))
    assert fix_what_fits(box, np.arange(6), np.zeros(8), HeuristicBudget(0.0)).tolist() == list(range(6))


def test_entries_and_distinct_numbers() -> None:
    at, counts = entries(np.array([0, 2, 2, 5]), np.array([2, 0, 1]))
    assert at.tolist() == [2, 3, 4, 0, 1]
    assert counts.tolist() == [3, 2, 0]
    assert (
        distinct_numbers(np.array([5, 1, 5]), 1000).tolist()
        == distinct_numbers(np.array([5, 1, 5]), 6).tolist()
        == [1, 5]
    )
