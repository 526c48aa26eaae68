"""Warnings about aggregation and tightening that ended early: the result is correct, but may take longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusched_dsl.compiling.interchangeable.generic import OutOfBudget
from gpusched_dsl.compiling.passes.names import AGGREGATION
from gpusched_dsl.compiling.passes.pipeline import ABANDONED
from gpusched_dsl.compiling.passes.steps import Note
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.compiling.interchangeable.aggregate import Aggregation

CODE = "GSM4018"
EXACT = "the result is still exact, but the solver may need more time"
MORE_TIME = "a longer `--time-limit` gives it more time"


def abandoned_aggregation(aggregation: Aggregation) -> tuple[Diagnostic, ...]:
    """A warning where time or the budget of work ended before it was known whether elements can be aggregated.

    Elements that cannot be aggregated are no reason for one: `explain` reports them.
    """
    if aggregation.aggregated is not None:
        return ()
    for attempt in aggregation.attempts:
        classes, obstacle = attempt.classes, attempt.obstacle
        gains = classes is None or classes.count < attempt.elements
        late = aggregation.abandoned and attempt is aggregation.attempts[-1]
        if gains and (late or isinstance(obstacle, OutOfBudget)):
            name, span = attempt.declared.name, attempt.declared.span
            help = MORE_TIME if late else f"`--without {AGGREGATION}` saves the time of the attempt"
            return (_make_warning(f"the aggregation of `{name}` was abandoned: {obstacle}", help, span),)
    return ()


def abandoned_passes(notes: Sequence[Note]) -> tuple[Diagnostic, ...]:
    """A warning where passes that improve the problem were left out for want of time or work."""
    left = [note for note in notes if note.abandoned]
    if not left:
        return ()
    listed = "; ".join(f"`{note.pass_name}` was {note.effect}" for note in left)
    help = MORE_TIME if any(note.pass_name == ABANDONED for note in left) else ""
    return (_make_warning(f"the problem was tightened only in part: {listed}", help, left[0].span),)


def _make_warning(message: str, help: str, span: Span | None) -> Diagnostic:
    return Diagnostic(CODE, message, span, help=f"{EXACT}; {help}" if help else EXACT, severity=Severity.WARNING)
