"""Small functions of arrays."""

import numpy as np
import pytest

from gpusched_dsl.ir.arrays import first_places, is_counting


@pytest.mark.quick(10)
@pytest.mark.parametrize("seed", range(50))
def test_first_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 5, size=int(rng.integers(0, 12)))
    expected = [groups.tolist().index(g) if g in groups else -1 for g in range(6)]
    assert first_places(groups, 6).tolist() == expected


def test_is_counting() -> None:
    assert is_counting(np.arange(4))
    assert is_counting(np.zeros(0, dtype=np.int64))
    assert not is_counting(np.array([0, 2, 1]))
