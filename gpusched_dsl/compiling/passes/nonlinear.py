"""The passes for nonlinear problems in their order; a linear problem needs none of them, and loads none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.compiling.passes.binary_products import BinaryProducts
from gpusched_dsl.compiling.passes.binary_times import BinaryTimes
from gpusched_dsl.compiling.passes.chosen_values import ChosenValues
from gpusched_dsl.compiling.passes.contradiction import state_contradiction
from gpusched_dsl.compiling.passes.convex_forms import ConvexForms
from gpusched_dsl.compiling.passes.distinct_values import DistinctValues
from gpusched_dsl.compiling.passes.equal_terms import EqualTerms
from gpusched_dsl.compiling.passes.fixed_factors import FixedFactors
from gpusched_dsl.compiling.passes.implied_factors import ImpliedFactors
from gpusched_dsl.compiling.passes.indicators import Indicators
from gpusched_dsl.compiling.passes.integer_arguments import IntegerArguments
from gpusched_dsl.compiling.passes.integer_powers import IntegerPowers
from gpusched_dsl.compiling.passes.integer_products import IntegerProducts
from gpusched_dsl.compiling.passes.integer_quotients import IntegerQuotients
from gpusched_dsl.compiling.passes.interval_choices import IntervalChoices
from gpusched_dsl.compiling.passes.interval_loads import IntervalLoads
from gpusched_dsl.compiling.passes.interval_orders import IntervalOrders
from gpusched_dsl.compiling.passes.interval_slots import IntervalSlots
from gpusched_dsl.compiling.passes.min_max import MinMaxTerms
from gpusched_dsl.compiling.passes.partial_expectations import PartialExpectations
from gpusched_dsl.compiling.passes.piecewise import PiecewiseForms
from gpusched_dsl.compiling.passes.product_chains import ProductChains
from gpusched_dsl.compiling.passes.reciprocals import Reciprocals
from gpusched_dsl.compiling.passes.reified import ReifiedComparisons, ReifiedSteps
from gpusched_dsl.compiling.passes.steps import (
    PASSES_GROUP,
    QUADRATIC_OBJECTIVE,
    Analysis,
    Pass,
    ReformulatedProblem,
    Target,
    added_passes,
)
from gpusched_dsl.compiling.passes.term_scaling import TermScaling
from gpusched_dsl.compiling.passes.unsupported import refuse_unsupported, refuse_valueless
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

PASSES: tuple[Pass, ...] = (
    EqualTerms(),
    IntegerQuotients(),
    IntervalChoices(),
    IntervalOrders(),
    IntervalSlots(),
    IntervalLoads(),
    DistinctValues(),
    ChosenValues(),
    ReifiedSteps(),
    FixedFactors(),
    Reciprocals(),
    ImpliedFactors(),
    ProductChains(),
    BinaryProducts(),
    BinaryTimes(),
    IntegerPowers(),
    IntegerProducts(),
    PartialExpectations(),
    IntegerArguments(),
    MinMaxTerms(),
    ReifiedComparisons(),
    Indicators(),
    PiecewiseForms(),
    ConvexForms(),
    TermScaling(),
)


def passes() -> tuple[Pass, ...]:
    """Return the passes for every nonlinear problem, in their order."""
    return (*added_passes(PASSES_GROUP), *PASSES)


def apply_required(problem: Problem, target: Target, read_rows: bool) -> ReformulatedProblem:
    """Apply the passes for nonlinear problems; bounds come from rows only if `read_rows`, and if they are needed.

    In a problem without integers an active bound that follows from a row takes the dual value of the row.
    """
    if read_rows and not problem.is_mip and (target.convex or target.takes(QUADRATIC_OBJECTIVE)):
        try:
            reformulated = _apply_all(problem, target, read_rows=False)
        except DiagnosticError:  # a bound from rows may help
            pass
        else:
            forms = any(note.pass_name == ConvexForms.name for note in reformulated.notes)
            if forms and not reformulated.problem.is_mip:
                return replace(reformulated, problem=_with_free_results(reformulated))
    return _apply_all(problem, target, read_rows)


def _apply_all(problem: Problem, target: Target, read_rows: bool) -> ReformulatedProblem:
    reformulated = ReformulatedProblem(problem, problem)
    analysis = Analysis(problem, swept=not read_rows)
    refuse_valueless(analysis)
    for reformulate in passes():
        checkpoint()
        if not analysis.bounds.feasible:
            return reformulated.then(state_contradiction(analysis))
        if reformulate.accepts(analysis, target):
            step = reformulate.apply(analysis, target)
            reformulated = reformulated.then(step)
            if step.problem is not analysis.problem:
                analysis = Analysis(step.problem, swept=True)
    refuse_unsupported(analysis, target)
    return replace(reformulated, problem=_without_implied_integers(reformulated)) if target.continuous else reformulated


def _with_free_results(reformulated: ReformulatedProblem) -> Problem:
    """Return the problem without the bounds of results that follow from their definitions."""
    problem, original = reformulated.problem, reformulated.original
    columns = np.arange(original.columns) if reformulated.columns is None else reformulated.columns
    kept = np.flatnonzero(columns >= 0)
    least, most = np.full(problem.columns, -np.inf), np.full(problem.columns, np.inf)
    least[columns[kept]], most[columns[kept]] = original.lower[kept], original.upper[kept]
    lower, upper = problem.lower.copy(), problem.upper.copy()
    for definition in problem.definitions:
        results = definition.results
        lower[results], upper[results] = least[results], most[results]
    return replace(problem, lower=lower, upper=upper)


def _without_implied_integers(reformulated: ReformulatedProblem) -> Problem:
    """Relax results that are integer because declared columns are.

    `tighten` has marked them as integer for the passes. Backends support conditions of binary columns only.
    """
    problem, original = reformulated.problem, reformulated.original
    columns = np.arange(original.columns) if reformulated.columns is None else reformulated.columns
    integer = problem.integer.copy()
    integer[columns[columns >= 0]] &= original.integer[columns >= 0]
    integer[problem.conditions.columns] = True
    return replace(problem, integer=integer)
