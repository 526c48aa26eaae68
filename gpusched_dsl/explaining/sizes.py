"""How large a problem is, family by family, and how far its numbers lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Family, Problem

# Beyond this ratio within a constraint a solver's tolerances no longer mean the same for all its terms.
APART = 1e8


@dataclass(frozen=True, eq=False)
class VariableSize:
    """Columns of a variable; `lower` and `upper` are its widest bounds; `auxiliary`: the compiler added it."""

    family: Family
    columns: int
    integer: int
    nonzeros: int
    lower: float
    upper: float
    auxiliary: bool


@dataclass(frozen=True, eq=False)
class ConstraintSize:
    """Rows of a constraint, the sizes of its smallest and largest coefficient, and of its sides; 0 where it has none.

    `worst` is the row whose coefficients lie furthest apart, `ratio` how far.
    """

    family: Family
    rows: int
    nonzeros: int
    smallest: float
    largest: float
    smallest_side: float
    largest_side: float
    worst: int
    ratio: float

    @property
    def apart(self) -> bool:
        return self.ratio > APART


def variable_sizes(problem: Problem) -> list[VariableSize]:
    """Return one entry per variable, in the order of declaration, auxiliary ones last."""
    used = np.bincount(problem.matrix.columns, minlength=problem.columns)
    return [
        VariableSize(
            f,
            f.size,
            int(problem.integer[f.slice].sum()),
            int(used[f.slice].sum()),
            float(problem.lower[f.slice].min(initial=np.inf)),
            float(problem.upper[f.slice].max(initial=-np.inf)),
            number >= len(problem.variables),
        )
        for number, f in enumerate(problem.column_families)
    ]


def constraint_sizes(problem: Problem) -> list[ConstraintSize]:
    """One for every constraint (each part of a chain), in the order of declaration."""
    small, large = _row_ranges(problem)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(small > 0, large / small, 0.0)
    sides = np.abs(np.stack((problem.row_lower, problem.row_upper)))
    sides = np.where(np.isfinite(sides), sides, 0.0)
    found = []
    for family in problem.constraints:
        own = family.slice
        entries = slice(int(problem.matrix.starts[family.first]), int(problem.matrix.starts[family.stop]))
        some_sides = sides[:, own][sides[:, own] > 0]
        filled = small[own][small[own] > 0]
        worst = family.first + int(np.argmax(ratios[own])) if family.size else -1
        found.append(
            ConstraintSize(
                family,
                family.size,
                entries.stop - entries.start,
                float(filled.min(initial=np.inf)) if len(filled) else 0.0,
                float(large[own].max(initial=0.0)),
                float(some_sides.min()) if len(some_sides) else 0.0,
                float(some_sides.max()) if len(some_sides) else 0.0,
                worst,
                float(ratios[worst]) if family.size else 0.0,
            )
        )
    return found


def _row_ranges(problem: Problem) -> tuple[Floats, Floats]:
    """The sizes of the smallest and largest coefficient of each row that are not 0; 0 for rows without any."""
    matrix = problem.matrix
    small, large = np.zeros(problem.rows), np.zeros(problem.rows)
    sizes = np.abs(matrix.values)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if len(filled):
        at = matrix.starts[filled]
        large[filled] = np.maximum.reduceat(sizes, at)
        small[filled] = np.minimum.reduceat(np.where(sizes > 0, sizes, np.inf), at)
    return np.where(np.isfinite(small), small, 0.0), large
