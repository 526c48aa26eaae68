"""Why a problem is unbounded: a direction in which the objective improves for ever, over as few columns as possible.

For the feasible points of `rows and bounds` the directions that never leave them are those of the recession cone,
`A d >= 0` where a row has a lower side, `A d <= 0` where it has an upper one, `d >= 0` and `d <= 0` likewise. Rational
data given, an integer problem with a point is unbounded exactly if its relaxation has such a direction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from gpusched_dsl.explaining.quickxplain import Groups, columns_by_family, quickxplain
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.deadline import StoppedEarly
from gpusched_dsl.ir.problem import Objective, Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.variants import with_row
from gpusched_dsl.solving.variants.solver import VariantSolver

GAIN = 1e-6  # what counts as an improvement, relative to the largest cost
NOTHING = 1e-7


@dataclass(frozen=True, eq=False)
class Ray:
    """Column `columns[k]` changes by `steps[k]` for as often as one likes; each time `objective` changes by `gain`.

    The smallest step is 1. `minimal`: with fewer of these columns there is no such direction.
    """

    objective: Objective
    columns: Codes
    steps: Floats
    gain: float
    minimal: bool


def find_ray(problem: Problem, solver: VariantSolver | None = None) -> Ray | None:
    """A direction that improves the first objective that can be improved for ever; None when none is found.

    Earlier objectives are kept. The problem is linear; it is unbounded if it has a point at all.
    """
    used = solver or VariantSolver()
    for number, objective in enumerate(problem.objectives):
        search = _Search(problem, objective, problem.objectives[:number], used)
        try:
            found = search.run()
        except StoppedEarly:
            return search.best
        if found is not None:
            return found
    return None


class _Search:
    def __init__(
        self, problem: Problem, objective: Objective, kept: tuple[Objective, ...], solver: VariantSolver
    ) -> None:
        self.objective, self.solver = objective, solver
        self.costs = objective.costs(problem.columns)
        self.cone = _recession_cone(problem, objective, kept)
        self.best: Ray | None = None

    def run(self) -> Ray | None:
        if not self.costs.any():
            return None
        everything = np.ones(self.cone.columns, dtype=np.bool_)
        first = self._direction(everything)
        if first is None:
            return None
        self.best = self._ray(first, minimal=False)
        support = np.abs(first) > NOTHING
        if not self._suffices(support):
            support = everything
        nothing = np.zeros(self.cone.columns, dtype=np.bool_)
        groups = columns_by_family(self.cone, np.flatnonzero(support))
        support = quickxplain(self._suffices, nothing, groups)
        support = quickxplain(self._suffices, nothing, Groups.singles(np.flatnonzero(support)))
        direction = self._direction(support)
        return self.best if direction is None else self._ray(direction, minimal=True)

    def _suffices(self, columns: Bools) -> bool:
        return self._direction(columns) is not None

    def _direction(self, columns: Bools) -> Floats | None:
        """The best direction, no step longer than 1, that moves only these columns; None when none improves."""
        self.solver.clock.check()
        cone = replace(
            self.cone, lower=np.where(columns, self.cone.lower, 0.0), upper=np.where(columns, self.cone.upper, 0.0)
        )
        solved = self.solver.attempt(cone)
        if solved is None or solved.status is not Status.OPTIMAL or solved.point is None:
            return None
        gain = float(self.costs @ solved.point)
        better = gain if self.objective.sense == "maximize" else -gain
        return solved.point if better > GAIN * float(np.abs(self.costs).max()) else None

    def _ray(self, direction: Floats, *, minimal: bool) -> Ray:
        columns = np.flatnonzero(np.abs(direction) > NOTHING)
        steps = direction[columns] / np.abs(direction[columns]).min()
        steps = np.where(np.abs(steps - np.rint(steps)) < NOTHING * np.abs(steps), np.rint(steps), steps)
        return Ray(self.objective, columns, steps, float(self.costs[columns] @ steps), minimal)


def _recession_cone(problem: Problem, objective: Objective, kept: tuple[Objective, ...]) -> Problem:
    """The directions of length at most 1 per column; earlier objectives, which are bounded, may not change."""
    cone = replace(
        problem,
        row_lower=np.where(np.isfinite(problem.row_lower), 0.0, -np.inf),
        row_upper=np.where(np.isfinite(problem.row_upper), 0.0, np.inf),
    )
    for earlier in kept:
        costs = earlier.costs(problem.columns)
        used = np.flatnonzero(costs)
        cone = with_row(cone, "kept", used, costs[used], 0.0, 0.0)
    return replace(
        cone,
        lower=np.where(np.isfinite(problem.lower), 0.0, -1.0),
        upper=np.where(np.isfinite(problem.upper), 0.0, 1.0),
        integer=np.zeros(problem.columns, dtype=np.bool_),
        objectives=(
            structs.replace(objective, terms=tuple(structs.replace(t, constant=0.0) for t in objective.terms)),
        ),
    )
