"""Where the arguments of a maximum or minimum must lie, given a range of its value, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gpusched_dsl.ir.definitions import Affines, MinMax
from gpusched_dsl.ir.matrix import Matrix


def extreme(counts: list[int], largest: bool) -> MinMax:
    size, total = len(counts), sum(counts)
    columns = np.arange(total, dtype=np.int32)
    arguments = Affines(Matrix(np.arange(total + 1), columns, np.ones(total)), np.zeros(total))
    results = np.arange(total, total + size, dtype=np.int32)
    return MinMax(results, np.concatenate(([0], np.cumsum(counts))).astype(np.int64), arguments, largest=largest)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_and_the_hull_is_found(largest: bool, seed: int) -> None:
    rng, cut = np.random.default_rng(seed), 0
    for _ in range(120):
        counts = rng.integers(1, 4, int(rng.integers(1, 3))).tolist()
        term = extreme(counts, largest)
        low, high = np.sort(rng.integers(-3, 4, (2, sum(counts))).astype(float), axis=0)
        small, large = np.sort(rng.integers(-3, 4, (2, len(counts))).astype(float), axis=0)
        entry = term.entry_of
        begin, end = term.preimage(low, high, small[entry], large[entry])
        for at, count in enumerate(counts):
            own = np.flatnonzero(entry == at)
            grid = [np.arange(low[k], high[k] + 1) for k in own]
            points = np.array(list(itertools.product(*grid)))
            value = points.max(axis=1) if largest else points.min(axis=1)
            fits = points[(value >= small[at]) & (value <= large[at])]
            if not len(fits):
                continue
            first, last = fits.min(axis=0), fits.max(axis=0)
            assert (begin[own] <= first).all()
            assert (end[own] >= last).all()
            # With the ranges of the arguments, the hull exactly: every other argument may lie anywhere.
            np.testing.assert_array_equal(np.maximum(begin[own], low[own]), first)
            np.testing.assert_array_equal(np.minimum(end[own], high[own]), last)
            cut += int((first > low[own]).any() or (last < high[own]).any()) * (count > 1)
    assert cut > 20


def test_ends_that_are_infinite_or_meet_within_tolerance() -> None:
    inf = np.inf
    term = extreme([2], largest=False)
    begin, end = term.preimage(np.array([1.0, 0.0]), np.array([1.0, inf]), np.zeros(2), np.zeros(2))
    assert (begin.tolist(), end.tolist()) == ([0.0, 0.0], [inf, 0.0])
    begin, end = term.preimage(np.array([1e-9, 0.0]), np.array([1.0, inf]), np.zeros(2), np.zeros(2))
    assert end.tolist() == [inf, inf], "the first argument may reach 0 within the tolerance"
    begin, end = term.preimage(np.array([-inf, -inf]), np.array([inf, inf]), np.full(2, -inf), np.full(2, inf))
    assert (begin.tolist(), end.tolist()) == ([-inf, -inf], [inf, inf])
