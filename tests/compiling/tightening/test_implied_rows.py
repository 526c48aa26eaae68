"""Rows that a longer row implies: which go, which only look like it, and that the relaxation stays the same."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply
from choices import assert_no_weaker, random_choices
from drafts import Draft, Row
from random_problems import random_problem

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


def test_chains_end_in_a_row_that_stays() -> None:
    reformulated = apply(
        stated((-INF, {0: 1, 3: -1}, 0), (-INF, {0: 1, 1: 1, 3: -1}, 0), (-INF, SUM, 0)), ImpliedRows()
    )
    assert as_text(reformulated.problem).splitlines()[1] == "  r[3]: x[1] + x[2] + x[3] - z[1] <= 0"
    assert reformulated.problem.rows == 1
    assert reformulated.rows is not None
    assert reformulated.rows.tolist() == [-1, -1, 0]
    assert [(n.term, n.entries, n.rows) for n in reformulated.notes] == [("r", 2, -2)]


def test_rows_with_conditions_and_definitions_stay_and_imply_nothing() -> None:
    draft = Draft()
    x = draft.columns("x", 4)
    m = draft.largest("m", [[x[2], x[3]]])
    draft.rows("long", [(-INF, {x[0]: 1, x[1]: 1, x[2]: -1}, 0)], when=(x[3], True))
    draft.rows("read", [(-INF, {x[0]: 1, x[1]: 1, m[0]: -1}, 0)])
    draft.rows("short", [(-INF, {x[0]: 1, x[2]: -1}, 0), (-INF, {x[0]: 1, m[0]: -1}, 0)])
    assert apply(draft.problem(), ImpliedRows()).notes == ()
    for when in ((x[3], True), None):
        draft = Draft()
        x = draft.columns("x", 4)
        draft.rows("long", [(-INF, {x[0]: 1, x[1]: 1, x[2]: -1}, 0)], when)
        draft.rows("short", [(-INF, {x[0]: 1, x[2]: -1}, 0)])
        assert len(apply(draft.problem(), ImpliedRows()).notes) == (when is None)


def check(rng: np.random.Generator) -> int:
    problem = random_choices(rng) if rng.random() < 0.6 else random_problem(rng, blocks=1, rows=9)
    with suppress(Unsupported):
        return bool(assert_no_weaker(problem, ImpliedRows(), same=problem.is_linear).notes)
    return 0


def test_same_points() -> None:
    rng = np.random.default_rng(12)
    assert sum(check(rng) for _ in range(20)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_same_points_many(seed: int) -> None:
    rng = np.random.default_rng(7100 + seed)
    for _ in range(100):
        check(rng)
