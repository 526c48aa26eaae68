"""The size of the full problem, from one grounded element per class."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.symmetry.quotient import Quotient
from gpusched_dsl.ir.problem import Size


def full_size(quotient: Quotient) -> Size:
    """The size of the problem of all elements, which was not grounded."""
    small, sizes = quotient.problem, quotient.classes.sizes
    kinds = quotient.column_class[small.integer]
    integer = int(np.where(kinds >= 0, sizes[np.maximum(kinds, 0)], 1).sum())
    return Size(quotient.full_columns, integer, quotient.full_rows, quotient.full_nonzeros)
