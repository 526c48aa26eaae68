"""Comparisons with a decision as truth value become rows with conditions, in the needed half."""

from __future__ import annotations

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft
from small import small_problem

from gpusched_dsl.compiling.passes.indicators import Indicators
from gpusched_dsl.compiling.passes.reified import ReifiedComparisons
from gpusched_dsl.compiling.passes.steps import Analysis, Target
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

INF = np.inf


def text(draft: Draft) -> str:
    assert_same_optimum(draft.problem(), (ReifiedComparisons(), Indicators()))
    return as_text(assert_same_optimum(draft.problem(), ReifiedComparisons()).problem)


def test_the_half_that_is_needed() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5)
    r = draft.holds("r", [(2, {x[0]: 1, x[1]: 1}, INF)] * 2 + [(-INF, {x[0]: 2, x[1]: 4, None: 1}, 8)] * 3)
    draft.rows("row", [(1, {r[4]: 1, x[0]: 1}, 1)])
    draft.minimize({r[0]: 1, r[1]: -1, r[2]: 1, r[3]: -1, x[1]: -1.5})
    assert (
        text(draft)
        == """\
minimize -1.5 x[2] + r[1] - r[2] + r[3] - r[4]
  row[1]: x[1] + r[5] = 1
  r.if[2]: 2 <= x[1] + x[2] if r[2] = 1
  r.if[4]: 2 x[1] + 4 x[2] <= 6 if r[4] = 1
  r.if[5]: 2 x[1] + 4 x[2] <= 6 if r[5] = 1
  r.unless[3]: 8 <= 2 x[1] + 4 x[2] if r[3] = 0
  r.unless[5]: 8 <= 2 x[1] + 4 x[2] if r[5] = 0
  r.unless.2[1]: x[1] + x[2] <= 1 if r[1] = 0
over
  x[1] binary
  0 <= x[2] <= 5 integer
  r[1] binary
  r[2] binary
  r[3] binary
  r[4] binary
  r[5] binary
"""
    )


def test_an_equality_that_must_not_hold_lies_above_or_below() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 3)
    r = draft.holds("r", [(4, {x[0]: 1, x[1]: 2}, 4), (0, {x[0]: 1, x[1]: 2}, 0)])
    draft.rows("sum", [(4, {x[0]: 1, x[1]: 2}, 5)])
    draft.minimize({r[0]: 3, r[1]: 1, x[0]: 1, x[1]: 2})
    assert (
        text(draft)
        == """\
minimize x[1] + 2 x[2] + 3 r[1] + r[2]
  sum[1]: 4 <= x[1] + 2 x[2] <= 5
  r.high[1]: 5 <= x[1] + 2 x[2] if r.above[1] = 1
  r.low[1]: x[1] + 2 x[2] <= 3 if r.below[1] = 1
  r.one[1]: r[1] + r.above[1] + r.below[1] = 1
over
  0 <= x[1] <= 3 integer
  1 <= x[2] <= 2 integer
  r[1] binary
  r[2] = 0 integer
  r.above[1] binary
  r.below[1] binary
"""
    )


def test_a_term_with_two_values_makes_it_affine() -> None:
    draft = Draft()
    x, y = draft.columns("x", 2), draft.columns("y", 1, 0, 4)
    r = draft.holds(
        "r", [(1, {x[0]: 3}, INF), (-INF, {x[1]: 1, None: 2}, 2), (3, {x[1]: 3}, 3), (9, y[0], 12), (0, y[0], 4)]
    )
    draft.minimize({r[0]: 1, r[1]: -1, r[2]: 2, r[3]: 1, r[4]: 1, x[0]: -1.5, x[1]: 1})
    assert (
        text(draft)
        == """\
minimize -1.5 x[1] + x[2] + r[1] - r[2] + 2 r[3] + r[4] + r[5]
  r.switch[1]: -x[1] + r[1] = 0
  r.switch[2]: x[2] + r[2] = 1
  r.switch[3]: -x[2] + r[3] = 0
over
  x[1] binary
  x[2] binary
  0 <= y[1] <= 4 integer
  r[1] binary
  r[2] binary
  r[3] binary
  r[4] = 0 integer
  r[5] = 1 integer
"""
    )


def test_a_value_between_the_steps_is_never_met() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 4)
    r = draft.holds("r", [(2.5, {x[0]: 1, x[1]: 1}, 2.5)])
    draft.maximize({r[0]: 3, x[0]: 1})
    assert (
        text(draft)
        == """\
maximize x[1] + 3 r[1]
over
  0 <= x[1] <= 4 integer
  0 <= x[2] <= 4 integer
  r[1] = 0 integer
"""
    )


def test_a_comparison_of_continuous_columns_is_not_negated() -> None:
    draft = Draft()
    x = draft.columns("share", 1, 0, 5, integer=False)
    r = draft.holds("share[k] >= 2", [(2, x[0], INF)])
    draft.minimize({r[0]: 1, x[0]: -1})
    with pytest.raises(DiagnosticError, match=r"cannot be told from its opposite: `share\[1\]` is continuous") as e:
        ReifiedComparisons().apply(Analysis(draft.problem()), Target("milp"))
    assert e.value.diagnostics[0].code == "GSM3205"
    draft.objectives.clear()
    draft.maximize({r[0]: 1, x[0]: -0.2})
    assert_same_optimum(draft.problem(), (ReifiedComparisons(), Indicators()))


def test_notes() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5)
    r = draft.holds("r", [(2, {x[0]: 1, x[1]: 1}, 3)] * 2)
    draft.minimize({r[0]: 1})
    (note,) = apply(draft.problem(), ReifiedComparisons()).notes
    assert (note.entries, note.rows, note.columns) == (2, 3, 2)
    assert note.effect == "rows under a condition; binaries for above and below; never used"


def check(seed: int) -> bool:
    problem = small_problem(seed, ("at_least", "at_most", "between", "largest")[: 3 + seed % 2], wide=3)
    try:
        assert_same_optimum(problem, ReifiedComparisons())
        reformulated = assert_same_optimum(problem, (ReifiedComparisons(), Indicators()))
    except Unsupported:
        return False
    return reformulated.problem.rows > problem.rows


@pytest.mark.slow
def test_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(60)) > 20


@pytest.mark.slow
def test_many_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(1000, 2000)) > 450
