"""The calendar of a scenario: `calendar from "2026-10-05 00:00" in "Europe/Berlin";`, and a start from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from msgspec import Struct

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel, LiteralSet
from gpusched_dsl.language.checking.clock_functions import CLOCK_CALL, first_clock_function
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import Assignment
from gpusched_dsl.language.source import Source, Span

if TYPE_CHECKING:
    from gpusched_dsl.language.calendar import Calendar


START = "calendar from"  # the setting with the start of a run: no name of a model
EXAMPLE = 'calendar from "2026-10-05 00:00" in "Europe/Berlin";'


class CheckedCalendar(Struct, frozen=True):
    """`holiday_set` is the root set whose elements are further holidays of `calendar`, "" for none.

    `stated`: a scenario states it, not only a start from outside.
    """

    span: Span
    calendar: Calendar
    holiday_set: str = ""
    stated: bool = True


def check_calendar(
    chain: Sequence[tree.Scenario], model: CheckedModel, start: str | None, diagnostics: Diagnostics
) -> CheckedCalendar | None:
    """Return the calendar of the newest scenario that states one, with another `start` if it is stated outside.

    A start without a time zone is on the clock of the scenario's calendar. Reports GSM1691, and GSM1693
    (warning) for a start that occurs twice.
    """
    stated: tree.CalendarStatement | None = None
    for scenario in chain:
        here = [s for s in scenario.statements if isinstance(s, tree.CalendarStatement)]
        for again in here[1:]:
            diagnostics.error(
                "GSM1506",
                "the calendar is given twice",
                again.span,
                "given again",
                secondary=[Label(here[0].span, "first given here")],
                help="keep one of them",
            )
        stated = here[0] if here else stated
    checked = None if stated is None else _read(stated, model, diagnostics)
    if start is None or (stated is not None and checked is None):
        return checked
    source = Source("--start", start)
    at = source.span(0, len(start))
    zone = "" if checked is None else checked.calendar.zone
    moved = _calendar(start, at, zone, None, () if checked is None else checked.calendar.holidays, diagnostics)
    if moved is None:
        return None
    return CheckedCalendar(at, moved, "" if checked is None else checked.holiday_set, stated is not None)


def has_calendar(chain: Sequence[tree.Scenario], start: str | None = None) -> bool:
    """Whether a scenario of a chain states a calendar, or a start is stated outside."""
    stated = any(isinstance(s, tree.CalendarStatement) for scenario in chain for s in scenario.statements)
    return stated or start is not None


def _read(stated: tree.CalendarStatement, model: CheckedModel, diagnostics: Diagnostics) -> CheckedCalendar | None:
    days = [day for text in stated.holidays if (day := holiday(text.value, text.span, diagnostics)) is not None]
    zone = None if stated.zone is None else stated.zone.span
    name = "" if stated.zone is None else stated.zone.value
    calendar = _calendar(stated.start.value, stated.start.span, name, zone, days, diagnostics)
    known = stated.holiday_set is None or _is_set_of_days(stated.holiday_set, model, diagnostics)
    if calendar is None or not known or len(days) < len(stated.holidays):
        return None
    return CheckedCalendar(stated.span, calendar, "" if stated.holiday_set is None else stated.holiday_set.text)


def _calendar(
    start: str, at: Span, zone: str, zone_at: Span | None, holidays: Iterable[date], diagnostics: Diagnostics
) -> Calendar | None:
    from gpusched_dsl.language.calendar import DateError, calendar_from

    try:
        calendar, note = calendar_from(start, zone, frozenset(holidays))
    except DateError as error:
        of_zone = zone_at is not None and "time zone" in str(error)
        diagnostics.error("GSM1691", str(error), zone_at if of_zone else at, help=error.help)
        return None
    if note:
        help = f"write the offset: `{start}{calendar.iso(0.0)[19:]}`"
        diagnostics.error("GSM1693", note, at, "occurs twice", help=help, severity=Severity.WARNING)
    return calendar


def holiday(text: str, at: Span | None, diagnostics: Diagnostics) -> date | None:
    """Return the date of a holiday, or None after a report (GSM1691)."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        help = 'write the date of a holiday as "2026-12-25"'
        diagnostics.error("GSM1691", f"`{text}` is not a date", at, "not a date", help=help)
        return None


def _is_set_of_days(name: tree.Identifier, model: CheckedModel, diagnostics: Diagnostics) -> bool:
    declared = model.sets.get(name.text)
    if declared is None:
        diagnostics.error(
            "GSM1691",
            f"model `{model.name}` has no set `{name.text}` with holidays",
            name.span,
            "unknown set",
            help=did_you_mean(name.text, model.sets) or f"declare `set {name.text};` in the model, or list the dates",
        )
        return False
    if declared.root == declared.name and (declared.value is None or isinstance(declared.value, LiteralSet)):
        return True
    diagnostics.error(
        "GSM1691",
        f"the elements of `{name.text}` are not given by the scenario",
        name.span,
        "a set that depends on others",
        secondary=[Label(declared.span, "declared here")],
        help=f"declare `set {name.text};` and give its dates in the scenario",
    )
    return False


def _is_written(model: CheckedModel, given: Mapping[str, Sequence[Assignment]]) -> bool:
    """Whether a text has a function of the clock: most have none, and looking through expressions takes long."""
    declared = (model.sets, model.params, model.lets, model.variables, model.constraints, model.reports, model.randoms)
    spans = [
        model.span,
        *(one.span for names in declared for one in names.values()),
        *(one.span for one in model.objectives),
    ]
    spans += [*(one.span for one in model.checks), *(one.span for each in given.values() for one in each)]
    spans += [] if model.placement is None else [model.placement.span]
    sources = {id(span.source): span.source for span in spans}
    return any(CLOCK_CALL.search(source.text) for source in sources.values())


def require_no_calendar(
    scenario: tree.Scenario,
    model: CheckedModel,
    given: Mapping[str, Sequence[Assignment]],
    diagnostics: Diagnostics,
) -> None:
    """Report (GSM1692) the first function of the clock in a model and its values, for a scenario without a calendar."""
    found = first_clock_function((model, given)) if _is_written(model, given) else None
    if found is not None:
        diagnostics.error(
            "GSM1692",
            f"`{found.name}` needs a calendar, but scenario `{scenario.name.text}` states none",
            found.span,
            "read here",
            secondary=[Label(scenario.name.span, "the scenario")],
            help=f"write in the scenario: `{EXAMPLE}`",
        )
