"""Orbits of nodes that side rows do not distinguish: the column of one representative is enough for all.

Theorem. Let all rows be limits: sums a x <= b with a >= 0 over columns x >= 0 of the placement. Whether a job may run
on a node beside the jobs that run depends on the coefficients of its column alone. So nodes whose columns are equal,
but for the node, give the same answer, and one of them may represent all. With rows for racks and teams these are all
nodes of a rack, so a job has one column for each rack.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.interchangeable.equivalence_classes import classes_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.quotient import quotient
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s, Ints
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.checked import CheckedModel, CheckedPlacement

_WORTH = 2  # nodes for each class, on average: with fewer, nothing is saved


def problem_of_alike_nodes(
    side: CheckedModel, placement: CheckedPlacement, store: ValueStore, limits: MemoryLimits
) -> tuple[Problem, Codes] | None:
    """Return side rows for one node of each class, and the representative of each node, by code.

    None where rows read other variables, are no limits, or distinguish most nodes, and for gangs, which have several
    nodes. Raises DiagnosticError as `ground` does.
    """
    root = placement.root("node")
    if not root or placement.has_gangs or side.variables.keys() != {placement.variable}:
        return None
    try:
        classes = classes_of(side, store, root)
        if classes.count * _WORTH > len(classes.of):
            return None
        found = quotient(side, store, root, classes, limits)
    except Obstacle:
        return None
    problem, matrix = found.problem, found.problem.matrix
    if not problem.is_linear or (found.row_class >= 0).any() or (found.column_class < 0).any():
        return None
    if (problem.lower != 0).any():  # a job that has to run on all nodes of a class has several columns there
        return None
    # A row has the sum over the nodes of a class; the column of one node has its own share in it.
    values = matrix.values / classes.sizes[found.column_class[matrix.columns]]
    problem = replace(problem, matrix=structs.replace(matrix, values=values))
    is_place = np.ones(problem.columns, dtype=np.bool_)
    if not is_limit(matrix.row_of, matrix.columns, values, problem.row_lower, problem.row_upper, is_place).all():
        return None
    return problem, classes.first[classes.of]


def is_limit(
    row: Ints | Int32s, columns: Ints | Int32s, values: Floats, row_lower: Floats, row_upper: Floats, is_place: Bools
) -> Bools:
    """Return which rows only limit columns of the placement that are at least 0, all of them from above."""
    others, negative, positive = (np.zeros(len(row_lower), dtype=np.bool_) for _ in range(3))
    others[row[~is_place[columns]]] = True
    negative[row[values < 0]] = True
    positive[row[values > 0]] = True
    at_most = np.isneginf(row_lower) & ~negative
    at_least = np.isposinf(row_upper) & ~positive
    return ~others & (at_most | at_least)
