"""The places of codes among sorted elements."""

import numpy as np
import pytest

from gpusched_dsl.policies.cluster import numbers
from gpusched_dsl.policies.workload import NONE


@pytest.mark.quick(20)
@pytest.mark.parametrize("seed", range(100))
def test_numbers_of_codes(seed: int) -> None:
    """By a table and by search, with codes before, between and after the elements."""
    rng = np.random.default_rng(seed)
    low = int(rng.integers(-3, 2))
    elements = low + np.flatnonzero(rng.random(12) < rng.random())
    codes = rng.integers(-4, 20, size=int(rng.integers(0, 40)))
    if len(codes):
        codes[0] = -(1 << 61)
        codes[-1] = 1 << 61
    known = elements.tolist()
    assert numbers(elements, codes).tolist() == [known.index(c) if c in known else NONE for c in codes.tolist()]
