"""Whether several values differ from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.base import Block, Definition
from gpusched_dsl.ir.definitions.intervals import Interval
from gpusched_dsl.ir.definitions.truth import TruthDefinition
from gpusched_dsl.ir.json.arrays import Broken, Number, check_length, check_starts
from gpusched_dsl.ir.tolerances import ROUNDING

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution


class DistinctBlock(Block, tag="distinct"):
    """Entry i is 1 if no two of the arguments `starts[i] .. starts[i+1] - 1` are equal, else 0."""

    starts: list[Number]

    def check(self, place: str, laws: int, binary: Bools) -> None:
        check_length(self.starts, len(self.results) + 1, f"{place}.starts", "results, plus one")
        check_starts(self.starts, len(self.arguments.constants), f"{place}.starts", least=1)
        if not binary[np.array(self.results, dtype=np.int64)].all():
            raise Broken(f"{place}.results names a column that is not binary")

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return Distinct(**common | {"starts": np.array(self.starts, dtype=np.int64)})


@dataclass(frozen=True, eq=False)
class Distinct(TruthDefinition):
    """1 if no two arguments are equal, else 0; the result columns are binary."""

    op: ClassVar[str] = "distinct"
    block: ClassVar[type[Block] | None] = DistinctBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "distinct": ("a condition on variables", "linear rows need integer variables for it")
    }

    def evaluate(self, arguments: Floats) -> Floats:
        order, again = self._neighbours(arguments)
        near = ROUNDING * np.maximum(1.0, np.abs(arguments[order]))
        equal = again & (np.diff(arguments[order], prepend=-np.inf) <= near)
        return self._without(order[equal])

    def _neighbours(self, values: Floats) -> tuple[Codes, Bools]:
        """The arguments sorted by entry and value, and which of them follow another argument of their entry."""
        entry = self.entry_of
        order = np.lexsort((values, entry))
        return order, np.diff(entry[order], prepend=-1) == 0

    def _without(self, arguments: Codes) -> Floats:
        """1 for the entries without any of some arguments."""
        found: Floats = (np.bincount(self.entry_of[arguments], minlength=self.size) == 0).astype(np.float64)
        return found

    def image(self, low: Floats, high: Floats) -> Interval:
        """Ranges that do not meet are distinct; two fixed and equal arguments are not."""
        order, again = self._neighbours(low)
        reach = high[order]
        apart = np.ones(len(order), dtype=np.bool_)
        apart[1:] = low[order][1:] > reach[:-1] + ROUNDING * np.maximum(1.0, np.abs(reach[:-1]))
        always = self._without(order[again & ~apart])
        fixed = np.flatnonzero(low == high)
        twice = np.zeros(self.size, dtype=np.bool_)
        if len(fixed):
            known = np.lexsort((low[fixed], self.entry_of[fixed]))
            entry, value = self.entry_of[fixed][known], low[fixed][known]
            twice[entry[1:][(np.diff(entry) == 0) & (np.diff(value) == 0)]] = True
        return always, np.where(twice, 0.0, 1.0)

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return DistinctBlock(starts=self.starts.tolist(), **common)
