"""Which sets of columns contain which, compared with Python's sets."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.tightening.column_sets import ColumnSets, containments

COLUMNS = 6


def random_sets(rng: np.random.Generator, count: int, most: int) -> list[list[int]]:
    """Some of them empty, their columns in any order."""
    return [rng.permutation(COLUMNS)[: rng.integers(0, most + 1)].tolist() for _ in range(count)]


def column_sets(sets: list[list[int]]) -> ColumnSets:
    starts = np.concatenate(([0], np.cumsum([len(s) for s in sets]))).astype(np.int64)
    return ColumnSets(starts, np.array([c for s in sets for c in s], dtype=np.int32))


def test_all_pairs_are_found_with_their_entries() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        inner, outer = random_sets(rng, int(rng.integers(0, 6)), 3), random_sets(rng, int(rng.integers(0, 6)), COLUMNS)
        inside, around = column_sets(inner), column_sets(outer)
        found = containments(inside, around, COLUMNS)
        pairs = set(zip(found.inner.tolist(), found.outer.tolist(), strict=True))
        assert pairs == {(i, o) for i, a in enumerate(inner) for o, b in enumerate(outer) if a and set(a) <= set(b)}
        assert len(pairs) == len(found.inner)
        for p, (i, o) in enumerate(zip(found.inner, found.outer, strict=True)):
            at = found.at[found.starts[p] : found.starts[p + 1]]
            assert around.columns[at].tolist() == inner[i]
            assert (around.set_of[at] == o).all()


def test_no_more_holders_are_looked_at_than_asked_for() -> None:
    found = containments(column_sets([[0]]), column_sets([[0, 1], [0, 2], [1, 0], [3]]), COLUMNS, most=2)
    assert found.outer.tolist() == [0, 1]
    assert containments(column_sets([[0]]), column_sets([[3], [0]]), COLUMNS, most=1).outer.tolist() == [1]
