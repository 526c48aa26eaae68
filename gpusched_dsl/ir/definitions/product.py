"""Products of columns and of affine expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.base import Block, Definition
from gpusched_dsl.ir.definitions.intervals import Interval, loosen_arguments, product_of
from gpusched_dsl.ir.json.arrays import Number, check_length, check_starts
from gpusched_dsl.ir.tolerances import ROUNDING

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution


class ProductBlock(Block, tag="product"):
    """Entry i is the product of the arguments `starts[i] .. starts[i+1] - 1`."""

    starts: list[Number]

    def check(self, place: str, laws: int, binary: Bools) -> None:
        check_length(self.starts, len(self.results) + 1, f"{place}.starts", "results, plus one")
        check_starts(self.starts, len(self.arguments.constants), f"{place}.starts", least=1)

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return Product(**common | {"starts": np.array(self.starts, dtype=np.int64)})


@dataclass(frozen=True, eq=False)
class Product(Definition):
    """The product of two arguments or more."""

    op: ClassVar[str] = "product"
    block: ClassVar[type[Block] | None] = ProductBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "product": (
            "a product of two continuous factors",
            "a product becomes linear only if a factor is 0/1, integer or data",
        )
    }

    def evaluate(self, arguments: Floats) -> Floats:
        """Return the products; `0 * log(0)` is 0, as in entropies, where `x * log(x)` is continuous."""
        if not self.size:
            return np.zeros(0)
        with np.errstate(invalid="ignore"):
            values = np.multiply.reduceat(arguments, self.starts[:-1])
        if not np.isnan(values).any():
            return values
        zero = np.logical_or.reduceat(arguments == 0.0, self.starts[:-1])
        limits = np.logical_and.reduceat(np.isfinite(arguments) | np.isneginf(arguments), self.starts[:-1])
        return np.where(zero & limits, 0.0, values)

    def image(self, low: Floats, high: Floats) -> Interval:
        starts, counts = self.starts[:-1], np.diff(self.starts)
        result = low[starts], high[starts]
        for place in range(1, int(counts.max(initial=1))):  # over the factors of one product, not over products
            more = np.flatnonzero(counts > place)
            at = starts[more] + place
            grown = product_of((result[0][more], result[1][more]), (low[at], high[at]))
            result[0][more], result[1][more] = grown
        square = np.flatnonzero(self._squares)
        result[0][square] = np.maximum(result[0][square], 0.0)
        return result

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval:
        """`a * b` within an interval and b away from 0, by more than its rounding: a lies within the quotient."""
        pair = np.diff(self.starts)[self.entry_of] == 2
        place = np.arange(len(low))
        first = self.starts[:-1][self.entry_of]
        other = np.where(pair, first + 1 - (place - first), place)
        b_low, b_high = low[other], high[other]
        usable = pair & ((b_low > ROUNDING) | (b_high < -ROUNDING))
        corners = np.stack([np.where(r == 0, 0.0, r / b) for r in (small, large) for b in (b_low, b_high)])
        # inf / inf is no number, and no bound
        begin, end = loosen_arguments(corners.min(axis=0), corners.max(axis=0))
        return np.where(usable, begin, -np.inf), np.where(usable, end, np.inf)

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        """The slope in one factor is the product of the others."""
        entry, entries = self.entry_of, self.size
        mixed, negative, zero = (low < 0) & (high > 0), (high <= 0) & (low < 0), (low == 0) & (high == 0)

        def others(flags: Bools) -> Codes:
            return np.bincount(entry, weights=flags, minlength=entries).astype(np.int64)[entry] - flags

        odd, unknown, flat = others(negative) % 2 == 1, others(mixed) > 0, others(zero) > 0
        return (unknown | ~odd) & ~flat, (unknown | odd) & ~flat

    def convexity_of_moving(self, low: Floats, high: Floats, moving: Codes) -> tuple[Bools, Bools]:
        return (moving == 1) | self._squares, moving == 1

    @property
    def _squares(self) -> Bools:
        """Which entries are a column times itself."""
        two = np.diff(self.starts) == 2
        single = np.append(self.arguments.single, (-1, -1))
        first = self.starts[:-1]
        same: Bools = two & (single[first] >= 0) & (single[first] == single[first + 1])
        return same

    def integer_entries(self, arguments: Bools) -> Bools:
        return np.asarray(np.logical_and.reduceat(arguments, self.starts[:-1]))

    def multiples(self, arguments: Floats) -> Floats:
        return np.multiply.reduceat(np.where(np.isinf(arguments), 1.0, arguments), self.starts[:-1])

    @property
    def exact_entries(self) -> Bools:
        return np.zeros(self.size, dtype=np.bool_)

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        """The product of the other factors."""
        result = np.ones(len(inside))
        counts = np.diff(self.starts)
        for place in range(int(counts.max(initial=0))):  # over the factors of one product, not over products
            more = np.flatnonzero(counts > place)
            at = self.starts[:-1][more] + place
            factor = np.ones(self.size)
            factor[more] = inside[at]
            others = np.ones(len(inside), dtype=np.bool_)
            others[at] = False
            result *= np.where(others, factor[self.entry_of], 1.0)
        return result

    @property
    def is_tabulable(self) -> bool:
        return False

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return ProductBlock(starts=self.starts.tolist(), **common)
