"""Values of terms."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.ir.problem import Term


def test_the_value_of_a_term_whose_parts_cancel_is_zero() -> None:
    weights = np.array([1e6 / 3, 0.1, 7e5 / 9])
    term = Term("postponed", np.arange(3, dtype=np.int32), -weights, constant=float(weights[::-1].sum()))
    assert term.value(np.ones(3)) == 0.0
    assert term.value(np.array([1.0, 1.0 - 1e-6, 1.0])) == pytest.approx(1e-7, rel=1e-2)
    assert Term(None, np.zeros(1, dtype=np.int32), np.ones(1)).value(np.array([np.inf])) == np.inf
