"""Rows about one quotient become linear rows; a possible division by 0 is refused."""

from __future__ import annotations

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.passes.reciprocals import Reciprocals
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Target
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

INF = np.inf
POWERS = Target("powers", frozenset({INTEGERS, "power", "product"}))


def text(draft: Draft) -> str:
    return as_text(apply(draft.problem(), Reciprocals()).problem)


def test_latency_under_a_condition() -> None:
    # serve == 1 => 1 / (rate - share) + 1 / rate <= latency, with rate 4 and latency 1
    draft = Draft()
    serve, share = draft.columns("serve", 2), draft.columns("share", 2, 0, 4, integer=False)
    r = draft.power("r", [{None: 4, share[0]: -1}, {None: 4, share[1]: -1}], [-1, -1])
    draft.rows("latency", [(-INF, {r[0]: 1, None: 0.25}, 1)], when=(serve[0], True))
    draft.rows("other", [(-INF, {r[1]: 2}, 1)])
    draft.maximize({share[0]: 1, share[1]: 1, serve[0]: 1})
    assert (
        text(draft)
        == """\
maximize serve[1] + share[1] + share[2]
  latency[1]: 0.75 share[1] <= 2 if serve[1] = 1
  other[1]: share[2] <= 2
over
  serve[1] binary
  serve[2] binary
  0 <= share[1] <= 4
  0 <= share[2] <= 2
"""
    )


def test_signs_sides_and_affine_numerators() -> None:
    draft = Draft()
    x, y = draft.columns("x", 2, 1, 4), draft.columns("y", 1, 0, 3)
    r = draft.power("r", [{x[0]: 1, x[1]: 2}, {x[0]: -2, None: 1}], [-1, -1])
    p = draft.product("p", [[y[0], r[0]], [{x[1]: 2, None: -1}, {r[0]: 3}], [y[0], r[1]]])
    draft.rows("both", [(0.5, {p[0]: 1, p[1]: 2, r[0]: 1}, 2)])
    draft.rows("same", [(-0.4, {r[1]: 2}, -0.4)])
    draft.rows("negative", [(-INF, {p[2]: 1}, -0.1), (-0.25, {r[1]: 1}, INF)])
    draft.minimize({x[0]: 1, x[1]: -1, y[0]: -1})
    assert_same_optimum(draft.problem(), Reciprocals())
    assert (
        text(draft)
        == """\
minimize x[1] - x[2] - y[1]
  both[1]: -2 x[1] + 8 x[2] + y[1] <= 5
  same[1]: 0.8 x[1] = 2.4
  negative[1]: 0.2 x[1] - y[1] <= 0.1
  negative[2]: 1.25 <= 0.5 x[1]
  both.lower[1]: 5 <= -0.5 x[1] + 11 x[2] + y[1]
over
  2 <= x[1] <= 4 integer
  x[2] = 1 integer
  1 <= y[1] <= 3 integer
"""
    )


def test_what_stands_beside_other_columns_stays() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 1, 4)
    r = draft.power("r", [x[0], x[1]], [-1, -1])
    draft.rows("sum", [(-INF, {r[0]: 1, r[1]: 1}, 1), (-INF, {r[0]: 1, x[1]: 1}, 3), (-INF, r[0], 0.75)])
    draft.minimize({x[0]: 1, r[1]: 1})
    left = apply(draft.problem(), Reciprocals(), POWERS).problem
    assert [d.size for d in left.definitions] == [2]
    assert "sum[3]: -0.75 x[1] <= -1" in as_text(left)


@pytest.mark.parametrize(
    ("row", "low"),
    [((1, 1, INF), 0), ((-INF, -1, -1), 0), ((-INF, 1, 3), -1), ((2, 1, 2), -1), ((-INF, -1, 4), 0)],
)
def test_denominators_that_may_be_0(row: tuple[float, float, float], low: float) -> None:
    draft = Draft()
    x = draft.columns("x", 1, low, 4, integer=False)
    r = draft.power("1 / x[j]", [x[0]], [-1])
    draft.rows("row", [(row[0], {r[0]: row[1]}, row[2])])
    draft.minimize(x[0])
    with pytest.raises(DiagnosticError, match=r"the denominator of `1 / x\[j\]` may be 0") as e:
        Reciprocals().apply(Analysis(draft.problem()), Target("milp"))
    assert [d.code for d in e.value.diagnostics] == ["GSM3204"]
    assert Reciprocals().apply(Analysis(draft.problem()), POWERS).problem.definitions


@pytest.mark.parametrize(("low", "high", "cost", "refused"), [(0, 4, 1, False), (0, 4, -1, True), (-4, 0, 1, True)])
def test_a_denominator_that_may_be_0_where_that_is_wanted(low: float, high: float, cost: float, refused: bool) -> None:
    draft = Draft()
    x = draft.columns("x", 1, low, high, integer=False)
    r = draft.power("1 / x", [x[0]], [-1])
    draft.minimize({r[0]: cost, x[0]: 0.1})
    if not refused:
        assert Reciprocals().apply(Analysis(draft.problem()), Target("milp")).problem.definitions
        return
    with pytest.raises(DiagnosticError, match="the denominator of `1 / x` may be 0"):
        Reciprocals().apply(Analysis(draft.problem()), Target("milp"))


def test_a_whole_denominator_that_never_is_0() -> None:
    draft = Draft()
    n = draft.columns("n", 1, 0, 4)
    r = draft.power("r", [{n[0]: 2, None: -3}], [-1])
    draft.minimize(r[0])
    assert Reciprocals().apply(Analysis(draft.problem()), Target("milp")).problem.definitions


def random_problem(seed: int) -> Draft:
    random = np.random.default_rng(seed)
    draft = Draft()
    b = draft.columns("b")
    lows = random.integers(-3, 2, 3)
    x = [draft.columns(f"x{k}", 1, int(low), int(low + random.integers(1, 5)))[0] for k, low in enumerate(lows)]
    d = {x[0]: float(random.choice([-2, -1, 1, 2])), x[1]: float(random.choice([-1, 1])), None: random.integers(-4, 5)}
    r = draft.power("r", [d, {x[0]: 1, None: 4}], [-1, -1])
    p = draft.product("p", [[x[2], r[0]], [{r[0]: 2}, {x[1]: 1, x[2]: -1, None: 1}]])
    ends = [c * np.array([draft.lower[k], draft.upper[k]]) for k, c in d.items() if k is not None]
    low, high = (sum(f(e) for e in ends) + d[None] for f in (np.min, np.max))
    for number in range(int(random.integers(1, 4))):
        columns = [int(c) for c in random.choice([r[0], *p], 2, replace=False)]
        if random.random() < 0.3 or number == 0:
            columns = [r[number % 2]]
        body = {c: float(random.choice([-1, 1, 2])) for c in columns}
        lower, upper = sorted(random.choice([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0], 2))
        side = int(random.integers(4))
        lower, upper = (-INF, upper) if side == 0 else (lower, INF) if side == 1 else (lower, upper)
        # Where a condition is off the quotient need not have a value, which the enumeration asks of every point.
        conditional = random.random() < 0.4 and not low <= 0 <= high
        draft.rows(f"row{number}", [(lower, body, upper)], (b[0], bool(random.integers(2))) if conditional else None)
    draft.minimize({c: float(random.integers(-2, 3)) for c in (*x, *b)})
    return draft


def check(seed: int) -> bool:
    """Powers are taken, so that rows which cannot be multiplied stay; points at which d = 0 are no points at all."""
    problem = random_problem(seed).problem()
    try:
        reformulated = assert_same_optimum(problem, Reciprocals(), POWERS)
    except Unsupported:
        return False
    return bool(reformulated.notes)


def test_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(60)) > 15


@pytest.mark.slow
def test_many_random_problems_keep_their_optimum() -> None:
    assert sum(check(seed) for seed in range(1000, 1600)) > 150
