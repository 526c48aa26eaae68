"""Which rows a defect of some rows reaches through the columns that they share, all at once."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Int32s
from gpusched_dsl.ir.graph import connected_components


def reached_rows(bad: Bools, rows: Codes | Int32s, columns: Codes | Int32s, count: int) -> Bools:
    """The rows that are connected with a `bad` one by the entries `(rows[i], columns[i])`; `count` columns in all.

    A sweep that goes from row to row would take as many rounds as the longest chain has rows.
    """
    if not bad.any() or not len(rows):
        return bad
    part = connected_components(len(bad) + count, rows, len(bad) + columns.astype(np.int64))
    is_reached = np.zeros(len(part), dtype=np.bool_)
    is_reached[part[: len(bad)][bad]] = True
    return np.asarray(is_reached[part[: len(bad)]])
