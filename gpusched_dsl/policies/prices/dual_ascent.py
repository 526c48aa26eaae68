"""Dual values of large linear programs that consist of choices, by cutting planes in a box.

The Lagrangian of the coupling rows is concave and piecewise linear, and its value and slope at given prices take one
pass over the columns (`choice_rows.py`). A model of it (`price_model.py`), the least of all slopes so far, is
maximised within a box around the best prices, which grows after progress and shrinks after none (R. E. Marsten,
W. W. Hogan, J. W. Blankenship, The BOXSTEP Method for Large-Scale Optimization, Operations Research 23, 1975). Choices
are divided into groups, each with its own slopes, which takes fewer steps than one slope for all. Columns without a
choice are in the model as they are.

The result is near-optimal: the value of the model, if the box does not bind, is the optimum at most, so its distance
from the Lagrangian is the error. The number of rows of the model does not depend on the number of choices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.policies.prices.choice_rows import ChoiceRows, all_duals, choice_costs
from gpusched_dsl.policies.prices.price_model import PriceModel

PRECISION = 1e-6  # of the value, relative
STEPS = 300
GROUPS = 16
GROWS, SHRINKS = 2.0, 0.3
LARGEST_BOX = 2.0**20
# The program is solved up to a tolerance, but the Lagrangian is minus infinity as soon as the reduced cost of a column
# without a bound has the wrong sign: relative to costs, reduced costs keep this distance from 0 where they can.
INSIDE = 3e-7
NULLS = 4  # steps without much progress, after which the box shrinks: each has made the model better


def ascend(problem: Problem, choices: ChoiceRows) -> Floats | None:
    """Return dual values of all rows, near-optimal for the minimum of a linear problem; None if the ascent fails."""
    return _Ascent(problem, choices).run()


@dataclass(frozen=True, eq=False)
class _Slopes:
    """The Lagrangian at some prices: `value`, and for each group `level - slope @ prices` that touches it."""

    value: float
    level: Floats
    slope: Floats


@dataclass(eq=False)
class _Ascent:
    problem: Problem
    choices: ChoiceRows

    def __post_init__(self) -> None:
        problem, choices = self.problem, self.choices
        self.cost, self.other_cost = choice_costs(problem, choices)
        self.lower, self.upper = problem.row_lower[choices.coupling], problem.row_upper[choices.coupling]
        count = len(choices.rows)
        self.group = np.arange(count) * min(GROUPS, count) // max(count, 1)
        self.groups = int(self.group.max(initial=-1)) + 1
        self.of_column = np.repeat(np.arange(count), np.diff(choices.first))
        self.model = PriceModel(
            self.groups, (self.lower, self.upper), self._scale(), choices.rest, self.other_cost, self._box_of_others()
        )

    def run(self) -> Floats | None:
        best, box, nulls = np.zeros(len(self.choices.coupling)), 1.0, 0
        at_best = self._evaluate(best)
        for _ in range(STEPS):
            checkpoint()
            found = self.model.maximise(best, box, INSIDE) or self.model.maximise(best, box)
            if found is None:
                return None
            prices, value = found
            gain = value - at_best.value
            binds = self.model.binds(prices, best, box)
            if np.isfinite(at_best.value) and gain <= PRECISION * max(1.0, abs(at_best.value)):
                if not binds or box >= LARGEST_BOX:
                    break
                box *= GROWS
                continue
            here = self._evaluate(prices)
            if not np.isfinite(at_best.value) or here.value >= at_best.value + 0.1 * gain:
                box, nulls = min(box * GROWS, LARGEST_BOX) if binds else box, 0
            else:
                nulls += 1
                box *= SHRINKS if nulls % NULLS == 0 else 1.0
            if here.value > at_best.value:
                best, at_best = prices, here
        return all_duals(self.problem, self.choices, best)

    # --- the Lagrangian ----------------------------------------------------------------------------------------------

    def _evaluate(self, prices: Floats) -> _Slopes:
        """Return the Lagrangian at prices of the coupling rows, and keep its slopes."""
        choices = self.choices
        reduced = self.cost - choices.chosen @ prices
        least = np.minimum.reduceat(reduced, choices.first[:-1])
        taken = choices.exact | (least < 0)
        is_least = np.flatnonzero(reduced == least[self.of_column])
        owner = self.of_column[is_least]
        first = np.concatenate(([True], owner[1:] != owner[:-1]))
        column, amount = is_least[first], np.where(taken, choices.most, 0.0)
        level: Floats = np.bincount(self.group, weights=amount * self.cost[column], minlength=self.groups).astype(float)
        into = sparse.csr_matrix((amount, (self.group, np.arange(len(column)))), (self.groups, len(column)))
        slope = np.asarray((into @ choices.chosen[column]).todense())
        self.model.add(level, slope)
        rest = self.other_cost - choices.rest @ prices
        lower, upper = self._box_of_others()
        with np.errstate(invalid="ignore"):
            of_rest = np.where(rest > 0, rest * lower, np.where(rest < 0, rest * upper, 0.0)).sum()
            sides = np.where(prices > 0, prices * self.lower, np.where(prices < 0, prices * self.upper, 0.0)).sum()
        return _Slopes(float((least * amount).sum() + of_rest + sides), level, slope)

    def _box_of_others(self) -> tuple[Floats, Floats]:
        return self.problem.lower[self.choices.others], self.problem.upper[self.choices.others]

    def _scale(self) -> Floats:
        """Return, for each coupling row, the mean cost of a column per unit of the row: what a price may be."""
        both = sparse.vstack((self.choices.chosen, self.choices.rest)).tocoo()
        costs = np.abs(np.concatenate((self.cost, self.other_cost)))
        ratio = costs[both.row] / np.maximum(np.abs(both.data), 1e-300)
        total = np.bincount(both.col, weights=ratio, minlength=both.shape[1])
        count = np.bincount(both.col, minlength=both.shape[1])
        found = total / np.maximum(count, 1)
        return np.asarray(np.where(found > 0, found, max(1.0, float(costs.mean()) if len(costs) else 1.0)))
