"""Rows with a condition become rows with the smallest big M; redundant rows are removed."""

from __future__ import annotations

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft
from small import small_problem

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.indicators import Indicators
from gpusched_dsl.compiling.passes.steps import INDICATOR, INTEGERS, Analysis, Target
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

INF = np.inf
NATIVE = Target("native", frozenset({INTEGERS, INDICATOR}))


def text(draft: Draft, target: Target | None = None) -> str:
    return as_text(assert_same_optimum(draft.problem(), Indicators(), target).problem)


def test_big_m_is_what_the_bounds_allow() -> None:
    draft = Draft()
    b, x = draft.columns("b", 2), draft.columns("x", 2, 0, 8, integer=False)
    draft.rows("up", [(-INF, {x[0]: 2, x[1]: -1}, 3), (-INF, {x[1]: 1, b[1]: -2}, 6)], when=(b[0], True))
    draft.rows("down", [(1, {x[0]: 1, x[1]: 1}, INF)], when=(b[1], False))
    draft.maximize({x[0]: 1, x[1]: -1, b[0]: 3, b[1]: 1})
    assert (
        text(draft)
        == """\
maximize 3 b[1] + b[2] + x[1] - x[2]
  up[1]: 13 b[1] + 2 x[1] - x[2] <= 16
  up[2]: 2 b[1] - 2 b[2] + x[2] <= 8
  down[1]: 1 <= b[2] + x[1] + x[2]
over
  b[1] binary
  b[2] binary
  0 <= x[1] <= 8
  0 <= x[2] <= 8
"""
    )


def test_an_equality_is_two_rows() -> None:
    draft = Draft()
    b, x = draft.columns("b"), draft.columns("x", 2, 0, 8, integer=False)
    draft.rows("same", [(1, {x[0]: 1, x[1]: -1}, 1)], when=(b[0], True))
    draft.maximize({x[0]: 1, x[1]: -1, b[0]: 3})
    assert (
        text(draft)
        == """\
maximize 3 b[1] + x[1] - x[2]
  same[1]: 7 b[1] + x[1] - x[2] <= 8
  same.lower[1]: -8 <= -9 b[1] + x[1] - x[2]
over
  b[1] binary
  0 <= x[1] <= 8
  0 <= x[2] <= 8
"""
    )


def test_the_condition_counts_in_its_own_row() -> None:
    draft = Draft()
    b, x = draft.columns("b"), draft.columns("x", 1, 0, 8, integer=False)
    draft.rows("own", [(-INF, {x[0]: 1, b[0]: -5}, -1)], when=(b[0], True))
    draft.maximize({x[0]: 1, b[0]: 1})
    assert (
        text(draft)
        == """\
maximize b[1] + x[1]
  own[1]: 4 b[1] + x[1] <= 8
over
  b[1] binary
  0 <= x[1] <= 8
"""
    )


def test_columns_at_their_ends_say_so_one_by_one() -> None:
    draft = Draft()
    b, x, y = draft.columns("b", 2), draft.columns("x", 3), draft.columns("y", 1, -2, 4)
    draft.rows("none", [(-INF, {x[0]: 1, x[1]: 2, x[2]: -1, y[0]: 1}, -3)], when=(b[0], True))
    draft.rows("all", [(4, {x[0]: 2, x[1]: 2}, 4)], when=(b[1], False))
    draft.maximize({x[0]: 1, x[1]: 1, y[0]: 1, b[0]: 4, b[1]: -3})
    assert (
        text(draft)
        == """\
maximize 4 b[1] - 3 b[2] + x[1] + x[2] + y[1]
  none.each[1,1]: b[1] + x[1] <= 1
  none.each[1,2]: b[1] + x[2] <= 1
  none.each[1,3]: 0 <= -b[1] + x[3]
  none.each[1,4]: 6 b[1] + y[1] <= 4
  all.each[1,1]: 1 <= b[2] + x[1]
  all.each[1,2]: 1 <= b[2] + x[2]
over
  b[1] binary
  b[2] binary
  x[1] binary
  x[2] binary
  x[3] binary
  -2 <= y[1] <= 4 integer
"""
    )


def test_sides_move_to_whole_values_and_rows_that_hold_anyway_go() -> None:
    draft = Draft()
    b, x = draft.columns("b", 2), draft.columns("x", 2, 0, 4)
    draft.rows("whole", [(2.5, {x[0]: 2, x[1]: 4}, 13.9)], when=(b[0], True))
    draft.rows("idle", [(-INF, {x[0]: 1, x[1]: 1}, 8), (0, {x[0]: 1}, 2), (-9, x[1], 9)], when=(b[1], False))
    draft.minimize({x[0]: 1, x[1]: 2, b[0]: -9, b[1]: 1})
    assert (
        text(draft)
        == """\
minimize -9 b[1] + b[2] + x[1] + 2 x[2]
  whole[1]: 12 b[1] + 2 x[1] + 4 x[2] <= 24
  idle[2]: -2 b[2] + x[1] <= 2
  whole.lower[1]: 0 <= -4 b[1] + 2 x[1] + 4 x[2]
over
  b[1] binary
  b[2] binary
  0 <= x[1] <= 4 integer
  0 <= x[2] <= 4 integer
"""
    )


def test_a_fixed_condition_is_none() -> None:
    draft = Draft()
    b, x = draft.columns("b", 2), draft.columns("x", 2, 0, INF, integer=False)
    draft.rows("on", [(1, b[0], 1), (0, b[1], 0)])
    draft.rows("kept", [(-INF, {x[0]: 1, x[1]: 1}, 8)], when=(b[0], True))
    draft.rows("gone", [(-INF, {x[0]: 1, x[1]: 1}, 4)], when=(b[1], True))
    draft.maximize({x[0]: 1, x[1]: 2})
    assert (
        text(draft)
        == """\
maximize x[1] + 2 x[2]
  on[1]: b[1] = 1
  on[2]: b[2] = 0
  kept[1]: x[1] + x[2] <= 8
over
  b[1] = 1 integer
  b[2] = 0 integer
  0 <= x[1]
  0 <= x[2]
"""
    )


def test_a_row_numbers_map_and_notes() -> None:
    draft = Draft()
    b, x = draft.columns("b", 2), draft.columns("x", 2, 0, 4)
    draft.rows("first", [(0, x[0], 9), (-INF, {x[0]: 1, x[1]: 3}, 5)], when=(b[0], True))
    draft.rows("second", [(1, {x[0]: 1, x[1]: 1}, 7)])
    reformulated = apply(draft.problem(), Indicators())
    assert reformulated.rows is not None
    assert reformulated.rows.tolist() == [-1, 0, 1]
    (note,) = reformulated.notes
    assert (note.term, note.effect, note.entries, note.rows) == ("first", "big M; redundant rows dropped", 2, -1)
    assert note.big_m == (11.0, 11.0)


def test_no_bound_no_big_m() -> None:
    draft = Draft()
    b, x = draft.columns("b"), draft.columns("speed", 2, 0, INF, integer=False)
    draft.rows("cap", [(-INF, {x[0]: 1, x[1]: 1}, 8)], when=(b[0], True))
    draft.rows("apart", [(-INF, {x[0]: 1}, 5)])
    draft.maximize({b[0]: 20, x[0]: 1, x[1]: -1})
    with pytest.raises(DiagnosticError, match="`cap` can only be made linear if `speed` has an upper bound") as e:
        Indicators().apply(Analysis(draft.problem()), Target("milp"))
    assert [(d.code, d.notes[0].split()[0]) for d in e.value.diagnostics] == [("GSM3202", "`speed[2]`")]
    assert "if b[1] = 1" in text(draft, NATIVE)


def test_a_bound_that_is_missing_behind_a_maximum_is_asked_of_the_variable() -> None:
    text = """
    model M {
      set A;
      var speed[A] >= 0;
      var load[A] >= 0;
      var on binary;
      maximize goal: on;
      constraint c: on == 1 => CONDITION;
    }
    scenario S for M { A = { a, b }; }
    """
    for condition, side in (
        ("max[a in A] max(speed[a], 1) <= 4", "upper"),
        ("min[a in A] -speed[a] >= -4", "upper"),
        ("max[a in A] (abs(speed[a] - 1) - load[a]) <= 4", "upper"),
    ):
        with gs.loads(text.replace("CONDITION", condition)) as model, pytest.raises(DiagnosticError) as e:
            model.solve("S", "cvxpy", without=["all"])
        for found in e.value.diagnostics:
            assert found.code == "GSM3202"
            assert "`speed` has an " + side in found.message, found.message
            assert "declaration of `speed`" in (found.help or "")


def test_a_target_that_takes_conditions_gets_those_with_a_large_m() -> None:
    draft = Draft()
    b, x = draft.columns("b"), draft.columns("x", 2, 0, 1e6, integer=False)
    draft.rows("cap", [(-INF, x[0], 8), (-INF, {x[0]: 1e-3}, 8)], when=(b[0], True))
    draft.maximize({b[0]: 20, x[0]: 1, x[1]: -1})
    assert (
        text(draft, NATIVE)
        == """\
maximize 20 b[1] + x[1] - x[2]
  cap[1]: x[1] <= 8 if b[1] = 1
  cap[2]: 992 b[1] + 0.001 x[1] <= 1000
over
  b[1] binary
  0 <= x[1] <= 1000000
  0 <= x[2] <= 1000000
"""
    )


def check(seed: int) -> bool:
    problem = small_problem(seed, ("largest", "at_least"), results=seed % 2, continuous=0.4 * (1 - seed % 2))
    try:
        reformulated = assert_same_optimum(problem, Indicators())
    except Unsupported:
        return False
    assert not len(reformulated.problem.conditions.rows)
    return bool(len(problem.conditions.rows))


def test_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(60)) > 20


@pytest.mark.slow
def test_many_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(1000, 3000)) > 700
