"""Continuous columns that equations make integer are marked as integer, and their bounds are rounded.

    a x + a k_1 y_1 + ... + a k_n y_n == a b,   x continuous, every y_i integer, k_1 .. k_n and b integers
                                             ->  x integer,  ceil(lower) <= x <= floor(upper)

Proof. Divide by a: x = b - k_1 y_1 - ... - k_n y_n is an integer at every feasible point. So the feasible points stay
the same, and with them every optimum; columns that are integer only at some optimum are not marked. A marked column is
integer in other equations: the search goes on until no equation has a single continuous column left.

Solvers detect such columns, too, but HiGHS 1.11 to 1.15.1 then tighten coefficients with a fractional bound of
the column that rows imply, as if the column could reach it, and lose optima (ERGO-Code/HiGHS#3274). A bound of an
integer column is rounded wherever it comes from.

Rows under a condition are left out. Numbers that do not divide exactly, such as 0.3 by 0.1, count as multiples where
the error that this makes in x is at most `MOST_ERROR` within the bounds of the other columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.analysis.rows import integers_below
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem

SWEEPS = 6
ROUNDS = 200  # equations that follow from one another; each is one round
EXACT = 4 * np.finfo(np.float64).eps
LARGEST = 2.0**31
MOST_ERROR = 1e-9


class ImpliedIntegers:
    """Continuous columns that equations of integers give -> integer columns."""

    name: ClassVar[str] = "implied_integers"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        problem = analysis.problem
        return problem.is_mip and target.takes(INTEGERS) and not bool(problem.integer.all())

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        analysis.sweep(SWEEPS)
        found = implied_integers(problem)
        if not found.any():
            return PassResult(problem)
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[found], upper[found] = -integers_below(-lower[found]), integers_below(upper[found])
        crossed = lower > upper  # no point is feasible, which the solver states
        lower[crossed], upper[crossed] = problem.lower[crossed], problem.upper[crossed]
        notes = tuple(
            Note(self.name, f.name, "are integer (equation of integers)", count, span=f.span)
            for f in problem.column_families
            if (count := int(found[f.slice].sum()))
        )
        return PassResult(replace(problem, lower=lower, upper=upper, integer=problem.integer | found), notes)


def implied_integers(problem: Problem) -> Bools:
    """Return the continuous columns that are integer at every feasible point, since an equation gives them."""
    fixed = (problem.lower == problem.upper) & (problem.lower == np.rint(problem.lower))
    known = problem.integer | fixed
    equations = _equations(problem, known)
    if not equations.rows:
        return np.zeros(problem.columns, dtype=np.bool_)
    sides = problem.row_lower[_equation_rows(problem)]
    size = np.maximum(np.abs(problem.lower), np.abs(problem.upper))
    by_column = np.argsort(equations.columns, kind="stable")
    first_of = np.searchsorted(equations.columns[by_column], np.arange(problem.columns + 1))
    unknown = np.bincount(equations.row_of[~known[equations.columns]], minlength=equations.rows)
    waiting = np.flatnonzero(unknown == 1)
    for _ in range(ROUNDS):
        if not len(waiting):
            break
        found = _given_columns(equations.take(waiting), sides[waiting], known, size)
        found = unique(found[~known[found]])
        known[found] = True
        touched = equations.row_of[by_column[_ranges(first_of[found], first_of[found + 1])]]
        np.subtract.at(unknown, touched, 1)
        waiting = unique(touched[unknown[touched] == 1])
    return np.asarray(known & ~problem.integer & ~fixed)


def _equation_rows(problem: Problem) -> Codes:
    """Return the equations without a condition."""
    equal = (problem.row_lower == problem.row_upper) & np.isfinite(problem.row_lower)
    equal[problem.conditions.rows] = False
    return np.flatnonzero(equal).astype(np.int64)


def _equations(problem: Problem, known: Bools) -> Matrix:
    """Return the equations without entries of 0."""
    rows = _equation_rows(problem)
    part = problem.matrix.take(rows)
    if known[part.columns].all():
        return Matrix(np.zeros(1, dtype=np.int64), part.columns[:0], part.values[:0])
    kept = part.values != 0.0
    counts = np.bincount(part.row_of[kept], minlength=part.rows)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    return Matrix(starts, part.columns[kept], part.values[kept])


def _given_columns(rows: Matrix, sides: Floats, known: Bools, size: Floats) -> Codes:
    """Return the columns that the rows give as integers; every row has one that is not known to be integer."""
    own = ~known[rows.columns]
    pivots = np.zeros(rows.rows)
    pivots[rows.row_of[own]] = rows.values[own]
    error = np.bincount(
        rows.row_of,
        weights=_errors(rows.values, pivots[rows.row_of], np.where(own, 0.0, size[rows.columns])),
        minlength=rows.rows,
    ) + _errors(sides, pivots, np.ones(rows.rows))
    good = error <= MOST_ERROR
    return rows.columns[own][good[rows.row_of[own]]].astype(np.int64)


def _errors(values: Floats, pivots: Floats, sizes: Floats) -> Floats:
    """Return errors of `value / pivot * x` for |x| <= size where the quotient counts as an integer, else infinity."""
    quotients = values / pivots
    integers = np.rint(quotients)
    exact = np.fmod(values, pivots) == 0.0  # the remainder of numbers as they are, without rounding
    close = (np.abs(quotients - integers) <= EXACT * np.abs(quotients)) & (np.abs(integers) <= LARGEST)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.where(sizes > 0.0, EXACT * np.abs(quotients) * sizes, 0.0)
    return np.where(exact, 0.0, np.where(close, errors, np.inf))


def _ranges(first: Codes, last: Codes) -> Codes:
    """Return all numbers of the ranges from `first` to `last` (exclusive), one after the other."""
    counts = last - first
    return np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) + np.arange(counts.sum())
