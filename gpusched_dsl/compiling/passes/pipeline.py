"""The passes in their order; each reformulates only constructs that the target does not support.

Other packages add passes by entry points that name their classes. Those of the group `gpusched_dsl.passes` run before
ours, so that they may leave terms that ours take; those of the group `gpusched_dsl.tightenings` run after ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np

from gpusched_dsl.compiling.passes.binary_products import BinaryProducts
from gpusched_dsl.compiling.passes.binary_times import BinaryTimes
from gpusched_dsl.compiling.passes.chosen_values import ChosenValues
from gpusched_dsl.compiling.passes.contradiction import state_contradiction
from gpusched_dsl.compiling.passes.convex_forms import ConvexForms
from gpusched_dsl.compiling.passes.distinct_values import DistinctValues
from gpusched_dsl.compiling.passes.equal_terms import EqualTerms
from gpusched_dsl.compiling.passes.fixed_columns import FixedColumns
from gpusched_dsl.compiling.passes.fixed_factors import FixedFactors
from gpusched_dsl.compiling.passes.implied_factors import ImpliedFactors
from gpusched_dsl.compiling.passes.indicators import Indicators
from gpusched_dsl.compiling.passes.integer_arguments import IntegerArguments
from gpusched_dsl.compiling.passes.integer_powers import IntegerPowers
from gpusched_dsl.compiling.passes.integer_products import IntegerProducts
from gpusched_dsl.compiling.passes.integer_quotients import IntegerQuotients
from gpusched_dsl.compiling.passes.interval_loads import IntervalLoads
from gpusched_dsl.compiling.passes.interval_orders import IntervalOrders
from gpusched_dsl.compiling.passes.interval_slots import IntervalSlots
from gpusched_dsl.compiling.passes.min_max import MinMaxTerms
from gpusched_dsl.compiling.passes.names import EVERY
from gpusched_dsl.compiling.passes.partial_expectations import PartialExpectations
from gpusched_dsl.compiling.passes.piecewise import PiecewiseForms
from gpusched_dsl.compiling.passes.product_chains import ProductChains
from gpusched_dsl.compiling.passes.reciprocals import Reciprocals
from gpusched_dsl.compiling.passes.redundant_rows import RedundantRows
from gpusched_dsl.compiling.passes.reified import ReifiedComparisons, ReifiedSteps
from gpusched_dsl.compiling.passes.scaling import PowerOfTwoScaling
from gpusched_dsl.compiling.passes.steps import (
    QUADRATIC_OBJECTIVE,
    WORK,
    Analysis,
    Note,
    Pass,
    PassResult,
    ReformulatedProblem,
    Target,
)
from gpusched_dsl.compiling.passes.term_scaling import TermScaling
from gpusched_dsl.compiling.passes.unsupported import refuse_unsupported, refuse_valueless
from gpusched_dsl.compiling.tightening.clique_links import CliqueLinks
from gpusched_dsl.compiling.tightening.defined_sums import DefinedSums
from gpusched_dsl.compiling.tightening.implied_integers import ImpliedIntegers
from gpusched_dsl.compiling.tightening.implied_rows import ImpliedRows
from gpusched_dsl.compiling.tightening.lifted_capacities import LiftedCapacities
from gpusched_dsl.compiling.tightening.network_integrality import NetworkIntegrality
from gpusched_dsl.compiling.tightening.positive_parts import PositiveParts
from gpusched_dsl.compiling.tightening.unused_columns import UnusedColumns
from gpusched_dsl.compiling.work_budget import TooMuchWork, WorkBudget
from gpusched_dsl.ir.deadline import TIGHTENING, ShareOfTime, checkpoint, stage
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.entry_points import load_entry_points

MOST_ENTRIES = 30_000_000  # of a problem that is tightened: passes hold copies of it, and could fill the memory
SHARE = 1 / 3  # of the time that is left, for tightening: passes that are not done by then are left out
ABANDONED = "tightening"  # the maker of the note about passes for which no time was left

PASSES: tuple[Pass, ...] = (
    EqualTerms(),
    IntegerQuotients(),
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

# What makes the linear relaxation of a mixed-integer problem stronger, or the problem smaller, and keeps its optimum;
# each can be switched off by its name.
TIGHTENINGS: tuple[Pass, ...] = (
    ImpliedIntegers(),
    PositiveParts(),
    ImpliedRows(),
    CliqueLinks(),
    LiftedCapacities(),
    DefinedSums(),
    UnusedColumns(),
    NetworkIntegrality(),
)

# What makes a problem smaller, or its numbers alike, without changing what it says; on request only.
REDUCTIONS: tuple[Pass, ...] = (FixedColumns(), RedundantRows(), PowerOfTwoScaling())

PASSES_GROUP, TIGHTENINGS_GROUP = "gpusched_dsl.passes", "gpusched_dsl.tightenings"


def passes() -> tuple[Pass, ...]:
    """Return the passes for every nonlinear problem, in their order."""
    return (*_added_passes(PASSES_GROUP), *PASSES)


def tightenings() -> tuple[Pass, ...]:
    """The passes that may be left out by their names, in their order."""
    return (*TIGHTENINGS, *_added_passes(TIGHTENINGS_GROUP))


@cache
def _added_passes(group: str) -> tuple[Pass, ...]:
    """Return the passes of other packages; raise ValueError for entries that are not classes."""
    return tuple(kind() for kind in load_entry_points(group, type).values())


def reformulate(
    problem: Problem,
    target: Target,
    reduce: bool = False,
    *,
    read_rows: bool = True,
    tighten: bool = False,
    without: Collection[str] = (),
) -> ReformulatedProblem:
    """Reformulate the problem for the target, with its postsolve.

    `tighten`: with the `TIGHTENINGS` behind where there are integers; `reduce`: with the `REDUCTIONS` behind; `without`
    names passes of these two that are left out, `all` stands for the `TIGHTENINGS`.
    Without `read_rows` no bound is taken from rows, so that what a row says is said by that row alone, as explanations
    need it; big M are larger then.
    Tightening ends with `SHARE` of what is left until the active deadline; a pass of these two that would look at more
    than `WORK` entries is left out, with a note that says so.
    After a reduction neither row duals nor reduced costs are those of the problem's own rows and columns.
    Raises DiagnosticError naming term, backend and remedy for what can neither be reformulated nor is accepted.
    """
    reformulated = (
        ReformulatedProblem(problem, problem) if problem.is_linear else _apply_required(problem, target, read_rows)
    )
    tighten = tighten and problem.is_mip and EVERY not in without
    if tighten:
        reformulated = _apply_optional(reformulated, [t for t in tightenings() if t.name not in without], target)
    return (
        _apply_optional(reformulated, [r for r in REDUCTIONS if r.name not in without], target)
        if reduce
        else reformulated
    )


def _apply_optional(reformulated: ReformulatedProblem, passes: Sequence[Pass], target: Target) -> ReformulatedProblem:
    """Apply the passes that finish within `SHARE` of the remaining time."""
    done = reformulated
    analysis: Analysis | None = None

    with stage(TIGHTENING), ShareOfTime(SHARE):
        for improvement in passes:
            checkpoint()
            analysis = analysis or Analysis(done.problem, swept=True)
            if improvement.accepts(analysis, target):
                step = _within_budget(improvement, analysis, target)
                if step.problem is not analysis.problem:
                    done, analysis = done.then(step), None
                elif step.notes:
                    done = replace(done, notes=done.notes + step.notes)
        return done
    return replace(done, notes=(*done.notes, _out_of_time(done.problem)))


def _out_of_time(problem: Problem) -> Note:
    effect = "skipped in part: its share of the time limit was used"
    return Note(ABANDONED, "every constraint", effect, problem.rows, abandoned=True)


def _within_budget(improvement: Pass, analysis: Analysis, target: Target) -> PassResult:
    """Return the result of an optional pass; only a note if it exceeds its budget of work."""
    problem, effect = analysis.problem, f"skipped: it would examine more than {WORK:,} entries"
    if len(problem.matrix.values) > MOST_ENTRIES:
        effect = f"skipped: the problem has more than {MOST_ENTRIES:,} nonzeros"
    else:
        analysis.work = WorkBudget(WORK)
        with suppress(TooMuchWork):
            return improvement.apply(analysis, target)
    return PassResult(problem, (Note(improvement.name, "every constraint", effect, problem.rows, abandoned=True),))


def _apply_required(problem: Problem, target: Target, read_rows: bool) -> ReformulatedProblem:
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
