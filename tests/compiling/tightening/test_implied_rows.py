"""Rows that a longer row implies: which go, which only look like it, and that the relaxation stays the same."""

from __future__ import annotations

import numpy as np
import pytest
from choices import assert_no_weaker
from drafts import Draft, Row

from gpusched_dsl.compiling.tightening.implied_rows import ImpliedRows
from gpusched_dsl.ir.problem import Problem

INF = np.inf
LOWER, UPPER = (0, 0, 0, 0, -2, 0), (1, 1, 1, 1, 3, INF)


def stated(*rows: Row) -> Problem:
    """Rows over x = 0, 1, 2, z = 3 (all 0/1), y = 4 in -2..3 and u = 5, which has no upper bound."""
    draft = Draft()
    for name, count, first in (("x", 3, 0), ("z", 1, 3), ("y", 1, 4), ("u", 1, 5)):
        draft.columns(name, count, LOWER[first], UPPER[first], first < 4)
    draft.rows("r", rows)
    draft.minimize({0: -1, 1: -2, 2: -1, 3: 1, 4: 1, 5: 1})
    return draft.problem()


def kept(*rows: Row) -> list[int]:
    """Of some rows those that stay, the relaxation being the same."""
    reformulated = assert_no_weaker(stated(*rows), ImpliedRows(), same=True)
    if reformulated.rows is None:
        return list(range(len(rows)))
    return np.flatnonzero(reformulated.rows >= 0).tolist()


SUM = {0: 1.0, 1: 1.0, 2: 1.0, 3: -1.0}


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("row", "long"),
    [
        ((-INF, {0: 1, 3: -1}, 0), (0, SUM, 0)),
        ((-INF, {0: 1, 3: -1}, 0), (-INF, SUM, 0)),
        ((0, {0: -2, 3: 2}, INF), (-INF, SUM, 0)),
        ((-INF, {0: 1, 3: -1}, 0), (0, {c: -3 * v for c, v in SUM.items()}, INF)),
        ((-INF, {0: 1, 3: -1}, 0), (-INF, SUM | {1: 7, 0: 2}, 0)),
        ((-INF, {0: 1, 3: -1}, 0.5), (-INF, SUM, 0.5)),
        ((-INF, {0: 1, 1: 1, 3: -1}, 0), (-INF, SUM, 0)),
        # seen with half of the long row, not with the whole of it
        ((-INF, {0: 1, 3: -1}, 0.5), (-INF, {0: 1, 1: 1, 3: -2}, 0)),
        # y adds 2 to the side, u can only help
        ((-INF, {0: 1, 3: -1}, 2), (-INF, {0: 1, 3: -1, 4: 1}, 0)),
        ((-INF, {0: 1, 3: -1}, 0), (-INF, {0: 1, 3: -1, 5: 1}, 0)),
        # the infinite end of u is one of the row's own
        ((-INF, {0: 1, 5: -1}, 0), (-INF, {0: 1, 1: 1, 5: -1}, 0)),
        # both sides of a row, from the two sides of another
        ((-4, {0: 1, 1: 1}, 3), (-1, {0: 1, 1: 1, 4: 1}, 1)),
    ],
)
def test_short_rows_go(row: Row, long: Row) -> None:
    assert kept(row, long) == [1]
    assert kept(long, row) == [0]


@pytest.mark.parametrize(
    ("row", "long"),
    [
        ((-INF, {0: 1, 3: -1}, -0.5), (-INF, SUM, 0)),
        ((-INF, {0: 2, 3: -1}, 0), (-INF, SUM, 0)),
        ((0, {0: 1, 3: -1}, 0), (-INF, SUM, 0)),
        ((0, {0: 1, 3: -1}, INF), (0, SUM, 0)),
        ((-INF, {0: 1, 3: -1}, 0), (-INF, {0: 0.5, 1: 1, 3: -1}, 0)),
        ((-INF, {0: 1, 3: -1}, 1.9), (-INF, {0: 1, 3: -1, 4: 1}, 0)),
        ((-INF, {0: 1, 3: -1}, 0), (-INF, {0: 1, 3: -1, 5: -1}, 0)),
        ((-4, {0: 1, 1: 1}, 3), (-2, {0: 1, 1: 1, 4: 1}, 1)),
        ((-INF, {0: 1, 3: -1}, 0), (-INF, {0: 1, 3: -1}, 0)),
        ((-INF, {0: 1, 3: -1}, 0), (-INF, {1: 1, 2: 1, 3: -1}, 0)),
    ],
)
def test_rows_that_only_look_like_it_stay(row: Row, long: Row) -> None:
    assert kept(row, long) == [0, 1]
