"""Sifting: a problem of many choices is solved on the few columns that matter, and a bound over all columns is proved.

Where most columns belong to choices (`policies/prices/choice_rows.py`) and few rows couple these, the dual values of
the coupling rows tell which columns can matter. A sample of the choices, with as large a part of the sides of the
coupling rows, has nearly the same dual values. At these

- the problem of the columns is solved whose reduced costs are near those of the best column of their choice;
- weak duality bounds the optimum over all columns, with directed rounding (`policies/prices/safe_bound.py`).

If the gap between the point and the bound is too large, more columns are kept. The solver gets the complete problem,
with the best point, only if that does not help either.
(R. E. Bixby, J. W. Gregory, I. J. Lustig, R. E. Marsten, D. F. Shanno, Very large-scale linear programming, Operations
Research 40, 1992, sift with the dual values of the kept columns alone.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from msgspec import structs
from scipy import sparse

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.ir.verify import objective_value, verify
from gpusched_dsl.policies.prices.choice_rows import ChoiceRows, all_duals, choice_costs, choice_rows_of
from gpusched_dsl.policies.prices.safe_bound import safe_bound
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.restriction import has_point, restrict, solve_part
from gsdsl_backends.interrupt import Control, CtrlC
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions

LEAST_PER_CHOICE = 8  # columns of a choice on average: with fewer, most are kept
MOST_COUPLING = 500  # rows with prices: a sample must have many more choices
SAMPLED = 1_000  # choices, at least
MOST_SKIPPED = 25  # one choice in so many is in the sample, at least: of more choices, 1,000 are less alike
LEAST_KEPT, KEPT = 2, (4.0, 10.0)  # columns of each choice: at least, and on average in each of two rounds
MANY = 250_000  # columns of the first round, from which on choices keep fewer: the solver's time grows faster than they
LEAST_SHARE = 0.625  # of `KEPT`, for any number of choices
SHARE = 0.25  # of the gap is left to the solver: the bound has nearly all columns, its point only few


@dataclass(frozen=True, eq=False)
class Sifted:
    """`point` and its `objective`, None if there is none; the proved `bound`, None if there is none."""

    point: Floats | None
    objective: float | None
    bound: float | None
    proved: bool
    interrupted: bool
    seconds: float


def sift(
    problem: Problem, backend: Backend, options: SolveOptions, start: Floats | None, monitor: Monitor | None
) -> Sifted | None:
    """Solve a linear problem with integers and one objective to the gap of the options; None if it is not suitable.

    `start` is feasible; the point is as good, and has passed `verify`. `options` have the remaining time.
    """
    choices = _suitable_choices(problem)
    if choices is None:
        return None
    seconds = np.inf if options.time_limit is None else options.time_limit
    control = Control()
    budget = HeuristicBudget(seconds, monitor, lambda: control.stop_requested)
    with CtrlC(control):
        return _Sifting(problem, choices, backend, options, budget, start).run()


def _suitable_choices(problem: Problem) -> ChoiceRows | None:
    if len(problem.objectives) != 1:
        return None
    choices = choice_rows_of(problem)
    if choices is None or len(choices.columns) < LEAST_PER_CHOICE * len(choices.rows):
        return None
    is_coupled = 0 < len(choices.coupling) <= MOST_COUPLING
    return choices if is_coupled and len(choices.rows) >= 2 * SAMPLED else None


@dataclass(eq=False)
class _Sifting:
    problem: Problem
    choices: ChoiceRows
    backend: Backend
    options: SolveOptions
    budget: HeuristicBudget
    point: Floats | None

    def __post_init__(self) -> None:
        self.sign = 1.0 if self.problem.objectives[0].sense == "minimize" else -1.0
        self.costs, self.other_costs = choice_costs(self.problem, self.choices)
        count = len(self.choices.rows)
        self.choice_of = np.repeat(np.arange(count), np.diff(self.choices.first))
        self.most = self.choices.most[self.choice_of]
        self.kept: Bools = np.zeros(len(self.choices.columns), dtype=np.bool_)
        self.objective: float | None = None
        self.bound: float | None = None
        if self.point is not None:
            self.kept |= self.point[self.choices.columns] > 0
            self.objective = objective_value(self.problem.objectives[0], self.point).value

    def run(self) -> Sifted:
        every = max(1, min(len(self.choices.rows) // SAMPLED, MOST_SKIPPED))
        prices = self._prices(self.choice_of % every == 0, 1.0 / every)
        if prices is not None:
            self._improve_bound(prices)
            share = min(1.0, max(LEAST_SHARE, MANY / (KEPT[0] * len(self.choices.rows))))
            for count in KEPT:
                if self._is_proved or self.budget.over:
                    break
                self._keep_cheapest(prices, share * count)
                self._solve_kept()
        proved = self._is_proved
        stopped = self.budget.stop_requested and not proved
        return Sifted(self.point, self.objective, self.bound, proved, stopped, self.budget.seconds)

    @property
    def _is_proved(self) -> bool:
        if self.objective is None or self.bound is None:
            return False
        return relative_gap(self.objective, self.bound) <= self.options.gap

    def _prices(self, used: Bools, part: float) -> Floats | None:
        """Return the dual values of the coupling rows, with some columns and a part of what couples them."""
        from scipy.optimize import linprog

        choices, problem = self.choices, self.problem
        columns = np.flatnonzero(used)
        rows, choice = np.unique(self.choice_of[columns], return_inverse=True)
        ones = np.ones(len(columns))
        of_choices = sparse.csr_matrix((ones, (choice, np.arange(len(columns)))), (len(rows), len(columns)))
        of_choices = sparse.hstack((of_choices, sparse.csr_matrix((len(rows), len(choices.others)))))
        coupled = sparse.hstack((choices.chosen[columns].T, choices.rest.T)).tocsr()
        lower, upper = part * problem.row_lower[choices.coupling], part * problem.row_upper[choices.coupling]
        equal = np.flatnonzero(lower == upper)
        above = np.flatnonzero((lower != upper) & np.isfinite(upper))
        below = np.flatnonzero((lower != upper) & np.isfinite(lower))
        exact = choices.exact[rows]
        most = choices.most[rows]
        bounds_of_others = part * np.stack((problem.lower[choices.others], problem.upper[choices.others]), axis=1)
        bounds = np.concatenate((np.tile([0.0, np.inf], (len(columns), 1)), bounds_of_others))
        solved = linprog(
            np.concatenate((self.costs[columns], self.other_costs)),
            A_ub=sparse.vstack((coupled[above], -coupled[below], of_choices.tocsr()[~exact])),
            b_ub=np.concatenate((upper[above], -lower[below], most[~exact])),
            A_eq=sparse.vstack((coupled[equal], of_choices.tocsr()[exact])),
            b_eq=np.concatenate((lower[equal], most[exact])),
            bounds=bounds,
            method="highs",
        )
        if solved.status != 0:
            return None
        prices = np.zeros(len(choices.coupling))
        prices[equal] = solved.eqlin.marginals[: len(equal)]
        prices[above] += solved.ineqlin.marginals[: len(above)]
        prices[below] -= solved.ineqlin.marginals[len(above) : len(above) + len(below)]
        return prices

    def _improve_bound(self, prices: Floats) -> None:
        found = safe_bound(self.problem, all_duals(self.problem, self.choices, prices))
        if found is not None and (self.bound is None or self.sign * found > self.sign * self.bound):
            self.bound = found
            self.budget.report(self.objective, self.bound)

    def _keep_cheapest(self, prices: Floats, mean: float) -> None:
        """Also keep `mean` columns of each choice on average: those that cost least more than the best of their choice.

        A choice with small costs is one that can move at little cost, and keeps more than others. Each choice keeps at
        least two: HiGHS's presolve is slow where many columns of a row are in no other row.
        """
        reduced = self.costs - self.choices.chosen @ prices
        excess = (reduced - np.minimum.reduceat(reduced, self.choices.first[:-1])[self.choice_of]) * self.most
        order = np.lexsort((reduced, self.choice_of))
        rank = np.arange(len(order)) - self.choices.first[self.choice_of[order]]
        excess[order[rank < LEAST_KEPT]] = -1.0
        number = min(round(mean * len(self.choices.rows)), len(excess)) - 1
        self.kept |= excess <= np.partition(excess, number)[number]

    def _solve_kept(self) -> None:
        """Solve the problem of the kept columns, from the best point so far."""
        upper = self.problem.upper.copy()
        upper[self.choices.columns[~self.kept]] = 0.0  # columns of choices are at least 0
        restriction = restrict(self.problem, self.problem.lower, upper)
        start = None if self.point is None else restriction.values(self.point)
        options = structs.replace(self.options, time_limit=self._remaining_seconds, gap=SHARE * self.options.gap)
        answer = solve_part(self.backend, restriction.problem, options, start, self.budget)
        if not has_point(answer):
            return
        assert answer.values is not None
        point = restriction.point(answer.values)
        point[self.problem.integer] = np.round(point[self.problem.integer])
        if not verify(self.problem, point).feasible:
            return
        objective = objective_value(self.problem.objectives[0], point).value
        if self.objective is None or self.sign * objective < self.sign * self.objective:
            self.point, self.objective = point, objective
            self.budget.report(self.objective, self.bound)

    @property
    def _remaining_seconds(self) -> float | None:
        return None if self.options.time_limit is None else self.budget.remaining_seconds
