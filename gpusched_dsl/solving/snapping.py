"""Moves the continuous columns of a point onto decimal numbers that they miss by a solver's rounding.

A solver returns 2.4999999999973 where the vertex is 2.5, and the objective is 26.999999999996987. Where it uses its
tolerance for rows, it returns 2.4999999: then a point that breaks no row is better, also if it costs more. The
moved point is verified as any other, and the objective computed from it: no value is reported that the point does not
have.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import SOLVER
from gpusched_dsl.ir.verify import Tolerances, Verification, verify

DECIMALS = 6
NEAR = 1e-9  # how far a column may be from such a number, relative to the larger of 1 and its value
USED_UP = 2 * SOLVER  # the same, where a row is broken: solvers use up their tolerance
BROKEN = 1e-12  # by how much a row may be broken where it was not: rounding of its own terms


def snap(
    problem: Problem, point: Floats, checked: Verification, tolerances: Tolerances, witnessed: float | None
) -> tuple[Floats, Verification]:
    """Return the point on decimal numbers and its verification; the given ones where it breaks more or costs more.

    `checked` is the verification of `point`, which is feasible; `witnessed` as in `check_point`.
    """
    found = _moved(problem, point, checked, tolerances, witnessed, NEAR)
    if found[1].row_relative > BROKEN:
        wider = _moved(problem, *found, tolerances, witnessed, USED_UP)
        if wider[1].row_relative <= BROKEN:
            return wider
    return found


def _moved(
    problem: Problem,
    point: Floats,
    checked: Verification,
    tolerances: Tolerances,
    witnessed: float | None,
    near: float,
) -> tuple[Floats, Verification]:
    with np.errstate(invalid="ignore", over="ignore"):
        decimal = np.round(point, DECIMALS)
        close = (decimal != point) & (np.abs(decimal - point) <= near * np.maximum(1.0, np.abs(point)))
    close &= ~problem.integer & (problem.lower <= decimal) & (decimal <= problem.upper)
    for definition in problem.definitions:
        close[definition.results] = False
    if not close.any():
        return point, checked
    moved = np.where(close, decimal, point) + 0.0
    again = verify(problem, moved, tolerances, trust_comparisons=witnessed is not None)
    broken = again.row_relative > max(checked.row_relative, BROKEN)
    if not again.feasible or broken or _is_worse(problem, checked, again, near):
        return point, checked
    return complete(problem.definitions, moved, witnessed), again


def _is_worse(problem: Problem, before: Verification, after: Verification, near: float) -> bool:
    """Whether an objective is worse by more than the move of the columns may cost."""
    for objective, old, new in zip(problem.objectives, before.objectives, after.objectives, strict=True):
        sign = 1.0 if objective.sense == "minimize" else -1.0
        if not sign * (new.value - old.value) <= near * max(1.0, old.magnitude):
            return True
    return False
