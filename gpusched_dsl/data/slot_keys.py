"""Keys derived from times: the slot of each row, and for means the rows cut at the borders of slots.

A row that stands for a stretch of time counts in every slot that it touches, by the time that it has there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.data.chunks import ColumnChunk, Origin, Place
from gpusched_dsl.data.formats.slots import SECOND, Micros, slot_of, split_at_slots
from gpusched_dsl.data.formats.slots_times import ParsedTimes, TwoReadings, times_in
from gpusched_dsl.data.short_columns import as_series
from gpusched_dsl.data.sources.files import Fault, FileColumns, Unreadable
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.scenarios.assignments import SlotKey
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    import polars as pl

UNREADABLE_TIME = "GSM2030"
_MOST_PARTS = 50_000_000
_FAR = 2.0**60  # µs


@dataclass(frozen=True, eq=False, slots=True)
class RowsOrigin:
    """Rows of another origin, in any order and number."""

    origin: Origin
    rows: Ints

    @property
    def statement(self) -> Span:
        return self.origin.statement

    def place(self, row: int, component: int | None = None) -> Place:
        return self.origin.place(int(self.rows[row]), component)


def with_slot_keys(
    chunk: ColumnChunk, keys: Sequence[SlotKey | None], file: FileColumns, names: Sequence[str]
) -> ColumnChunk:
    """The chunk with times among its keys replaced by slot numbers; raises Unreadable (GSM2030).

    A `mean` over one such key is weighted by time where the rows have even distances: see `period_length`.
    """
    import polars as pl

    values = None if chunk.values is None else as_series(chunk.values)
    series = [as_series(key) for key in chunk.keys]
    slotted = [at for at, key in enumerate(keys) if key is not None]
    times: dict[int, Micros] = {}
    for at in slotted:
        key = keys[at]
        assert key is not None
        found = _times(series[at], key, file, names[at])
        times[at] = found.micros - _start(found, key, file, names[at])
        numbers = pl.Series(slot_of(times[at], 0, key.micros))
        series[at] = pl.select(pl.when(pl.Series(found.has_value)).then(numbers)).to_series()
    chunk = structs.replace(chunk, keys=tuple(series), values=values, windows=tuple(slotted))
    if chunk.function != "mean" or len(slotted) != 1 or values is None:
        return chunk
    [at] = slotted
    is_used = series[at].is_not_null() & values.is_not_null()
    step = period_length(times[at], [key for k, key in enumerate(series) if k != at], is_used)
    key = keys[at]
    assert key is not None
    if step is None or step <= 1:
        return chunk
    return _split_at_slots(chunk, series, values, at, times[at], step, key.micros, file.name)


def period_length(times: Micros, others: Sequence[pl.Series], is_used: pl.Series) -> int | None:
    """Return the length of the period of each row; None if rows are points in time.

    `is_used` rows count. They are periods if rows that agree in all other keys have different times, whose distances
    are all integer multiples of the smallest one, and that one is the most frequent.
    """
    import polars as pl

    frame = pl.DataFrame({"t": times, **{f"k{i}": key for i, key in enumerate(others)}})
    frame = frame.filter(is_used).sort([*frame.columns[1:], "t"], maintain_order=True)
    ordered = frame["t"].to_numpy()
    same = np.ones(max(len(ordered) - 1, 0), dtype=np.bool_)
    for column in frame.columns[1:]:
        same &= (frame[column][1:].eq_missing(frame[column][:-1])).to_numpy()
    steps = np.diff(ordered)[same]
    if not len(steps):
        return None
    least = int(steps.min())
    sizes, counts = np.unique(steps, return_counts=True)
    even = least > 0 and not (steps % least).any() and int(sizes[np.argmax(counts)]) == least
    return least if even else None


def _split_at_slots(
    chunk: ColumnChunk,
    series: Sequence[pl.Series],
    values: pl.Series,
    at: int,
    times: Micros,
    step: int,
    length: int,
    name: str,
) -> ColumnChunk:
    import polars as pl

    if len(times) * (step // length + 2) > _MOST_PARTS:
        message = f"rows of `{name}` cover {step / SECOND:g} s, too many slots of {length / SECOND:g} s"
        raise Unreadable(Fault(UNREADABLE_TIME, message, help="use longer slots"))
    cuts = split_at_slots(times, times + step, 0, length)
    rows = pl.Series(cuts.rows)
    keys = [key.gather(rows) for key in series]
    keys[at] = pl.select(pl.when(keys[at].is_not_null()).then(pl.Series(cuts.slots))).to_series()
    return structs.replace(
        chunk,
        keys=tuple(keys),
        values=values.gather(rows),
        origin=RowsOrigin(chunk.origin, cuts.rows),
        weights=cuts.overlaps.astype(np.float64),
    )


def _times(series: pl.Series, key: SlotKey, file: FileColumns, name: str) -> ParsedTimes:
    try:
        found = times_in(series)
    except TwoReadings:
        raise Unreadable(
            Fault(
                UNREADABLE_TIME,
                f"the order of day and month in column `{name}` is ambiguous",
                file.place(0, name),
                help="write dates as 2018-06-30",
            )
        ) from None
    wrong = np.flatnonzero(found.has_value & ~found.read)
    if len(wrong):
        row = int(wrong[0])
        more = f" ({len(wrong)} such cells)" if len(wrong) > 1 else ""
        raise Unreadable(
            Fault(
                UNREADABLE_TIME,
                f"`{series[row]}` in a column of times is not a time{more}",
                file.place(row, name),
                help="write times as 2018-06-30 14:05:00, or as seconds since any start",
            )
        )
    if found.has_zone.any() and not found.has_zone[found.has_value].all():
        row = int(np.flatnonzero(found.has_value & ~found.has_zone)[0])
        raise Unreadable(
            Fault(
                UNREADABLE_TIME,
                f"column `{name}` has times with an offset from UTC, and times without one",
                file.place(row, name),
                help="write either all times with an offset, or no times",
            )
        )
    if key.seconds == 1 or not found.numbers:
        return found
    scaled = found.micros * float(key.seconds)
    far = np.flatnonzero(np.abs(scaled) > _FAR)
    if len(far):
        message = f"the time `{series[int(far[0])]}` is out of range"
        raise Unreadable(Fault(UNREADABLE_TIME, message, file.place(int(far[0]), name)))
    return replace(found, micros=np.rint(scaled).astype(np.int64))


def _start(times: ParsedTimes, key: SlotKey, file: FileColumns, name: str) -> int:
    """The time at which slot 0 begins: the stated one, or that of the first row."""
    import polars as pl

    present_times = times.micros[times.has_value]
    if key.start is None:
        return int(present_times.min()) if len(present_times) else 0
    place = file.place(0, name) if file.rows else None
    if isinstance(key.start, int) != times.numbers and len(present_times):
        kinds = ("numbers", "a date") if times.numbers else ("dates", "a number")
        message = f"the times of column `{name}` are {kinds[0]}, but the start of the slots is {kinds[1]}"
        raise Unreadable(
            Fault(UNREADABLE_TIME, message, place, help=f"write the start in the form of the times of column `{name}`")
        )
    if isinstance(key.start, int):
        return key.start
    found = times_in(pl.Series([key.start]), "mdy")
    if found.numbers or not found.read[0]:
        message = f"the start of the slots `{key.start}` is not a time"
        raise Unreadable(Fault(UNREADABLE_TIME, message, help="write it as 2018-06-30 14:00"))
    if found.has_zone[0] and not times.has_zone.any():
        message = f"the start of the slots has an offset from UTC, but the times of column `{name}` have none"
        raise Unreadable(Fault(UNREADABLE_TIME, message, place, help=f"write the start in the local time of `{name}`"))
    return int(found.micros[0])
