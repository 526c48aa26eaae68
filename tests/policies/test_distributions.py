"""Distributions as arrays against the single distributions."""

from __future__ import annotations

import numpy as np
import pytest
from instances import KINDS, LIMIT, random_law

from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.price_search import RemainingWork


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_is_as_the_law_conditioned_and_cut_off(kind: str) -> None:
    rng, count = np.random.default_rng(3), 8 if kind == "mixture" else 30
    laws = [random_law(rng, kind) for _ in range(count)]
    done = np.where(rng.random(count) < 0.3, 0.0, rng.uniform(0, 30, count))
    laws = [law if law.survival(np.array(t)) > 1e-3 else law.truncate(low=t) for law, t in zip(laws, done, strict=True)]
    work = RemainingWork(Laws.of(laws), done, np.full(count, LIMIT))
    x = done[:, None] + (LIMIT - done[:, None]) * rng.random((count, 40))
    y = rng.uniform(0.001, 0.999, (count, 40))
    amounts, (lower, upper) = work.work(x), work.inverses(y)
    for i, law in enumerate(laws):
        single = law.condition_above(float(done[i])).censor(LIMIT)
        np.testing.assert_allclose(amounts[i], single.partial_expectation(x[i]) - done[i], atol=1e-8, rtol=1e-8)
        np.testing.assert_allclose(lower[i], np.maximum(single.inv_lo(y[i]), done[i]), atol=1e-6, rtol=1e-7)
        np.testing.assert_allclose(upper[i], np.maximum(single.inv_hi(y[i]), done[i]), atol=1e-6, rtol=1e-7)


def test_levels_of_flat_parts_find_themselves() -> None:
    """At the very level of a flat part the inverses are its ends, though the level was computed."""
    rng = np.random.default_rng(4)
    laws = [random_law(rng, "discrete") for _ in range(60)]
    work = RemainingWork(Laws.of(laws), np.zeros(60), np.full(60, LIMIT))
    y = rng.uniform(0.01, 0.95, (60, 1))
    over, under = work.flats_around(y)
    for levels, some in ((over, np.isfinite(over) & (over < 1)), (under, under > 0)):
        prices = rng.uniform(0.1, 9, levels.shape)
        lower, upper = work.inverses(levels * prices / prices)
        flat = some[:, 0]
        assert flat.sum() > 20
        assert (upper[flat] - lower[flat] >= 0.9).all()  # atoms are whole numbers or the start of the law
    assert (over > y).all()
    assert (under < y).all()


def test_a_law_that_stands_twice_is_stored_once() -> None:
    rng = np.random.default_rng(5)
    law = random_law(rng, "discrete")
    laws = Laws.of([law, random_law(rng, "weibull"), law])
    assert laws.row[0] == laws.row[2]
    assert laws.take(np.array([2, 1])).family.tolist() == [laws.family[0], laws.family[1]]
