"""Powers with given exponents, among them reciprocals and roots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.base import Block, Definition
from gpusched_dsl.ir.definitions.intervals import Interval, loosen, loosen_arguments
from gpusched_dsl.ir.json.arrays import check_length, finite_array, finite_numbers
from gpusched_dsl.ir.tolerances import ROUNDING

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution

# How far a value may lie outside the domain of a function (a root of -1e-12) and still be read as its end.
AT_THE_END = ROUNDING
# Arguments of functions with a pole or a root at 0 are kept at least this far on their side.
AWAY = 1e-12


class PowerBlock(Block, tag="power"):
    """Entry i is argument i to the power of `exponents[i]`."""

    exponents: list[float]

    def check(self, place: str, laws: int, binary: Bools) -> None:
        Block.check(self, place, laws, binary)
        check_length(self.exponents, len(self.results), f"{place}.exponents", "results")
        finite_array(self.exponents, f"{place}.exponents")

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return Power(**common, exponents=np.array(self.exponents, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Power(Definition):
    """One argument to the power of `exponents`: integer exponents of any argument, others of arguments >= 0.

    Exponent -1 is the reciprocal, 0.5 the square root.
    """

    exponents: Floats = field(default_factory=lambda: np.zeros(0))

    op: ClassVar[str] = "power"
    block: ClassVar[type[Block] | None] = PowerBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "power": (
            "a power of a continuous term",
            "a power becomes linear only if its argument is integer and has narrow bounds",
        )
    }

    @property
    def _integer_exponents(self) -> Bools:
        return np.asarray(self.exponents == np.rint(self.exponents))

    def evaluate(self, arguments: Floats) -> Floats:
        lifted = np.where(~self._integer_exponents & (arguments < 0) & (arguments > -AT_THE_END), 0.0, arguments) + 0.0
        return np.asarray(np.power(lifted, self.exponents), dtype=np.float64)

    def entries_without_value(self, end: Floats) -> Bools:
        return np.asarray(~self._integer_exponents & np.where(self.exponents > 0, end < 0, end <= 0))

    def domain_text(self, entry: int) -> str:
        return "at least 0" if self.exponents[entry] > 0 else "above 0"

    def image(self, low: Floats, high: Floats) -> Interval:
        exponents, integer = self.exponents, self._integer_exponents
        even = integer & (exponents % 2 == 0)
        low, high = np.where(integer, low, np.maximum(low, 0.0)), np.where(integer, high, np.maximum(high, 0.0))
        across = (low < 0) & (high > 0)
        # The ends of an interval on one side of 0: a pole lies on the side of the interval.
        at_low, at_high = np.power(low, exponents), np.power(high, exponents)
        pole = exponents < 0
        at_low = np.where(pole & (low == 0), np.inf, at_low)
        at_high = np.where(pole & (high == 0), np.where(even, np.inf, np.where(low < 0, -np.inf, np.inf)), at_high)
        small, large = np.minimum(at_low, at_high), np.maximum(at_low, at_high)
        small = np.where(across, np.where(even & ~pole, 0.0, np.where(pole & ~even, -np.inf, small)), small)
        large = np.where(across & pole, np.inf, large)
        constant = exponents == 0
        return loosen(np.where(constant, 1.0, small), np.where(constant, 1.0, large))

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval:
        """On arguments >= 0 a power is monotone, and so is its inverse; an even power bounds both sides."""
        exponents = self.exponents
        inverse = np.where(exponents == 0, 1.0, 1.0 / exponents)
        at_small, at_large = np.power(np.maximum(small, 0.0), inverse), np.power(np.maximum(large, 0.0), inverse)
        falls = exponents < 0
        begin, end = loosen_arguments(np.where(falls, at_large, at_small), np.where(falls, at_small, at_large))
        usable = (low >= 0) & (exponents != 0)
        even = (exponents > 0) & (exponents % 2 == 0)
        return (
            np.where(usable, begin, np.where(even, -end, -np.inf)),
            np.where(usable | even, end, np.inf),
        )

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        exponents, integer = self.exponents, self._integer_exponents
        even = integer & (exponents % 2 == 0)
        shrinks = exponents < 0
        # On the positive side the slope has the sign of the exponent, on the negative side also that of x^(p-1).
        right, left = high > 0, low < 0
        rising = (right & ~shrinks) | (left & np.where(even, shrinks, ~shrinks))
        falling = (right & shrinks) | (left & np.where(even, ~shrinks, shrinks))
        changes = exponents != 0
        undefined = (shrinks & (low <= 0) & (high >= 0)) | (~integer & left)
        return (rising & changes) | undefined, (falling & changes) | undefined

    def convexity_of_moving(self, low: Floats, high: Floats, moving: Codes) -> tuple[Bools, Bools]:
        """x^p for x > 0 is convex if p > 1 or p < 0; for x < 0 even integer powers are convex, and odd ones
        are the opposite.
        """
        p, integer = self.exponents, self._integer_exponents
        even = integer & (p % 2 == 0)
        straight = (p == 0) | (p == 1)
        bends_up = (p > 1) | (p < 0)
        # A fractional exponent has values on the right only, a negative one on one side of 0.
        right, left = (low >= 0) | ~integer, (high <= 0) & integer
        convex = straight | (bends_up & (right | (even & (left | (p > 0)))))
        concave = straight | (~bends_up & right) | (bends_up & left & ~even)
        return convex, concave

    def integer_entries(self, arguments: Bools) -> Bools:
        return arguments & (self.exponents >= 0) & self._integer_exponents

    def multiples(self, arguments: Floats) -> Floats:
        usable = (self.exponents >= 1) & self._integer_exponents
        return np.where(usable, arguments ** np.where(usable, self.exponents, 1.0), 0.0)

    def move_into_domain(self, arguments: Floats) -> Floats:
        return np.where(self._integer_exponents, arguments, np.maximum(arguments, AWAY))

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        return np.asarray(self.exponents * np.power(inside, self.exponents - 1.0))

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return PowerBlock(exponents=finite_numbers(self.exponents), **common)
