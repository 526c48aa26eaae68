"""Whether intervals overlap, and whether what they use together stays within a capacity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.base import Block, Definition
from gpusched_dsl.ir.definitions.intervals import Interval
from gpusched_dsl.ir.definitions.truth import TruthDefinition
from gpusched_dsl.ir.json.arrays import Broken, Number, check_length, check_starts
from gpusched_dsl.ir.tolerances import FEASIBILITY, ON_STEP

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution

_WHY = "linear rows need integer variables for it"


def room(values: Floats) -> Floats:
    """How far two times, or a load and a capacity, may cross: as a row may be broken, but less than a step of 1."""
    return np.minimum(FEASIBILITY * np.maximum(1.0, np.abs(values)), ON_STEP)


def none_overlap(entry: Codes, size: int, start: Floats, length: Floats, present: Floats) -> Bools:
    """Whether of any two present intervals of an entry one ends before the other starts; no length is negative.

    `entry[i]` is the entry of interval i, of `size` entries. An interval of length 0 is not inside of another one.
    """
    here = present > 0.5
    negative = here & (length < -room(start))
    kept = np.flatnonzero(here)
    order = kept[np.lexsort((start[kept] + length[kept], start[kept], entry[kept]))]
    end = start[order] + length[order]
    meet = (np.diff(entry[order]) == 0) & (end[:-1] > start[order][1:] + room(end[:-1]))
    wrong = np.concatenate((entry[negative], entry[order][:-1][meet]))
    return np.asarray(np.bincount(wrong, minlength=size) == 0)


def loads_fit(entry: Codes, start: Floats, length: Floats, present: Floats, demand: Floats, capacity: Floats) -> Bools:
    """Whether the demands of the present intervals that include a time are at most the capacity, at every time.

    `capacity` has a value for each entry. An interval includes its start, but not its end; no length, demand and
    capacity is negative.
    """
    size = len(capacity)
    here = present > 0.5
    negative = here & ((length < -room(start)) | (demand < -room(demand)))
    kept = np.flatnonzero(here & (length > 0))
    end = start[kept] + length[kept]
    of, time = np.tile(entry[kept], 2), np.concatenate((end - room(end), start[kept]))
    change = np.concatenate((-demand[kept], demand[kept]))
    order = np.lexsort((change, time, of))
    load = np.cumsum(change[order])  # every entry adds as much as it takes away
    allowed = capacity + room(capacity)
    wrong = of[order][(load > allowed[of[order]]) & (change[order] > 0)]
    wrong = np.concatenate((wrong, entry[negative]))
    return np.asarray((np.bincount(wrong, minlength=size) == 0) & (capacity >= -room(capacity)))


class _IntervalsBlock(Block):
    """The arguments of entry i are `starts[i] .. starts[i+1] - 1`."""

    starts: list[Number]

    def check(self, place: str, laws: int, binary: Bools) -> None:
        check_length(self.starts, len(self.results) + 1, f"{place}.starts", "results, plus one")
        starts = check_starts(self.starts, len(self.arguments.constants), f"{place}.starts", least=self.rest())
        if ((np.diff(starts) - self.rest()) % self.each()).any():
            raise Broken(f"{place}.starts splits the arguments of an interval")
        if not binary[np.array(self.results, dtype=np.int64)].all():
            raise Broken(f"{place}.results names a column that is not binary")

    def each(self) -> int:
        """The number of arguments of an interval."""
        return 3

    def rest(self) -> int:
        """The number of arguments behind all intervals."""
        return 0


class NoOverlapBlock(_IntervalsBlock, tag="no_overlap"):
    """Entry i is 1 if no two of its intervals overlap, else 0.

    The arguments of an interval are its start, its length, and 1 if it is present, else 0.
    """

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return NoOverlap(**common | {"starts": np.array(self.starts, dtype=np.int64)})


class CumulativeBlock(_IntervalsBlock, tag="cumulative"):
    """Entry i is 1 if the demands of its intervals are at most its capacity at all times, else 0.

    The arguments of an interval are its start, its length, 1 if it is present, else 0, and its demand; the last
    argument of an entry is its capacity.
    """

    def each(self) -> int:
        return 4

    def rest(self) -> int:
        return 1

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return Cumulative(**common | {"starts": np.array(self.starts, dtype=np.int64)})


@dataclass(frozen=True, eq=False)
class IntervalDefinition(TruthDefinition):
    """1 if a condition on intervals is true, else 0; the result columns are binary.

    `each` arguments describe an interval, first its start, its length and its presence; `rest` arguments of an entry
    stand behind its intervals.
    """

    each: ClassVar[int]
    rest: ClassVar[int]

    @property
    def intervals(self) -> Codes:
        """The first argument of every interval, entry by entry."""
        counts = self.interval_counts
        first = np.repeat(self.starts[:-1] - self.each * (np.cumsum(counts) - counts), counts)
        return np.asarray(first + self.each * np.arange(counts.sum(), dtype=np.int64))

    @property
    def interval_counts(self) -> Codes:
        """The number of intervals of every entry."""
        counts: Codes = (np.diff(self.starts) - self.rest) // self.each
        return counts

    @property
    def interval_entry(self) -> Codes:
        """The entry of every interval."""
        return np.repeat(np.arange(self.size, dtype=np.int64), self.interval_counts)

    @abstractmethod
    def holds(self, arguments: Floats) -> Bools:
        """Whether the condition of every entry is true."""

    def evaluate(self, arguments: Floats) -> Floats:
        return self.holds(arguments).astype(np.float64)

    def image(self, low: Floats, high: Floats) -> Interval:
        """Known where all arguments are."""
        fixed = np.ones(self.size, dtype=np.bool_)
        fixed[self.entry_of[low != high]] = False
        true = np.zeros(self.size)
        true[fixed] = self.evaluate(low)[fixed] if fixed.any() else 0.0
        return true, np.where(fixed, true, 1.0)

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        """An interval more makes no condition true."""
        rising = np.ones_like(low, dtype=np.bool_)
        falling = rising.copy()
        rising[self.intervals + 2] = False
        return rising, falling


@dataclass(frozen=True, eq=False)
class NoOverlap(IntervalDefinition):
    """1 if of any two present intervals one ends before the other starts, else 0.

    Arguments: start, length and presence (0 or 1) of every interval.
    """

    op: ClassVar[str] = "no_overlap"
    block: ClassVar[type[Block] | None] = NoOverlapBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {"no_overlap": ("an order of intervals", _WHY)}
    each: ClassVar[int] = 3
    rest: ClassVar[int] = 0

    def holds(self, arguments: Floats) -> Bools:
        at = self.intervals
        start, length, present = (arguments[at + k] for k in range(3))
        return none_overlap(self.interval_entry, self.size, start, length, present)

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return NoOverlapBlock(starts=self.starts.tolist(), **common)


@dataclass(frozen=True, eq=False)
class Cumulative(IntervalDefinition):
    """1 if at every time the demands of the present intervals are at most the capacity, else 0.

    Arguments: start, length, presence (0 or 1) and demand of every interval; behind them the capacity of the entry.
    """

    op: ClassVar[str] = "cumulative"
    block: ClassVar[type[Block] | None] = CumulativeBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {"cumulative": ("a load of intervals", _WHY)}
    each: ClassVar[int] = 4
    rest: ClassVar[int] = 1

    @property
    def capacities(self) -> Codes:
        """The argument with the capacity of every entry."""
        last: Codes = self.starts[1:] - 1
        return last

    def holds(self, arguments: Floats) -> Bools:
        at = self.intervals
        start, length, present, demand = (arguments[at + k] for k in range(4))
        return loads_fit(self.interval_entry, start, length, present, demand, arguments[self.capacities])

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return CumulativeBlock(starts=self.starts.tolist(), **common)
