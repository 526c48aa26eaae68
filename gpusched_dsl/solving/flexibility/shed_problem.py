"""The problem of a day with an offered shed: power of each slot plus shed, at most the baseline in the event."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.problem import Objective, Problem, Term
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.solving.lexicographic import KeptObjective, stage_problem

NOISE = 1e-6  # of the largest power: a smaller shed is none


@dataclass(frozen=True, eq=False)
class ShedProblem:
    """A problem with a column `shed` and for each slot a row `power + shed <= 0`, in the order of the slots.

    Only the rows of the slots of the event are required, with the power of the baseline on their right-hand side. All
    problems that this class returns have the same columns, so a point of one is a start of the others. `decisions` are
    the binary columns of the placement of jobs, if it is one of binaries.
    """

    problem: Problem
    shed: int
    rows: Ints
    event: Bools
    decisions: Ints

    @property
    def sign(self) -> float:
        """1 if the objective is minimised, -1 if it is maximised: a change times this is a cost."""
        return 1.0 if self.problem.objectives[0].sense == "minimize" else -1.0

    def power(self, point: Floats) -> Floats:
        """Return the power of each slot at a point."""
        rows = self.rows
        found: Floats = self.problem.matrix.activity(point)[rows] - point[self.shed] - self.problem.row_upper[rows]
        return found

    def shed_of(self, baseline: Floats, point: Floats) -> float:
        """Return what a point sheds in every slot of the event: the smallest reduction, at least 0."""
        event = baseline[self.event]
        least = float((event - self.power(point)[self.event]).min())
        return least if least > NOISE * max(1.0, float(np.abs(event).max())) else 0.0

    def cost(self, point: Floats) -> float:
        return self.problem.objectives[0].value(point)

    def without_event(self) -> Problem:
        """The problem of the baseline: nothing is shed."""
        return self._with(np.full(len(self.rows), np.inf), 0.0, 0.0)

    def at(self, baseline: Floats, shed: float) -> Problem:
        """The problem of the least cost of a plan that sheds this much."""
        return self._with(self._sides(baseline), shed, shed)

    def most(self, baseline: Floats) -> Problem:
        """The problem of the largest shed."""
        largest = Objective("maximize", (Term(None, np.array([self.shed], dtype=np.int32), np.ones(1)),), name="shed")
        return replace(self._with(self._sides(baseline), 0.0, np.inf), objectives=(largest,))

    def fewest_moves(self, baseline: Floats, plan: Floats, shed: float, cost: float) -> Problem:
        """The problem of the fewest decisions that differ from those of a plan, at no more than this cost."""
        kept = KeptObjective(self.problem.objectives[0], cost)
        planned = np.rint(plan[self.decisions])
        differing = Term(None, self.decisions.astype(np.int32), 1.0 - 2.0 * planned, float(planned.sum()))
        moves = Objective("minimize", (differing,), name="moves")
        return stage_problem(self.at(baseline, shed), moves, [kept], ROUNDING)

    def fix_columns(self, point: Floats, columns: Ints) -> ShedProblem:
        """The same with the values of some columns as at a point: what is decided before the notice."""
        lower, upper = self.problem.lower.copy(), self.problem.upper.copy()
        values = np.where(self.problem.integer[columns], np.rint(point[columns]), point[columns])
        lower[columns], upper[columns] = values, values
        return replace(self, problem=replace(self.problem, lower=lower, upper=upper))

    def _sides(self, baseline: Floats) -> Floats:
        sides: Floats = np.where(self.event, self.problem.row_upper[self.rows] + baseline, np.inf)
        return sides

    def _with(self, sides: Floats, least: float, most: float) -> Problem:
        row_upper, lower, upper = self.problem.row_upper.copy(), self.problem.lower.copy(), self.problem.upper.copy()
        row_upper[self.rows] = sides
        lower[self.shed], upper[self.shed] = least, most
        return replace(self.problem, row_upper=row_upper, lower=lower, upper=upper)
