"""Times of any table to moments in UTC, by time zone, and lengths of time to seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.data.formats.prices_clock import to_utc
from gpusched_dsl.data.formats.slots import DAY, MINUTE, SECOND, Micros
from gpusched_dsl.data.formats.slots_times import TwoReadings, times_in
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.language.calendar import jumps_over, local_of, moments_of

if TYPE_CHECKING:
    import polars as pl

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_HALF = r"(?i)\s*([ap])\.?m\.?$"
_LARGEST = 1e12  # s
_CLOCK = r"^(?:(\d+)(?:-|\s*days?,?\s+))?(\d+):(\d{1,2}):(\d{1,2}(?:\.\d+)?)$"
_SHORT_CLOCK = r"^(\d+):([0-5]?\d(?:\.\d+)?)$"  # hours and minutes, or minutes and seconds
_WORDS = (
    r"(?i)^P?\s*(?:(\d+(?:\.\d+)?)\s*d(?:ays?)?)?[\sT,]*(?:(\d+(?:\.\d+)?)\s*h(?:ours?|rs?)?)?[\s,]*"
    r"(?:(\d+(?:\.\d+)?)\s*m(?:in(?:utes?)?)?)?[\s,]*(?:(\d+(?:\.\d+)?)\s*s(?:ec(?:onds?)?)?)?$"
)


@dataclass(frozen=True, eq=False, slots=True)
class Times:
    """Moments of a column in microseconds of UTC since 1970, 0 for cells without one.

    `wrong`: cells that are no time; `skipped`: times that do not exist on the clock of the zone. `dated` unless all
    cells are numbers or lengths, which count from 1970, or from any other start.
    """

    micros: Micros
    has_value: Bools
    wrong: Bools
    skipped: Bools
    dated: bool
    early: Micros
    late: Micros


def times_of(column: pl.Series, zone: str, order: str, scale: float = 1.0) -> Times:
    """Read times in the order of the file: ISO 8601, day or month first, with AM and PM, or seconds, or `27:04:05`.

    `scale` is the length of the unit of numbers in seconds. Raises Unreadable: GSM2030 for an unknown zone, or dates
    whose day and month are ambiguous.
    """
    import polars as pl

    text = column.str.strip_chars()
    has_value = text.is_not_null().to_numpy()
    if bool(text.drop_nulls().str.contains(_NUMBER).all()):
        return _numbers(text.cast(pl.Float64, strict=False) * scale, has_value)
    if bool(text.drop_nulls().str.contains(_CLOCK).all()):
        return _numbers(_sum(text, _CLOCK), has_value)
    half = text.str.extract(_HALF, 1).str.to_lowercase()
    try:
        parsed = times_in(text.str.replace(_HALF, ""), "" if order == "auto" else order)
    except TwoReadings:
        raise Unreadable(
            Fault(
                "GSM2030",
                f"the order of day and month of `{column.drop_nulls()[0]}` in column `{column.name}` is ambiguous",
                help="state the option `dates = dmy` or `dates = mdy`, or write dates as 2018-06-30",
                option=("dates", ""),
            )
        ) from None
    local = parsed.micros + _half_days(half, parsed.micros)
    if parsed.numbers:  # AM and PM after numbers
        return Times(local, has_value, has_value, np.zeros_like(has_value), True, local, local)
    floating = parsed.read & ~parsed.has_zone
    micros, skipped = local.copy(), np.zeros_like(has_value)
    rows = np.flatnonzero(floating)
    moments = to_utc(local[rows], zone)
    micros[rows] = moments.utc
    skipped[rows] = ~moments.exists
    early, late = micros.copy(), micros.copy()
    early[rows], late[rows] = moments.early, moments.late
    return Times(micros, has_value, has_value & ~parsed.read, skipped, True, early, late)


def of_one_job(times: Mapping[str, Times], elapsed: Floats | None = None) -> dict[str, Micros]:
    """Return the moments of `submitted`, `started` and `ended`, in an hour that occurs twice by the order of the three.

    Submissions follow the order of the file. Of the passes of a start and an end, those are chosen that agree with the
    `elapsed` seconds (NaN: unknown), and by which the job starts after its submission and ends after its start; the
    first ones if several do.
    """
    found = {name: one.micros for name, one in times.items()}
    names = [name for name in ("started", "ended") if name in times and (times[name].early != times[name].late).any()]
    if not names:
        return found
    start, end, submitted = times.get("started"), times.get("ended"), times["submitted"]
    best = np.full(len(submitted.micros), np.inf)
    for one in ("early", "late"):
        for other in ("early", "late"):
            begin = (
                submitted.micros if start is None else np.where(start.has_value, getattr(start, one), submitted.micros)
            )
            close = begin if end is None else np.where(end.has_value, getattr(end, other), begin)
            wrong = 2.0 * ((begin < submitted.micros) | (close < begin))
            if elapsed is not None and start is not None and end is not None:
                wrong += np.abs((close - begin) / SECOND - elapsed) > 1.0  # False where it is unknown
            better = wrong < best
            best = np.where(better, wrong, best)
            for name, passes in (("started", begin), ("ended", close)):
                if name in names:
                    found[name] = np.where(better & times[name].has_value, passes, found[name])
    return found


def _numbers(seconds: pl.Series, has_value: Bools) -> Times:
    values = seconds.fill_null(np.nan).to_numpy()
    read = np.isfinite(values) & (np.abs(values) < _LARGEST)
    micros = np.rint(np.where(read, values, 0.0) * SECOND).astype(np.int64)
    return Times(micros, has_value, has_value & ~read, np.zeros_like(has_value), False, micros, micros)


def _half_days(half: pl.Series, micros: Micros) -> Micros:
    """Return what AM and PM add to hours from 1 to 12."""
    hour = micros % DAY // (60 * MINUTE)
    late = (half == "p").fill_null(False).to_numpy() & (hour < 12)
    early = (half == "a").fill_null(False).to_numpy() & (hour == 12)
    found: Micros = np.where(late, 12, np.where(early, -12, 0)) * 60 * MINUTE
    return found


def moment_of(text: str, settings: Mapping[str, object], option: str) -> int | None:
    """Return the moment that an option states; None for an empty text. Raises Unreadable (GSM1519)."""
    import polars as pl

    if not text:
        return None
    found = times_of(pl.Series(option, [text]), str(settings["timezone"]), str(settings["dates"]))
    if found.wrong[0] or found.skipped[0]:
        raise Unreadable(
            Fault(
                "GSM1519",
                f"option `{option}` cannot be `{text}`: it is not a time",
                help='write a time as "2024-03-01" or "2024-03-01 14:05"',
                option=(option, ""),
            )
        )
    return int(found.micros[0])


def midnight_before(moment: int, zone: str) -> int:
    """Return the last beginning of a day of the zone at or before a moment."""
    day = local_of(np.array([moment]), zone) // DAY * DAY
    first, _, exists = moments_of(day, zone)
    return int((first if exists[0] else jumps_over(day, zone))[0])


def seconds_of(column: pl.Series, scale: float = 1.0) -> tuple[Floats, Bools]:
    """Return lengths of time in seconds, NaN for empty cells, and which cells are none.

    They are numbers of a unit of `scale` seconds, `2-03:04:05`, `2 days 03:04:05`, `27:04:05`, `1h 30min`, or ISO 8601
    as `PT1H30M`; `2:30` has hours and minutes if the unit is the hour, minutes and seconds if it is the minute.
    """
    import polars as pl

    text = column.str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False) * scale
    clock = _sum(text, _CLOCK)
    words = _sum(text.set(text.str.contains(r"(?i)^[PT\s]*$"), None), _WORDS)
    if scale in (3600.0, 60.0):
        clock = clock.zip_with(clock.is_not_null(), _sum(text, _SHORT_CLOCK, (scale, scale / 60)))
    found = numbers.zip_with(numbers.is_not_null(), clock)
    found = found.zip_with(found.is_not_null(), words)
    wrong = (text.is_not_null() & (found.is_null() | ~found.is_finite().fill_null(True))).to_numpy()
    values: Floats = found.fill_null(np.nan).to_numpy()
    return values, wrong


def _sum(text: pl.Series, pattern: str, units: Sequence[float] = (86400.0, 3600.0, 60.0, 1.0)) -> pl.Series:
    """Return days, hours, minutes and seconds, or what `units` are, as seconds; null for other text."""
    import polars as pl

    parts = text.str.extract_groups(pattern).struct.unnest().get_columns()
    values = [part.cast(pl.Float64, strict=False) for part in parts]
    total = pl.Series(text.name, np.zeros(len(text)))
    known = pl.Series(np.zeros(len(text), dtype=np.bool_))
    for value, seconds in zip(values, units, strict=True):
        total = total + value.fill_null(0.0) * seconds
        known = known | value.is_not_null()
    return total.set(~known, None)
