"""Which columns are whole at every feasible point: declared ones, and results that whole arguments make whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.definitions import Affines, Definition, MinMax, Power, Product, Reified, Unary
from gpusched_dsl.ir.problem import Problem

Flags = NDArray[np.bool_]


def whole_columns(problem: Problem) -> Flags:
    """Declared whole columns, and the results of definitions that can only be whole."""
    whole = problem.integer.copy()
    for definition in problem.definitions:
        if definition.size:
            whole[definition.results] |= _stays_whole(definition, whole)
    return whole


def whole_affines(affines: Affines, whole: Flags) -> Flags:
    """The expressions that are whole: whole coefficients of whole columns, and a whole constant."""
    matrix = affines.matrix
    fraction = ~whole[matrix.columns] | (matrix.values != np.rint(matrix.values))
    broken = np.bincount(matrix.row_of[fraction], minlength=affines.count) > 0
    return np.asarray(~broken & (affines.constants == np.rint(affines.constants)))


def _stays_whole(definition: Definition, whole: Flags) -> Flags:
    match definition:
        case Reified():
            return np.ones(definition.size, dtype=np.bool_)
        case Product() | MinMax() | Unary(function="abs"):
            pass
        case Power():
            exponents = definition.exponents
            polynomial: Flags = np.asarray((exponents >= 0) & (exponents == np.rint(exponents)))
            return np.logical_and(whole_affines(definition.arguments, whole), polynomial)
        case _:
            return np.zeros(definition.size, dtype=np.bool_)
    fine = whole_affines(definition.arguments, whole)
    together: Flags = np.logical_and.reduceat(fine, definition.starts[:-1])
    return together
