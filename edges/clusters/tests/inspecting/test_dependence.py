"""Lengths that are alike for jobs submitted together: the law of one job stays, and real dependence is found."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.signal import lfilter
from scipy.special import ndtri
from scipy.stats import kstest

from gpusched_dsl.ir.arrays import Floats
from gsdsl_clusters.inspecting.dependence import LEAST_JOBS, LengthDependence, length_dependence


def lengths(seed: int, count: int, share: float, persistence: float) -> Floats:
    """Lengths in s, by a process that is written down without the product."""
    random = np.random.default_rng(seed)
    steps = np.sqrt(1.0 - persistence**2) * random.standard_normal(count)
    common = lfilter([1.0], [1.0, -persistence], steps)
    found: Floats = np.exp(8.0 + np.sqrt(share) * common + np.sqrt(1.0 - share) * random.standard_normal(count))
    return found


def ended(duration: Floats) -> pl.DataFrame:
    count = len(duration)
    return pl.DataFrame(
        {
            "state": ["ended"] * count,
            "user": ["u"] * count,
            "submitted": np.arange(count, dtype=np.float64),
            "duration": duration,
        }
    )


@pytest.mark.parametrize(("share", "persistence"), [(0.5, 0.9), (0.8, 0.97), (0.3, 0.95)])
def test_a_dependence_is_estimated(share: float, persistence: float) -> None:
    found = [length_dependence(ended(lengths(seed, 2000, share, persistence))) for seed in range(6)]
    assert np.mean([one.share for one in found]) == pytest.approx(share, abs=0.07)
    assert np.mean([one.persistence for one in found]) == pytest.approx(persistence, abs=0.03)


def test_jobs_in_another_order_of_rows_have_the_same_dependence() -> None:
    table = ended(lengths(1, 500, 0.6, 0.9))
    assert length_dependence(table.sample(fraction=1.0, shuffle=True, seed=2)) == length_dependence(table)


def test_independent_or_few_jobs_have_none() -> None:
    none = LengthDependence()
    found = [length_dependence(ended(lengths(seed, 400, 0.0, 0.0))) for seed in range(200)]
    assert np.mean([one != none for one in found]) <= 0.01
    assert none.uniforms(np.arange(5), np.random.default_rng(1)) is None
    assert LengthDependence(0.5, 0.5).uniforms(np.arange(0), np.random.default_rng(1)).shape == (0,)  # type: ignore[union-attr]
    assert length_dependence(ended(lengths(1, LEAST_JOBS - 1, 0.9, 0.9))) == none
    assert length_dependence(ended(np.full(200, 60.0))) == none


def test_users_that_differ_are_no_dependence() -> None:
    """The law of lengths has the level of each user already."""
    table = ended(lengths(3, 600, 0.0, 0.0))
    user = np.arange(600) // 100
    several = table.with_columns(pl.Series("user", user.astype(str)), pl.col("duration") * 10.0**user)
    assert length_dependence(table.with_columns(several["duration"])) != LengthDependence()
    assert length_dependence(several) == LengthDependence()


@pytest.mark.parametrize("dependence", [LengthDependence(0.7, 0.95), LengthDependence(1.0, 0.5)])
def test_each_number_is_uniform_and_neighbours_are_alike_as_stated(dependence: LengthDependence) -> None:
    random = np.random.default_rng(4)
    order = random.permutation(20)
    drawn = np.array([dependence.uniforms(order, random) for _ in range(4000)], dtype=np.float64)
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    for job in (order[0], order[7], order[19]):
        assert kstest(drawn[:, job], "uniform").pvalue > 0.001
    scores = ndtri(drawn[:, order])
    for distance in (1, 5):
        expected = dependence.share * dependence.persistence**distance
        assert np.corrcoef(scores[:, 3], scores[:, 3 + distance])[0, 1] == pytest.approx(expected, abs=0.06)
