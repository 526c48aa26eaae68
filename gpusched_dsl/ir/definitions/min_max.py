"""The largest or the smallest of several affine expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.base import Block, Choices, Definition
from gpusched_dsl.ir.definitions.intervals import Interval
from gpusched_dsl.ir.divisors import common_divisors
from gpusched_dsl.ir.json.arrays import Number, check_length, check_starts
from gpusched_dsl.ir.tolerances import FEASIBILITY

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution


class ExtremeBlock(Block, tag="extreme"):
    """Entry i is the largest (or smallest) of the arguments `starts[i] .. starts[i+1] - 1`."""

    starts: list[Number]
    largest: bool

    def check(self, place: str, laws: int, binary: Bools) -> None:
        check_length(self.starts, len(self.results) + 1, f"{place}.starts", "results, plus one")
        check_starts(self.starts, len(self.arguments.constants), f"{place}.starts", least=1)

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return MinMax(**common | {"starts": np.array(self.starts, dtype=np.int64)}, largest=self.largest)


@dataclass(frozen=True, eq=False)
class MinMax(Definition):
    """The largest argument (`largest`) or the smallest. On 0/1 arguments this is `or` and `and`."""

    largest: bool = True

    op: ClassVar[str] = "extreme"
    block: ClassVar[type[Block] | None] = ExtremeBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "extreme": ("not convex in this place", "linear rows need integer variables for it")
    }

    def evaluate(self, arguments: Floats) -> Floats:
        return self._extreme.reduceat(arguments, self.starts[:-1]) if self.size else np.zeros(0)

    @property
    def _extreme(self) -> np.ufunc:
        return np.maximum if self.largest else np.minimum

    def image(self, low: Floats, high: Floats) -> Interval:
        starts = self.starts[:-1]
        return self._extreme.reduceat(low, starts), self._extreme.reduceat(high, starts)

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval:
        """No argument is beyond the result, and the only one that can reach it does."""
        sign = 1.0 if self.largest else -1.0
        end, reach = (small, high) if self.largest else (-large, -low)
        with np.errstate(invalid="ignore"):
            reaches = ~(reach < end - FEASIBILITY * np.maximum(1.0, np.abs(end)))  # also where both are infinite
        only = reaches & (np.bincount(self.entry_of, weights=reaches, minlength=self.size) == 1)[self.entry_of]
        least = sign * np.where(only, end, -np.inf)
        return (least, large) if self.largest else (small, least)

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        return np.ones_like(low, dtype=np.bool_), np.zeros_like(low, dtype=np.bool_)

    def convexity_of_moving(self, low: Floats, high: Floats, moving: Codes) -> tuple[Bools, Bools]:
        yes, alone = np.ones(self.size, dtype=np.bool_), np.diff(self.starts) == 1
        return (yes, alone) if self.largest else (alone, yes)

    def integer_entries(self, arguments: Bools) -> Bools:
        return np.asarray(np.logical_and.reduceat(arguments, self.starts[:-1]))

    def multiples(self, arguments: Floats) -> Floats:
        return common_divisors(np.where(arguments > 0, arguments, np.nan), self.starts[:-1])

    @property
    def exact_entries(self) -> Bools:
        return np.zeros(self.size, dtype=np.bool_)

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        """1 in the first argument that has the value."""
        chosen = inside == values[self.entry_of]
        numbers = np.where(chosen, np.arange(len(inside)), len(inside))
        first = np.minimum.reduceat(numbers, self.starts[:-1])
        result = np.zeros(len(inside))
        result[first[first < len(inside)]] = 1.0
        return result

    def choices(self, arguments: Floats, inside: Floats, values: Floats) -> Choices:
        """The result stays beyond every argument."""
        count, sign = len(arguments), 1.0 if self.largest else -1.0
        gaps = sign * (values[self.entry_of] - arguments)
        signs = np.full(count, sign)
        return Choices(np.arange(count), signs, -signs, -gaps, np.full(count, np.inf))

    @property
    def is_tabulable(self) -> bool:
        return False

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return ExtremeBlock(starts=self.starts.tolist(), largest=self.largest, **common)
