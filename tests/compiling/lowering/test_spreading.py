"""Rows that a defect reaches: against a search from row to row, and along a chain that needs one round per row."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.compiling.lowering.spreading import reached_rows


def row_by_row(bad: set[int], entries: set[tuple[int, int]]) -> set[int]:
    reached = set(bad)
    while True:
        columns = {c for r, c in entries if r in reached}
        more = reached | {r for r, c in entries if c in columns}
        if more == reached:
            return reached
        reached = more


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(100))
def test_random_rows(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, columns, count = int(random.integers(1, 9)), int(random.integers(1, 9)), int(random.integers(0, 14))
    at = random.integers(0, rows, count), random.integers(0, columns, count)
    bad = random.random(rows) < 0.3
    found = reached_rows(bad, *at, columns)
    entries = set(zip(at[0].tolist(), at[1].tolist(), strict=True))
    assert set(np.flatnonzero(found)) == row_by_row(set(np.flatnonzero(bad).tolist()), entries)


def test_a_long_chain() -> None:
    size = 200_000
    at = np.repeat(np.arange(size), 2)[1:-1], np.repeat(np.arange(size - 1), 2)
    bad = np.zeros(size, dtype=np.bool_)
    bad[0] = True
    assert reached_rows(bad, *at, size - 1).all()
