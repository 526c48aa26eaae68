"""The magnitudes that numbers of a run may have: beyond them sums, quotients and clocks lose their meaning.

A number outside of these ranges is a slip in nearly all cases: a wrong unit, a sentinel, a damaged record. One such
number can make every later plan fail, so a run does not take it. The bounds, with their reasons:

* Times, 0 or from 1e-6 s to 1e15 s: shorter than any cluster measures, longer than any "never" that is written as a
  number (1e9 h is 3.6e12 s). Speeds are quotients by times.
* Other numbers, 0 or from 1e-30 to 1e15 in the declared unit: solvers refuse coefficients of more than 1e15, and
  quotients and products of a few numbers in this range are finite.
* The clock, up to 1e10 of its unit: a run distinguishes times by 1e-9 of their value. Seconds since 1970 fit.
* A period, at least 1e-6 of the unit of the clock: a thousand times the distance that the clock distinguishes at 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from gpusched_dsl.compiling.evaluation.store import Param
from gpusched_dsl.language.checked import CheckedModel, Numeric
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import UNITS, Unit, factor, has_dimension
from gpusched_dsl.online.data.base import Base

LARGEST: Final = 1e15
SMALLEST: Final = 1e-30
SHORTEST: Final = 1e-6  # seconds
LONGEST: Final = 1e15  # seconds
LATEST: Final = 1e10  # of the unit of the clock
SHORTEST_PERIOD: Final = 1e-6  # of the unit of the clock


def allowed_range(unit: Unit | None) -> tuple[float, float]:
    """The least and the largest magnitude of a number in this unit, but for 0."""
    if unit is not None and has_dimension(unit, time=1):
        seconds = float(factor(unit, UNITS["s"]))
        return SHORTEST / seconds, LONGEST / seconds
    return SMALLEST, LARGEST


def check_magnitudes(base: Base, names: Iterable[str]) -> None:
    """Raise DiagnosticError (GSM7007) for numbers of these parameters that are out of range; infinite ones are not."""
    found = []
    for name in names:
        if name in base.store.params:
            found += _of_param(base.model, name, base.store.params[name], base)
    if found:
        raise DiagnosticError(found)


def _of_param(model: CheckedModel, name: str, param: Param, base: Base) -> list[Diagnostic]:
    kind = model.params[name].type
    if not isinstance(kind, Numeric):
        return []
    size = np.abs(np.asarray(param.values, dtype=np.float64))
    least, most = allowed_range(kind.unit)
    wrong = np.flatnonzero((size > most) & np.isfinite(size) | (size < least) & (size > 0))
    if not len(wrong):
        return []
    at = int(wrong[0])
    pairs = zip(param.domain.components, param.domain.columns(), strict=True)
    labels = [_label(component, int(codes[at])) for component, codes in pairs]
    shown = f"`{name}`" + (f" of `{','.join(labels)}`" if labels else "")
    given = base.instance.scenario.assignments.get(name, ())
    span = given[0].span if given else None
    return [_out(shown, float(param.values[at]), least, most, kind.unit, span, len(wrong) - 1)]


def _label(component: object, code: int) -> str:
    labels = getattr(component, "labels", None)
    return str(code if labels is None else labels[code])


def _out(
    shown: str, value: float, least: float, most: float, unit: Unit | None, span: Span | None, others: int
) -> Diagnostic:
    of = f" {unit}" if unit is not None and unit.dimension else ""
    message = f"{shown} is {value:g}{of}: a run supports 0 and magnitudes from {least:.3g} to {most:.3g}{of}"
    notes = (f"{others} more value{'s' if others > 1 else ''} of it are out of range",) if others else ()
    help = "write values in the unit of the declaration; omit unknown or irrelevant values"
    return Diagnostic("GSM7007", message, span, "out of range" if span is not None else "", notes=notes, help=help)


def check_clock(time: float, unit: str) -> None:
    """Raise DiagnosticError (GSM7007) for a time after the end of the clock of a run."""
    if not abs(time) <= LATEST:
        message = f"the time {_in(time, unit)} is after the end of the clock of a run, {_in(LATEST, unit)}"
        help = "write times since the start of the run, in the unit of its clock"
        raise DiagnosticError([Diagnostic("GSM7007", message, help=help)])


def check_period(period: float, unit: str, what: str, span: Span) -> None:
    """Raise DiagnosticError (GSM7007) for a period, or the length of a slot, in which a run does not get on."""
    if not period >= SHORTEST_PERIOD:
        message = f"{what} is {_in(period, unit)}: a run needs at least {_in(SHORTEST_PERIOD, unit)}"
        raise DiagnosticError([Diagnostic("GSM7007", message, span, "too short", help="check its unit")])


def _in(number: float, unit: str) -> str:
    return f"{number:g} {unit}" if unit else f"{number:g}"
