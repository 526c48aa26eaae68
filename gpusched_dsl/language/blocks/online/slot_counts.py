"""The numbers of planned, executed and awaited slots of a block: every executed slot has a plan (GSM1652)."""

from __future__ import annotations

from collections.abc import Callable

from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.kinds import numeric_type
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS


def counts_slots(every: TypedExpr) -> bool:
    """Whether the period of a block with a window is a number of slots; otherwise it is a time, in hours."""
    kind = numeric_type(every)
    return kind is not None and kind.unit == DIMENSIONLESS


def slot_count_errors(online: CheckedOnline, number: Callable[[TypedExpr], float | None]) -> list[Diagnostic]:
    """Errors in the numbers of `window` and `replan on every`. `number` is None where the value is not known."""
    window, found = online.window, []
    commit = None if window is None else number(window.commit)
    if window is not None:
        ahead = number(window.lookahead)
        if commit is not None and commit < 1:
            found.append(
                _error("no slot of a plan is executed", window.commit.span, "less than 1", "commit 1 slot or more")
            )
        if ahead is not None and ahead < 1:
            found.append(
                _error("no slot is planned", window.lookahead.span, "less than 1", "look ahead 1 slot or more")
            )
        elif ahead is not None and commit is not None and commit > ahead:
            message = f"{commit:g} slots of each plan are executed, and {ahead:g} are planned"
            other = Label(window.lookahead.span, "planned slots")
            help = f"look ahead at least {commit:g} slots"
            found.append(_error(message, window.commit.span, "more than are planned", help, other))
    for trigger in online.triggers:
        every = None if trigger.every is None else number(trigger.every)
        if every is None or trigger.every is None:
            continue
        if every <= 0:
            message = "the next plan is at the same time"
            found.append(_error(message, trigger.every.span, "not above 0", "write a time above 0"))
        if window is not None and counts_slots(trigger.every) and commit is not None and every > commit:
            message = f"plans are {every:g} slots apart, but only {commit:g} slots of each plan are executed"
            other = Label(window.commit.span, "executed slots of each plan")
            help = f"plan at least every {commit:g} slots, or commit more"
            found.append(_error(message, trigger.every.span, "slots without a plan", help, other))
    return found


def _error(message: str, span: Span, label: str, help: str, other: Label | None = None) -> Diagnostic:
    return Diagnostic("GSM1652", message, span, label, secondary=() if other is None else (other,), help=help)
