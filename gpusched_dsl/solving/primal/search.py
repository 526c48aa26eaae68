"""The door of the search for a start: relaxation, rounding, fixing with propagation, then neighbourhoods."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.solving.primal.any_point import find_any_point
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.first_fit import first_fits
from gpusched_dsl.solving.primal.fix_and_propagate import MOST_DEAD_ENDS, fix
from gpusched_dsl.solving.primal.incumbent import Incumbent
from gpusched_dsl.solving.primal.large_neighbourhood import Neighbourhoods
from gpusched_dsl.solving.primal.lp_diving import LpDiving
from gpusched_dsl.solving.primal.propagation import PropagationDomain
from gpusched_dsl.solving.primal.restriction import has_point, restrict, solve_part
from gpusched_dsl.solving.primal.rounding import is_integral, locks, round_simply, round_towards
from gpusched_dsl.solving.primal.rows import PropagationRows, rows_of
from gsdsl_backends.protocol import Backend, SolveOptions

# Shares of what is left: at most so much for a first point without the relaxation (it mostly takes far less), for the
# relaxation (less while there is no point), for each way of fixing from there.
BLIND, RELAXATION, RELAXATION_FIRST, DIVE = 0.3, 0.7, 0.5, 0.4
ANY_POINT = 0.8  # of what is left after all of these without a point
FIRST_FIT = 3.0  # times the budget, for a packing: its point costs little, and from a bad one a solver does not get far
BLIND_ENDS = 16  # dead ends after which a first point is left to the relaxation
EPSILON = 1e-6
GOOD = 0.1  # the gap at which a first point is good enough
MOST_DIVED = 200_000  # nonzeros of a problem that is dived in: a dive solves some hundred relaxations
FAR = 1e6  # where a column without bounds is put when it is fixed before anything is known of it


@dataclass(eq=False)
class Search:
    """One search for a start; `run` gives the best point with the bound that the relaxation gave.

    The point has passed `verify`, its integer columns are integer. With enough time the same seed gives the same point.

    Without `solves_parts` the backend solves linear problems only: dives, but no neighbourhoods and no rest of a dead
    end.
    """

    problem: Problem
    backend: Backend
    options: SolveOptions
    budget: HeuristicBudget
    start: Floats | None = None
    solves_parts: bool = True
    rows: PropagationRows = field(init=False)
    integers: Ints = field(init=False)
    costs: Floats = field(init=False)
    incumbent: Incumbent = field(init=False)
    relaxation: tuple[Floats, Floats | None] | None = field(init=False, default=None)  # its point and reduced costs

    def run(self) -> Incumbent:
        problem = self.problem
        self.incumbent = Incumbent(problem)
        if self.start is not None:
            self.incumbent.offer(self.start)
        if not problem.is_linear:
            raise ValueError("the search for a start supports only linear problems")
        self.rows = rows_of(problem)
        self.integers = np.flatnonzero(problem.integer)
        self.costs = np.zeros(problem.columns)
        if problem.objectives:
            self.costs = self.incumbent.sign * problem.objectives[0].costs(problem.columns)
        if self.budget.over or not PropagationDomain(problem, self.rows).settle():
            return self.incumbent
        down, up = locks(problem, self.rows)
        self._fit_first()
        if self.incumbent.point is None:
            self._fix_by_costs(down, up)
        relaxed, reduced = self._relax()
        self.relaxation = None if relaxed is None else (relaxed, reduced)
        if self._is_done:
            return self.incumbent
        if relaxed is None and self.incumbent.point is None:
            self._fix_by_costs(down, up, 1.0)
        if relaxed is not None:
            self._round(relaxed, down, up)
            self._fix_by_relaxation(relaxed, reduced)
        if not self.solves_parts:
            if relaxed is not None and self.problem.matrix.nonzeros <= MOST_DIVED:
                self._dive(relaxed)
            return self.incumbent
        if self.incumbent.point is None:
            self._ignore_costs()
        if self.incumbent.point is not None and not self._is_done:
            random = np.random.default_rng(self.options.seed)
            Neighbourhoods(
                self.incumbent, self.rows, self.backend, self.options, relaxed, reduced, random
            ).improve(self.budget)  # fmt: skip
        return self.incumbent

    @property
    def _is_done(self) -> bool:
        return self.budget.over or self.incumbent.gap <= self.options.gap

    def _fit_first(self) -> None:
        """Compute a first point of a packing by first fit decreasing; columns that are then free cost little."""
        budget = self.budget
        self.budget = budget.longer(FIRST_FIT)
        cheap = np.where(self.costs < 0, self.problem.upper, self.problem.lower)
        cheap = np.clip(np.where(np.isfinite(cheap), cheap, 0.0), -FAR, FAR)
        for columns, values in first_fits(self.problem, self.rows):
            targets = cheap.copy()
            targets[columns] = values
            order = np.concatenate((columns, np.setdiff1d(self.integers, columns)))
            self._fix(order, targets, len(columns), BLIND, BLIND_ENDS)
            if self.incumbent.point is not None:
                self.budget = budget
        self.budget = budget

    def _fix_by_costs(self, down: Ints, up: Ints, share: float = BLIND) -> None:
        """Compute a first point by costs and locks only, for the case that the relaxation takes too long."""
        problem, integers = self.problem, self.integers
        prefers_low = (self.costs > 0) | ((self.costs == 0) & (down <= up))
        near, far = np.where(prefers_low, problem.lower, problem.upper), np.where(prefers_low, problem.upper, 0.0)
        targets = np.clip(np.where(np.isfinite(near), near, np.where(np.isfinite(far), far, 0.0)), -FAR, FAR)
        order = integers[np.argsort(-np.abs(self.costs[integers]), kind="stable")]
        self._fix(order, targets, len(order), share, BLIND_ENDS if share < 1.0 else MOST_DEAD_ENDS)

    def _relax(self) -> tuple[Floats | None, Floats | None]:
        """Point and reduced costs (of a problem to be minimised) of the relaxation."""
        problem = self.problem
        options = structs.replace(
            self.options,
            time_limit=self.budget.remaining_seconds
            * (RELAXATION_FIRST if self.incumbent.point is None else RELAXATION),
        )
        relaxed = replace(problem, integer=np.zeros(problem.columns, dtype=np.bool_))
        if self.budget.over:
            return None, None
        answer = solve_part(self.backend, relaxed, options, None, self.budget)
        if answer.status is Status.INFEASIBLE or not has_point(answer):
            return None, None
        assert answer.values is not None
        if answer.status is Status.OPTIMAL:
            self.incumbent.bound = answer.bound
        reduced = None if answer.reduced_costs is None else self.incumbent.sign * answer.reduced_costs
        return np.clip(answer.values, problem.lower, problem.upper), reduced

    def _round(self, relaxed: Floats, down: Ints, up: Ints) -> None:
        point, sound = round_simply(self.problem, relaxed, down, up)
        if sound or not (self.problem.integer.all()):
            self._offer(point)

    def _fix_by_relaxation(self, relaxed: Floats, reduced: Floats | None) -> None:
        """Fix the columns chosen by the relaxation, then those chosen in part, then the rest, the most
        expensive first.
        """
        problem, integers = self.problem, self.integers
        value, integral = relaxed[integers], is_integral(problem, relaxed)
        chosen = value > problem.lower[integers] + EPSILON
        rank = np.where(integral[integers] & chosen, 0, np.where(chosen, 1, 2))
        dear = (self.costs if reduced is None else reduced)[integers]
        fraction = value - np.floor(value)
        within = np.where(rank == 1, -fraction, np.where(rank == 2, -dear, 0.0))
        order = integers[np.lexsort((within, rank))]
        first = int((rank == 0).sum())
        self._fix(order, np.where(integral, np.rint(relaxed), np.ceil(relaxed)), first, DIVE)
        if not self._is_done:
            self._fix(order, np.rint(relaxed), first, DIVE)
        if not self._is_done and self.incumbent.point is not None:
            self._fix(order, round_towards(problem, relaxed, self.incumbent.point), first, DIVE)

    def _dive(self, relaxed: Floats) -> None:
        diving = LpDiving(self.problem, self.budget)
        try:
            for upwards in (True, False):
                box = PropagationDomain(self.problem, self.rows)
                if self._is_done or not box.settle():
                    return
                point = diving.dive(box, relaxed, upwards=upwards)
                if point is not None:
                    self._offer(point)
        finally:
            diving.close()

    def _fix(self, order: Ints, targets: Floats, first: int, share: float, ends: int = MOST_DEAD_ENDS) -> None:
        """Fix all integers in this order near these values, and the other columns by a linear problem."""
        if self.budget.over:
            return
        problem = self.problem
        box = PropagationDomain(problem, self.rows)
        if not box.settle():
            return
        if fix(box, order, targets, self.budget.share(share), first=first, dead_ends=ends):
            self._solve_rest(box, relaxed=True)
        elif self.solves_parts and self.incumbent.point is None and share != BLIND:
            box.undo(box.mark // 2)  # what led into the dead end
            self._solve_rest(box, relaxed=False)

    def _solve_rest(self, box: PropagationDomain, relaxed: bool) -> None:
        """Let the backend decide the remaining columns: all integers are fixed, or the first good point suffices."""
        if self.budget.over:
            return
        problem, integer = self.problem, self.problem.integer
        lower = np.where(integer, box.lower, problem.lower)
        upper = np.where(integer, box.upper, problem.upper)
        part = restrict(problem, lower, upper, relaxed=relaxed)
        if not part.problem.columns:
            self._offer(part.base)
            return
        options = structs.replace(self.options, time_limit=self.budget.remaining_seconds * (1.0 if relaxed else DIVE))
        if not relaxed:
            options = structs.replace(options, gap=max(options.gap, GOOD))
        answer = solve_part(self.backend, part.problem, options, None, self.budget)
        if has_point(answer):
            assert answer.values is not None
            self._offer(part.point(answer.values))

    def _ignore_costs(self) -> None:
        """Take any feasible point; the neighbourhoods improve it."""
        point = find_any_point(self.problem, self.backend, self.options, self.budget.share(ANY_POINT))
        if point is not None:
            self._offer(point)

    def _offer(self, point: Floats) -> None:
        if self.incumbent.offer(point):
            bound = self.incumbent.bound if self.backend.capabilities.proves else None  # nobody asked for one
            self.budget.report(self.incumbent.objective, bound)
