"""Equal values on two sides of a join: numbers, elements or texts as common codes."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import JoinIndex
from gpusched_dsl.ir.arrays import Codes, Values


def match_values(rows: Values, elements: Values) -> tuple[Codes, Codes]:
    """For each row how many elements have its value, and the places of these elements, row by row in their order."""
    if elements.dtype == object:  # texts are told apart as fixed-width strings, in compiled code
        rows, elements = rows.astype(str), elements.astype(str)
    known, codes = np.unique(elements, return_inverse=True)
    if not len(known):
        return np.zeros(len(rows), dtype=np.int64), np.zeros(0, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
    index = JoinIndex((codes.astype(np.int64),))
    counts, starts = index.match((np.where(known[at] == rows, at, -1),))
    return counts, index.rows(counts, starts)
