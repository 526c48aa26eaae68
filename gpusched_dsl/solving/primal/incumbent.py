"""The best point so far: nothing becomes one that our own check refuses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.ir.verify import verify


@dataclass(eq=False)
class Incumbent:
    """`point` and its `objective`, None while there is none; `bound` on the objective, None while unknown."""

    problem: Problem
    point: Floats | None = None
    objective: float | None = None
    bound: float | None = None
    sign: float = field(init=False)

    def __post_init__(self) -> None:
        maximizes = bool(self.problem.objectives) and self.problem.objectives[0].sense == "maximize"
        self.sign = -1.0 if maximizes else 1.0

    def offer(self, point: Floats) -> bool:
        """Accept a point that is feasible and better, after rounding its integers exactly."""
        rounded_point = np.where(self.problem.integer, np.rint(point), point)
        rounded_point = np.clip(rounded_point, self.problem.lower, self.problem.upper) + 0.0
        objective = self.problem.objectives[0].value(rounded_point) if self.problem.objectives else 0.0
        if self.objective is not None and not self.sign * objective < self.sign * self.objective:
            return False
        checked = verify(self.problem, rounded_point)
        if not checked.feasible or checked.integrality > 0:
            return False
        self.point, self.objective = rounded_point, objective
        return True

    @property
    def gap(self) -> float:
        """Return the largest possible distance of the objective to the optimum; infinite while unknown."""
        if self.objective is None or self.bound is None:
            return float("inf")
        return 0.0 if not self.problem.objectives else relative_gap(self.objective, self.bound)
