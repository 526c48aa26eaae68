"""Alternative solutions of a solve, and the options of a job: further solves of the problem of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.ir.arrays import unique
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.ir.domains import decode_column
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.checked import CheckedModel, CheckedPlacement
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.alternatives import Alternatives, Options
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.variants.alternatives import find_alternatives, find_options
from gpusched_dsl.solving.variants.same import CODE, Symmetry, check_distinct, choose_compared, interchangeable_sets
from gpusched_dsl.solving.variants.solver import VariantSolver
from gpusched_dsl.workflows.method import Method
from gsdsl_backends.protocol import Monitor, SolveOptions

MOST_OPTIONS = 50


def check_request(built: Built, distinct_by: Sequence[str] | None, options_of: str | None) -> None:
    """Raise DiagnosticError before a solve for what the model and its data exclude.

    GSM4024: solutions cannot be told apart, or there is no placement of jobs; GSM6021: an unknown job.
    """
    model = built.scenario.model
    if distinct_by is not None:
        check_distinct(model, distinct_by)
    if options_of is not None:
        placement = _placement_of_jobs(model)
        universe = built.instance.store.universes.get(placement.root("job"))
        if universe is not None:
            _check_job(options_of, [str(label) for label in universe.labels])


def with_alternatives(
    result: Result, built: Built, count: int, within: float, distinct_by: Sequence[str], solver: VariantSolver
) -> Result:
    """Return the result with up to `count` alternative solutions, the first of which is its own.

    Raises DiagnosticError: GSM4024 if solutions cannot be told apart, or the problem is too large.
    """
    problem, model = _stated_problem(result, built), built.scenario.model
    compared = choose_compared(problem, model, distinct_by)
    sets = interchangeable_sets(model, built.instance.store)
    first = replace(result.solved, session=None)
    note = "in the search for alternatives: each must differ from the solutions found before"
    found = find_alternatives(first, compared, Symmetry(compared, sets), count, within, solver)
    provenance = structs.replace(built.provenance(), warnings=())
    failures = (structs.replace(d, severity=Severity.WARNING, notes=(*d.notes, note)) for d in found.failure)
    own = structs.replace(result.provenance, warnings=(*result.provenance.warnings, *failures))
    return replace(
        result,
        provenance=own,
        alternatives=Alternatives(
            tuple(Result(solution, provenance) for solution in found.solutions),
            found.differ,
            within,
            compared.names,
            compared.families,
            sets,
            found.complete,
            found.reason,
        ),
    )


def with_options(result: Result, built: Built, job: str, solver: VariantSolver) -> Result:
    """Return the result with the options of a job.

    Raises DiagnosticError: GSM6021 unknown job, GSM4024 no placement of jobs or too large a problem, else as solvers
    do.
    """
    problem, model = _stated_problem(result, built), built.scenario.model
    placement = _placement_of_jobs(model)
    index = placement.position("job")
    assert index is not None
    compared = choose_compared(problem, model, (placement.variable,))
    family = compared.families[0]
    universe, codes = family.domain.components[index], family.domain.columns()[index]
    numbers = unique(codes) if universe is None else np.arange(len(universe.labels))
    labels = [str(label) for label in decode_column(universe, numbers)]
    _check_job(job, labels)
    own = np.flatnonzero(codes == numbers[labels.index(job)])
    sets = tuple(s for s in interchangeable_sets(model, built.instance.store) if s.universe is not universe)
    best = replace(result.solved, session=None)
    found = find_options(best, compared, Symmetry(compared, sets), own, job, MOST_OPTIONS, solver)
    provenance = structs.replace(built.provenance(), warnings=())
    results = tuple(None if o.solution is None else Result(o.solution, provenance) for o in found.options)
    return replace(result, job_options=Options(job, found.options, results, result, found.complete, found.left_out))


def solver_of(method: Method, options: SolveOptions, clock: Deadline, monitor: Monitor | None) -> VariantSolver:
    """Return the solver of the further problems, each within the rest of the time limit."""
    plain = structs.replace(options, second_opinion=False)
    return VariantSolver(method.backend, clock.rest_of(options.time_limit), monitor, plain, share=1.0)


def _placement_of_jobs(model: CheckedModel) -> CheckedPlacement:
    placement = model.placement
    if placement is None or placement.position("job") is None:
        message = f"`{model.name}` has no `placement` with a role `job`, so no job has options"
        raise DiagnosticError([Diagnostic(CODE, message, model.span, help="declare a `placement` with `job`")])
    return placement


def _check_job(job: str, labels: Sequence[str]) -> None:
    if job not in labels:
        help = did_you_mean(job, labels) or "jobs are elements of the set of the placement"
        raise DiagnosticError([Diagnostic("GSM6021", f"unknown job `{job}`", help=help)])


def _stated_problem(result: Result, built: Built) -> Problem:
    """The problem of the result with all elements."""
    problem = result.solved.problem
    size = result.solved.size
    if size is not None and size.columns != problem.columns:
        message = f"the problem is too large for alternatives: {size.nonzeros:,} nonzeros with all elements named"
        help = "alternatives name every element; use fewer elements"
        raise DiagnosticError([Diagnostic(CODE, message, help=help)])
    return problem
