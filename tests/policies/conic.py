"""The single-job problem as a convex program in CVXPY, for distributions with an expressible partial expectation."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.distributions import Censored, Distribution, Exponential, LinearSurvival, Truncated


class ConicProfile:
    """One law, `rungs` rungs; costs, gains and the time left are parameters, so that solving again compiles nothing."""

    def __init__(self, law: Distribution, rungs: int, **options: object) -> None:
        self.law, self.options = law, options or {"solver": cp.CLARABEL, "tol_gap_rel": 1e-10, "tol_gap_abs": 1e-10}
        self.x = cp.Variable(rungs - 1)
        self.cost_gain = cp.Parameter(rungs - 1, nonneg=True)
        self.pace_gain = cp.Parameter(rungs - 1, nonneg=True)
        self.slack, self.limit = cp.Parameter(), cp.Parameter(nonneg=True)
        work, rows = partial_expectation(law, self.x)
        rows += [self.x >= 0, self.x <= self.limit, self.pace_gain @ self.x <= self.slack]
        if rungs > 2:
            rows.append(cp.diff(self.x) >= 0)
        self.problem = cp.Problem(cp.Maximize(self.cost_gain @ work), rows)

    def solve(self, speed: Floats, rate: Floats, left: float, limit: float) -> float:
        """The least energy on a filtered ladder."""
        cost, pace = rate / speed, 1 / speed
        self.cost_gain.value, self.pace_gain.value = np.diff(cost), -np.diff(pace)
        self.slack.value, self.limit.value = left - limit * pace[-1], limit
        self.problem.solve(**self.options)
        # The work up to the limit is a number: left as an expression the problem would not be convex.
        whole = float(self.law.partial_expectation(np.array(limit)))
        return float(cost[-1] * whole - self.problem.value)


def partial_expectation(law: Distribution, x: cp.Variable) -> tuple[cp.Expression, list[cp.Constraint]]:
    """G(x) as a concave expression on [0, limit], and the rows that it needs."""
    match law:
        case Exponential(scale=scale):
            return scale * (1 - cp.exp(-x / scale)), []
        case Censored(law=Exponential() as inner):
            return partial_expectation(inner, x)
        case Truncated(law=Exponential() as inner, high=high):
            rest = float(inner.survival(np.array(high)))
            expression, rows = partial_expectation(inner, x)
            return (expression - rest * x) / (1 - rest), rows
        case LinearSurvival(knots=knots, left=left, right=right):
            width = np.diff(knots)
            slope = (right[:-1] - left[1:]) / width
            # Concavity fills the segments in order; before the first knot the survival is 1.
            part = cp.Variable((x.size, len(width)), nonneg=True)
            before = cp.Variable(x.size, nonneg=True)
            rows = [part <= np.tile(width, (x.size, 1)), before <= knots[0], before + cp.sum(part, axis=1) == x]
            return before + part @ right[:-1] - cp.square(part) @ (slope / 2), rows
    raise ValueError("no expression for this law")
