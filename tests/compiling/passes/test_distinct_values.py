"""`all_different` becomes counts of values, or comparisons of pairs where values are many."""

from __future__ import annotations

import numpy as np
import pytest
from brute import assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.passes import distinct_values
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.definitions import Distinct
from gpusched_dsl.ir.json.codec import from_json, to_json


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
