"""Wall-clock times to UTC: days of 23 and 25 hours, and which pass of a repeated hour a row belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.data.formats.slots import DAY, Micros
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.ir.arrays import Bools, Ints
from gpusched_dsl.language.calendar import DateError, moments_of

Passes = NDArray[np.int8]
FIRST, SECOND, UNKNOWN = np.int8(0), np.int8(1), np.int8(-1)


@dataclass(frozen=True, eq=False, slots=True)
class Moments:
    """`utc` in microseconds since 1970 (0 if the local time does not exist), and the irregular times.

    `assumed`: in a repeated hour without a second pass in the file, so that the first (daylight) time was taken.
    `early` and `late` are the moments of the two passes, equal outside repeated hours.
    """

    utc: Micros
    exists: Bools
    assumed: Bools
    early: Micros
    late: Micros


def to_utc(local: Micros, zone: str, marks: Passes | None = None) -> Moments:
    """The moments of wall-clock times in the order of the file.

    In an hour that occurs twice, `marks` say for each row which pass it is; rows without a mark go by the order of the
    file: the first pass is daylight time. Raises Unreadable (GSM2030) for an unknown zone.
    """
    early, late, exists = _moments(local, zone)
    twice = exists & (early != late)
    passes = np.zeros(len(local), dtype=np.int8)
    assumed = np.zeros(len(local), dtype=np.bool_)
    unmarked = twice if marks is None else twice & (marks == UNKNOWN)
    if marks is not None:
        passes = np.where(marks == SECOND, SECOND, FIRST)
    for rows in _runs(np.flatnonzero(unmarked), local):
        found = _passes(local[rows])
        passes[rows] = FIRST if found is None else found
        assumed[rows] = found is None
    return Moments(np.where(twice & (passes == SECOND), late, early), exists, assumed, early, late)


def _moments(local: Micros, zone: str) -> tuple[Micros, Micros, Bools]:
    try:
        return moments_of(local, zone)
    except DateError as error:
        fault = Fault("GSM2030", str(error), help=error.help, option=("timezone", zone))
        raise Unreadable(fault) from None


def _runs(rows: Ints, local: Micros) -> list[Ints]:
    """Rows that follow each other in the file and are of one day: at most a few for every year."""
    if not len(rows):
        return []
    breaks = (np.diff(rows) > 1) | (np.diff(local[rows] // DAY) != 0)
    return np.split(rows, np.flatnonzero(breaks) + 1)


def _passes(local: Micros) -> Passes | None:
    """The pass of each row of one repeated hour; None where there is one pass only.

    Where the clock goes back once, the second pass begins there. Where it never does, but every time stands there
    twice, the later one of each belongs to the second pass.
    """
    back = np.flatnonzero(np.diff(local) < 0)
    if len(back):
        second = np.arange(len(local)) > back[0]
    else:
        _, starts, counts = np.unique(local, return_index=True, return_counts=True)
        if (counts < 2).any():
            return None
        second = np.arange(len(local)) > np.repeat(starts, counts)
    found: Passes = second.astype(np.int8)
    return found
