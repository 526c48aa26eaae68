"""Rounding of an LP point with the help of locks: how many rows forbid a column to rise or to fall."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.primal.rows import PropagationRows

FRACTION = 1e-6  # an integer column of an LP point counts as integral within this


def locks(problem: Problem, rows: PropagationRows) -> tuple[Ints, Ints]:
    """Count the rows that a column may violate by decreasing, and by increasing."""
    above = np.isfinite(rows.upper)[rows.rows]
    below = np.isfinite(rows.lower)[rows.rows]
    positive, negative = rows.column_values > 0, rows.column_values < 0
    column = np.repeat(np.arange(problem.columns), np.diff(rows.column_starts))
    rising = (above & positive) | (below & negative)
    falling = (above & negative) | (below & positive)
    return (
        np.bincount(column[falling], minlength=problem.columns),
        np.bincount(column[rising], minlength=problem.columns),
    )


def is_integral(problem: Problem, point: Floats) -> Bools:
    """Return which columns are continuous, or integer at the point."""
    return ~problem.integer | (np.abs(point - np.rint(point)) <= FRACTION)


def round_simply(problem: Problem, point: Floats, down: Ints, up: Ints) -> tuple[Floats, bool]:
    """The point with its integers rounded to where no row is lost, and whether every one could be.

    A column without locks downwards is rounded down, one without locks upwards up: the rows that the point fulfils are
    fulfilled still, however many columns move. What has locks both ways is rounded to the nearest.
    """
    fraction = ~is_integral(problem, point)
    result = np.where(problem.integer, np.rint(point), point)
    falls, rises = fraction & (down == 0), fraction & (down > 0) & (up == 0)
    result[falls], result[rises] = np.floor(point[falls]), np.ceil(point[rises])
    return np.clip(result, problem.lower, problem.upper), not bool((fraction & ~falls & ~rises).any())


def round_towards(problem: Problem, point: Floats, guide: Floats) -> Floats:
    """The point rounded towards another one: up where the other is larger, down where it is smaller."""
    result = np.where(guide > point + FRACTION, np.ceil(point - FRACTION), np.floor(point + FRACTION))
    same = np.abs(guide - point) <= FRACTION
    result = np.where(same, np.rint(point), result)
    return np.clip(np.where(problem.integer, result, point), problem.lower, problem.upper)
