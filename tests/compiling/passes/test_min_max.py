"""max, min and abs become rows: the same optimum, no binaries where none are needed, tight big M."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft
from small import small_problem

from gpusched_dsl.compiling.passes.min_max import MinMaxTerms
from gpusched_dsl.compiling.passes.steps import INDICATOR, INTEGERS, Analysis, ReformulatedProblem, Target
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

INF = np.inf
MILP = Target("milp")


def after(problem: Problem, target: Target = MILP) -> ReformulatedProblem:
    return apply(problem, MinMaxTerms(), target)


def text(draft: Draft, target: Target = MILP) -> str:
    return as_text(assert_same_optimum(draft.problem(), MinMaxTerms(), target).problem)


def test_a_maximum_that_is_minimised_is_an_epigraph() -> None:
    draft = Draft()
    x = draft.columns("x", 3, 0, 5)
    r = draft.largest("r", [[{x[0]: 1, x[1]: 2}, {x[2]: 3, None: -1}, {None: 2}, {x[0]: 1, None: -4}]])
    draft.rows("sum", [(4, {x[0]: 1, x[1]: 1, x[2]: 1}, INF)])
    draft.minimize(r[0])
    assert (
        text(draft)
        == """\
minimize r[1]
  sum[1]: 4 <= x[1] + x[2] + x[3]
  r.epigraph[1,1]: 0 <= -x[1] - 2 x[2] + r[1]
  r.epigraph[1,2]: -1 <= -3 x[3] + r[1]
over
  0 <= x[1] <= 5 integer
  0 <= x[2] <= 5 integer
  0 <= x[3] <= 5 integer
  2 <= r[1] <= 15 integer
"""
    )


def test_a_maximum_that_is_maximised_chooses_by_binaries() -> None:
    draft = Draft()
    x = draft.columns("x", 3, 0, 5, integer=False)
    r = draft.largest("r", [[{x[0]: 2}, {x[1]: 1, None: 3}, {None: 4}]])
    draft.rows("sum", [(-INF, {x[0]: 1, x[1]: 2}, 4)])
    draft.maximize({r[0]: 1, x[2]: 1})
    assert (
        text(draft)
        == """\
maximize x[3] + r[1]
  sum[1]: x[1] + 2 x[2] <= 4
  r.choice[1,1]: -2 x[1] + r[1] + 5 r.chosen[1,1] <= 5
  r.choice[1,2]: -x[2] + r[1] + 5 r.chosen[1,2] <= 8
  r.choice[1,3]: r[1] - 4 r.chosen[1,1] - 4 r.chosen[1,2] <= 4
  r.one[1]: 0 <= r.chosen[1,1] + r.chosen[1,2] <= 1
over
  0 <= x[1] <= 4
  0 <= x[2] <= 2
  0 <= x[3] <= 5
  4 <= r[1] <= 8
  r.chosen[1,1] binary
  r.chosen[1,2] binary
"""
    )


def test_a_minimum_is_the_mirror_image() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5, integer=False)
    r = draft.smallest("r", [[{x[0]: 2}, {x[1]: 1, None: 3}]] * 2)
    draft.minimize({r[0]: 1, r[1]: -1, x[0]: -1.5})
    assert (
        text(draft)
        == """\
minimize -1.5 x[1] + r[1] - r[2]
  r.choice[1,1]: -7 <= -2 x[1] + r[1] - 7 r.chosen[1,1]
  r.choice[1,2]: 3 <= -x[2] + r[1] + 8 r.chosen[1,1]
  r.epigraph[2,1]: -2 x[1] + r[2] <= 0
  r.epigraph[2,2]: -x[2] + r[2] <= 3
over
  0 <= x[1] <= 5
  0 <= x[2] <= 5
  0 <= r[1] <= 8
  0 <= r[2] <= 8
  r.chosen[1,1] binary
"""
    )


def test_or_and_and_of_binaries_need_no_binaries() -> None:
    draft = Draft()
    x = draft.columns("x", 3)
    either = draft.largest("either", [[x[0], {x[1]: -1, None: 1}, x[2]]])
    both = draft.smallest("both", [[x[0], {x[1]: -1, None: 1}]])
    draft.rows("one", [(-INF, {either[0]: 1, both[0]: -1}, 0)])
    draft.maximize({either[0]: 1, x[2]: 2, both[0]: -1, x[1]: 1})
    assert (
        text(draft)
        == """\
maximize x[2] + 2 x[3] + either[1] - both[1]
  one[1]: either[1] - both[1] <= 0
  either.sum[1]: -x[1] + x[2] - x[3] + either[1] <= 1
  either.epigraph[1,1]: 0 <= -x[1] + either[1]
  either.epigraph[1,2]: 1 <= x[2] + either[1]
  either.epigraph[1,3]: 0 <= -x[3] + either[1]
  both.sum[1]: 0 <= -x[1] + x[2] + both[1]
  both.epigraph[1,1]: -x[1] + both[1] <= 0
  both.epigraph[1,2]: x[2] + both[1] <= 1
over
  x[1] binary
  x[2] binary
  x[3] binary
  either[1] binary
  both[1] binary
"""
    )


def test_the_positive_part_of_a_difference_of_binaries_has_its_hull() -> None:
    draft = Draft()
    x = draft.columns("x", 2)
    r = draft.largest("r", [[{x[0]: 1, x[1]: -1}, {None: 0}], [{x[0]: 3, x[1]: -2}, {None: 1}]])
    draft.maximize({r[0]: 1, r[1]: 1, x[0]: -2})
    assert (
        text(draft)
        == """\
maximize -2 x[1] + r[1] + r[2]
  r.hull[1,1]: -x[1] + r[1] <= 0
  r.hull[1,2]: x[2] + r[1] <= 1
  r.hull[2,1]: -2 x[1] + r[2] <= 1
  r.hull[2,2]: 2 x[2] + r[2] <= 3
over
  x[1] binary
  x[2] binary
  r[1] binary
  1 <= r[2] <= 3 integer
"""
    )


def test_the_absolute_difference_of_binaries_has_its_hull() -> None:
    draft = Draft()
    x = draft.columns("x", 2)
    r = draft.unary("r", "abs", [{x[0]: 2, x[1]: -2}, {x[0]: -1, x[1]: -1, None: 1}])
    draft.maximize({r[0]: 1, r[1]: 1})
    assert (
        text(draft)
        == """\
maximize r[1] + r[2]
  r.hull[1,1]: 2 x[1] + 2 x[2] + r[1] <= 4
  r.hull[1,2]: -2 x[1] - 2 x[2] + r[1] <= 0
  r.hull[2,1]: -x[1] + x[2] + r[2] <= 1
  r.hull[2,2]: x[1] - x[2] + r[2] <= 1
over
  x[1] binary
  x[2] binary
  0 <= r[1] <= 2 integer
  r[2] binary
"""
    )


def test_one_binary_column_makes_the_extreme_affine() -> None:
    draft = Draft()
    x, y = draft.columns("x"), draft.columns("y", 1, 0, 4)
    r = draft.largest("r", [[{x[0]: 5, None: -2}, {None: 0}], [{x[0]: -1}, {x[0]: 2, None: -1}]])
    draft.minimize({r[0]: 1, r[1]: -1, x[0]: -4, y[0]: 1})
    assert (
        text(draft)
        == """\
minimize -4 x[1] + y[1] + r[1] - r[2]
  r.switch[1]: -3 x[1] + r[1] = 0
  r.switch[2]: -x[1] + r[2] = 0
over
  x[1] binary
  0 <= y[1] <= 4 integer
  0 <= r[1] <= 3 integer
  -1 <= r[2] <= 1 integer
"""
    )


def test_what_cannot_be_the_extreme_goes() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 3)
    r = draft.largest("r", [[x[0], {None: -1}], [{x[0]: 1, x[1]: -1, None: 4}, {x[1]: 1, None: -9}, {None: 1}]])
    a = draft.unary("a", "abs", [{x[1]: -1, None: -2}])
    draft.minimize({r[0]: -1, r[1]: 1, a[0]: -1})
    assert (
        text(draft)
        == """\
minimize -x[1] + r[2] - a[1]
  r.equal[2]: -x[1] + x[2] + r[2] = 4
  a.equal[1]: -x[2] + a[1] = 2
over
  0 <= x[1] <= 3 integer
  0 <= x[2] <= 3 integer
  1 <= r[2] <= 7 integer
  2 <= a[1] <= 5 integer
"""
    )


def test_notes_tell_what_was_added() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5, integer=False)
    r = draft.largest("r", [[x[0], {x[1]: 1, None: -1}]] * 3)
    draft.minimize({r[0]: 1, r[1]: -1})
    (note,) = after(draft.problem()).notes
    assert (note.term, note.entries, note.rows, note.columns) == ("r", 3, 4, 1)
    assert note.big_m == (4.0, 6.0)
    assert note.effect == "never used; binaries choose the argument; at least each argument"


def test_no_bound_no_big_m() -> None:
    draft = Draft()
    x = draft.columns("machines", 2, 0, INF, integer=False)
    r = draft.largest("r", [[x[0], x[1]]])
    draft.rows("cap", [(-INF, {r[0]: 1, x[0]: 1, x[1]: 1}, 9), (2, r[0], INF)])
    draft.minimize({x[0]: 1, x[1]: 1})
    problem = draft.problem()
    free = replace(problem, row_upper=np.full(2, INF))
    with pytest.raises(DiagnosticError, match=r"`r` can only be made linear if `machines` has an upper bound") as e:
        MinMaxTerms().apply(Analysis(free), MILP)
    assert {d.code for d in e.value.diagnostics} == {"GSM3202"}
    assert_same_optimum(problem, MinMaxTerms())
    assert_same_optimum(free, MinMaxTerms(), Target("indicators", frozenset({INTEGERS, INDICATOR})))


def test_a_target_without_integers_keeps_what_would_need_them() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5, integer=False)
    r = draft.largest("r", [[x[0], x[1]]] * 2)
    draft.minimize({r[0]: 1, r[1]: -1})
    left = after(draft.problem(), Target("lp", frozenset())).problem
    assert [d.size for d in left.definitions] == [1]
    assert left.definitions[0].results.tolist() == [r[1]]
    assert left.columns == draft.problem().columns


def check(seed: int) -> bool:
    kinds = ("largest", "smallest", "abs") if seed % 2 else ("largest", "smallest", "abs", "at_least", "at_most")
    problem = small_problem(seed, kinds, continuous=0.4 * (seed % 2))
    try:
        reformulated = assert_same_optimum(problem, MinMaxTerms())
    except Unsupported:
        return False
    return reformulated.problem.rows > problem.rows


@pytest.mark.slow
def test_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(60)) > 30


@pytest.mark.slow
def test_many_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(1000, 2500)) > 700


def test_arguments_that_differ_by_a_constant_count_once() -> None:
    """So `max(x, x)` needs no bound of x, and the larger of `x` and `x + 1` is the second one."""
    draft = Draft()
    x = draft.columns("x", 1, -INF, INF, integer=False)
    y = draft.columns("y", 1, 0, 5, integer=False)
    r = draft.largest("r", [[{x[0]: 1}, {x[0]: 1, None: 1}, {x[0]: 1}], [{x[0]: 2}, {x[0]: 2}]])
    draft.rows("c", [(-INF, {r[0]: 1, y[0]: -1}, 0), (-3, {r[1]: 1}, INF)])
    draft.maximize({r[0]: 1, r[1]: 1})
    prepared = after(draft.problem())
    assert not prepared.problem.is_mip
    assert not any("epigraph" in family.name for family in prepared.problem.constraints)
    solved = Draft()
    x = solved.columns("x", 2, -3, 3)
    r = solved.largest("r", [[{x[0]: 1, x[1]: -1}, {x[0]: 1, x[1]: -1, None: 2}, {x[1]: 1}, {x[1]: 1}]])
    solved.maximize({r[0]: -1, x[1]: 0.5})
    assert_same_optimum(solved.problem(), MinMaxTerms(), MILP)
    other = Draft()
    x = other.columns("x", 2, -3, 3)
    r = other.smallest("r", [[{x[0]: 1, x[1]: -1}, {x[0]: 1, x[1]: -1, None: 2}, {x[1]: 1}, {x[1]: 1}]])
    other.maximize({r[0]: 1, x[1]: 0.5})
    assert_same_optimum(other.problem(), MinMaxTerms(), MILP)
