"""Terms that are written twice become one, also one inside another; different ones stay."""

from __future__ import annotations

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft
from small import small_problem

from gpusched_dsl.compiling.passes.equal_terms import EqualTerms
from gpusched_dsl.compiling.passes.steps import Analysis, Target
from gpusched_dsl.ir.distributions import Exponential, uniform

MILP = Target("milp")


def sizes(draft: Draft) -> list[int]:
    return [d.size for d in apply(draft.problem(), EqualTerms(), MILP).problem.definitions]


def test_equal_terms_of_two_blocks_are_one() -> None:
    draft = Draft()
    x = draft.columns("x", 3, 0, 5)
    one = draft.largest("one", [[x[0], x[1]], [x[1], x[2]], [x[1], {x[2]: 1, None: 1}]])
    other = draft.largest("other", [[x[1], x[2]], [x[0], {x[1]: 2}]])
    draft.minimize({one[0]: 1, one[1]: 2, one[2]: 1, other[0]: -3, other[1]: 1})
    after = assert_same_optimum(draft.problem(), EqualTerms(), MILP)
    assert "one[1] - one[2] + one[3] + other[2]" in as_text(after.problem)
    assert [(n.entries, n.columns) for n in after.notes] == [(1, -1)]


def test_terms_of_equal_terms_become_equal() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5)
    (a,) = draft.unary("a", "abs", [{x[0]: 1, x[1]: -1}])
    (b,) = draft.unary("b", "abs", [{x[0]: 1, x[1]: -1}])
    c = draft.largest("c", [[a, {None: 2.0}]])
    d = draft.largest("d", [[b, {None: 2.0}]])
    draft.minimize({c[0]: 1, d[0]: 1})
    assert sizes(draft) == [1, 1]


@pytest.mark.parametrize("change", ["largest", "argument", "constant", "law", "exponent", "side"])
def test_what_differs_in_anything_stays(change: str) -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5)
    match change:
        case "largest":
            results = [draft.largest("a", [[x[0], x[1]]]), draft.smallest("b", [[x[0], x[1]]])]
        case "argument":
            results = [draft.largest("a", [[x[0], {x[0]: 2}]]), draft.largest("b", [[x[0], {x[1]: 2}]])]
        case "constant":
            results = [
                draft.largest("a", [[{x[0]: 1, None: 1.0}, {x[1]: 1, None: 2.0}]]),
                draft.largest("b", [[{x[0]: 1, None: 2.0}, {x[1]: 1, None: 1.0}]]),
            ]
        case "law":
            laws = [Exponential(3.0), uniform(0.0, 6.0)]
            results = [draft.partial_expectation(n, [x[0]], [i], laws) for i, n in enumerate("ab")]
        case "exponent":
            results = [draft.power(n, [x[0]], [e]) for n, e in zip("ab", (2.0, 3.0), strict=True)]
        case _:
            results = [draft.holds(n, [(low, x[0], np.inf)]) for n, low in zip("ab", (2.0, 3.0), strict=True)]
    draft.minimize({r[0]: 1.0 for r in results})
    assert sizes(draft) == [1, 1]


def test_equal_laws_need_not_be_the_same_object() -> None:
    draft = Draft()
    (x,) = draft.columns("x", 1, 0, 5)
    results = [draft.partial_expectation(n, [x], [0], [Exponential(3.0)]) for n in "ab"]
    draft.minimize({r[0]: 1.0 for r in results})
    assert sizes(draft) == [1]


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(s, marks=pytest.mark.slow) for s in range(20, 400))])
def test_random_problems_keep_their_optimum(seed: int) -> None:
    problem = small_problem(seed, results=5, wide=1)
    if not EqualTerms().accepts(Analysis(problem), MILP):
        pytest.skip("nothing to compare")
    try:
        assert_same_optimum(problem, EqualTerms(), MILP)
    except Unsupported:
        pytest.skip("too large to enumerate")
