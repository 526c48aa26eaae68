"""The dates of slots: the first slot of a scenario begins at time 0, as in runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.units import UNITS, convertible, number_factor

if TYPE_CHECKING:
    from gpusched_dsl.online.clock_time import RunClock


def slot_clock(model: CheckedModel, store: ValueStore, limits: MemoryLimits | None = None) -> RunClock | None:
    """Return the clock that counts slots by their numbers; None if their dates are unknown.

    Dates need a calendar, slots that are consecutive numbers or names in order, and one length of a slot: `lasts` of
    the placement is a time that does not depend on the decision.
    """
    placement, calendar = model.placement, store.calendar
    if calendar is None or placement is None or placement.index("slot") is None:
        return None
    lasts, first = placement.value("lasts"), _first_slot(placement.root("slot"), store)
    if lasts is None or first is None or free_variables(lasts):
        return None
    evaluator = PlacementEvaluator(model, store, limits or MemoryLimits())
    if not convertible(evaluator.time, UNITS["s"]):
        return None
    length = float(np.asarray(evaluator.ev.numbers(lasts, EMPTY_FRAME)).reshape(-1)[0])
    seconds = length * number_factor(evaluator.time, UNITS["s"])
    if not (np.isfinite(seconds) and seconds > 0):
        return None
    from gpusched_dsl.language.calendar import SECOND as MICROSECONDS

    epoch = calendar.epoch - round(first * seconds * MICROSECONDS)
    from gpusched_dsl.online.clock_time import RunClock

    return RunClock("slot", replace(calendar, epoch=epoch), seconds)


def _first_slot(root: str, store: ValueStore) -> int | None:
    """Return the number of the first slot; None if the numbers are not consecutive. Names count from 0."""
    if not root or store.universes[root].integer_labels is None:
        return 0
    numbers = np.asarray(store.universes[root].integer_labels)
    consecutive = len(numbers) > 0 and bool((np.diff(numbers) == 1).all())
    return int(numbers[0]) if consecutive else None


def slot_numbers(root: str, store: ValueStore, codes: Ints) -> Ints:
    """Return the numbers of slots on their clock, from their codes, or from themselves without a set."""
    if not root or store.universes[root].integer_labels is None:
        return codes
    return np.asarray(store.universes[root].integer_labels, dtype=np.int64)[codes]


def date_ranges(starts: Sequence[int], clock: RunClock) -> str:
    """Return the dates of slots in order, neighbours joined, with the end of each: `Thu 2026-10-29 15:00 to 16:30`."""
    numbers = np.unique(np.asarray(starts, dtype=np.int64))
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    first = numbers[np.concatenate(([0], breaks + 1))]
    last = numbers[np.concatenate((breaks, [len(numbers) - 1]))]
    begins, ends = clock.texts(first.astype(np.float64)), clock.texts(last.astype(np.float64) + 1.0)
    day, parts = "", []
    for begin, end in zip(begins, ends, strict=True):
        parts.append(f"{_short(begin, day)} to {_short(end, _day(begin))}")
        day = _day(end)
    return ", ".join(parts)


def _day(text: str) -> str:
    """Return the day of a date for readers: `Thu 2026-10-29 `."""
    return text[: len("Thu 2026-10-29 ")]


def _short(text: str, day: str) -> str:
    return text.removeprefix(day) if day else text
