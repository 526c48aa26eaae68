"""Burst and idle against all ways to part the sorted samples, and peaks."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.profiles.samples import MEDIAN, TWO_MEANS, parts_of, peak_of


def best_parting(values: np.ndarray) -> float:
    """The least sum of squares over all cuts."""
    ordered = np.sort(values)
    cuts = [((ordered[:k] - ordered[:k].mean()) ** 2).sum() + ((ordered[k:] - ordered[k:].mean()) ** 2).sum()
            for k in range(1, len(ordered))]  # fmt: skip
    return min(cuts)


@pytest.mark.parametrize("seed", range(20))
def test_two_means_is_the_best_parting(seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, 60)
    group[:5] = np.arange(5)
    group[5:10] = np.arange(5)
    values = np.rint(rng.gamma(1.0, 30, 60)) + 1e6 * (seed % 2)
    burst, idle = parts_of(group, values, 5, TWO_MEANS)
    for g in range(5):
        own = values[group == g]
        nearer = np.abs(own - burst[g]) < np.abs(own - idle[g])
        cost = ((own[nearer] - burst[g]) ** 2).sum() + ((own[~nearer] - idle[g]) ** 2).sum()
        assert cost == pytest.approx(best_parting(own), rel=1e-6, abs=1e-6)
        assert burst[g] == pytest.approx(own[nearer].mean() if nearer.any() else own.mean())
        assert burst[g] >= idle[g]


def test_the_two_ways_differ_as_they_should() -> None:
    """Nine idle samples and one burst: two-means finds it, the median does not."""
    values, group = np.array([1.0] * 9 + [100.0]), np.zeros(10, dtype=np.int64)
    assert [float(v[0]) for v in parts_of(group, values, 1, TWO_MEANS)] == [100, 1]
    assert [float(v[0]) for v in parts_of(group, values, 1, MEDIAN)] == [100, 1]
    values = np.array([0.0, 10, 20, 90, 100])
    group = np.zeros(5, dtype=np.int64)
    assert [float(v[0]) for v in parts_of(group, values, 1, TWO_MEANS)] == [95, 10]
    assert [float(v[0]) for v in parts_of(group, values, 1, MEDIAN)] == [95, 10]
    values[3] = 30
    assert [float(v[0]) for v in parts_of(group, values, 1, TWO_MEANS)] == [100, 15]
    assert [float(v[0]) for v in parts_of(group, values, 1, MEDIAN)] == [65, 10]


@pytest.mark.parametrize("split", [TWO_MEANS, MEDIAN])
def test_equal_samples_and_single_ones(split: str) -> None:
    burst, idle = parts_of(np.array([0, 0, 0, 1]), np.array([7.0, 7, 7, 3]), 2, split)
    assert burst.tolist() == idle.tolist() == [7, 3]


def test_peaks_lie_above_nine_tenths_of_the_most() -> None:
    group, values = np.array([0, 0, 0, 1, 2]), np.array([91.0, 97, 90, 50, 99])
    assert peak_of(group, values, np.array([100.0, 100, np.nan]))[:2].tolist() == [94, 0]
    assert np.isnan(peak_of(group, values, np.array([100.0, 100, np.nan]))[2])
