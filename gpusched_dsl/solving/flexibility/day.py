"""The solves of one day: the baseline, the largest shed, and the least cost of a shed with its marginal prices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.flexibility.shed_problem import ShedProblem
from gpusched_dsl.solving.sensitivity import sensitivity_of
from gpusched_dsl.solving.solution import Solution

Solve = Callable[[Problem, Floats | None, bool], Solution]  # problem, start, whether to relax integers


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


def plan_day(day: ShedProblem, before_notice: Ints, solve: Solve, given: Baseline | None = None) -> DayPlans:
    """Solve the baseline (unless it is given), then the largest shed with the columns `before_notice` as in it.

    Raises DiagnosticError as `solve_problem` does.
    """
    found = _cheapest_baseline(day, solve) if given is None else given
    if found.point is None:
        return DayPlans(day, found.status, found.reason, None, None, None, None, 0.0, None)
    baseline = found.point
    power = day.power(baseline)
    if len(before_notice):
        day = day.fix_columns(baseline, before_notice)
    largest = solve(day.most(power), baseline, False)
    largest.close()
    point = baseline if largest.point is None else largest.point
    most = day.shed_of(power, point)
    if most == 0.0:
        point = baseline
    known = None if largest.bound is None else max(most, largest.bound)
    return DayPlans(day, found.status, found.reason, baseline, found.bound, power, point, most, known)


def _cheapest_baseline(day: ShedProblem, solve: Solve) -> Baseline:
    solved = solve(day.without_event(), None, False)
    solved.close()
    return Baseline(solved.point, solved.status, solved.reason, solved.bound)


def price_sheds(plans: DayPlans, offers: Floats, solve: Solve) -> list[Shed]:
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
        shed = _cheapest(plans, power, amount, known, solve)
        known = shed.point
        found.append(shed)
    found.reverse()
    least = _added_cost(day, plans, plans.bound)
    for at, shed in enumerate(found):
        bounds = [bound for bound in (least, shed.cost_lower) if bound is not None]
        least = max(bounds, default=None)
        found[at] = replace(shed, cost_lower=None if least is None else min(least, shed.cost))
    return found


def _cheapest(plans: DayPlans, power: Floats, amount: float, known: Floats, solve: Solve) -> Shed:
    """Solve for one amount, from a plan that sheds at least as much."""
    day = plans.day
    problem = day.at(power, amount)
    start = known.copy()
    start[day.shed] = amount
    solved = solve(problem, start, False)
    solved.close()
    point = start
    if solved.point is not None and day.sign * (day.cost(solved.point) - day.cost(start)) <= 0:
        point = solved.point
    relaxed = solve(problem, None, True)
    relaxed.close()
    cost = _added_cost(day, plans, day.cost(point))
    assert cost is not None
    return Shed(
        amount,
        point,
        _with_few_moves(plans, power, amount, point, solve),
        cost,
        _added_cost(day, plans, solved.bound),
        _price(day, replace(solved, problem=problem, point=point, session=None)),
        None if relaxed.reduced_costs is None else day.sign * float(relaxed.reduced_costs[day.shed]),
        solved.status,
    )


def _with_few_moves(plans: DayPlans, power: Floats, amount: float, point: Floats, solve: Solve) -> Floats:
    """Return a plan of the same cost with as few other decisions than the baseline as the solver finds."""
    day, baseline = plans.day, plans.baseline
    assert baseline is not None
    planned = np.rint(baseline[day.decisions])
    moves = float(np.abs(np.rint(point[day.decisions]) - planned).sum())
    if moves <= 1:
        return point
    solved = solve(day.fewest_moves(power, baseline, amount, day.cost(point)), point, False)
    solved.close()
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
