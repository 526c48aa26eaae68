"""Rows about one quotient become linear rows; a possible division by 0 is refused."""

from __future__ import annotations

import numpy as np
import pytest
from drafts import Draft
from found_codes import raises_code

from gpusched_dsl.compiling.passes.reciprocals import Reciprocals
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Target

INF = np.inf
POWERS = Target("powers", frozenset({INTEGERS, "power", "product"}))


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
    with raises_code("GSM3204", "1 / x[j]") as e:
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
    with raises_code("GSM3204", "1 / x"):
        Reciprocals().apply(Analysis(draft.problem()), Target("milp"))


def test_a_whole_denominator_that_never_is_0() -> None:
    draft = Draft()
    n = draft.columns("n", 1, 0, 4)
    r = draft.power("r", [{n[0]: 2, None: -3}], [-1])
    draft.minimize(r[0])
    assert Reciprocals().apply(Analysis(draft.problem()), Target("milp")).problem.definitions
