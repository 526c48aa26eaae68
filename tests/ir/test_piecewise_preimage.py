"""Where the argument of a piecewise-linear term must lie, given a range of its value, against sampled arguments."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.ir.definitions import Affines, Piecewise
from gpusched_dsl.ir.definitions.curves import Curves
from gpusched_dsl.ir.matrix import Matrix


def drawn(rng: np.random.Generator) -> Piecewise:
    """One entry: a curve of 1 to 4 points with small whole slopes, some of them 0."""
    points = int(rng.integers(1, 5))
    x = np.sort(rng.choice(np.arange(-6, 7), points, replace=False)).astype(float)
    y = np.concatenate(([0.0], np.cumsum(np.diff(x) * rng.integers(-2, 3, points - 1))))
    before, after = rng.integers(-2, 3, 2).astype(float)
    curves = Curves(np.array([0, points]), x, y, np.array([before]), np.array([after]), np.zeros(1))
    column = np.zeros(1, dtype=np.int32)
    argument = Affines(Matrix(np.array([0, 1]), column, np.ones(1)), np.zeros(1))
    return Piecewise(column + 1, np.array([0, 1]), argument, which=np.zeros(1, dtype=np.int64), curves=curves)


@pytest.mark.parametrize("seed", range(3))
def test_the_hull_of_the_arguments_is_found(seed: int) -> None:
    rng, bounded = np.random.default_rng(seed), 0
    for _ in range(100):
        term = drawn(rng)
        low, high = np.sort(rng.integers(-9, 10, 2).astype(float))
        low, high = (-np.inf if rng.random() < 0.3 else low), (np.inf if rng.random() < 0.3 else high)
        small, large = np.sort(rng.integers(-6, 7, 2).astype(float))
        small, large = (-np.inf if rng.random() < 0.3 else small), (np.inf if rng.random() < 0.3 else large)
        with np.errstate(all="ignore"):
            begin, end = (float(v[0]) for v in term.preimage(*(np.array([v]) for v in (low, high, small, large))))
        sample = np.arange(2 * max(low, -60.0), 2 * min(high, 60.0) + 1) / 2  # all ends are multiples of a half
        value = np.array([float(term.evaluate(np.array([a]))[0]) for a in sample])
        fits = sample[(value >= small) & (value <= large)]
        if not len(fits):
            continue
        assert begin <= fits[0] + 1e-9
        assert end >= fits[-1] - 1e-9
        if fits[0] > -59 and fits[-1] < 59:
            bounded += 1
            assert begin >= fits[0] - 1e-6
            assert end <= fits[-1] + 1e-6
    assert bounded >= 20
