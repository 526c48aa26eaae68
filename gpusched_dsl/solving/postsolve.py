"""Back from the problem that was solved to the one that was stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Objective, Problem
from gpusched_dsl.ir.verify import ObjectiveValue
from gpusched_dsl.solving.solution import ObjectiveResult, Solution
from gpusched_dsl.solving.verification import CheckedPoint, allowed_error, check_bound, check_point, refuse_worse


def postsolve(solved: Solution, stated: CheckedPoint | None = None) -> Solution:
    """`solved` in terms of the original problem: declared columns as they are recovered, terms computed from them.

    `stated` is its point in these terms, where it has been checked already.

    Raises DiagnosticError (GSM4008, GSM4009) when the original's own check refuses the point, or when an objective is
    worse there than the solver was told.
    """
    reformulated = solved.reformulated
    original = reformulated.original
    if reformulated.problem is original:
        return solved
    bounds = [_widen(r, reformulated.bound_error) for r in solved.objectives]
    # A problem with integers has no duals, even if the solver got its implied integer columns as continuous ones.
    has_duals = not original.is_mip
    duals = _rows_of_original(reformulated, solved.row_duals) if has_duals and solved.row_duals is not None else None
    costs = _columns_of_original(reformulated, solved.reduced_costs) if has_duals else None
    solved = replace(solved, problem=original, row_duals=duals, reduced_costs=costs)
    if solved.point is None:
        objectives = tuple(structs.replace(r, bound=b) for r, b in zip(solved.objectives, bounds, strict=True))
        return replace(solved, objectives=objectives)
    name = solved.backend.name
    try:
        checked = stated or check_point(original, reformulated.invert(solved.point), solved.tolerances, name)
        objectives = tuple(
            restate_objective(original, o, r, b, v, checked.point, name)
            for o, r, b, v in zip(
                original.objectives, solved.objectives, bounds, checked.verification.objectives, strict=True
            )
        )
    except BaseException:
        solved.close()
        raise
    return replace(
        solved,
        point=checked.point,
        verification=checked.verification,
        is_integral=checked.is_integral,
        objectives=objectives,
    )


def restate_objective(
    problem: Problem,
    objective: Objective,
    solved: ObjectiveResult,
    bound: float | None,
    value: ObjectiveValue,
    point: Floats,
    solver: str,
) -> ObjectiveResult:
    """The value may be better than that of the reformulated problem, which may keep only one half of a definition."""
    assert solved.value is not None
    allowed = allowed_error(problem, objective, value, point)
    refuse_worse(objective, solved.value, value, allowed, solver)
    bound = check_bound(objective, bound, value, allowed, solver)
    return structs.replace(solved, value=value.value, bound=bound, terms=value.terms)


def _widen(result: ObjectiveResult, error: float) -> float | None:
    if result.bound is None or np.isinf(error):
        return None
    return result.bound - error if result.sense == "minimize" else result.bound + error


def _columns_of_original(reformulated: ReformulatedProblem, costs: Floats | None) -> Floats | None:
    """Return the reduced costs of the original columns; columns without a counterpart have none (NaN)."""
    if costs is None or reformulated.columns is None:
        return None if costs is None else costs[: reformulated.original.columns]
    return np.where(reformulated.columns >= 0, costs[reformulated.columns], np.nan)


def _rows_of_original(reformulated: ReformulatedProblem, duals: Floats) -> Floats:
    """Return the dual values of the original rows; rows without a counterpart have none (NaN)."""
    count = reformulated.original.rows
    if reformulated.rows is None:
        return duals[:count]
    return np.where(reformulated.rows >= 0, duals[reformulated.rows], np.nan)
