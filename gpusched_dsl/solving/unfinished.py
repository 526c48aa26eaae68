"""The result of a solve that ended before the solver ran: its start if that is feasible, else no point."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import StoppedEarly, grace
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Objective, Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.verify import Tolerances
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solution import Loading, ObjectiveResult, Solution
from gpusched_dsl.solving.verification import CheckedPoint, check_point
from gsdsl_backends.protocol import Backend, SolveOptions


def unfinished_solution(
    problem: Problem,
    backend: Backend,
    options: SolveOptions,
    start: Floats | None,
    stopped: StoppedEarly,
    tolerances: Tolerances | None = None,
    reformulated: ReformulatedProblem | None = None,
) -> Solution:
    """A `limit`, with the start as its point where our own check accepts it: 0, or the nearest bound, where it is NaN.

    `stopped` says why and at what the work ended; the result repeats it.
    """
    allowed = tolerances or Tolerances()
    with grace():
        checked = None if start is None else _checked_start(problem, start, allowed, backend.name)
    return Solution(
        problem=problem,
        reformulated=reformulated or ReformulatedProblem(problem, problem),
        backend=backend,
        options=options,
        tolerances=allowed,
        status=Status.LIMIT,
        reason=stopped.reason,
        point=None if checked is None else checked.point,
        objectives=_objectives(problem, checked),
        row_duals=None,
        reduced_costs=None,
        verification=None if checked is None else checked.verification,
        is_integral=checked is not None and checked.is_integral,
        loading=Loading.FIRST,
        load_seconds=0.0,
        solve_seconds=0.0,
        statistics={},
        versions=backend.versions(),
        session=None,
        stopped_at=stopped.stage,
    )


def solution_without_problem(
    model: CheckedModel, backend: Backend, options: SolveOptions, stopped: StoppedEarly
) -> Solution:
    """Return the result of a solve that ended before its problem existed, with a problem without columns."""
    empty = np.zeros(0)
    objectives = tuple(
        Objective(o.sense, (), o.name, "" if o.unit.text == "1" else o.unit.text, o.span) for o in model.objectives
    )
    problem = Problem(
        name=model.name,
        variables=(),
        lower=empty,
        upper=empty,
        integer=np.zeros(0, dtype=np.bool_),
        constraints=(),
        matrix=Matrix(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), empty),
        row_lower=empty,
        row_upper=empty,
        objectives=objectives,
        conditions=Conditions.none(),
    )
    return unfinished_solution(problem, backend, options, None, stopped)


def _checked_start(problem: Problem, start: Floats, tolerances: Tolerances, name: str) -> CheckedPoint | None:
    point = np.clip(np.where(np.isfinite(start), start, 0.0), problem.lower, problem.upper)
    try:
        return check_point(problem, np.where(problem.integer, np.rint(point), point), tolerances, name)
    except DiagnosticError:
        return None


def _objectives(problem: Problem, checked: CheckedPoint | None) -> tuple[ObjectiveResult, ...]:
    results = []
    for number, objective in enumerate(problem.objectives):
        value = None if checked is None else checked.verification.objectives[number]
        status = Status.LIMIT if number == 0 else None
        results.append(ObjectiveResult.of(objective, value, None, status, 0.0, problem.columns))
    return tuple(results)
