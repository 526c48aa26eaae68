"""By how much a plan breaks the side rows of a model, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.activity import CERTAIN, Activity
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.variants import with_sides
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.policies.broken_rows import BrokenRows, broken_by_propagation, fixed_problem


@dataclass(frozen=True, eq=False)
class RowExcess:
    """The excess of each row above its upper and below its lower side; all are 0 where the rows are not known."""

    above: Floats
    below: Floats

    @property
    def broken(self) -> Bools:
        """Return which rows are broken."""
        return (self.above > 0) | (self.below > 0)


def excess_of(side: CheckedModel, store: ValueStore, limits: MemoryLimits, values: PlanValues) -> RowExcess | None:
    """Return by how much a plan breaks the rows of a model, None if none is, as far as propagation finds out.

    Raises DiagnosticError as `ground` does.
    """
    problem = fixed_problem(side, store, values, limits)
    if isinstance(problem, BrokenRows):
        return RowExcess(np.zeros(0), np.zeros(0))
    if broken_by_propagation(problem) is None:
        return None
    found = _excess_within(problem, problem.lower, problem.upper)
    if not found.broken.any():
        bounds = propagate(problem)
        found = _excess_within(problem, bounds.lower, bounds.upper)
    return found


def _excess_within(problem: Problem, lower: Floats, upper: Floats) -> RowExcess:
    conditions = problem.conditions
    known = (lower[conditions.columns] == conditions.values) & (upper[conditions.columns] == conditions.values)
    problem = with_sides(problem, conditions.rows[~known], -np.inf, np.inf)
    activity = Activity.of(problem.matrix, lower, upper)
    above, below = activity.excesses(problem)
    with np.errstate(invalid="ignore"):
        over = np.where(above > CERTAIN, activity.smallest_values - problem.row_upper, 0.0)
        under = np.where(below > CERTAIN, problem.row_lower - activity.largest_values, 0.0)
    return RowExcess(over, under)
