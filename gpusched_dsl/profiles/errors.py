"""Errors of predictions: relative errors, their median, and the explained part of the variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats


@dataclass(frozen=True, slots=True)
class Errors:
    """Of `rows` pairs: mean and median of |predicted - true| / true, and R2, on the logarithm where it is learnt so.

    Pairs of a true value of 0 have no relative error and stand in R2 alone.
    """

    rows: int
    mape: float
    median: float
    r2: float


def errors_of(true: Floats, predicted: Floats, *, logarithmic: bool) -> Errors:
    """Of values as learnt (logarithms where `logarithmic`)."""
    spread = float(((true - true.mean()) ** 2).sum()) if len(true) else 0.0
    r2 = 1 - float(((true - predicted) ** 2).sum()) / spread if spread > 0 else float("nan")
    if logarithmic:
        with np.errstate(over="ignore"):  # infinitely far off
            relative = np.abs(np.expm1(predicted - true))
    else:
        relative = np.abs(predicted - true)[true > 0] / true[true > 0]
    if not len(relative):
        return Errors(len(true), float("nan"), float("nan"), r2)
    return Errors(len(true), float(relative.mean()), float(np.median(relative)), r2)
