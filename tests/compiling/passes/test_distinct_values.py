"""`all_different` becomes counts of values, or comparisons of pairs where values are many."""

from __future__ import annotations

import numpy as np
import pytest
from as_text import as_text
from brute import apply, assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.passes import distinct_values
from gpusched_dsl.compiling.passes.distinct_values import DistinctValues
from gpusched_dsl.compiling.passes.steps import Analysis, Target
from gpusched_dsl.ir.definitions import Distinct
from gpusched_dsl.ir.json.codec import from_json, to_json
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def test_each_value_is_counted() -> None:
    """As many values as arguments: each is taken once. One that is always 1 takes part without a binary."""
    draft = Draft()
    x = draft.columns("x", 2, 0, 2)
    r = draft.distinct("d", [[x[0], x[1], {None: 1.0}], [{x[0]: 2.0}, x[1]]])
    draft.rows("all", [(1, r[0], np.inf)])
    draft.minimize({r[1]: 3, x[0]: 1, x[1]: -1})
    assert (
        as_text(apply(draft.problem(), DistinctValues()).problem)
        == """\
minimize x[1] - x[2] + 3 d[2]
  all[1]: 1 <= d[1]
  d.once[1,1]: d.is[1,1] + d.is[1,4] = 1
  d.once[1,2]: d.is[1,2] + d.is[1,5] = 0
  d.once[1,3]: d.is[1,3] + d.is[1,6] = 1
  d.two[2,1]: 0 <= d.is[2,1] + d.is[2,3] - 2 d.twice[2,1]
  d.two[2,2]: 0 <= d.is[2,2] + d.is[2,4] - 2 d.twice[2,2]
  d.unless[2]: 1 <= d[2] + d.twice[2,1] + d.twice[2,2]
where
  d.is[1,1] = [x[1] = 0]
  d.is[1,2] = [x[1] = 1]
  d.is[1,3] = [x[1] = 2]
  d.is[1,4] = [x[2] = 0]
  d.is[1,5] = [x[2] = 1]
  d.is[1,6] = [x[2] = 2]
  d.is[2,1] = [2 x[1] = 0]
  d.is[2,2] = [2 x[1] = 2]
  d.is[2,3] = [x[2] = 0]
  d.is[2,4] = [x[2] = 2]
over
  0 <= x[1] <= 2 integer
  0 <= x[2] <= 2 integer
  d[1] = 1 integer
  d[2] binary
  d.is[1,1] binary
  d.is[1,2] binary
  d.is[1,3] binary
  d.is[1,4] binary
  d.is[1,5] binary
  d.is[1,6] binary
  d.is[2,1] binary
  d.is[2,2] binary
  d.is[2,3] binary
  d.is[2,4] binary
  d.twice[2,1] binary
  d.twice[2,2] binary
"""
    )
    assert_same_optimum(draft.problem(), Target("milp"))


@pytest.mark.parametrize("most", [0, 1_000])
def test_by_pairs_and_by_values(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Needed in both directions, with scaled arguments that miss each other's values."""
    monkeypatch.setattr(distinct_values, "MANY_VALUES", most)
    for sense in (1, -1):
        for cost in (-5, 5):
            draft = Draft()
            x = draft.columns("x", 3, -1, 2)
            r = draft.distinct("d", [[{x[0]: 2, None: 0.5}, {x[1]: 0.5}, x[2], {x[1]: -1.5}], [x[0], x[1]]])
            draft.minimize({r[0]: cost, r[1]: -cost, x[0]: sense, x[1]: 2 * sense, x[2]: -sense})
            assert_same_optimum(draft.problem(), Target("milp"))


def test_fewer_values_than_arguments() -> None:
    draft = Draft()
    x = draft.columns("x", 3, 1, 2)
    r = draft.distinct("d", [x])
    draft.minimize({r[0]: -1, x[0]: 1})
    assert assert_same_optimum(draft.problem(), Target("milp")).problem.upper[r[0]] == 0.0
    draft.rows("all", [(1, r[0], np.inf)])
    assert_same_optimum(draft.problem(), Target("milp"))


def test_what_cannot_be_told_apart_is_refused() -> None:
    for lower, integer, code in ((0.0, False, "GSM3205"), (-np.inf, True, "GSM3202")):
        draft = Draft()
        x = draft.columns("x", 2, lower, 5, integer=integer)
        draft.minimize({draft.distinct("d", [x])[0]: -1})
        with pytest.raises(DiagnosticError) as e:
            DistinctValues().apply(Analysis(draft.problem()), Target("milp"))
        assert {d.code for d in e.value.diagnostics} == {code}


def test_values_ranges_and_files() -> None:
    draft = Draft()
    x = draft.columns("x", 3, 0, 9)
    draft.distinct("d", [[x[0], x[1], x[2]], [x[0]], [{None: 2.0}, {x[0]: 1.0}]])
    problem = draft.problem()
    (d,) = problem.definitions
    assert isinstance(d, Distinct)
    point = np.array([2.0, 3.0, 2.0, 0, 0, 0])
    assert d.values(point).tolist() == [0.0, 1.0, 0.0]
    low, high = np.array([0.0, 2, 4, 0, 2, 3]), np.array([1.0, 3, 4, 9, 2, 3])
    assert [e.tolist() for e in d.image(low, high)] == [[1, 1, 1], [1, 1, 1]]
    low[2], high[2] = 3, 5
    assert [e.tolist() for e in d.image(low, high)] == [[0, 1, 1], [1, 1, 1]]
    low[:3], high[:3] = [0, 7, 7], [9, 7, 7]
    assert [e.tolist() for e in d.image(low, high)] == [[0, 1, 1], [0, 1, 1]]
    again = from_json(to_json(problem)).definitions[0]
    assert isinstance(again, Distinct)
    assert again.values(point).tolist() == [0.0, 1.0, 0.0]
