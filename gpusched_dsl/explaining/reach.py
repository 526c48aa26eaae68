"""The values that the rest of a conflict allows for each of its rows: `it is at least 5.2 h`, with 4 h allowed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.problem import Objective, Problem, Term
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.ir.variants import with_sides
from gpusched_dsl.solving.variants.solver import VariantSolver

MOST_ROWS = 12
CERTAIN = FEASIBILITY


@dataclass(frozen=True)
class Reach:
    """The smallest (`at_least`) or the largest activity of a row that the other elements of the conflict allow."""

    at_least: bool
    value: float


def reaches(problem: Problem, conflict: Bools, solver: VariantSolver) -> dict[int, Reach]:
    """The reach of the first rows of a conflict of several, as far as time allows.

    A row for which the others allow values on both sides of what it asks for (only integer variables can do that) has
    none.
    """
    elements = Elements(problem)
    rows = np.flatnonzero(elements.of("row", conflict))[:MOST_ROWS].tolist()
    found: dict[int, Reach] = {}
    for row in rows if elements.of("row", conflict).sum() > 1 else []:
        for at_least in (True, False):
            side = float((problem.row_upper if at_least else problem.row_lower)[row])
            if solver.over or not np.isfinite(side):
                continue
            value = _extreme(elements, conflict, row, at_least, solver)
            room = CERTAIN * max(1.0, abs(side))
            if value is not None and (value > side + room if at_least else value < side - room):
                found[row] = Reach(at_least, value)
                break
    return found


def _extreme(elements: Elements, conflict: Bools, row: int, at_least: bool, solver: VariantSolver) -> float | None:
    """The proved smallest or largest activity of a row within the rest of the conflict; None when there is none."""
    loose = with_sides(elements.problem, np.array([row]), -np.inf, np.inf)
    part = Elements(loose).part(conflict).problem
    at = int(np.flatnonzero(np.isneginf(part.row_lower) & np.isposinf(part.row_upper))[0])
    own = slice(int(part.matrix.starts[at]), int(part.matrix.starts[at + 1]))
    term = Term(None, part.matrix.columns[own], part.matrix.values[own])
    asked = replace(part, objectives=(Objective("minimize" if at_least else "maximize", (term,)),))
    solved = solver.attempt(asked)
    return solved.objective if solved is not None and solved.status is Status.OPTIMAL else None
