"""Finite bounds of all columns: declared ones, those that rows imply, and those that some optimum keeps.

A column that costs nothing or something to raise need not be raised beyond what its rows ask for. A makespan is of this
kind: rows keep it above all ends, and nothing else reads it.

    minimise c x + ..., c >= 0,   a x + B k >= b for a > 0   ->   x <= max over rows of (b - least of B k) / a
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

ROUNDS = 3  # a column that bounds another one may have been unbounded itself


def finite_bounds(problem: Problem) -> tuple[Floats, Floats] | None:
    """The bounds of every column; None if they cross, so that there is no point.

    Raises DiagnosticError (GSM4003) naming a column that has no finite bound.
    """
    bounds = propagate(problem)
    if not bounds.feasible:
        return None
    low, high = bounds.lower.copy(), bounds.upper.copy()
    for _ in range(ROUNDS):
        if np.isfinite(low).all() and np.isfinite(high).all():
            return low, high
        high = np.minimum(high, _most_needed(problem, low, high, 1.0))
        low = np.maximum(low, -_most_needed(problem, -high, -low, -1.0))
        high, low = np.maximum(high, low), np.minimum(low, high)
    for side, ends in (("upper", high), ("lower", low)):
        if not np.isfinite(ends).all():
            raise DiagnosticError([_refusal(problem, side, int(np.argmax(~np.isfinite(ends))))])
    return low, high


def _most_needed(problem: Problem, low: Floats, high: Floats, sign: float) -> Floats:
    """The value of each column beyond which no row needs it; infinite if one does, or raising the column pays.

    With `sign` -1 all columns are read with the opposite sign, and so are the bounds given.
    """
    needed = np.full(problem.columns, np.inf)
    candidates = np.isposinf(high) & _is_free_to_fall(problem, sign)
    if not candidates.any():
        return needed
    needed[candidates] = np.where(np.isfinite(low), low, 0.0)[candidates]
    matrix = problem.matrix
    row, column, value = matrix.row_of, matrix.columns, sign * matrix.values
    rising = value > 0
    with np.errstate(invalid="ignore"):
        small = np.where(value == 0, 0.0, value * np.where(rising, low[column], high[column]))
        large = np.where(value == 0, 0.0, value * np.where(rising, high[column], low[column]))
    for terms, sides, way in ((small, problem.row_lower, 1.0), (-large, -problem.row_upper, -1.0)):
        endless = np.bincount(row[~np.isfinite(terms)], minlength=matrix.rows)
        total = np.bincount(row, weights=np.where(np.isfinite(terms), terms, 0.0), minlength=matrix.rows)
        asks = candidates[column] & (way * value > 0) & np.isfinite(sides[row])
        at = np.flatnonzero(asks)
        own = np.isfinite(terms[at])
        rest = total[row[at]] - np.where(own, terms[at], 0.0)
        rest = np.where(endless[row[at]] > ~own, -np.inf, rest)
        np.maximum.at(needed, column[at], (sides[row[at]] - rest) / np.abs(value[at]))
    return needed


def _is_free_to_fall(problem: Problem, sign: float) -> Bools:
    """The columns that cost nothing or something to raise, and that no definition reads or gives."""
    free = np.ones(problem.columns, dtype=np.bool_)
    for objective in problem.objectives[:1]:
        way = 1.0 if objective.sense == "minimize" else -1.0
        free &= sign * way * objective.costs(problem.columns) >= 0
    for definition in problem.definitions:
        free[definition.arguments.matrix.columns] = free[definition.results] = False
    return free


def _refusal(problem: Problem, side: str, column: int) -> Diagnostic:
    family = problem.column_family(column)
    article = "an" if side == "upper" else "a"
    return Diagnostic(
        "GSM4003",
        f"`cpsat` needs {article} {side} bound of `{entry_name(family, column)}`",
        family.span,
        f"no {side} bound declared here",
        notes=(
            "bound propagation through the constraints finds none either; CP-SAT computes with integers of 64 bits",
        ),
        help=f"state {article} {side} bound in the declaration of `{family.name}`, or choose another backend, such as "
        "`highs` or `scip`",
    )
