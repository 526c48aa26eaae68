"""Terms that are the same function of the same arguments get one column, whatever blocks they stand in."""

from __future__ import annotations

import numpy as np
import pytest
from brute import apply, assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.passes.equal_terms import EqualTerms


def test_equal_entries_of_two_blocks_and_terms_over_them_are_one() -> None:
    draft = Draft()
    x = draft.columns("x", 2, -1, 2)
    u = draft.largest("u", [[{x[0]: 1}, {x[1]: 2}], [{x[0]: 1}, {x[1]: 2, None: 1}]])
    v = draft.largest("v", [[{x[0]: 1}, {x[1]: 2}], [{x[1]: 2}, {x[0]: 1}]])
    w = draft.unary("w", "abs", [{u[0]: 1, x[0]: 1}, {v[0]: 1, x[0]: 1}, {v[0]: 1}])
    draft.minimize(dict.fromkeys((*u, *v, *w), 1.0))
    problem = assert_same_optimum(draft.problem(), EqualTerms()).problem
    assert [d.results.tolist() for d in problem.definitions] == [[u[0], u[1]], [v[1]], [w[0], w[2]]]
    assert problem.objectives[0].costs(problem.columns)[[u[0], v[0], w[0], w[1]]].tolist() == [2, 0, 2, 0]


def test_terms_of_another_kind_or_exponent_are_not() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 2)
    p = draft.power("p", [{x[0]: 1}, {x[0]: 1}, {x[1]: 1}], [2.0, 3.0, 2.0])
    m = draft.smallest("m", [[{x[0]: 1}, {x[1]: 1}]])
    n = draft.largest("n", [[{x[0]: 1}, {x[1]: 1}]])
    draft.minimize(dict.fromkeys((*p, *m, *n), 1.0))
    assert apply(draft.problem(), EqualTerms()).problem.definitions == draft.problem().definitions


@pytest.mark.parametrize("seed", range(20))
def test_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draft = Draft()
    x = draft.columns("x", 2, -1, 2)

    def argument() -> dict[int | None, float]:
        return {x[0]: float(rng.integers(-1, 2)), x[1]: float(rng.integers(1, 3)), None: float(rng.integers(0, 2))}

    u = draft.largest("u", [[argument(), argument()] for _ in range(4)])
    v = draft.largest("v", [[argument(), argument()] for _ in range(4)])
    a = draft.unary("a", "abs", [{int(c): 1.0} for c in rng.choice([*u, *v], 4)])
    draft.rows("row", [(-np.inf, {u[0]: 1, v[1]: 1}, 5)])
    draft.minimize({int(c): float(rng.integers(-2, 3)) for c in (*x, *u, *v, *a)})
    assert_same_optimum(draft.problem(), EqualTerms())
