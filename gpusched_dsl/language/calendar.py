"""A calendar: the date at time 0 of a scenario and its time zone, and times since then as dates and clock times.

Times are seconds since the epoch, without gaps or repetitions; only the clock on the wall jumps. Conversions are exact
to the microsecond and take whole arrays. The rules of time zones are part of polars.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Micros: TypeAlias = "NDArray[np.int64]"
    Floats: TypeAlias = "NDArray[np.float64]"
    Bools: TypeAlias = "NDArray[np.bool_]"

SECOND = 1_000_000  # microseconds
HOUR, DAY = 3600 * SECOND, 86400 * SECOND
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_FIRST, _LAST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND  # the years 1 to 9999
_OFFSET = re.compile(r"(?:UTC|GMT)?(?:([+-])(\d{2}):?(\d{2})|([Zz])|(?<=[UG][TM][CT]))$")
_DATE = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ] *(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)? *(\S*)$", re.ASCII
)


class DateError(ValueError):
    """A text is no date of the calendar; `help` says what to write."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True)
class ReadDate:
    """A date as seconds since the epoch; `note` says which one was taken where its clock time occurs twice, else ""."""

    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Calendar:
    """`epoch` is the moment of time 0 in microseconds since 1970 in UTC, `zone` a name such as "Europe/Berlin" or an
    offset such as "+02:00". `holidays` are dates on the clock of the zone.

    Raises DateError for an unknown zone.
    """

    epoch: int
    zone: str
    holidays: frozenset[date] = frozenset()

    def __post_init__(self) -> None:
        check_zone(self.zone)

    # --- times as dates -----------------------------------------------------------------------------------------------

    def has_date(self, seconds: Floats) -> Bools:
        """Whether times have a date: they are in the years 1 to 9999."""
        import numpy as np

        micros = np.asarray(seconds, dtype=np.float64) * SECOND + self.epoch
        return np.asarray((micros >= _FIRST + DAY) & (micros < _LAST - DAY))  # False for NaN

    def local(self, seconds: Floats) -> Micros:
        """Return what the clock on the wall shows, in microseconds since 1970. All times must have a date."""
        return local_of(self._moments(seconds), self.zone)

    def weekday(self, seconds: Floats) -> Micros:
        """Return 1 for Monday to 7 for Sunday."""
        import numpy as np

        return np.asarray((self.local(seconds) // DAY + 3) % 7 + 1)

    def hour_of_day(self, seconds: Floats) -> Floats:
        """Return the hours that the clock shows, from 0 to less than 24, with fractions."""
        import numpy as np

        return np.asarray(self.local(seconds) % DAY / HOUR)

    def month(self, seconds: Floats) -> Micros:
        """Return 1 for January to 12 for December."""
        import numpy as np

        return np.asarray(_dates(self.local(seconds)).astype("datetime64[M]").astype(np.int64) % 12 + 1)

    def day_of_month(self, seconds: Floats) -> Micros:
        """Return 1 to 31."""
        import numpy as np

        days = _dates(self.local(seconds))
        return np.asarray((days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) + 1)

    def is_holiday(self, seconds: Floats) -> Bools:
        """Whether the date is one of the holidays."""
        import numpy as np

        days = [(day - date(1970, 1, 1)).days for day in self.holidays]
        return np.isin(self.local(seconds) // DAY, days)

    def date(self, seconds: float) -> datetime:
        """Return a time as a date with its offset from UTC. Raises DateError if it has none."""
        import numpy as np

        if not self.has_date(np.array([seconds])).all():
            message = f"the time {seconds:g} s has no date: it is outside the years 1 to 9999"
            raise DateError(message, "give a time nearer to the start")
        moment = self._moments(np.array([seconds]))
        local = int(local_of(moment, self.zone)[0])
        offset = timezone(timedelta(microseconds=local - int(moment[0])))
        return (datetime(1970, 1, 1) + timedelta(microseconds=local)).replace(tzinfo=offset)

    def iso(self, seconds: float) -> str:
        """Return a time as in `2026-10-29T15:00:00+01:00`, exactly; an empty text if it has no date."""
        return self.isos([seconds])[0]

    def isos(self, seconds: Sequence[float] | Floats) -> list[str]:
        """Return each time as `iso` does."""
        import numpy as np

        times = np.asarray(seconds, dtype=np.float64).reshape(-1)
        dated = self.has_date(times)
        moments = self._moments(np.where(dated, times, 0.0))
        local = local_of(moments, self.zone)
        parts = zip(_stamps(local), local % SECOND, local - moments, dated, strict=True)
        return [
            stamp.replace(" ", "T") + (f".{rest:06}" if rest else "") + _offset_text(int(offset)) if has else ""
            for stamp, rest, offset, has in parts
        ]

    def text(self, seconds: float) -> str:
        """Return a time for readers, as in `Thu 2026-10-29 15:00`; see `texts`."""
        return self.texts([seconds])[0]

    def texts(self, seconds: Sequence[float] | Floats) -> list[str]:
        """Return each time for readers, to the second: the offset is added where the clock time occurs twice.

        A time without a date is "never" if it is infinite, and an empty text otherwise.
        """
        import numpy as np

        times = np.asarray(seconds, dtype=np.float64).reshape(-1)
        dated = self.has_date(times)
        moments = (self._moments(np.where(dated, times, 0.0)) + SECOND // 2) // SECOND * SECOND
        local = local_of(moments, self.zone)
        early, late, exists = moments_of(local, self.zone)
        twice = exists & (early != late)
        found = []
        for row, stamp in enumerate(_stamps(local)):
            if not dated[row]:
                found.append("never" if times[row] == np.inf else "")
                continue
            day, clock = stamp.split(" ")
            clock = clock.removesuffix(":00")
            name = DAYS[int((local[row] // DAY + 3) % 7)]
            offset = " " + _offset_text(int(local[row] - moments[row])) if twice[row] else ""
            found.append(f"{name} {day} {clock}{offset}")
        return found

    def _moments(self, seconds: Floats) -> Micros:
        import numpy as np

        return np.rint(np.asarray(seconds, dtype=np.float64) * SECOND).astype(np.int64) + self.epoch

    # --- dates as times -----------------------------------------------------------------------------------------------

    def seconds(self, text: str) -> float:
        """Return the seconds from the epoch to a date; see `read`."""
        return self.read(text).seconds

    def read(self, text: str) -> ReadDate:
        """Read a date such as `2026-10-29 15:00` on the clock of the zone, or with an offset: `2026-10-29T15:00+01:00`.

        Of a clock time that occurs twice, the first one is taken, with a note. Raises DateError for a clock time that
        does not occur, and for other texts.
        """
        moment, note = read_moment(text, self.zone)
        return ReadDate((moment - self.epoch) / SECOND, note)

    def clock_times(
        self, after: float, before: float, hours: Collection[float], days: Collection[int] = range(1, 8)
    ) -> Floats:
        """Return, sorted, the times in [after, before) at which the clock of the wall reaches one of `hours`.

        `days` are days of the week from 1 for Monday. A clock time that does not occur on a day happens when the clock
        jumps over it; one that occurs twice happens the first time.
        """
        import numpy as np

        first, last = (int(local_of(self._moments(np.array([t])), self.zone)[0]) // DAY for t in (after, before))
        dates = np.arange(first - 1, last + 2, dtype=np.int64)
        dates = dates[np.isin((dates + 3) % 7 + 1, list(days))]
        wanted = np.rint(np.array(sorted(hours), dtype=np.float64) * HOUR).astype(np.int64)
        local = (dates[:, None] * DAY + wanted).reshape(-1)
        early, _, exists = moments_of(local, self.zone)
        early[~exists] = jumps_over(local[~exists], self.zone)
        times = np.unique(early - self.epoch) / SECOND
        return np.asarray(times[(times >= after) & (times < before)], dtype=np.float64)


def calendar_from(text: str, zone: str = "", holidays: Collection[date] = ()) -> tuple[Calendar, str]:
    """Return the calendar with time 0 at a date, and a note where this clock time occurs twice.

    Without a `zone`, the date must have an offset, which becomes the zone. Raises DateError.
    """
    if not zone:
        offset = _offset_of(_parts(text)[1])
        if offset is None:
            raise DateError(
                f"`{text}` has no time zone",
                'name the zone, as in `"2026-10-05 00:00" in "Europe/Berlin"`, or write an offset: `+02:00`',
            )
        zone = "UTC" if offset == 0 else _offset_text(offset)
    check_zone(zone)
    moment, note = read_moment(text, zone)
    return Calendar(moment, zone, frozenset(holidays)), note


def check_zone(zone: str) -> None:
    """Raise DateError unless `zone` is a name of the time zone database, or an offset such as `+02:00`."""
    local_of(_one(0), zone)


def read_moment(text: str, zone: str) -> tuple[int, str]:
    """Return a date as microseconds since 1970 in UTC, and a note where it occurs twice; see `Calendar.read`."""
    local, written = _parts(text)
    offset = _offset_of(written)
    if offset is not None:
        return local - offset, ""
    if written:
        raise DateError(f"`{written}` is not an offset from UTC", "write an offset as `+01:00`, or `Z`")
    early, late, exists = moments_of(_one(local), zone)
    if not exists[0]:
        jump = jumps_over(_one(local), zone)
        there = _stamps(local_of(jump, zone))[0].removesuffix(":00")
        message = f"`{text}` does not occur in {zone}: the clock goes forward"
        raise DateError(message, f"the next moment is `{there}`")
    if early[0] == late[0]:
        return int(early[0]), ""
    first, second = (_offset_text(local - int(moment[0])) for moment in (early, late))
    stamp = _stamps(_one(local))[0].removesuffix(":00")
    note = f"`{text}` occurs twice in {zone}: read as `{stamp}{first}`, the first; the second is `{stamp}{second}`"
    return int(early[0]), note


def local_of(moments: Micros, zone: str) -> Micros:
    """Return moments in UTC on the clock of a zone, both in microseconds since 1970. Raises DateError: unknown zone."""
    import numpy as np

    offset = _offset_of(zone)
    if offset is not None:
        return np.asarray(moments) + offset
    import polars as pl

    flat = pl.Series(np.asarray(moments, dtype=np.int64).reshape(-1)).cast(pl.Datetime("us", "UTC"))
    try:
        local = flat.dt.convert_time_zone(zone).dt.replace_time_zone(None).to_physical().to_numpy()
    except pl.exceptions.PolarsError:
        raise _unknown(zone) from None
    return local.reshape(np.shape(moments)).astype(np.int64)


def moments_of(local: Micros, zone: str) -> tuple[Micros, Micros, Bools]:
    """Return the first and the last moment at which the clock shows each time, and whether it ever does."""
    import numpy as np

    offset = _offset_of(zone)
    if offset is not None:
        moments = np.asarray(local) - offset
        return moments, moments.copy(), np.ones(moments.shape, dtype=np.bool_)
    import polars as pl

    times = pl.Series(local).cast(pl.Datetime("us"))
    try:
        found = [
            times.dt.replace_time_zone(zone, ambiguous=which, non_existent="null").dt.convert_time_zone("UTC")
            for which in ("earliest", "latest")
        ]
    except pl.exceptions.PolarsError:
        raise _unknown(zone) from None
    exists = found[0].is_not_null().to_numpy()
    early, late = (moments.to_physical().fill_null(0).to_numpy().astype(np.int64) for moments in found)
    return early, late, exists


def _unknown(zone: str) -> DateError:
    return DateError(f"`{zone}` is not a time zone", 'write a zone as "Europe/Berlin", "UTC" or "+02:00"')


def jumps_over(local: Micros, zone: str) -> Micros:
    """Return the moments in UTC, to the microsecond, at which the clock goes forward over times that it never shows."""
    import numpy as np

    there, missing = local - 2 * DAY, local.copy()
    while len(local) and int((missing - there).max()) > 1:
        middle = (there + missing) // 2
        exists = moments_of(middle, zone)[2]
        there, missing = np.where(exists, middle, there), np.where(exists, missing, middle)
    return moments_of(there, zone)[1] + 1


def _dates(local: Micros) -> NDArray[np.datetime64]:
    import numpy as np

    return (np.asarray(local) // DAY).astype("datetime64[D]")


def _one(micros: int) -> Micros:
    import numpy as np

    return np.array([micros], dtype=np.int64)


def _stamps(local: Micros) -> list[str]:
    """Return `2026-10-29 15:00:00` for each time, rounded down to seconds."""
    import numpy as np

    seconds = (np.asarray(local) // SECOND).astype("datetime64[s]")
    return [str(text).replace("T", " ") for text in np.datetime_as_string(seconds, unit="s")]


def _offset_of(text: str) -> int | None:
    """Return an offset from UTC in microseconds; None if the text is none."""
    found = _OFFSET.match(text)
    if found is None:
        return None
    sign, hours, minutes, _ = found.groups()
    if sign is None:
        return 0
    if int(hours) > 23 or int(minutes) > 59:
        return None
    return (int(hours) * 60 + int(minutes)) * 60 * SECOND * (-1 if sign == "-" else 1)


def _offset_text(micros: int) -> str:
    sign, seconds = "-" if micros < 0 else "+", abs(micros) // SECOND
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return text + f":{seconds % 60:02}" if seconds % 60 else text


def _parts(text: str) -> tuple[int, str]:
    """Return the clock time of a date in microseconds since 1970, and the text after it. Raises DateError."""
    found = _DATE.match(text.strip())
    if found is not None:
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        try:
            moment = datetime(year, month, day, hour, minute, second)
        except ValueError:
            pass
        else:
            micros = int((found[7] or "").ljust(6, "0"))
            return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) + micros, found[8]
    raise DateError(f"`{text}` is not a date", "write a date as `2026-10-29 15:00` or `2026-10-29T15:00+01:00`")
