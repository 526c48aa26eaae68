"""The tail of the standard normal law and its inverse."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats


def tail(z: Floats) -> Floats:
    """P(Z > z) of the standard normal law."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-z))


def place_of(y: Floats) -> Floats:
    """The z with P(Z > z) = y."""
    from scipy.special import ndtri

    return np.asarray(-ndtri(np.clip(y, 0.0, 1.0)))
