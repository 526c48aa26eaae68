"""Integer quotients and their remainders: how often a divisor goes into an integer, and what remains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions.base import Block, Choices, Definition
from gpusched_dsl.ir.definitions.intervals import Interval
from gpusched_dsl.ir.json.arrays import Broken, check_length

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution


def quotient(numbers: Floats, divisors: Floats) -> Floats:
    """The largest integer q with q * divisor <= number; numbers are integers up to rounding, divisors positive."""
    result: Floats = np.floor_divide(np.rint(numbers), divisors)
    return result


class QuotientBlock(Block, tag="quotient"):
    """The largest integer q with `q * divisors[i] <= argument i`, or the `remainder`, `argument i - q * divisors[i]`.

    Arguments are integers, divisors integers above 0.
    """

    divisors: list[float]
    remainder: bool = False

    def check(self, place: str, laws: int, binary: Bools) -> None:
        Block.check(self, place, laws, binary)
        check_length(self.divisors, len(self.results), f"{place}.divisors", "results")
        divisors = np.array(self.divisors)
        if not ((divisors >= 1) & (divisors == np.rint(divisors))).all():
            raise Broken(f"{place}.divisors has a number that is not a positive integer")

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return IntegerQuotient(**common, divisors=np.array(self.divisors, dtype=np.float64), remainder=self.remainder)


@dataclass(frozen=True, eq=False)
class IntegerQuotient(Definition):
    """`a div k` of an integer argument a and a positive integer k, rounded down; with `remainder`, `a mod k`."""

    divisors: Floats = field(default_factory=lambda: np.zeros(0))
    remainder: bool = False

    op: ClassVar[str] = "quotient"
    block: ClassVar[type[Block] | None] = QuotientBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "quotient": ("an integer quotient", "linear rows need integer variables for it")
    }

    def evaluate(self, arguments: Floats) -> Floats:
        times = quotient(arguments, self.divisors)
        return np.rint(arguments) - times * self.divisors if self.remainder else times

    def image(self, low: Floats, high: Floats) -> Interval:
        finite = np.isfinite(low), np.isfinite(high)
        ends = zip(finite, (low, high), strict=True)
        least, most = (np.where(f, quotient(np.where(f, e, 0.0), self.divisors), e) for f, e in ends)
        if not self.remainder:
            return least, most
        same = finite[0] & finite[1] & (least == most)
        start = np.where(same, least * self.divisors, 0.0)
        return np.where(same, low - start, 0.0), np.where(same, high - start, self.divisors - 1)

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval | None:
        divisors = self.divisors[self.entry_of]
        return None if self.remainder else (small * divisors, large * divisors + divisors - 1)

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        yes = np.ones_like(low, dtype=np.bool_)
        return yes, yes if self.remainder else ~yes

    def integer_entries(self, arguments: Bools) -> Bools:
        return np.ones(self.size, dtype=np.bool_)

    def multiples(self, arguments: Floats) -> Floats:
        return np.ones(self.size)

    @property
    def is_tabulable(self) -> bool:
        return False

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        return np.full(len(inside), float(self.remainder))

    def choices(self, arguments: Floats, inside: Floats, values: Floats) -> Choices:
        """The quotient keeps its value."""
        count = len(arguments)
        lower = quotient(inside, self.divisors) * self.divisors - arguments
        return Choices(np.arange(count), np.zeros(count), np.ones(count), lower, lower + self.divisors - 1)

    def function_keys(self, numbers: dict[Any, int]) -> tuple[list[Any], list[Floats]]:
        return [self.remainder], [self.divisors]

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return QuotientBlock(divisors=self.divisors.tolist(), remainder=self.remainder, **common)
