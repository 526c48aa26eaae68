"""The filter of ladders: no price of time at which it loses, and nothing left that it could drop."""

from __future__ import annotations

import numpy as np
import pytest
from instances import padded, random_ladder

from gpusched_dsl.policies.speed_levels import filter_levels


def test_the_cheapest_mix_is_kept_at_every_price_of_time() -> None:
    rng = np.random.default_rng(1)
    made = [random_ladder(rng, int(rng.integers(1, 9))) for _ in range(500)]
    ladders = filter_levels(padded([s for s, _ in made]), padded([r for _, r in made]))
    for price in (0.0, *np.exp(rng.uniform(-8, 8, 60))):
        kept = (ladders.cost + price * ladders.pace).min(axis=1)
        everything = [np.min(r / s + price / s) for s, r in made]
        np.testing.assert_allclose(kept, everything, rtol=1e-11)


def test_what_is_kept_increases_and_is_needed() -> None:
    rng = np.random.default_rng(2)
    made = [random_ladder(rng, 8) for _ in range(300)]
    ladders = filter_levels(*(np.array(a) for a in zip(*made, strict=True)))
    for row in range(ladders.size):
        count = int(ladders.counts[row])
        cost, prices = ladders.cost[row, :count], ladders.time_price[row, : count - 1]
        assert (np.diff(ladders.speed[row, :count]) > 0).all()
        assert (np.diff(cost) > 0).all()
        assert (np.diff(prices) > 0).all()
        speed, rate = made[row]
        np.testing.assert_array_equal(speed[ladders.rung[row, :count]], ladders.speed[row, :count])
        np.testing.assert_array_equal(rate[ladders.rung[row, :count]], ladders.rate[row, :count])


@pytest.mark.parametrize(
    ("speed", "rate", "kept"),
    [
        ((1, 1.8, 2.4, 2.8), (1, 2, 3, 4), (0, 1, 2, 3)),
        ((1, 1.8, 2.4, 2.8), (2.5, 3, 3.5, 4), (3,)),  # idle power: only the fastest pays
        ((1, 1.5, 2.4, 2.8), (1, 2, 3, 4), (0, 2, 3)),
        ((1, 2, 2.8, 3.2), (1, 2, 3, 4), (1, 2, 3)),  # equal cost per unit of work: the faster one
        ((1, 2, 3, 4), (1, 2, 3, 4), (3,)),
        ((2, 1, 2, 1), (5, 2, 4, 1), (3, 2)),  # equal speeds: the cheaper one
        ((2, 2), (4, 4), (0,)),
        ((1, 2, 3), (0, 0, 1), (1, 2)),
        ((7,), (3,), (0,)),
    ],
)
def test_filtered(speed: tuple[float, ...], rate: tuple[float, ...], kept: tuple[int, ...]) -> None:
    ladders = filter_levels(speed, rate)
    assert ladders.rung[0].tolist() == list(kept)


def test_missing_rungs_shape_nothing() -> None:
    """The hull is that of what there is: without half a GPU, one and two GPUs are needed."""
    speed, rate = np.tile([1 / 1.05, 1, 1.8, 2.4, 2.8], (2, 1)), np.tile([0.5, 1.0, 2, 3, 4], (2, 1))
    speed[1, 0] = np.nan
    ladders = filter_levels(speed, rate)
    assert ladders.counts.tolist() == [3, 4]
    assert ladders.rung.tolist() == [[0, 3, 4, 4], [1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("speed", "rate"), [((np.nan,), (1,)), ((0.0,), (1.0,)), ((1.0,), (-1.0,)), ((np.inf,), (1.0,))]
)
def test_ladders_that_cannot_be(speed: tuple[float, ...], rate: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"ladder|positive"):
        filter_levels(speed, rate)
