"""The problem of representatives against the problem of all elements, which is grounded for real."""

from __future__ import annotations

import numpy as np
import pytest
from summing import Case

from gpusched_dsl.compiling.interchangeable.quotient import Quotient, place_of
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.problem import Family


def of_representative(small: Quotient, families: tuple[Family, ...], whole: tuple[Family, ...]) -> Codes:
    """For every column or row of the whole problem that of the representative of its element."""
    assert [(f.name, f.part) for f in families] == [(f.name, f.part) for f in whole]
    found = [np.zeros(0, dtype=np.int64)]
    for mine, theirs in zip(families, whole, strict=True):
        codes = list(theirs.domain.columns())
        at = place_of(theirs.domain, small.universe)
        if at is not None:
            codes[at] = small.classes.first[small.classes.of[codes[at]]]
        place = mine.domain.locate(codes) if codes else np.zeros(1, dtype=np.int64)
        assert (place >= 0).all(), mine.name
        found.append(mine.first + place)
    return np.concatenate(found)


def check_alike(made: Case, where: object, seed: int = 0) -> None:
    """Sizes are the real ones; at symmetric points rows, objectives, bounds and sides are those of all elements."""
    small, whole = made.small, made.whole
    problem = small.problem
    assert small.full_size == whole.size, where
    columns = of_representative(small, problem.column_families, whole.column_families)
    rows = of_representative(small, problem.constraints, whole.constraints)
    assert set(columns) == set(range(problem.columns)), where
    assert set(rows) == set(range(problem.rows)), where
    for mine, theirs in (
        (problem.lower, whole.lower),
        (problem.upper, whole.upper),
        (problem.integer, whole.integer),
    ):
        np.testing.assert_array_equal(mine[columns], theirs, err_msg=str(where))
    random = np.random.default_rng(seed)
    for _ in range(3):
        point = random.integers(-3, 4, problem.columns).astype(np.float64)
        one, other = problem.matrix.activity(point), whole.matrix.activity(point[columns])
        np.testing.assert_allclose(one[rows], other, rtol=1e-9, atol=1e-9, err_msg=str(where))
        for side, whole_side in ((problem.row_lower, whole.row_lower), (problem.row_upper, whole.row_upper)):
            np.testing.assert_allclose(side[rows], whole_side, rtol=1e-9, atol=1e-9, err_msg=str(where))
        assert [o.value(point) for o in problem.objectives] == [
            pytest.approx(o.value(point[columns]), rel=1e-9, abs=1e-9) for o in whole.objectives
        ], where
