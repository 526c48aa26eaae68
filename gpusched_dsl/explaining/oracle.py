"""Answers whether a part of a problem is feasible, by a solver, and remembers the points it was shown."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.solving.variants.solver import Feasibility, VariantSolver

POINTS_KEPT, BYTES_KEPT = 64, 1 << 26


class Oracle:
    """Solves parts of one problem for feasibility. `best` is the smallest part that was proved infeasible."""

    def __init__(self, elements: Elements, solver: VariantSolver) -> None:
        self.elements = elements
        self.solver = solver
        self.best: Bools | None = None
        self.solves = 0
        self._satisfied_elements: list[Bools] = []

    def is_infeasible(self, kept: Bools) -> bool:
        """Whether it is proved that a part has no point; raises StoppedEarly when time is up."""
        return self.verdict(kept) is Feasibility.INFEASIBLE

    def verdict(self, kept: Bools, *, complete: bool = False) -> Feasibility:
        """Return the verdict on a part, from a remembered point or the solver; raise StoppedEarly if the time is over.

        `complete`: it is the problem itself, which gets most of the time. Raises DiagnosticError then for data that no
        solver can take.
        """
        if any(not np.any(kept & ~known) for known in reversed(self._satisfied_elements)):
            return Feasibility.FEASIBLE
        self.solver.clock.check()
        part = self.elements.part(kept)
        self.solves += 1
        verdict, point = self.solver.decide(part.problem, complete=complete)
        if point is not None:
            self.remember(part.complete_point(point), kept)
        if verdict is Feasibility.INFEASIBLE and (self.best is None or kept.sum() < self.best.sum()):
            self.best = kept.copy()
        self.solver.clock.check()
        return verdict

    def remember(self, point: Floats, kept: Bools | None = None) -> None:
        """Use a point as proof that everything it satisfies is feasible; `kept` is a part for which a
        solver verified it.
        """
        known = self.elements.satisfied_elements(point)
        self._satisfied_elements.append(known if kept is None else known | kept)
        del self._satisfied_elements[: -max(2, min(POINTS_KEPT, BYTES_KEPT // len(known)))]
