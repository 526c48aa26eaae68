"""Times of a run as callers state them: in the unit of its clock, or with a unit."""

from __future__ import annotations

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.durations import has_unit, seconds_of
from gpusched_dsl.language.units import convertible, factor, parse_unit_text

SECOND = parse_unit_text("s")


def clock_time(at: float | str, unit: str) -> float:
    """Return a time in the unit of the clock; raise DiagnosticError (GSM4011) if it is no time, or has a unit and the
    clock has none.
    """
    if not isinstance(at, str):
        return at
    clock = parse_unit_text(unit)
    try:
        if not has_unit(at):
            return float(at)
        seconds = seconds_of(at)
    except ValueError as error:
        help = "write a time such as 11.7 or 11.7h"
        raise DiagnosticError([Diagnostic("GSM4011", f"`{at}` is not a time: {error}", help=help)]) from None
    if not convertible(SECOND, clock):
        message = f"the clock of this run has no unit of time, but `{at}` has one"
        raise DiagnosticError([Diagnostic("GSM4011", message, help="write a number without a unit")])
    return seconds * float(factor(SECOND, clock))
