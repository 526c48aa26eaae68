"""Dual values of large linear programs that consist of choices, by cutting planes in a box.

The Lagrangian of the coupling rows is concave and piecewise linear, and its value and slope at given prices take one
pass over the columns (`choice_rows.py`). A model of it, the least of all slopes so far, is maximised within a box
around the best prices, which grows after progress and shrinks after none (R. E. Marsten, W. W. Hogan,
J. W. Blankenship, The BOXSTEP Method for Large-Scale Optimization, Operations Research 23, 1975). Choices are divided
into groups, each with its own slopes, which takes fewer steps than one slope for all. Columns without a choice are in
the model as they are.

The result is near-optimal: the value of the model, if the box does not bind, is the optimum at most, so its distance
from the Lagrangian is the error. The number of rows of the model does not depend on the number of choices.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.policies.prices.choice_rows import ChoiceRows, all_duals, choice_costs

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
    levels: list[Floats] = field(default_factory=list)
    slopes: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem, choices = self.problem, self.choices
        self.cost, self.other_cost = choice_costs(problem, choices)
        self.lower, self.upper = problem.row_lower[choices.coupling], problem.row_upper[choices.coupling]
        count = len(choices.rows)
        self.group = np.arange(count) * min(GROUPS, count) // max(count, 1)
        self.groups = int(self.group.max(initial=-1)) + 1
        self.of_column = np.repeat(np.arange(count), np.diff(choices.first))
        self.scale = self._scale()

    def run(self) -> Floats | None:
        best, box, nulls = np.zeros(len(self.choices.coupling)), 1.0, 0
        at_best = self._evaluate(best)
        for _ in range(STEPS):
            checkpoint()
            found = self._maximise(best, box, INSIDE) or self._maximise(best, box, 0.0)
            if found is None:
                return None
            prices, value = found
            gain = value - at_best.value
            binds = bool((np.abs(prices - best) >= box * self.scale * (1 - 1e-9)).any())
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
        self.levels.append(level)
        self.slopes.append(slope)
        rest = self.other_cost - choices.rest @ prices
        lower, upper = self._box_of_others()
        with np.errstate(invalid="ignore"):
            of_rest = np.where(rest > 0, rest * lower, np.where(rest < 0, rest * upper, 0.0)).sum()
            sides = np.where(prices > 0, prices * self.lower, np.where(prices < 0, prices * self.upper, 0.0)).sum()
        return _Slopes(float((least * amount).sum() + of_rest + sides), level, slope)

    def _box_of_others(self) -> tuple[Floats, Floats]:
        return self.problem.lower[self.choices.others], self.problem.upper[self.choices.others]

    def _maximise(self, best: Floats, box: float, inside: float) -> tuple[Floats, float] | None:
        """Return the prices with the largest value of the model within the box, and this value.

        Reduced costs that must not change their sign are at least `inside` from 0, relative to costs of at least 1.

        Columns of the program: prices of lower sides, prices of upper sides (both at least 0), groups, other columns.
        """
        from scipy.optimize import linprog

        rows, groups, others = len(best), self.groups, len(self.choices.others)
        width = 2 * rows + groups + others
        cuts = len(self.levels)
        slopes = np.concatenate(self.slopes) if cuts else np.zeros((0, rows))
        of_groups = sparse.vstack([sparse.identity(groups)] * cuts)
        blocks = [sparse.hstack((slopes, -slopes, of_groups, sparse.csr_matrix((cuts * groups, others))))]
        sides = [np.concatenate(self.levels)]
        rest, lower, upper = self.choices.rest, *self._box_of_others()
        no_group, one, none = sparse.csr_matrix((others, groups)), sparse.identity(others), sparse.csr_matrix
        free = np.isinf(lower) & np.isinf(upper)  # the reduced cost is 0, and so is the part
        margin = np.where(free, 0.0, inside * np.maximum(1.0, np.abs(self.other_cost)))
        for bound, sign in ((lower, -1.0), (upper, 1.0)):
            finite = np.isfinite(bound)  # the part of a column is at most its reduced cost times each bound
            at = np.where(finite, bound, 0.0)
            of_rest = sparse.diags(at) @ rest
            blocks.append(sparse.hstack((of_rest, -of_rest, no_group, one)).tocsr()[finite])
            sides.append((at * self.other_cost)[finite])
            signed = sparse.hstack((sign * rest, -sign * rest, none((others, groups + others))))
            blocks.append(signed.tocsr()[~finite])  # without a bound, its reduced cost has a sign
            sides.append((sign * self.other_cost - margin)[~finite])
        near = sparse.hstack((sparse.identity(rows), -sparse.identity(rows), none((rows, width - 2 * rows))))
        blocks += [near, -near]
        sides += [best + box * self.scale, box * self.scale - best]
        has_lower, has_upper = np.isfinite(self.lower), np.isfinite(self.upper)
        sides_of_rows = (np.where(has_lower, self.lower, 0.0), -np.where(has_upper, self.upper, 0.0))
        gain = np.concatenate((*sides_of_rows, np.ones(groups + others)))
        signs = [np.where(side, np.inf, 0.0) for side in (has_lower, has_upper)]
        most = np.concatenate((*signs, np.full(groups, np.inf), np.where(free, 0.0, np.inf)))
        least = np.concatenate((np.zeros(2 * rows), np.full(groups + others, -np.inf)))
        solved = linprog(
            -gain,
            A_ub=sparse.vstack(blocks).tocsr(),
            b_ub=np.concatenate(sides),
            bounds=np.stack((least, most), axis=1),
            method="highs",
        )
        if solved.x is None:
            return None
        return solved.x[:rows] - solved.x[rows : 2 * rows], float(-solved.fun)

    def _scale(self) -> Floats:
        """Return, for each coupling row, the mean cost of a column per unit of the row: what a price may be."""
        both = sparse.vstack((self.choices.chosen, self.choices.rest)).tocoo()
        costs = np.abs(np.concatenate((self.cost, self.other_cost)))
        ratio = costs[both.row] / np.maximum(np.abs(both.data), 1e-300)
        total = np.bincount(both.col, weights=ratio, minlength=both.shape[1])
        count = np.bincount(both.col, minlength=both.shape[1])
        found = total / np.maximum(count, 1)
        return np.asarray(np.where(found > 0, found, max(1.0, float(costs.mean()) if len(costs) else 1.0)))
