"""What is asked about the flexibility of a cluster, and its days: values of settings, `seed=1..20`, or a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from gpusched_dsl.language.diagnostics.diagnostic import Cell, Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

NOTHING_TO_ASK = "GSM4025"  # no day, slot or power to compute with
STEPS = 4
DAYS = "GSM4027"  # no days, or days that cannot be read
SCENARIO, LABEL = "scenario", "day"  # columns that are no settings
MOST_DAYS = 10_000
_RANGE = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?")  # a text in a setting, not a difference
_FORM = "write `--days seed=1..20`, `--days scenario=Monday,Tuesday`, or a CSV file with a column per setting"


@dataclass(frozen=True, slots=True)
class Day:
    """A realised day: a scenario (None: the scenario of the question) with settings."""

    label: str
    scenario: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlexibilityConfig:
    """The slots of the event, as `68..75` or `17:00..19:00`, the days, and the share of them that must shed.

    `offers` are in kW, or in the unit of a power without a unit; None: `steps` equal parts of what is guaranteed.
    `power` names the variable or `let` of the power by slot, None if there is only one. `notice` is the time from the
    announcement to the first slot of the event: slots, or a duration such as `2h`; None: before the first slot.
    `baseline` is the method of the plans without the event; None: the solver, at least cost.
    """

    event: str
    days: tuple[Day, ...]
    probability: float = 1.0
    offers: tuple[float, ...] | None = None
    steps: int = STEPS
    power: str | None = None
    notice: str | None = None
    baseline: str | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any], days: tuple[Day, ...]) -> FlexibilityConfig:
        """Return the configuration with the values of options by their names in the table."""
        given = {name: values[name] for name in cls.__dataclass_fields__}
        offers, notice = given["offers"], given["notice"]
        given["offers"] = None if offers is None else tuple(float(offer) for offer in offers)
        given["notice"] = None if notice is None else str(notice)
        return cls(**{**given, "days": days})

    def __post_init__(self) -> None:
        findings = []
        if not self.days:
            findings.append(_wrong("there are no days", "a guarantee needs at least one day: see `--days`"))
        if not 0.0 < self.probability <= 1.0:
            message = f"the probability must be above 0 and at most 1, it is {self.probability:g}"
            findings.append(_wrong(message, "write a share of the days, such as 0.95 or 95%"))
        offers = (1.0,) if self.offers is None else self.offers
        if not offers or not all(0.0 < offer < float("inf") for offer in offers):
            findings.append(_wrong("offers must be positive numbers of kW", "such as `--offers 0.5,1,2`"))
        if self.steps < 1:
            findings.append(_wrong("the number of offers must be at least 1", "write `--steps 4`"))
        if findings:
            raise DiagnosticError(findings)


def _wrong(message: str, help: str) -> Diagnostic:
    return Diagnostic(NOTHING_TO_ASK, message, help=help)


def read_days(texts: Sequence[str]) -> tuple[Day, ...]:
    """Return every combination of the days of some texts; without any, one day: the scenario as it is.

    A text is `NAME=A,B,...`, `NAME=1..20`, or the path of a CSV file. Raises DiagnosticError (GSM4027).
    """
    parts = [_inline(text) if "=" in text and not Path(text).is_file() else _table(Path(text)) for text in texts]
    total = 1
    for part in parts:
        total *= len(part)
    if total > MOST_DAYS:
        raise _error(f"there are {total:,} days, more than {MOST_DAYS:,}", "use fewer values")
    return tuple(_merge_days(combination) for combination in product(*parts))


def plain_days(days: Iterable[str | Mapping[str, str]]) -> tuple[Day, ...]:
    """Return days from names of scenarios and from settings, in which `scenario` and `day` name and label a day."""
    found = []
    for day in days:
        given = {SCENARIO: day} if isinstance(day, str) else dict(day)
        found.append(_day(given))
    return tuple(found)


def _day(given: dict[str, str]) -> Day:
    text = ", ".join(f"{name}={value}" for name, value in given.items() if name != LABEL)
    label, scenario = given.pop(LABEL, ""), given.pop(SCENARIO, None)
    label = label or (text if given or scenario is None else scenario)
    return Day(label, scenario, {n: f'"{v}"' if _DATE.fullmatch(v) else v for n, v in given.items()})


def _merge_days(parts: Sequence[Day]) -> Day:
    if not parts:
        return Day("the day")
    scenarios = [part.scenario for part in parts if part.scenario is not None]
    settings = {name: value for part in parts for name, value in part.settings.items()}
    if len(scenarios) > 1 or len(settings) < sum(len(part.settings) for part in parts):
        raise _error("two `--days` have the same setting", "give each setting once: days are all combinations")
    return Day(", ".join(part.label for part in parts), scenarios[0] if scenarios else None, settings)


def _inline(text: str) -> tuple[Day, ...]:
    name, _, values = (part.strip() for part in text.partition("="))
    found = _RANGE.fullmatch(values)
    if found is not None:
        first, last = int(found[1]), int(found[2])
        if last - first >= MOST_DAYS:
            raise _error(f"`{text}` has more than {MOST_DAYS:,} days", "use fewer values")
        listed = [str(value) for value in range(first, last + 1)]
    else:
        listed = [value.strip() for value in values.split(",") if value.strip()]
    if not name or not listed:
        raise _error(f"`{text}` has no days", _FORM)
    return tuple(_day({name: value}) for value in listed)


def _table(path: Path) -> tuple[Day, ...]:
    """Read the days of a table: a column per setting, a row per day; an empty cell sets nothing."""
    try:
        lines = list(csv.reader(path.read_bytes().decode("utf-8-sig").splitlines()))
    except (OSError, ValueError, csv.Error) as failure:
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else "it is not a CSV file"
        raise _error(f"cannot read days from `{path}`: {reason}", _FORM) from failure
    rows = [(at, [cell.strip() for cell in row]) for at, row in enumerate(lines, start=1) if any(row)]
    if len(rows) < 2:
        raise _error(f"`{path}` has no days", "the first line has the names of settings, each other line is a day")
    names = rows[0][1]
    if not all(names) or len(set(names)) < len(names):
        message = f"the first line of `{path}` must have a name for each column, and each name once"
        raise DiagnosticError([Diagnostic(DAYS, message, Cell(str(path), rows[0][0]), help=_FORM)])
    wrong = [at for at, row in rows[1:] if len(row) != len(names)]
    if wrong:
        message = f"line {wrong[0]} of `{path}` has another number of cells than the first line"
        raise DiagnosticError([Diagnostic(DAYS, message, Cell(str(path), wrong[0]), help="write an empty cell")])
    return tuple(
        _day({name: cell for name, cell in zip(names, row, strict=True) if cell} or {LABEL: f"line {at}"})
        for at, row in rows[1:]
    )


def _error(message: str, help: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(DAYS, message, help=help)])
