"""Positions in pieces, and parts of large sets cut by them: the same as position by position."""

import numpy as np
import pytest

from gpusched_dsl.compiling.data import slicing
from gpusched_dsl.compiling.data.slicing import InstanceView, Pieces
from gpusched_dsl.ir.domains import TupleDomain, Universe


@pytest.mark.quick(20)
@pytest.mark.parametrize("seed", range(100))
def test_pieces_of_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, [3, 400][seed % 2], size=int(rng.integers(1, 12)))
    starts = np.append(0, np.cumsum(sizes))
    groups = np.flatnonzero(rng.random(len(sizes)) < rng.random())
    pieces = Pieces.of_groups(starts, groups)
    expected = np.concatenate([np.arange(starts[g], starts[g + 1]) for g in groups] or [np.zeros(0, dtype=np.int64)])
    np.testing.assert_array_equal(pieces.positions, expected)
    assert pieces.size == len(expected)
    assert (pieces.starts < pieces.stops).all()
    assert (pieces.stops[:-1] < pieces.starts[1:]).all()  # neighbours are one piece
    values = rng.random(starts[-1])
    taken = pieces.take(values)
    np.testing.assert_array_equal(taken, values[expected])
    taken[:] = 0  # a copy
    assert (values > 0).all()


@pytest.mark.quick(12)
@pytest.mark.parametrize("seed", range(60))
def test_cuts_are_the_same_in_pieces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of tuples with the jobs anywhere, sorted or not, with and without all jobs kept."""
    rng = np.random.default_rng(seed)
    jobs, types = Universe("Jobs", tuple(f"j{i}" for i in range(9))), Universe("Types", ("a", "b", "c"))
    table = np.array([(j, t, g) for j in range(9) for t in range(3) for g in range(1, 4) if rng.random() < 0.7])
    if seed % 5 == 0:
        table = rng.permutation(table)
    order = rng.permutation(3)
    components = tuple((jobs, types, None)[i] for i in order)
    full = TupleDomain(components, tuple(np.ascontiguousarray(table[:, i]) for i in order))
    kept = np.arange(9) if seed % 7 == 0 else np.flatnonzero(rng.random(9) < 0.6)
    restricted = {"Jobs": kept, "Types": np.array([0, 2])} if seed % 3 == 0 else {"Jobs": kept}
    universes = {"Jobs": jobs, "Types": types}
    values = rng.random(full.size)
    found = []
    for large in (0, 10**9):
        monkeypatch.setattr(slicing, "_LARGE", large)
        view = InstanceView(universes, restricted)
        domain = view.slice_domain(full)
        found.append((domain.label_columns(), view.rows(domain, full), view.values_on(domain, full, values)))
    assert found[0][0] == found[1][0]
    for ours, other in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_array_equal(ours, other)


@pytest.mark.parametrize("large", [0, 10**9])
def test_a_domain_of_other_universes_is_kept(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "_LARGE", large)
    jobs, types = Universe("Jobs", ("j1", "j2")), Universe("Types", ("a", "b", "c"))
    full = TupleDomain((types, None), (np.array([0, 1, 2]), np.array([4, 5, 6])))
    view = InstanceView({"Jobs": jobs, "Types": types}, {"Jobs": np.array([1])})
    domain = view.slice_domain(full)
    assert domain.label_columns() == full.label_columns()
    assert view.rows(domain, full).tolist() == [0, 1, 2]
