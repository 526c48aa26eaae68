"""Affine expressions as combinations of two others."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.convexity.polynomials import Polynomials
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.tolerances import ROUNDING

# Expressions with less between them, of the product of their lengths, are multiples of each other.
PARALLEL = 1e-12
NOTHING = 1e-12  # a part that is smaller, relative to the whole, is a rounding error


def combination(given: Polynomials, one: Polynomials, other: Polynomials) -> tuple[Floats, Floats]:
    """The numbers a, b with `given == a * one + b * other`, row by row; NaN where there are none, or many."""
    rows, values = _side_by_side(given, one, other)

    def inner(i: int, j: int) -> Floats:
        return np.bincount(rows, weights=values[i] * values[j], minlength=given.count).astype(np.float64, copy=False)

    length, across, width = inner(1, 1), inner(1, 2), inner(2, 2)
    determinant = length * width - across**2
    with np.errstate(all="ignore"):
        a = (inner(0, 1) * width - inner(0, 2) * across) / determinant
        b = (inner(0, 2) * length - inner(0, 1) * across) / determinant
        whole = np.sqrt(inner(0, 0))
        a = np.where(np.abs(a) * np.sqrt(length) <= NOTHING * whole, 0.0, a)
        b = np.where(np.abs(b) * np.sqrt(width) <= NOTHING * whole, 0.0, b)
        left = np.abs(values[0] - a[rows] * values[1] - b[rows] * values[2])
        error = np.zeros(given.count)
        np.fmax.at(error, rows, left)
        known = (determinant > PARALLEL * length * width) & (error <= ROUNDING * whole)
    return np.where(known, a, np.nan), np.where(known, b, np.nan)


def multiple(given: Polynomials, of: Polynomials) -> Floats:
    """The number a with `given == a * of`, row by row; NaN where there is none."""
    rows, values = _side_by_side(given, of)
    count = given.count
    length = np.bincount(rows, weights=values[1] ** 2, minlength=count)
    with np.errstate(all="ignore"):
        a = np.bincount(rows, weights=values[0] * values[1], minlength=count) / length
        error, size = np.zeros(count), np.zeros(count)
        np.fmax.at(error, rows, np.abs(values[0] - a[rows] * values[1]))
        np.fmax.at(size, rows, np.abs(values[0]))
        return np.where(error <= ROUNDING * size, a, np.nan)


def _side_by_side(*polynomials: Polynomials) -> tuple[Codes, Floats]:
    """The rows of all entries that one of the polynomials has, and the value of each polynomial there."""
    first = np.concatenate([p.first for p in polynomials])
    second = np.concatenate([p.second for p in polynomials])
    rows = np.concatenate([p.rows for p in polynomials])
    keys, place = np.unique(np.stack((rows, first, second)), axis=1, return_inverse=True)
    values = np.zeros((len(polynomials), keys.shape[1]))
    which = np.repeat(np.arange(len(polynomials)), [len(p.rows) for p in polynomials])
    values[which, place.reshape(-1)] = np.concatenate([p.values for p in polynomials])
    return keys[0], values
