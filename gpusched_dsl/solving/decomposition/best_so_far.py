"""The best point and the best bound of a solve by blocks, through all of its stages."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock


class BestSoFar:
    """`value` of `point`, and `bound`, in terms of the minimised value; infinite while there is none."""

    def __init__(self, parts: BlockStructure, watch: DecompositionClock, gap: float) -> None:
        self._parts, self._watch, self._gap = parts, watch, gap
        self.point: Floats | None = None
        self.value, self.bound = np.inf, -np.inf

    @property
    def is_closed(self) -> bool:
        """Whether value and bound are within the gap that was asked for."""
        return self.point is not None and relative_gap(self.value, min(self.bound, self.value)) <= self._gap

    @property
    def known_bound(self) -> float | None:
        return None if np.isneginf(self.bound) else self.bound

    def raise_bound(self, bound: float) -> None:
        self.bound = max(self.bound, bound)

    def offer(self, point: Floats) -> bool:
        """Keep a point of the complete problem if it is valid and the best so far; return whether it is."""
        problem = self._parts.problem
        point = np.clip(point, problem.lower, problem.upper)
        point = np.where(problem.integer, np.rint(point), point)
        value = self._parts.sign * (problem.objectives[0].value(point) if problem.objectives else 0.0)
        if value >= self.value or not verify(problem, point).feasible:
            return False
        self.point, self.value = point, value
        self._watch.report(value, self.known_bound)
        return True
