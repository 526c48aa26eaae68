"""All integer points of small systems, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gpusched_dsl.compiling.interchangeable.enumeration import count_points, integer_points
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.work import STEP, ElementWork


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(200))
def test_random_systems(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, columns = int(random.integers(0, 4)), int(random.integers(0, 5))
    step = random.choice((1.0, 0.5, 0.1))
    matrix = random.choice((-2, -1, 0, 0, 1, 1, 2), (rows, columns)) * step
    low = random.integers(-2, 2, columns)
    high = low + random.integers(0, 4, columns)
    sides = np.sort(random.integers(-6, 7, (2, rows)), axis=0) * step
    lower = np.where(random.random(rows) < 0.4, -np.inf, sides[0])
    upper = np.where(random.random(rows) < 0.3, np.inf, sides[1])
    every = product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))
    wanted = [
        point
        for point in every
        if all(
            a - 1e-7 <= value <= b + 1e-7 for a, value, b in zip(lower, matrix @ np.array(point), upper, strict=True)
        )
    ]
    found = integer_points(matrix, lower, upper, low, high, 10_000)
    assert [tuple(point) for point in found.tolist()] == wanted
    assert count_points(matrix, lower, upper, low, high) == len(wanted)


def test_rows_that_rounding_breaks() -> None:
    """Ten tenths are one, whatever their floating-point sum."""
    matrix = np.full((1, 10), 0.1)
    found = integer_points(matrix, np.array([1.0]), np.array([1.0]), np.zeros(10, np.int64), np.ones(10, np.int64), 100)
    assert found.tolist() == [[1] * 10]


def test_too_many_are_refused() -> None:
    none, one = np.zeros(12, np.int64), np.ones(12, np.int64)
    anything = (np.zeros((1, 12)), np.array([-np.inf]), np.array([np.inf]), none, one)
    assert len(integer_points(*anything, 4096)) == 4096
    with pytest.raises(Obstacle, match="more than 4,095 possible uses"):
        integer_points(*anything, 4095)
    with pytest.raises(Obstacle, match="more than 10 possible uses"):
        integer_points(np.ones((1, 1)), np.array([0.0]), np.array([1.0]), np.zeros(1, np.int64), np.array([10**9]), 10)


def test_partial_points_without_end_are_cut_off() -> None:
    """Of 2 ** 40 points two are asked for, and those in between are never listed."""
    columns = 40
    matrix = np.concatenate((np.eye(columns)[:-1] - np.eye(columns, k=1)[:-1],))
    sides = np.zeros(columns - 1)
    none, one = np.zeros(columns, np.int64), np.ones(columns, np.int64)
    assert integer_points(matrix, sides, sides, none, one, 10).tolist() == [[0] * columns, [1] * columns]


def test_counting_takes_less_work_than_listing() -> None:
    """40 columns of 1, 2, 4 or 8 below 64: millions of points, but only 65 sums."""
    sizes = np.array([1.0, 2.0, 4.0, 8.0] * 10)[None, :]
    none, one = np.zeros(40, np.int64), np.ones(40, np.int64)
    system = (sizes, np.array([-np.inf]), np.array([64.0]), none, one)
    ways = np.zeros(65, dtype=object)
    ways[0] = 1
    for size in sizes[0].astype(int):
        ways[size:] = ways[size:] + ways[:-size]
    work = ElementWork(10**9, root="Nodes")
    assert count_points(*system, work) == ways.sum()
    assert work.done <= 2 * 40 * (STEP + 65)


def test_counting_gives_up_where_all_sums_differ() -> None:
    sizes = (2.0 ** np.arange(40))[None, :]
    work = ElementWork(10**9, root="Nodes")
    none, one = np.zeros(40, np.int64), np.ones(40, np.int64)
    assert count_points(sizes, np.array([-np.inf]), np.array([np.inf]), none, one, work) is None
    assert work.done < 1_000_000


def test_work_is_limited() -> None:
    sizes = (2.0 ** np.arange(16))[None, :]
    none, one = np.zeros(16, np.int64), np.ones(16, np.int64)
    system = (sizes, np.array([-np.inf]), np.array([np.inf]), none, one, 10**9)
    with pytest.raises(Obstacle, match="too much work"):
        integer_points(*system, ElementWork(100_000, root="Nodes"))
    assert len(integer_points(*system, ElementWork(1_000_000, root="Nodes"))) == 2**16
