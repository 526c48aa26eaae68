"""The passes in their order; each reformulates only constructs that the target does not support.

Other packages add passes by entry points that name their classes. Those of the group `gpusched_dsl.passes` run before
ours, so that they may leave terms that ours take; those of the group `gpusched_dsl.tightenings` run after ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from gpusched_dsl.compiling.passes.names import EVERY
from gpusched_dsl.compiling.passes.steps import (
    TIGHTENINGS_GROUP,
    WORK,
    Analysis,
    Note,
    Pass,
    PassResult,
    ReformulatedProblem,
    Target,
    added_passes,
)
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

MOST_ENTRIES = 30_000_000  # of a problem that is tightened: passes hold copies of it, and could fill the memory
SHARE = 1 / 3  # of the time that is left, for tightening: passes that are not done by then are left out
ABANDONED = "tightening"  # the maker of the note about passes for which no time was left

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


def tightenings() -> tuple[Pass, ...]:
    """The passes that may be left out by their names, in their order."""
    return (*TIGHTENINGS, *added_passes(TIGHTENINGS_GROUP))


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
    reformulated = ReformulatedProblem(problem, problem)
    if not problem.is_linear:
        from gpusched_dsl.compiling.passes.nonlinear import apply_required

        reformulated = apply_required(problem, target, read_rows)
    tighten = tighten and problem.is_mip and EVERY not in without
    if tighten:
        reformulated = _apply_optional(reformulated, [t for t in tightenings() if t.name not in without], target)
    if not reduce:
        return reformulated
    from gpusched_dsl.compiling.passes.reductions import REDUCTIONS

    return _apply_optional(reformulated, [r for r in REDUCTIONS if r.name not in without], target)


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
