"""Figures of a model loaded in HiGHS that do not depend on the order or the orientation of its rows and columns."""

from typing import Any

import numpy as np


def fingerprint(highs: Any) -> dict[str, float]:
    """Counts, and sums that change when a coefficient, a bound, a cost or a sign within a row changes."""
    lp = highs.getLp()
    matrix = lp.a_matrix_
    start = np.asarray(matrix.start_, dtype=np.int64)
    index = np.asarray(matrix.index_, dtype=np.int64)
    value = np.asarray(matrix.value_, dtype=float)
    own = np.repeat(np.arange(len(start) - 1), np.diff(start))
    by_column = str(matrix.format_).endswith("kColwise")
    column, row = (own, index) if by_column else (index, own)
    value, column, row = value[value != 0], column[value != 0], row[value != 0]

    cost = np.asarray(lp.col_cost_, dtype=float)
    lower, upper = np.asarray(lp.row_lower_, dtype=float), np.asarray(lp.row_upper_, dtype=float)
    sides = np.where(np.isfinite(lower), np.abs(lower), 0) + np.where(np.isfinite(upper), np.abs(upper), 0)
    infinity = highs.getInfinity()
    column_upper = np.asarray(lp.col_upper_, dtype=float)
    row_sum = np.bincount(row, weights=value, minlength=lp.num_row_)
    return {
        "columns": lp.num_col_,
        "rows": lp.num_row_,
        "nonzeros": len(value),
        "integers": sum("kContinuous" not in str(kind) for kind in lp.integrality_),
        "offset": lp.offset_,
        "costs": float(cost.sum()),
        "costs squared": float((cost**2).sum()),
        "finite uppers": int((column_upper < infinity).sum()),
        "uppers": float(column_upper[column_upper < infinity].sum()),
        "lowers": float(np.asarray(lp.col_lower_, dtype=float).sum()),
        "entries": float(np.abs(value).sum()),
        "entries squared": float((value**2).sum()),
        "row sums": float(np.abs(row_sum).sum()),
        "equalities": int((lower == upper).sum()),
        "sides": float(sides.sum()),
        "entries with costs": float((value**2 * cost[column]).sum()),
        "entries with sides": float((np.abs(value) * sides[row]).sum()),
        "costs with sides": float((cost[column] * sides[row]).sum()),
    }


def differences(one: dict[str, float], other: dict[str, float], tolerance: float = 1e-9) -> list[str]:
    """What differs by more than a relative tolerance (coefficients pass through decimal text in some arms)."""
    return [
        f"{name}: {one[name]!r} and {other.get(name)!r}"
        for name in one
        if name not in other or abs(one[name] - other[name]) > tolerance * max(1.0, abs(one[name]))
    ]
