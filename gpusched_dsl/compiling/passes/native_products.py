"""Products of bounded integers, which constraint solvers take without binary digits."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.analysis.integrality import integer_affines
from gpusched_dsl.compiling.passes.steps import INTEGER_PRODUCT, Analysis, Target
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.definitions import Product

LARGEST_PRODUCT = 2.0**53  # integers up to it are exact


def native_products(analysis: Analysis, target: Target, definition: Product) -> Bools:
    """Which products a target takes as products of bounded integers."""
    if not target.takes(INTEGER_PRODUCT):
        return np.zeros(definition.size, dtype=np.bool_)
    low, high = analysis.bounds.of(definition.arguments)
    exact = integer_affines(definition.arguments, analysis.problem.integer) & np.isfinite(low) & np.isfinite(high)
    largest = np.multiply.reduceat(np.maximum(np.maximum(np.abs(low), np.abs(high)), 1.0), definition.starts[:-1])
    return np.asarray(np.logical_and.reduceat(exact, definition.starts[:-1]) & (largest <= LARGEST_PRODUCT))
