"""The solves of a day with an offered shed of power: the baseline, the largest shed, the least cost and its prices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.problem import Objective, Problem, Term
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.variants import with_bounds, with_fixed, with_sides
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.lexicographic import with_cutoff
from gpusched_dsl.solving.sensitivity import sensitivity_of
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.variants.solver import VariantSolver

NOISE = 1e-6  # of the largest power: a smaller shed is none


@dataclass(frozen=True, eq=False)
class ShedProblem:
    """A problem with a column `shed` and for each slot a row `power + shed <= 0`, in the order of the slots.

    Only the rows of the slots of the event are required, with the power of the baseline on their right-hand side. All
    problems that this class returns have the same columns, so a point of one is a start of the others. `decisions` are
    the binary columns of the placement of jobs, if it is one of binaries.
    """

    problem: Problem
    shed: int
    rows: Ints
    event: Bools
    decisions: Ints

    @property
    def sign(self) -> float:
        """1 if the objective is minimised, -1 if it is maximised: a change times this is a cost."""
        return 1.0 if self.problem.objectives[0].sense == "minimize" else -1.0

    def power(self, point: Floats) -> Floats:
        """Return the power of each slot at a point."""
        rows = self.rows
        found: Floats = self.problem.matrix.activity(point)[rows] - point[self.shed] - self.problem.row_upper[rows]
        return found

    def shed_of(self, baseline: Floats, point: Floats) -> float:
        """Return what a point sheds in every slot of the event: the smallest reduction, at least 0."""
        event = baseline[self.event]
        least = float((event - self.power(point)[self.event]).min())
        return least if least > NOISE * max(1.0, float(np.abs(event).max())) else 0.0

    def cost(self, point: Floats) -> float:
        return self.problem.objectives[0].value(point)

    def without_event(self) -> Problem:
        """The problem of the baseline: nothing is shed."""
        return self._with(np.full(len(self.rows), np.inf), 0.0, 0.0)

    def at(self, baseline: Floats, shed: float) -> Problem:
        """The problem of the least cost of a plan that sheds this much."""
        return self._with(self._sides(baseline), shed, shed)

    def most(self, baseline: Floats) -> Problem:
        """The problem of the largest shed."""
        largest = Objective("maximize", (Term(None, np.array([self.shed], dtype=np.int32), np.ones(1)),), name="shed")
        return replace(self._with(self._sides(baseline), 0.0, np.inf), objectives=(largest,))

    def fewest_moves(self, baseline: Floats, plan: Floats, shed: float, cost: float) -> Problem:
        """The problem of the fewest decisions that differ from those of a plan, at no more than this cost."""
        planned = np.rint(plan[self.decisions])
        differing = Term(None, self.decisions.astype(np.int32), 1.0 - 2.0 * planned, float(planned.sum()))
        moves = Objective("minimize", (differing,), name="moves")
        return replace(with_cutoff(self.at(baseline, shed), cost), objectives=(moves,))

    def fix_columns(self, point: Floats, columns: Ints) -> ShedProblem:
        """The same with the values of some columns as at a point: what is decided before the notice."""
        values = np.where(self.problem.integer[columns], np.rint(point[columns]), point[columns])
        return replace(self, problem=with_fixed(self.problem, columns, values))

    def _sides(self, baseline: Floats) -> Floats:
        sides: Floats = np.where(self.event, self.problem.row_upper[self.rows] + baseline, np.inf)
        return sides

    def _with(self, sides: Floats, least: float, most: float) -> Problem:
        return with_bounds(with_sides(self.problem, self.rows, upper=sides), [self.shed], least, most)


@dataclass(frozen=True, eq=False)
class Shed:
    """The cheapest known plan that sheds `amount`: its added cost is `cost`, and no plan adds less than `cost_lower`
    (None: unknown). `moved` is a plan of that cost with few decisions that differ from the baseline.

    `price` is the marginal cost of the shed with the integers of this plan, `relaxed_price` in the relaxation without
    integers; None if the solver gave none.
    """

    amount: float
    point: Floats
    moved: Floats
    cost: float
    cost_lower: float | None
    price: float | None
    relaxed_price: float | None
    status: Status


@dataclass(frozen=True, eq=False)
class Baseline:
    """A plan without the event; `point` is None if there is none. `bound` is a proved bound of the objective."""

    point: Floats | None
    status: Status
    reason: str
    bound: float | None


@dataclass(frozen=True, eq=False)
class DayPlans:
    """The baseline of a day and the largest shed found, `most`; none is larger than `most_bound` (None: unknown).

    `baseline` and `point` are None if no plan was found, for the reason in `status` and `reason`. `point` sheds `most`.
    """

    day: ShedProblem
    status: Status
    reason: str
    baseline: Floats | None
    bound: float | None
    power: Floats | None
    point: Floats | None
    most: float
    most_bound: float | None

    @property
    def cost(self) -> float | None:
        return None if self.baseline is None else self.day.cost(self.baseline)


def plan_day(day: ShedProblem, before_notice: Ints, solver: VariantSolver, given: Baseline | None = None) -> DayPlans:
    """Solve the baseline (unless it is given), then the largest shed with the columns `before_notice` as in it.

    Raises DiagnosticError as `solve_problem` does.
    """
    found = _cheapest_baseline(day, solver) if given is None else given
    if found.point is None:
        return DayPlans(day, found.status, found.reason, None, None, None, None, 0.0, None)
    baseline = found.point
    power = day.power(baseline)
    if len(before_notice):
        day = day.fix_columns(baseline, before_notice)
    largest = solver.solve(day.most(power), baseline)
    point = baseline if largest.point is None else largest.point
    most = day.shed_of(power, point)
    if most == 0.0:
        point = baseline
    known = None if largest.bound is None else max(most, largest.bound)
    return DayPlans(day, found.status, found.reason, baseline, found.bound, power, point, most, known)


def _cheapest_baseline(day: ShedProblem, solver: VariantSolver) -> Baseline:
    solved = solver.solve(day.without_event())
    return Baseline(solved.point, solved.status, solved.reason, solved.bound)


def price_sheds(plans: DayPlans, offers: Floats, solver: VariantSolver) -> list[Shed]:
    """Return the cheapest plans for increasing offers; where an offer exceeds `most`, `most` is shed.

    A plan for a larger shed is also one for a smaller shed, and a bound for a smaller shed also one for a larger shed,
    so costs and bounds do not decrease with the offer.
    """
    day, power = plans.day, plans.power
    if plans.baseline is None or power is None or plans.point is None:
        return []
    known, found = plans.point, list[Shed]()
    amounts = np.minimum(offers, plans.most)
    for amount in amounts[::-1].tolist():
        if found and found[-1].amount == amount:
            found.append(found[-1])
            continue
        shed = _cheapest(plans, power, amount, known, solver)
        known = shed.point
        found.append(shed)
    found.reverse()
    least = _added_cost(day, plans, plans.bound)
    for at, shed in enumerate(found):
        bounds = [bound for bound in (least, shed.cost_lower) if bound is not None]
        least = max(bounds, default=None)
        found[at] = replace(shed, cost_lower=None if least is None else min(least, shed.cost))
    return found


def _cheapest(plans: DayPlans, power: Floats, amount: float, known: Floats, solver: VariantSolver) -> Shed:
    """Solve for one amount, from a plan that sheds at least as much."""
    day = plans.day
    problem = day.at(power, amount)
    start = known.copy()
    start[day.shed] = amount
    solved = solver.solve(problem, start)
    point = start
    if solved.point is not None and day.sign * (day.cost(solved.point) - day.cost(start)) <= 0:
        point = solved.point
    relaxed = solver.solve_relaxed(problem)
    cost = _added_cost(day, plans, day.cost(point))
    assert cost is not None
    return Shed(
        amount,
        point,
        _with_few_moves(plans, power, amount, point, solver),
        cost,
        _added_cost(day, plans, solved.bound),
        _price(day, replace(solved, problem=problem, point=point, session=None)),
        None if relaxed.reduced_costs is None else day.sign * float(relaxed.reduced_costs[day.shed]),
        solved.status,
    )


def _with_few_moves(plans: DayPlans, power: Floats, amount: float, point: Floats, solver: VariantSolver) -> Floats:
    """Return a plan of the same cost with as few other decisions than the baseline as the solver finds."""
    day, baseline = plans.day, plans.baseline
    assert baseline is not None
    planned = np.rint(baseline[day.decisions])
    moves = float(np.abs(np.rint(point[day.decisions]) - planned).sum())
    if moves <= 1:
        return point
    solved = solver.solve(day.fewest_moves(power, baseline, amount, day.cost(point)), point)
    if solved.point is None or float(np.abs(np.rint(solved.point[day.decisions]) - planned).sum()) >= moves:
        return point
    return solved.point


def _price(day: ShedProblem, solved: Solution) -> float | None:
    """The marginal cost of the shed in the linear program with the integers of a solution."""
    try:
        found = float(sensitivity_of(solved).reduced_costs[day.shed])
    except DiagnosticError:  # nonlinear terms without duals
        return None
    return None if np.isnan(found) else day.sign * found


def _added_cost(day: ShedProblem, plans: DayPlans, value: float | None) -> float | None:
    """A value of the objective as a cost in addition to that of the baseline."""
    return None if value is None or plans.cost is None else day.sign * (value - plans.cost)
