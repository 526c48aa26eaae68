"""Explains a problem: sizes, class, reformulations; if it has no solution or no end, why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.interchangeable.aggregate import Aggregation
from gpusched_dsl.compiling.interchangeable.notes import aggregation_notes
from gpusched_dsl.compiling.passes.contradiction import NAME as CONTRADICTION
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.removing import without_unread
from gpusched_dsl.compiling.passes.steps import INDICATOR, PassResult, ReformulatedProblem
from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.explaining.conflict import Conflict, search_conflict
from gpusched_dsl.explaining.explanation import Explanation
from gpusched_dsl.explaining.ray import find_ray
from gpusched_dsl.explaining.relaxation import Relaxation, relaxations
from gpusched_dsl.explaining.sizes import constraint_sizes, model_class, variable_sizes
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.options import unknown_passes
from gpusched_dsl.solving.variants.solver import Feasibility, VariantSolver
from gsdsl_backends.protocol import Backend, Monitor, target_of
from gsdsl_backends.registry import backend as backend_named

DEFAULT_SECONDS = 60.0
LINEAR = "highs"  # solves linear sub-problems where the backend cannot
NONLINEAR = "scip"  # solves others where the backend cannot


def explain(
    problem: Problem,
    backend: Backend | str = "highs",
    *,
    origins: Provenance | None = None,
    time_limit: float | None = DEFAULT_SECONDS,
    monitor: Monitor | None = None,
    why: bool = True,
    without: Collection[str] = (),
    aggregation: Aggregation | None = None,
) -> Explanation:
    """Explain a problem as the backend would get it, tightened but for the passes that `without` names.

    `aggregation` is what came of looking for interchangeable elements.

    With `why` it is solved for feasibility within `time_limit` seconds, and what stands in the way of a solution, or of
    an optimum, is looked for. Ctrl-C and the monitor end that with what was found so far. Raises DiagnosticError for an
    unknown backend or pass and for data that are not numbers.
    """
    explanation = describe(problem, backend, origins, without=without, aggregation=aggregation)
    return search(explanation, VariantSolver(backend, time_limit, monitor)) if why else explanation


def describe(
    problem: Problem,
    backend: Backend | str = "highs",
    origins: Provenance | None = None,
    *,
    without: Collection[str] = (),
    aggregation: Aggregation | None = None,
) -> Explanation:
    """Sizes, class, reformulations and tightening as for a solve; nothing is solved."""
    chosen = backend_named(backend) if isinstance(backend, str) else backend
    unknown = unknown_passes(without)
    if unknown:
        raise DiagnosticError(unknown)
    aggregation = aggregation or Aggregation()
    stated = problem if aggregation.aggregated is None else aggregation.aggregated.problem
    reformulated, refused = _reformulate(stated, chosen, tighten=True, without=without)
    if reformulated is not None and aggregation.aggregated is not None:
        reformulated = replace(reformulated, notes=(*aggregation_notes(aggregation.aggregated), *reformulated.notes))
    kind, reasons = model_class(problem)
    return Explanation(
        problem=problem,
        reformulated=reformulated,
        backend=chosen.name,
        kind=kind,
        reasons=reasons,
        variables=variable_sizes(problem),
        constraints=constraint_sizes(problem),
        refused=refused,
        origins=origins or Provenance(),
        aggregation=aggregation,
    )


def _reformulate(
    problem: Problem,
    backend: Backend,
    *,
    read_rows: bool = True,
    tighten: bool = False,
    without: Collection[str] = (),
) -> tuple[ReformulatedProblem | None, Sequence[Diagnostic]]:
    target = target_of(backend, problem)
    try:
        return reformulate(problem, target, read_rows=read_rows, tighten=tighten, without=without), ()
    except DiagnosticError as refusal:
        return None, refusal.diagnostics


def search(explanation: Explanation, solver: VariantSolver) -> Explanation:
    """The same with the answer whether there is a solution, and why there is none or no end."""
    return replace(_search(explanation, solver), seconds=solver.clock.seconds)


def _search(explanation: Explanation, solver: VariantSolver) -> Explanation:
    if _is_solved_aggregated(explanation, solver):
        return replace(explanation, status="feasible")
    linear, reformulated = _linear_form(explanation.problem, solver)
    if reformulated is None:
        return _without_linear_form(explanation, solver)
    explanation = replace(explanation, linear_form=reformulated)
    verdict, conflict = search_conflict(reformulated.problem, linear)
    if verdict is Feasibility.INFEASIBLE:
        changes = () if conflict is None else _relaxations(reformulated, conflict, linear)
        return replace(explanation, status="infeasible", conflict=conflict, relaxations=changes)
    ray = find_ray(reformulated.problem, linear)
    if verdict is Feasibility.FEASIBLE:
        return replace(explanation, status="feasible" if ray is None else "unbounded", ray=ray)
    return replace(explanation, status="unknown", ray=ray)


def _is_solved_aggregated(explanation: Explanation, solver: VariantSolver) -> bool:
    """Whether the problem of interchangeable elements, which is much smaller, has a solution and an end.

    Then the problem itself has both. If not, the reason is sought in the rows and columns of the problem itself.
    """
    aggregated = explanation.aggregation.aggregated
    if aggregated is None:
        return False
    linear, form = _linear_form(aggregated.problem, solver)
    if form is None:
        return False
    verdict, _ = linear.decide(replace(form.problem, objectives=()))
    if verdict is not Feasibility.FEASIBLE:
        return False
    return find_ray(form.problem, linear) is None


def _linear_form(problem: Problem, solver: VariantSolver) -> tuple[VariantSolver, ReformulatedProblem | None]:
    """The problem as linear rows, for the chosen solver or else for another, and that solver; None where it has none.

    Rows must speak for themselves: nothing is tightened, and bounds are taken from rows only if there is no other way.
    """
    for read_rows in (False, True):
        for linear in (solver, solver.of(backend_named(LINEAR))):
            reformulated, _ = _reformulate(problem, linear.backend, read_rows=read_rows)
            if reformulated is not None and reformulated.problem.is_linear and not _contradicts(reformulated):
                return linear, reformulated
    return solver, None


def _contradicts(reformulated: ReformulatedProblem) -> bool:
    """Whether only a contradiction of bounds is left, in which no row is to blame."""
    return any(note.pass_name == CONTRADICTION for note in reformulated.notes)


def _without_linear_form(explanation: Explanation, solver: VariantSolver) -> Explanation:
    """Ask the backend for a point, and for a conflict of the rows, if no reformulation makes the problem linear.

    Terms of the objective have no part in that: without them the rows may be linear.
    """
    if explanation.refused:
        return replace(explanation, status="not asked")
    stripped = replace(explanation.problem, objectives=())
    problem = without_unread(PassResult(stripped)).problem
    other, form = _linear_form(problem, solver)
    if form is None:
        other, form = _form_without_conditions(problem, solver)
    if form is None:
        verdict, _ = solver.decide(stripped, complete=True)
        return replace(explanation, status=str(verdict))
    verdict, conflict = search_conflict(form.problem, other)
    changes: Sequence[Relaxation] = ()
    if conflict is not None and form.problem.is_linear:
        changes = _relaxations(form, conflict, other)
    return replace(explanation, linear_form=form, status=str(verdict), conflict=conflict, relaxations=changes)


def _form_without_conditions(
    problem: Problem, solver: VariantSolver
) -> tuple[VariantSolver, ReformulatedProblem | None]:
    """The problem with its terms and all rows without conditions, for a backend that takes the terms."""
    if not all(target_of(solver.backend, problem).takes(d.operation) for d in problem.definitions):
        with suppress(DiagnosticError):
            solver = solver.of(backend_named(NONLINEAR))
    if not len(problem.conditions.rows):
        return solver, ReformulatedProblem(problem, problem)
    target = target_of(solver.backend, problem)
    try:
        form = reformulate(problem, structs.replace(target, accepts=target.accepts - {INDICATOR}), read_rows=False)
    except DiagnosticError:
        return solver, None
    return solver, None if _contradicts(form) or len(form.problem.conditions.rows) else form


def _relaxations(reformulated: ReformulatedProblem, conflict: Conflict, solver: VariantSolver) -> Sequence[Relaxation]:
    """Relax the rows of the constraints in the conflict, then any row of the model."""
    declared = _declared_rows(reformulated)
    involved = np.zeros(reformulated.problem.rows, dtype=np.bool_)
    for family in reformulated.problem.constraints:
        if family.size and ((conflict.rows >= family.first) & (conflict.rows < family.stop)).any():
            involved[family.slice] = True
    return relaxations(reformulated.problem, involved & declared, declared, solver)


def _declared_rows(reformulated: ReformulatedProblem) -> Bools:
    """Return the rows of the reformulated problem for a row of the model."""
    declared = np.zeros(reformulated.problem.rows, dtype=np.bool_)
    kept = (
        np.arange(reformulated.original.rows)
        if reformulated.rows is None
        else reformulated.rows[reformulated.rows >= 0]
    )
    declared[kept] = True
    return declared
