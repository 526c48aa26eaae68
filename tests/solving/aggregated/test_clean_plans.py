"""A plan by element that breaks a row by a solver's tolerance is moved; one that breaks it by more is refused."""

from __future__ import annotations

import numpy as np
from found_codes import raises_code

import gpusched_dsl as gs
from gpusched_dsl.solving.aggregated import _clean

TEXT = """model m {
  var a >= 0 <= 9; var b >= 0 <= 9; var n integer >= 0 <= 3;
  minimize o: a + b;
  constraint both: a * b >= 16;
  constraint some: a + n >= 5;
} scenario s for m { }"""


def test_a_plan_is_moved_where_a_clean_one_is_near() -> None:
    problem = gs.compile(TEXT, "s")
    inner = gs.loads(TEXT).solve(backend="scip").solved
    checked = _clean(problem, np.array([4 - 1e-5, 4, 1, 0]), inner, None)
    assert checked.point[0] * checked.point[1] >= 16 - 1e-9
    assert checked.point[0] + checked.point[2] >= 5 - 1e-9
    assert checked.point[2] == 1.0
    with raises_code("GSM4008", "scip", "both", "14.0", "16.0", at="both"):
        _clean(problem, np.array([3.5, 4, 2, 0]), inner, None)
