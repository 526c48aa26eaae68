"""One objective at a time: the problem of each stage of a lexicographic solve, and costs brought to a fit size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.domains import ScalarDomain
from gpusched_dsl.ir.magnitudes import largest_cost, power_of_two
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term
from gpusched_dsl.ir.solver_result import SolverResult
from gpusched_dsl.ir.tolerances import ROUNDING

# Solvers compare costs, bounds and objectives with absolute tolerances between 1e-9 and 1e-6, but a cost of 1e-7 for a
# quantity in thousands counts. Objectives with a cost below the first size are multiplied by a power of two, which is
# exact, that brings their largest cost near the second.
SMALL_COST, LARGE_COST = 2.0**-10, 2.0**4

# A solver may break a row that is divided by its largest coefficient by its tolerance (1e-7, at most 1e-6), a tenth of
# a step for coefficients of so many steps. Coefficients of many more steps are rounded in sums.
MOST_STEPS, LARGEST_MULTIPLE = 1e5, 1e10


class KeptObjective(Struct, frozen=True):
    """An earlier objective, to be kept at `value` or better; `proved`: no point is better, with a gap of 0."""

    objective: Objective
    value: float
    proved: bool = False

    def loss(self, point: Floats) -> float:
        """By how much the objective is worse at a point."""
        sign = 1.0 if self.objective.sense == "minimize" else -1.0
        return sign * (self.objective.value(point) - self.value)

    def loses_step(self, problem: Problem, point: Floats) -> bool:
        """Whether the objective is worse at a point by more than half of the step between its values."""
        step = value_step(problem, self.objective.costs(problem.columns))
        return step > 0.0 and self.loss(point) > step / 2

    def scale(self, columns: int) -> float:
        """Return the reference of tolerances: the larger of the value and of the largest coefficient."""
        return max(abs(self.value), largest_cost(self.objective.costs(columns)))


def stage_problem(problem: Problem, objective: Objective, kept: Sequence[KeptObjective], tolerance: float) -> Problem:
    """`problem` with this one objective, and a row more for each earlier one.

    The row allows `tolerance` times the larger of the earlier value and of the objective's largest coefficient; it is
    divided by (a power of two near) that coefficient, so that the solver's feasibility tolerance means the same for
    objectives of any size. An objective whose values are multiples of a step (`value_step`) may not lose a step: its
    row allows a quarter of one at most, and where the largest coefficient is more than `MOST_STEPS` steps, it is
    divided by the step.
    """
    if not kept:
        return problem if problem.objectives == (objective,) else replace(problem, objectives=(objective,))
    starts, columns, values = [problem.matrix.starts], [problem.matrix.columns], [problem.matrix.values]
    lower, upper = [problem.row_lower], [problem.row_upper]
    families = list(problem.constraints)
    row, entries = problem.rows, problem.matrix.nonzeros
    for k in kept:
        costs = k.objective.costs(problem.columns)
        used = np.flatnonzero(costs)
        largest = largest_cost(costs)
        scale = power_of_two(largest)
        slack = tolerance * k.scale(problem.columns)
        step = value_step(problem, costs)
        if step > 0.0:
            slack = min(slack, step / 4)
            scale = step if largest > MOST_STEPS * step else scale
        side = np.array([(k.value - k.objective.offset) / scale])
        unbounded = np.array([np.inf])
        maximizes = k.objective.sense == "maximize"
        lower.append(side - slack / scale if maximizes else -unbounded)
        upper.append(unbounded if maximizes else side + slack / scale)
        entries += len(used)
        starts.append(np.array([entries], dtype=np.int64))
        columns.append(used.astype(np.int32))
        values.append(costs[used] / scale)
        name = k.objective.name or "objective"
        families.append(Family(name, row, ScalarDomain(), k.objective.span, keeps=k.proved))
        row += 1
    return replace(
        problem,
        objectives=(objective,),
        constraints=tuple(families),
        matrix=Matrix(np.concatenate(starts), np.concatenate(columns), np.concatenate(values)),
        row_lower=np.concatenate(lower),
        row_upper=np.concatenate(upper),
    )


def with_cutoff(problem: Problem, worst: float) -> Problem:
    """The problem with the first objective at most (maximised: at least) `worst`."""
    first = problem.objectives[0]
    kept = stage_problem(problem, first, [KeptObjective(first, worst)], ROUNDING)
    return replace(kept, objectives=problem.objectives)


def value_step(problem: Problem, costs: Floats) -> float:
    """Return a number that divides every difference of two values of an objective, 0 where none is known.

    That is the common divisor of the costs where all columns that vary are integer. Steps that are too small beside
    the largest cost for the numbers of a solver are none.
    """
    from gpusched_dsl.ir.divisors import common_divisors

    used = (costs != 0.0) & (problem.lower < problem.upper)
    if not used.any() or not problem.integer[used].all():
        return 0.0
    sizes = np.abs(costs[used])
    step = float(common_divisors(sizes, np.zeros(1, dtype=np.int64))[0])
    return step if step * LARGEST_MULTIPLE >= float(sizes.max()) else 0.0


def links_continuous(problem: Problem, objective: Objective) -> bool:
    """Whether an objective reads several continuous columns, and not only the difference of two."""
    costs = objective.costs(problem.columns)
    used = costs[~problem.integer & (problem.lower < problem.upper) & (costs != 0)]
    return len(used) > 2 or (len(used) == 2 and float(used.sum()) != 0.0)


def with_visible_costs(problem: Problem) -> tuple[Problem, float]:
    """The problem with its one objective multiplied by the returned power of two (1 unless costs are tiny)."""
    if not problem.objectives:
        return problem, 1.0
    objective = problem.objectives[0]
    sizes = np.abs(objective.costs(problem.columns))
    smallest, largest = float(sizes.min(where=sizes > 0, initial=np.inf)), float(sizes.max(initial=0.0))
    if smallest >= SMALL_COST or largest >= LARGE_COST:
        return problem, 1.0
    factor = power_of_two(LARGE_COST / largest)
    terms = tuple(
        Term(t.name, t.columns, t.coefficients * factor, t.constant * factor, t.span) for t in objective.terms
    )
    return replace(problem, objectives=(structs.replace(objective, terms=terms),)), factor


def undo_cost_scaling(answer: SolverResult, factor: float) -> SolverResult:
    """The answer to the problem before `with_visible_costs` multiplied its objective by `factor`."""
    if factor == 1.0:
        return answer
    return structs.replace(
        answer,
        objective=None if answer.objective is None else answer.objective / factor,
        bound=None if answer.bound is None else answer.bound / factor,
        row_duals=None if answer.row_duals is None else answer.row_duals / factor,
        reduced_costs=None if answer.reduced_costs is None else answer.reduced_costs / factor,
    )
