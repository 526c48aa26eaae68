"""Arrays of a problem file: their format, and their checks on reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from gpusched_dsl.ir.arrays import Codes, Floats

Number = Annotated[int, Meta(ge=0, description="counted from 0")]
Side = Annotated[float | None, Meta(description="null: infinite")]


class Unwritable(Exception):
    """A part of the problem that the format cannot express."""


class Broken(Exception):
    """An error in a file, with its place."""


# --- writing ----------------------------------------------------------------------------------------------------------


def finite_numbers(values: Floats) -> list[float]:
    """Finite numbers; raises Unwritable for others."""
    if not np.isfinite(values).all():
        raise Unwritable("a coefficient, cost or constant that is infinite or not a number")
    listed: list[float] = values.tolist()
    return listed


def sides(values: Floats, infinity: float) -> list[float | None]:
    """Return numbers that may be `infinity` (written as null by msgspec); raise Unwritable for others."""
    if (np.isnan(values) | (values == -infinity)).any():
        raise Unwritable("a side that is not a number or infinite where infinity is not allowed")
    listed: list[float | None] = values.tolist()
    return listed


# --- reading ----------------------------------------------------------------------------------------------------------


def infinite_from_none(sides: Sequence[float | None], infinity: float) -> Floats:
    values = np.array(sides, dtype=np.float64)  # None becomes NaN, which JSON cannot hold otherwise
    return np.where(np.isnan(values), infinity, values)


def numbers(values: Sequence[int], count: int, place: str, what: str = "column") -> Codes:
    """The values as an array; raises Broken unless all are below `count`."""
    found = np.array(values, dtype=np.int64)
    if (found >= count).any():
        raise Broken(f"{place} refers to a {what} that does not exist; there are {count}")
    return found


def has_repeats(values: Codes) -> bool:
    """Whether a value occurs twice, by sorting: several times faster than `np.unique` on millions."""
    ordered = np.sort(values)
    return bool((ordered[1:] == ordered[:-1]).any())


def finite_array(values: Sequence[float] | Floats, place: str) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise Broken(f"{place} contains a number that is too large")
    return found


def check_sides(values: Sequence[float | None], place: str) -> None:
    finite_array(infinite_from_none(values, 0.0), place)


def check_length(values: Sequence[object], count: int, place: str, other: str) -> None:
    if len(values) != count:
        raise Broken(f"{place} has {len(values)} entries; {count} are needed (as {other})")


def check_starts(starts: Sequence[int], end: int, place: str, least: int = 0) -> Codes:
    """Check the starts of groups of at least `least` entries each and `end` in total."""
    found = np.array(starts, dtype=np.int64)
    if not len(found) or found[0] != 0 or found[-1] != end or (np.diff(found) < least).any():
        raise Broken(f"{place} does not rise from 0 to the {end} entries")
    return found


def check_sparse(
    starts: Sequence[int], columns: Sequence[int], values: Sequence[float], count: int, place: str
) -> None:
    """Raise Broken unless these are rows of distinct columns, below `count`, with finite values."""
    rising = check_starts(starts, len(columns), f"{place}.starts")
    check_length(values, len(columns), f"{place}.values", f"{place}.columns")
    named = numbers(columns, count, f"{place}.columns")
    finite_array(values, f"{place}.values")
    row_of = np.repeat(np.arange(len(rising) - 1, dtype=np.int64), np.diff(rising))
    if has_repeats(row_of * max(count, 1) + named):
        raise Broken(f"{place}.columns names a column twice in one row")
