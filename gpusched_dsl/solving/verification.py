"""Nothing a solver returns is believed: points are checked against the original rows, objectives are recomputed."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.linearisation import sensitivities
from gpusched_dsl.ir.magnitudes import largest_cost
from gpusched_dsl.ir.problem import Objective, Problem
from gpusched_dsl.ir.solver_result import SolverResult
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.ir.verify import ObjectiveValue, Tolerances, Verification, objective_value, verify
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.snapping import snap

# Of the sum of the sizes of the parts of an objective.
OBJECTIVE_TOLERANCE = FEASIBILITY
NOT_FEASIBLE = "GSM4008"


class CheckedPoint(Struct, frozen=True, eq=False):
    """A verified point; `is_integral` states that its integer columns are exactly integer."""

    point: Floats
    verification: Verification
    is_integral: bool


def check_claim(problem: Problem, answer: SolverResult, solver: str) -> None:
    """Raise DiagnosticError if a point has another length (GSM4007) or objective (GSM4009) than its solver claims."""
    assert answer.values is not None
    raw = np.asarray(answer.values, dtype=np.float64)
    if raw.shape != (problem.columns,):
        message = f"`{solver}` returned {raw.size} values for {problem.columns} columns"
        raise DiagnosticError([Diagnostic("GSM4007", message)])
    _check_objective(problem, answer, raw, solver)


def check_point(
    problem: Problem, raw: Floats, tolerances: Tolerances, solver: str, witnessed: bool = False
) -> CheckedPoint:
    """The point to report: tidied if that keeps it feasible, else as it is, with its result columns computed.

    Tidying rounds integer columns, moves values that overstep a bound onto it, both within the tolerances, and values
    that miss a decimal number by rounding onto that (`snapping.py`).
    `witnessed`: comparisons that the point says are true count as true within the tolerance (`verify`).
    Raises DiagnosticError (GSM4008) when the point breaks the problem beyond the tolerances.
    """
    within = tolerances.feasibility if witnessed else None
    checked = verify(problem, raw, tolerances, trust_comparisons=witnessed)
    if checked.integrality <= tolerances.integrality and checked.bound_relative <= tolerances.feasibility:
        tidy = tidy_point(problem, raw, within)
        is_tidy = np.array_equal(tidy, raw)
        tidy_checked = checked if is_tidy else verify(problem, tidy, tolerances, trust_comparisons=witnessed)
        if tidy_checked.feasible:
            tidy, tidy_checked = snap(problem, tidy, tidy_checked, tolerances, within)
            return CheckedPoint(tidy, tidy_checked, True)
    if checked.feasible:
        return CheckedPoint(
            complete(problem.definitions, raw, within), checked, not problem.is_mip or checked.integrality == 0.0
        )
    raise DiagnosticError([_broken_point(checked, solver)])


def tidy_point(problem: Problem, point: Floats, witnessed: float | None = None) -> Floats:
    """Integer columns rounded, all within their bounds, no negative zeros; result columns computed from the others."""
    rounded = np.where(problem.integer, np.rint(point), point)
    return complete(problem.definitions, np.clip(rounded, problem.lower, problem.upper) + 0.0, witnessed)


def check_bound(
    objective: Objective, bound: float | None, value: ObjectiveValue, allowed: float, solver: str
) -> float | None:
    """Return the bound, moved to the value if it exceeds it within the tolerance; raise DiagnosticError if by more."""
    if bound is None:
        return None
    overstep = bound - value.value if objective.sense == "minimize" else value.value - bound
    if overstep <= 0:
        return bound
    if overstep > allowed:
        message = f"`{solver}` claims that no point is better than {bound!r}, but its own point has {value.value!r}"
        raise DiagnosticError([Diagnostic("GSM4009", message, objective.span)])
    return value.value


def refuse_worse(objective: Objective, claimed: float, value: ObjectiveValue, allowed: float, solver: str) -> None:
    """Raise DiagnosticError (GSM4009) where an objective is worse than claimed by more than is allowed."""
    worse = value.value - claimed if objective.sense == "minimize" else claimed - value.value
    if not worse <= allowed:
        message = f"`{solver}` reports the objective {claimed!r}, but its recomputed value is {value.value!r}"
        help = "numbers of very different size are the usual cause; try other units, or another backend"
        raise DiagnosticError([Diagnostic("GSM4009", message, objective.span, help=help)])


def _check_objective(problem: Problem, answer: SolverResult, raw: Floats, solver: str) -> None:
    if not problem.objectives or answer.objective is None or not np.isfinite(raw).all():
        return
    objective = problem.objectives[0]
    value = objective_value(objective, raw)
    if not abs(value.value - answer.objective) <= allowed_error(problem, objective, value, raw):
        message = f"`{solver}` reports the objective {answer.objective!r}, but its point has {value.value!r}"
        help = "this is a defect of the backend or of the solver; please report it, and try another backend"
        raise DiagnosticError([Diagnostic("GSM4009", message, objective.span, help=help)])


def allowed_error(problem: Problem, objective: Objective, value: ObjectiveValue, point: Floats) -> float:
    """Return the allowed difference of an objective from its claim: the rounding errors of its terms.

    `value` is the objective's at `point`. A column counts with its cost, and with what the terms that read it make of
    an error in it: of `abs(60 * x)` that is 60.
    """
    size = largest_cost(sensitivities(problem.definitions, objective.costs(problem.columns), point))
    return OBJECTIVE_TOLERANCE * max(value.magnitude, size)


def _broken_point(checked: Verification, solver: str) -> Diagnostic:
    first, *others = checked.worst
    if first.kind == "value":
        message = f"the point of `{solver}` has no finite objective or row: {first}"
        help = "bound the variables so that denominators, logarithms and exponentials have finite values"
        notes = tuple(f"also, {violation}" for violation in others)
        return Diagnostic(NOT_FEASIBLE, message, first.family.span, notes=notes, help=help)
    return Diagnostic(
        NOT_FEASIBLE,
        f"the point of `{solver}` is infeasible: {first}",
        first.family.span,
        notes=tuple(f"also, {violation}" for violation in others),
        help="the point was rejected; numbers of very different size are the usual cause: try other units, a tighter "
        "feasibility tolerance of the solver, or another backend",
    )
