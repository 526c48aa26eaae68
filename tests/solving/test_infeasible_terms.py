"""Problems with terms that cannot reach the required values end as `infeasible`, with every backend."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.solving.precheck import answer_without_solver

HEAD = "var z integer >= -1 <= 1; var x binary; var n integer >= 0 <= 4; var y >= 0 <= 4;"


@pytest.mark.parametrize("backend", ["highs", "scip", "cvxpy"])
@pytest.mark.parametrize(
    "rows",
    [
        "constraint k0: 10*z <= 3; constraint k2: x * z >= 1;",
        "constraint k0: 10*z <= 3; constraint k2: z * n >= 1;",
        "constraint k0: y <= 2; constraint k1: x * y >= 3;",
        "constraint k0: n + y <= 3; constraint k1: max(n, y) >= 3.5;",
        "constraint k0: 3*n <= 5; constraint k1: n == 2 or n >= 3;",
    ],
)
def test_bounds_that_exclude_each_other_are_infeasible(rows: str, backend: str) -> None:
    model = gs.loads(f"model m {{ {HEAD} minimize o: z + n; {rows} }} scenario s for m {{ }}")
    assert model.solve(backend=backend).status == "infeasible"


def test_what_is_prepared_says_so_in_one_row() -> None:
    text = f"model m {{ {HEAD} constraint k0: 10*z <= 3; constraint k2: x * z >= 1; }} scenario s for m {{ }}"
    reformulated = reformulate(gs.compile(text, "s"), Target("test"))
    assert reformulated.problem.is_linear
    assert "contradict each other" in reformulated.notes[-1].effect
    last = reformulated.problem.rows - 1
    assert np.diff(reformulated.problem.matrix.starts)[last] == 0
    assert reformulated.problem.row_lower[last] == 1.0
    answer = answer_without_solver(reformulated.problem)
    assert answer is not None
    assert answer.status == "infeasible"
