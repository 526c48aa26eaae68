"""Steps of the results of terms: against the values that they have at all points."""

from __future__ import annotations

import itertools

import numpy as np
from drafts import Draft

from gpusched_dsl.ir.definitions import completed
from gpusched_dsl.ir.lattice import column_steps, common_divisors


def test_values_are_multiples_of_the_steps() -> None:
    draft = Draft()
    x = draft.columns("x", 2, -1, 2)
    quarters = [{x[0]: 0.5}, {x[1]: 0.25, None: 0.75}]
    low = draft.smallest("low", [quarters, [{x[0]: 3}, {None: 4.5}], [{x[0]: 2}, {None: 0}]])
    product = draft.product("product", [[low[0], {x[0]: 0.5}], [low[1], x[1]]])
    size = draft.unary("size", "abs", [{low[0]: 1, product[1]: 1}, {x[0]: 1 / 3, x[1]: 2 / 3}])
    problem = draft.problem()
    steps = column_steps(problem)
    expected = {low[0]: 0.25, low[1]: 1.5, low[2]: 2, product[0]: 0.125, product[1]: 1.5, size[0]: 0.25, size[1]: 1 / 3}
    assert {k: float(steps[k]) for k in expected} == expected
    seen = np.zeros(problem.columns, dtype=bool)
    for point in itertools.product(range(-1, 3), repeat=2):
        start = np.zeros(problem.columns)
        start[x] = point
        places = completed(problem.definitions, start) / steps
        assert np.allclose(places, np.rint(places), atol=1e-9)
        seen |= np.rint(places) % 2 == 1
    assert seen[[low[0], low[1], product[1], size[0], size[1]]].all()  # none could be twice as large


def test_unknown_sizes_have_no_divisor() -> None:
    sizes = np.array([0.5, 0.75, np.nan, 2.0, 0.0, np.inf, 0.0, 3.0])
    found = common_divisors(sizes, np.array([0, 2, 4, 6]))
    assert found.tolist() == [0.25, 0.0, np.inf, 3.0]
