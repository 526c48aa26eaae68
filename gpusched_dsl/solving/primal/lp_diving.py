"""LP diving: columns of the relaxation that are fractional are fixed a few at a time, and it is solved again each time.

Two ways to choose them. *Upwards*: those nearest to the integer above, which is what rows that cover something need; a
tenth at a time. *Nearest*: those nearest to any integer. HiGHS solves the relaxations, each from the last basis.

Source: T. Berthold, Primal heuristics for mixed integer programs (2006), fractional and coefficient diving.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.tolerances import INTEGRALITY
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.propagation import PropagationDomain
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend as backend_named

SHARE = 10  # one of so many fractional columns is fixed in one step


class LpDiving:
    """The relaxation of a linear problem, for dives from its optimum."""

    def __init__(self, problem: Problem, budget: HeuristicBudget) -> None:
        self._relaxed = replace(problem, integer=np.zeros_like(problem.integer))
        self._integers = np.flatnonzero(problem.integer)
        self._budget = budget
        self._session = backend_named("highs").open(self._relaxed)

    def close(self) -> None:
        self._session.close()

    def dive(self, box: PropagationDomain, relaxed: Floats, *, upwards: bool) -> Floats | None:
        """Return a point with integral values of the integer columns; None: a dead end, or no time.

        The bounds of `box` are narrowed on the way.
        """
        values = relaxed
        while not self._budget.over:
            columns = self._integers
            fractional = columns[np.abs(values - np.rint(values))[columns] > INTEGRALITY]
            if not len(fractional):
                return values
            above = np.ceil(values[fractional]) - values[fractional]
            distance = above if upwards else np.minimum(above, 1.0 - above)
            chosen = np.argsort(distance, kind="stable")[: max(1, len(fractional) // SHARE)]
            batch, up = fractional[chosen], np.full(len(chosen), upwards) | (above[chosen] <= 0.5)
            mark = box.mark
            answer = self._solve(box) if _bound(box, values, batch, up) else None
            if answer is None:  # the other side of the first one
                box.undo(mark)
                answer = self._solve(box) if _bound(box, values, batch[:1], ~up[:1]) else None
            if answer is None:
                return None
            values = answer
        return None

    def _solve(self, box: PropagationDomain) -> Floats | None:
        self._session.update(replace(self._relaxed, lower=box.lower.copy(), upper=box.upper.copy()))
        options = SolveOptions(threads=1, time_limit=max(self._budget.remaining_seconds, 0.01))
        answer = self._session.solve(options, None, self._budget)
        return answer.values if answer.status is Status.OPTIMAL else None


def _bound(box: PropagationDomain, values: Floats, columns: np.ndarray, up: Bools) -> bool:
    """Bound columns from their values up or down, or the other way where rows exclude that; return whether it works."""
    for column, is_up in zip(columns, up, strict=True):
        for side in (is_up, not is_up):
            mark = box.mark
            at = np.array([column])
            lower = np.array([np.ceil(values[column])]) if side else box.lower[at]
            upper = box.upper[at] if side else np.array([np.floor(values[column])])
            if lower[0] <= upper[0] and box.narrow(at, lower, upper):
                break
            box.undo(mark)
        else:
            return False
    return True
