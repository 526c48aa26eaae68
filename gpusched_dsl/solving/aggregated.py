"""Solves an aggregated problem and disaggregates the plan, which is checked against the rows of all elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.store import Columns
from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem
from gpusched_dsl.compiling.interchangeable.notes import aggregation_notes
from gpusched_dsl.compiling.interchangeable.parts import Spread
from gpusched_dsl.compiling.interchangeable.quotient import Quotient, place_of
from gpusched_dsl.compiling.interchangeable.support import support
from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.deadline import TIME, Deadline, active_deadline, grace
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.pattern_generation import is_pooled, solve_pooled
from gpusched_dsl.solving.polishing import polish
from gpusched_dsl.solving.postsolve import restate_objective
from gpusched_dsl.solving.repair_time import Allowance
from gpusched_dsl.solving.settle_status import settle_status
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import resolve, solve_problem
from gpusched_dsl.solving.starts import NamedValues, point_from, read_entries, warnings_without_column
from gpusched_dsl.solving.verification import CheckedPoint, check_point
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions

# Up to this many nonzeros the problem of all elements is grounded and the plan stated and checked in it; beyond, in the
# part of it in which the plan is not zero (`support`), which says the same.
MOST_NONZEROS = 3_000_000
MOST_SECONDS = 10.0  # for a plan by element that must be moved to be clean
SECONDS_PER_NONZERO = 1e-6  # that grounding takes, more or less


def solve_aggregated(
    built: Built,
    aggregated: AggregatedProblem,
    backend: Backend | str,
    options: SolveOptions,
    start: NamedValues | None,
    monitor: Monitor | None,
    before: Solution | None,
) -> tuple[Solution, list[Diagnostic]]:
    """Solve the aggregated problem of a built scenario, and return the plan by element, as `solve_built` does."""
    point, warnings = (None, []) if start is None else _aggregated_start(aggregated, start)
    if before is not None and (before.aggregated is None or is_pooled(aggregated)):
        before.close()  # its session holds another form of the problem
    if is_pooled(aggregated):
        aggregated, inner = solve_pooled(aggregated, backend, options, point, monitor)
    elif before is not None and before.aggregated is not None:
        inner = resolve(before.aggregated, aggregated.problem, options, point, monitor)
    else:
        inner = solve_problem(aggregated.problem, backend, options, point, monitor)
    deadline = active_deadline()
    with grace():
        return settle_status(_disaggregate(built, aggregated, inner, deadline)), warnings


def _disaggregate(built: Built, aggregated: AggregatedProblem, inner: Solution, deadline: Deadline | None) -> Solution:
    """The solution in terms of all elements, checked against their rows; in the small where no time is left."""
    quotient = aggregated.quotient
    notes = (*aggregation_notes(aggregated), *inner.reformulated.notes)
    size = quotient.full_size
    without = replace(
        inner, reformulated=replace(inner.reformulated, notes=notes), session=None, size=size, aggregated=inner
    )
    if inner.point is None:
        return without
    left = None if deadline is None else deadline.remaining_seconds
    spread = aggregated.disaggregate(inner.point)
    most = MOST_NONZEROS if left is None else min(MOST_NONZEROS, int(left / SECONDS_PER_NONZERO))
    if built.grounded or quotient.full_size.nonzeros <= most:
        full_problem = built.problem
        point = _point_of_spread(quotient, full_problem, spread)
    else:
        full_problem, point = support(quotient, spread)
        store_columns(built, full_problem)
    name = inner.backend.name
    try:
        try:
            checked = _clean(full_problem, point, inner, None if deadline is None else deadline.remaining_seconds)
        except DiagnosticError:
            if inner.status is not Status.LIMIT and (deadline is None or deadline.remaining_seconds != 0.0):
                raise
            return _without_point(without)
        objectives = tuple(
            restate_objective(full_problem, o, r, r.bound, v, checked.point, name)
            for o, r, v in zip(full_problem.objectives, inner.objectives, checked.verification.objectives, strict=True)
        )
    except BaseException:
        inner.close()
        raise
    return replace(
        inner,
        problem=full_problem,
        reformulated=ReformulatedProblem(
            full_problem, inner.reformulated.problem, notes, bound_error=inner.reformulated.bound_error
        ),
        point=checked.point,
        verification=checked.verification,
        is_integral=checked.is_integral,
        objectives=objectives,
        row_duals=None,
        reduced_costs=None,
        session=None,
        size=size,
        aggregated=inner,
    )


def _without_point(solved: Solution) -> Solution:
    """Remove the point, which could not be repaired in time; proved bounds remain."""
    objectives = tuple(structs.replace(o, value=None, terms=()) for o in solved.objectives)
    reason = solved.reason or TIME
    return replace(
        solved,
        status=Status.LIMIT,
        reason=reason,
        point=None,
        verification=None,
        is_integral=False,
        objectives=objectives,
    )


def _clean(full_problem: Problem, point: Floats, inner: Solution, left: float | None) -> CheckedPoint:
    """The plan by element, moved to the nearest clean one where rows of elements are broken by a solver's tolerance."""
    name = inner.backend.name
    try:
        return check_point(full_problem, point, inner.tolerances, name)
    except DiagnosticError:
        seconds = Allowance(
            MOST_SECONDS if left is None else min(left, MOST_SECONDS), full_problem, inner.reason
        ).remaining_seconds
        moved = polish(full_problem, point, inner.tolerances, SolveOptions(time_limit=seconds), None)
        if moved is None:
            raise
        return check_point(full_problem, moved, inner.tolerances, name)


def _point_of_spread(quotient: Quotient, full_problem: Problem, spread: Spread) -> Floats:
    """The spread as a point of the grounded problem of all elements."""
    point = np.zeros(full_problem.columns)
    for small, large in zip(quotient.problem.variables, full_problem.variables, strict=True):
        own = np.flatnonzero((spread.columns >= small.first) & (spread.columns < small.stop))
        codes = _index_codes(quotient, small, spread.columns[own], spread.elements[own])
        place = large.domain.locate(codes) if codes else np.zeros(len(own), dtype=np.int64)
        point[large.first + place] = spread.values[own]
    return point


def _index_codes(quotient: Quotient, family: Family, columns: Codes, elements: Codes) -> list[Codes]:
    codes = [c[columns - family.first] for c in family.domain.columns()]
    at = place_of(family.domain, quotient.universe)
    if at is not None:
        codes[at] = elements
    return codes


def store_columns(built: Built, full_problem: Problem) -> None:
    """Let evaluators find the kept columns; all others read 0."""
    store, model = built.instance.store, built.scenario.model
    evaluator = Evaluator(model, store, built.permissions.limits())
    families = {f.name: f for f in full_problem.variables}
    for name, variable in model.variables.items():
        indexed: Domain = evaluator.index_domain(variable.indexing, variable.span, conditions=False)
        if name in families:
            store.variables[name] = Columns(families[name].domain, families[name].first, indexed)


def _aggregated_start(aggregated: AggregatedProblem, start: NamedValues) -> tuple[Floats | None, list[Diagnostic]]:
    """Map the start to the aggregated problem; values without a column are reported, an infeasible start is dropped."""
    quotient = aggregated.quotient
    columns: list[Codes] = []
    elements: list[Codes] = []
    values: list[Floats] = []
    families = {f.name: f for f in quotient.problem.variables}
    warnings = point_from(quotient.problem, {n: e for n, e in start.items() if n not in families})[1]
    for name, values_given in start.items():
        family = families.get(name)
        if family is None:
            continue
        codes, amount, inside = read_entries(family.domain, values_given)
        if not len(amount):
            continue
        at = place_of(family.domain, quotient.universe)
        element = np.full(len(amount), -1, dtype=np.int64)
        if at is not None:
            element[inside] = codes[at][inside]
            codes[at] = codes[at].copy()
            codes[at][inside] = quotient.classes.first[quotient.classes.of[codes[at][inside]]]
        place = np.full(len(amount), -1, dtype=np.int64)
        place[inside] = family.domain.locate([c[inside] for c in codes]) if codes else 0
        is_known = (place >= 0) & np.isfinite(amount)
        warnings += warnings_without_column(name, family.domain, values_given, is_known)
        columns.append(family.first + place[is_known])
        elements.append(element[is_known])
        values.append(amount[is_known])
    if not columns:
        return None, warnings
    spread = Spread(np.concatenate(columns), np.concatenate(elements), np.concatenate(values))
    return aggregated.aggregate(spread), warnings
