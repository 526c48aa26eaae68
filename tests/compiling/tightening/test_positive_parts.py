"""Penalties determined by a choice: their cost per choice, the remaining rows, and the postsolve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from as_text import as_text
from brute import apply
from choices import assert_no_weaker, relaxed
from drafts import Affine, Draft

from gpusched_dsl.compiling.tightening.positive_parts import PositiveParts
from gpusched_dsl.ir.problem import Objective, Problem, Term

INF = np.inf


def penalised(
    body: Affine, lower: float, upper: float, low: float = 0.0, high: float = INF, cost: float = 5.0
) -> Problem:
    """At most one of x = 0, 1, 2 is 1, a column t = 3 in `low .. high` with a cost, and a row."""
    draft = Draft()
    x, t = draft.columns("x", 3), draft.columns("t", 1, low, high, integer=False)[0]
    draft.rows("one", [(-INF, dict.fromkeys(x, 1), 1)])
    draft.rows("due", [(lower, body, upper)])
    draft.minimize({x[0]: -9, x[1]: -9, x[2]: -20, t: cost, None: 1})
    return draft.problem()


def test_a_tardiness_becomes_a_cost_of_the_choice() -> None:
    problem = penalised({0: 2, 1: 4, 2: 6, 3: -1}, -INF, 3)
    reformulated = assert_no_weaker(problem, PositiveParts())
    assert (
        as_text(reformulated.problem)
        == """\
minimize -9 x[1] - 4 x[2] - 5 x[3] + 1
  one[1]: x[1] + x[2] + x[3] <= 1
over
  x[1] binary
  x[2] binary
  x[3] binary
"""
    )
    assert reformulated.rows is not None
    assert reformulated.rows.tolist() == [0, -1]
    assert [reformulated.invert(x).tolist() for x in np.eye(3)] == [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 3]]
    assert reformulated.map_start(np.array([0, 1, 0, 7.0])).tolist() == [0, 1, 0]
    assert [(n.term, n.entries, n.rows, n.columns) for n in reformulated.notes] == [("t", 1, -1, -1)]
    assert relaxed(reformulated.problem).value == pytest.approx(-8)
    assert relaxed(problem).value < -10


@pytest.mark.parametrize(
    ("problem", "objective"),
    [
        # A column that a cost moves up: min(8, 9 - 2 x[1] - 3 x[2]).
        (penalised({0: 2, 1: 3, 3: 1}, -INF, 9, 0, 8, -1), "-8 x[1] - 7 x[2] - 20 x[3] - 7"),
        # Scaled by two and turned.
        (penalised({0: -4, 2: -12, 3: 2}, -6, INF), "-9 x[1] - 9 x[2] - 5 x[3] + 1"),
        # An equation: t is 1 + x[1] - x[2].
        (penalised({0: 1, 1: -1, 3: -1}, -1, -1), "-4 x[1] - 14 x[2] - 20 x[3] + 6"),
        # A row with a second side that leaves room.
        (penalised({0: 4, 3: -1}, -2, 3), "-4 x[1] - 9 x[2] - 20 x[3] + 1"),
        # No other column at all.
        (penalised({3: -2}, -INF, -3), "-9 x[1] - 9 x[2] - 20 x[3] + 8.5"),
    ],
)
def test_other_forms(problem: Problem, objective: str) -> None:
    reformulated = assert_no_weaker(problem, PositiveParts())
    assert as_text(reformulated.problem).splitlines()[0] == f"minimize {objective}"


def test_every_term_keeps_its_share() -> None:
    problem = penalised({0: 2, 1: 4, 2: 6, 3: -1}, -INF, 3)
    late, held = np.array([3], dtype=np.int32), np.array([3, 1], dtype=np.int32)
    terms = (Term("late", late, np.array([2.0])), Term("held", held, np.array([1.0, 4.0]), 6.0))
    problem = replace(problem, objectives=(Objective("minimize", terms),))
    made = apply(problem, PositiveParts()).problem.objectives[0].terms
    assert [(t.name, t.columns.tolist(), t.coefficients.tolist(), t.constant) for t in made] == [
        ("late", [1, 2], [2, 6], 0),
        ("held", [1, 2], [5, 3], 6),
    ]


def left_alone() -> dict[str, Problem]:
    plain = penalised({0: 2, 1: 4, 3: -1}, -INF, 3)
    two = replace(plain, objectives=plain.objectives * 2)
    free = Draft()
    x, t = free.columns("x", 2), free.columns("t", 1, 0, INF, integer=False)[0]
    free.rows("due", [(-INF, {x[0]: 2, x[1]: 2, t: -1}, 1)])
    free.minimize({t: 1})
    when = Draft()
    x, t = when.columns("x", 2), when.columns("t", 1, 0, INF, integer=False)[0]
    when.rows("due", [(-INF, {x[0]: 2, t: -1}, 1)], when=(x[1], True))
    when.minimize({t: 1})
    nearly = Draft()  # at most one, but not for fractional points
    x, t = nearly.columns("x", 2), nearly.columns("t", 1, 0, INF, integer=False)[0]
    nearly.rows("one", [(-INF, {x[0]: 3, x[1]: 3}, 5)])
    nearly.rows("due", [(-INF, {x[0]: 2, x[1]: 2, t: -1}, 1)])
    nearly.minimize({t: 1})
    alone = Draft()  # at most one only because of the very row, with t <= 1
    x, t = alone.columns("x", 2), alone.columns("t", 1, 0, 1, integer=False)[0]
    alone.rows("due", [(-INF, {x[0]: 1, x[1]: 1, t: -1}, 0)])
    alone.minimize({x[0]: -3, x[1]: -3, t: 1})
    twice = Draft()
    x, t = twice.columns("x", 1), twice.columns("t", 1, 0, INF, integer=False)[0]
    twice.rows("due", [(-INF, {x[0]: 2, t: -1}, 1), (-INF, {x[0]: 3, t: -1}, 1)])
    twice.minimize({t: 1})
    read = Draft()
    x, t = read.columns("x", 1), read.columns("t", 1, 0, INF, integer=False)[0]
    m = read.largest("m", [[t, x[0]]])
    read.rows("due", [(-INF, {x[0]: 2, t: -1}, 1)])
    read.minimize({t: 1, m[0]: 1})
    return {
        "two objectives": two,
        "any choices": free.problem(),
        "under a condition": when.problem(),
        "not for fractions": nearly.problem(),
        "proved by its own row": alone.problem(),
        "in two rows": twice.problem(),
        "read by a definition": read.problem(),
        "without end": penalised({0: 2, 3: 1}, -INF, 3, -INF),
        "impossible without a choice": penalised({0: 2, 3: -1}, -INF, -3, 0, 2),
    }


@pytest.mark.parametrize("why", sorted(left_alone()))
def test_left_alone(why: str) -> None:
    problem = left_alone()[why]
    assert as_text(apply(problem, PositiveParts()).problem) == as_text(problem)
