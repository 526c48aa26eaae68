"""Expected values of the smaller of a random quantity and an affine expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.definitions.base import Block, Definition
from gpusched_dsl.ir.definitions.intervals import Interval, loosen
from gpusched_dsl.ir.json.arrays import Number, check_length, numbers

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution

# More atoms than that in the range are approximated too: every entry gets a row for each of them.
EXACT_ATOMS = 1000


class PartialExpectationBlock(Block, tag="partial_expectation"):
    """Entry i is E[min(W, argument i)] with W of the law that has the number `laws[which[i]]` in the file."""

    which: list[Number]
    laws: list[Number]

    def check(self, place: str, laws: int, binary: Bools) -> None:
        Block.check(self, place, laws, binary)
        check_length(self.which, len(self.results), f"{place}.which", "results")
        numbers(self.which, len(self.laws), f"{place}.which", "law")
        numbers(self.laws, laws, f"{place}.laws", "law")

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        own = tuple(laws[number] for number in self.laws)
        return PartialExpectation(**common, which=np.array(self.which, dtype=np.int64), laws=own)


@dataclass(frozen=True, eq=False)
class PartialExpectation(Definition):
    """`E[min(W, x)]` of one argument x, entry i with W ~ `laws[which[i]]`: concave and non-decreasing."""

    which: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    laws: tuple[Distribution, ...] = ()

    op: ClassVar[str] = "partial_expectation"
    block: ClassVar[type[Block] | None] = PartialExpectationBlock

    def evaluate(self, arguments: Floats) -> Floats:
        result = np.empty(self.size)
        for number in unique(self.which):
            entries = np.flatnonzero(self.which == number)
            result[entries] = self.laws[number].partial_expectation(arguments[entries])
        return result

    def image(self, low: Floats, high: Floats) -> Interval:
        """E[min(W, x)] does not fall with x, and tends to the mean."""
        means = np.array([law.mean for law in self.laws])[self.which]
        # Where an end is infinite any number will do: its value is not used.
        at_low = self.evaluate(np.where(np.isfinite(low), low, 0.0))
        at_high = self.evaluate(np.where(np.isfinite(high), high, 0.0))
        small = np.where(np.isfinite(low), at_low, np.where(low > 0, means, -np.inf))
        large = np.where(np.isfinite(high), at_high, np.where(high > 0, means, -np.inf))
        return loosen(small, large)

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        return np.ones_like(low, dtype=np.bool_), np.zeros_like(low, dtype=np.bool_)

    def convexity_of_moving(self, low: Floats, high: Floats, moving: Codes) -> tuple[Bools, Bools]:
        return np.zeros(self.size, dtype=np.bool_), np.ones(self.size, dtype=np.bool_)

    @property
    def exact_entries(self) -> Bools:
        atoms = [law.atoms for law in self.laws]
        return np.array([a is not None and len(a[0]) <= EXACT_ATOMS for a in atoms], dtype=np.bool_)[self.which]

    def function_keys(self, numbers: dict[Any, int]) -> tuple[list[Any], list[Floats]]:
        """The numbers of the laws: several blocks may share one."""
        own = np.array([numbers.setdefault(law, len(numbers)) for law in self.laws], dtype=np.float64)
        return [], [own[self.which]]

    @property
    def is_tabulable(self) -> bool:
        return False

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        own = [laws.setdefault(law, len(laws)) for law in self.laws]
        return PartialExpectationBlock(which=self.which.tolist(), laws=own, **common)
