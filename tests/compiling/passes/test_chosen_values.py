"""Comparisons with several values become a choice, shared by all expressions that are the same but for their scale."""

from __future__ import annotations

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Affine, Draft

from gpusched_dsl.compiling.passes.chosen_values import ChosenValues
from gpusched_dsl.compiling.passes.distinct_values import DistinctValues
from gpusched_dsl.compiling.passes.equal_terms import EqualTerms
from gpusched_dsl.compiling.passes.indicators import Indicators
from gpusched_dsl.compiling.passes.reified import ReifiedComparisons
from gpusched_dsl.compiling.passes.steps import Target

INF = np.inf
FORMS = (EqualTerms(), DistinctValues(), ChosenValues())


def test_values_and_the_gaps_between_them() -> None:
    """Of s larger values are better only."""
    draft = Draft()
    x, y = draft.columns("x", 2, 0, 9), draft.columns("y", 1)
    r = draft.holds("r", [(3, x[0], 3), (-9, {x[0]: -2, None: 1}, -9), (0, x[0], 0), (12, {x[0]: 4}, 15)])
    s = draft.holds("s", [(1, {x[1]: 0.5, y[0]: 1.5}, 1), (5, {x[1]: -1, y[0]: -3, None: 6}, 5)])
    draft.minimize({r[0]: 1, r[1]: -2, r[2]: 1, r[3]: 1, x[0]: -1, s[0]: -3, s[1]: -1, y[0]: -1})
    assert (
        as_text(apply(draft.problem(), FORMS).problem)
        == """\
minimize -x[1] - y[1] + 2 r[1] - 2 r[2] + r[3] - 3 s[1] - s[2]
  r.one_value[2]: r[1] + r[2] + r[3] + r.between[2,1] + r.between[2,2] + r.between[2,3] = 1
  r.value[2]: -1 <= -2 x[1] + 5 r[1] + 9 r[2] - r[3] + 17 r.between[2,1] + 7 r.between[2,2] + 3 r.between[2,3]
  r.most[2]: -2 x[1] + 5 r[1] + 9 r[2] - r[3] + 11 r.between[2,1] + 7 r.between[2,2] + r.between[2,3] <= -1
  s.one_value[2]: s[1] + s[2] + s.between[2,1] = 1
  s.value[2]: -6 <= -x[2] - 3 y[1] - 4 s[1] - 5 s[2] + 6 s.between[2,1]
  s.most[2]: -x[2] - 3 y[1] - 4 s[1] - 5 s[2] - 6 s.between[2,1] <= -6
over
  0 <= x[1] <= 9 integer
  0 <= x[2] <= 9 integer
  y[1] binary
  r[1] binary
  r[2] binary
  r[3] binary
  s[1] binary
  s[2] binary
  r.between[2,1] binary
  r.between[2,2] binary
  r.between[2,3] binary
  s.between[2,1] binary
"""
    )


def random_comparisons(seed: int) -> Draft:
    """Comparisons of few expressions, scaled and moved, with values; rows and costs on them."""
    rng = np.random.default_rng(seed)
    draft = Draft()
    n = draft.columns("n", 2, int(rng.integers(-3, 1)), int(rng.integers(2, 5)))
    b = draft.columns("b", 1)
    bases: list[dict[int, float]] = [{n[0]: 1}, {n[0]: 1, n[1]: -2}, {n[1]: 0.5, b[0]: 1.5}, {b[0]: 1}]
    made: list[int] = []
    for block in range(int(rng.integers(1, 4))):
        entries = []
        for _ in range(int(rng.integers(1, 6))):
            scale, shift = float(rng.choice([1, 1, -1, 2, -0.5])), float(rng.integers(-1, 2))
            base = bases[int(rng.integers(len(bases)))]
            a: Affine = {c: scale * v for c, v in base.items()} | {None: shift}
            low = scale * float(rng.choice([-2, -1, 0, 0.5, 1, 2, 3])) + shift
            entries.append((low, a, low + (float(rng.choice([0, 0, 0, 0.5, INF])))))
        made += draft.holds(f"h{block}", entries)
    if rng.random() < 0.6:
        arguments: list[Affine] = [{n[0]: 1.0, None: 1.0}, n[1], b[0], {n[0]: 0.5, n[1]: 0.5}, {None: 1.0}]
        made += draft.distinct("d", [rng.permutation(np.array(arguments, dtype=object))[: int(k)].tolist()
                                     for k in rng.integers(1, 5, 2)])  # fmt: skip
    for number in range(int(rng.integers(0, 3))):
        chosen = rng.choice([*made, *n], size=min(len(made), 2), replace=False)
        draft.rows(
            f"r{number}", [(float(rng.integers(-1, 2)), {int(c): float(rng.choice([-1, 1])) for c in chosen}, INF)]
        )
    costs: dict[int | None, float] = {c: float(rng.integers(-3, 4)) for c in (*made, *n)}
    draft.minimize(costs)
    return draft


@pytest.mark.quick(15)
@pytest.mark.parametrize("seed", range(600))
def test_random_comparisons(seed: int) -> None:
    problem = random_comparisons(seed).problem()
    try:
        assert_same_optimum(problem, (*FORMS, ReifiedComparisons(), Indicators()))
        assert_same_optimum(problem, Target("milp"))
    except Unsupported:
        pytest.skip("too many points")
