"""Errors of predicted values, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.profiles.errors import errors_of


def test_errors_of_values() -> None:
    found = errors_of(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 3.0]), logarithmic=False)
    assert found.rows == 3
    assert found.mape == pytest.approx((0 + 0.5 + 0.25) / 3)
    assert found.median == pytest.approx(0.25)
    assert found.r2 == pytest.approx(1 - 2 / (42 / 9))


def test_errors_of_logarithms_are_relative() -> None:
    found = errors_of(np.log([1.0, 2.0]), np.log([1.5, 2.0]), logarithmic=True)
    assert found.mape == pytest.approx(0.25)
    assert found.r2 == pytest.approx(1 - np.log(1.5) ** 2 / (np.log(2.0) ** 2 / 2))
