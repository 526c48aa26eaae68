"""From a point of the problem that was stated to one of the problem that is solved."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.passes.steps import Prepared
from gpusched_dsl.ir.definitions import completed
from gpusched_dsl.ir.problem import Floats


def lifted(prepared: Prepared, start: Floats | None) -> Floats | None:
    """A start for the prepared problem; what has no value at the start begins at 0."""
    if start is None or prepared.problem is prepared.original:
        return start
    full = prepared.lift(completed(prepared.original.definitions, start))
    return np.where(np.isfinite(full), full, 0.0)
