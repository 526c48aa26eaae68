"""The slots of an event, and those before its notice: labels of slots, or times of the day."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.durations import has_unit, seconds_of
from gpusched_dsl.language.units import convertible, factor, parse_unit_text

CODE = "GSM4026"
_CLOCK = re.compile(r"([0-9]{1,2}):([0-5][0-9])")
_FORM = "write the first and the last slot, such as `68..75`, or times from the start of slot 0, such as `17:00..19:00`"


@dataclass(frozen=True, eq=False)
class EventSlots:
    """Which slots the event has, and which are before the notice; `hours` is the length of a slot, None if unknown."""

    slots: Bools
    before_notice: Bools
    first: str
    last: str
    hours: float | None


def event_of(
    text: str, notice: str | None, model: CheckedModel, store: ValueStore, slots: str, limits: MemoryLimits
) -> EventSlots:
    """Return the slots of an event. Raises DiagnosticError (GSM4026) if they are not in the horizon."""
    labels = [str(label) for label in store.universes[slots].labels]
    hours = slot_hours(model, store, limits)
    first, last = _ends(text, labels, slots, hours)
    chosen = np.zeros(len(labels), dtype=np.bool_)
    chosen[first : last + 1] = True
    fixed = np.zeros(len(labels), dtype=np.bool_)
    if notice is not None:
        fixed[: max(0, first - _notice_slots(notice, hours))] = True
    return EventSlots(chosen, fixed, labels[first], labels[last], hours)


def slot_hours(model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> float | None:
    """Return the length of a slot in hours: `lasts` of the placement, if it is one time for all decisions."""
    evaluator = PlacementEvaluator(model, store, limits)
    hour = parse_unit_text("h")
    if evaluator.placement.value("lasts") is None or not convertible(evaluator.time, hour):
        return None
    domain = store.variables[evaluator.placement.variable].domain
    times = evaluator.times("lasts", evaluator.frame(domain.columns()), 0.0)
    if not len(times) or times.min() <= 0 or np.ptp(times) > ROUNDING * times.max():
        return None
    return float(times[0]) * float(factor(evaluator.time, hour))


def _ends(text: str, labels: list[str], slots: str, hours: float | None) -> tuple[int, int]:
    """Return the positions of the first and the last slot."""
    start, dots, end = (part.strip() for part in text.partition(".."))
    if not start or (dots and not end):
        raise _error(f"`{text}` is no event", _FORM)
    if _CLOCK.fullmatch(start) or _CLOCK.fullmatch(end):
        return _ends_of_times(text, start, end, labels, hours)
    unknown = [label for label in dict.fromkeys((start, end or start)) if label not in labels]
    if unknown:
        span = f"`{slots}` has the slots {labels[0]} to {labels[-1]}" if labels else f"`{slots}` is empty"
        help = did_you_mean(unknown[0], labels) or _FORM
        raise _error(f"the event is outside of the horizon: there is no slot `{unknown[0]}`; {span}", help)
    first, last = labels.index(start), labels.index(end or start)
    if last < first:
        raise _error(f"the event `{text}` ends before it begins", _FORM)
    return first, last


def _ends_of_times(text: str, start: str, end: str, labels: list[str], hours: float | None) -> tuple[int, int]:
    """Return the first and last of the slots that overlap a stretch of time."""
    if hours is None:
        message = "the slots have no common length in time, so an event has no times"
        raise _error(message, "name slots, such as `68..75`; times need `lasts` of the placement, the length of a slot")
    begin, until = _hours_of(start, text), _hours_of(end, text)
    if until <= begin:
        raise _error(f"the event `{text}` ends before it begins", _FORM)
    horizon = len(labels) * hours
    if until > horizon + ROUNDING:
        message = f"the event `{text}` is outside of the horizon: the slots end {horizon:g} h after the start of slot"
        raise _error(f"{message} `{labels[0]}`" if labels else message, _FORM)
    return int(begin / hours + ROUNDING), int(np.ceil(until / hours - ROUNDING)) - 1


def _hours_of(text: str, whole: str) -> float:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise _error(f"`{whole}` has no two times", _FORM)
    return int(found[1]) + int(found[2]) / 60


def _notice_slots(text: str, hours: float | None) -> int:
    """Return a notice as a number of slots, rounded down to complete slots."""
    if text.isdecimal():
        return int(text)
    form = "write a number of slots such as 8, or a duration such as 2h"
    if not has_unit(text):
        raise _error(f"`{text}` is no notice", form)
    if hours is None:
        raise _error("the slots have no common length in time, so a notice is a number of slots", form)
    try:
        return int(seconds_of(text) / 3600 / hours + ROUNDING)
    except ValueError as error:
        raise _error(f"`{text}` is no notice: {error}", form) from None


def _error(message: str, help: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(CODE, message, help=help)])
