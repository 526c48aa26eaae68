"""Sets with at most one column equal to 1: their rows, and agreement with every feasible point."""

from __future__ import annotations

import numpy as np
from brute import feasible_points
from choices import random_choices
from drafts import Draft, Row

from gpusched_dsl.compiling.tightening.at_most_one import AtMostOne, at_most_one

INF = np.inf


def listed(families: AtMostOne) -> list[tuple[int, list[int], int, bool, bool]]:
    """Row, columns, head, exact and tight of each."""
    starts, columns = families.sets.starts, families.sets.columns
    return [
        (int(families.rows[f]), columns[starts[f] : starts[f + 1]].tolist(), int(families.heads[f]),
         bool(families.exact[f]), bool(families.tight[f]))
        for f in range(families.count)
    ]  # fmt: skip


def said_by(*rows: Row) -> list[tuple[int, list[int], int, bool, bool]]:
    """What rows over x = 0, 1, 2, z = 3 (all 0/1), a whole n = 4 in 0..2 and a continuous y = 5 in -1..1 say."""
    draft = Draft()
    draft.columns("x", 3), draft.columns("z"), draft.columns("n", 1, 0, 2), draft.columns("y", 1, -1, 1, integer=False)
    draft.rows("r", rows)
    return listed(at_most_one(draft.problem()))


def test_plain_rows() -> None:
    assert said_by((-INF, {0: 1, 1: 1}, 1)) == [(0, [0, 1], -1, False, True)]
    assert said_by((1, {0: 1, 1: 1, 2: 1}, 1)) == [(0, [0, 1, 2], -1, True, True)]
    assert said_by((-2, {0: -2, 2: -2}, INF)) == [(0, [0, 2], -1, False, True)]
    assert said_by((-INF, {0: 1, 1: 1}, 2)) == []
    assert said_by((-INF, {0: 1}, 1)) == []
    assert said_by((1, {0: 1, 1: 1}, INF)) == []


def test_rows_with_a_head() -> None:
    assert said_by((-INF, {0: 1, 1: 1, 3: -1}, 0)) == [(0, [0, 1], 3, False, True)]
    assert said_by((0, {0: 1, 1: 1, 3: -1}, 0)) == [(0, [0, 1], 3, True, True)]
    assert said_by((0, {0: -2, 1: -2, 3: 2}, 0)) == [(0, [0, 1], 3, True, True)]
    assert said_by((-INF, {0: 1, 1: 1, 3: -2}, 0)) == []
    assert said_by((-INF, {0: 2, 1: 2, 3: -1}, 2)) == [(0, [0, 1], -1, False, False)]


def test_coefficients_that_exclude_pairs() -> None:
    assert said_by((-INF, {0: 3, 1: 2, 2: 1}, 3.5)) == [(0, [0, 1], -1, False, False)]
    assert said_by((-INF, {0: 3, 1: 2, 2: 2}, 3)) == [(0, [0, 1, 2], -1, False, False)]
    assert said_by((-INF, {0: 3, 1: 1.5, 2: 1.5}, 3)) == []


def test_other_columns_count_with_their_least_value() -> None:
    assert said_by((-INF, {0: 1, 1: 1, 4: 1}, 1)) == [(0, [0, 1], -1, False, True)]
    assert said_by((-INF, {0: 1, 1: 1, 4: -1}, 1)) == []
    assert said_by((-INF, {0: 1, 1: 1, 5: 0.5}, 1)) == [(0, [0, 1], -1, False, False)]
    assert said_by((1, {0: 1, 1: 1, 4: 1}, 1)) == [(0, [0, 1], -1, False, True)]


def test_rows_under_a_condition_say_nothing() -> None:
    draft = Draft()
    x = draft.columns("x", 3)
    draft.rows("r", [(-INF, {x[0]: 1, x[1]: 1}, 1)], when=(x[2], True))
    assert listed(at_most_one(draft.problem())) == []


def test_every_feasible_point_agrees() -> None:
    rng, heads, exact, loose = np.random.default_rng(3), 0, 0, 0
    for _ in range(80):
        problem = random_choices(rng, penalties=0)
        points = feasible_points(problem)
        for _, columns, head, is_exact, is_tight in listed(at_most_one(problem)):
            ones = points[:, columns].sum(axis=1)
            most = points[:, head] if head >= 0 else 1
            assert (ones <= most).all()
            if is_exact:
                assert (ones == most).all()
            heads, exact, loose = heads + (head >= 0), exact + is_exact, loose + (not is_tight)
    assert min(heads, exact, loose) > 5
