"""Comparisons as 0/1 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions.base import Block, Choices, Definition
from gpusched_dsl.ir.definitions.intervals import Interval
from gpusched_dsl.ir.definitions.truth import TruthDefinition
from gpusched_dsl.ir.json.arrays import Broken, Side, check_length, check_sides, infinite_from_none, sides
from gpusched_dsl.ir.tolerances import FEASIBILITY, ON_STEP, ROUNDING

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution


class HoldsBlock(Block, tag="holds"):
    """Entry i is 1 where `lower[i] <= argument i <= upper[i]`, else 0."""

    lower: list[Side]
    upper: list[Side]

    def check(self, place: str, laws: int, binary: Bools) -> None:
        Block.check(self, place, laws, binary)
        for name, ends in (("lower", self.lower), ("upper", self.upper)):
            check_length(ends, len(self.results), f"{place}.{name}", "results")
            check_sides(ends, f"{place}.{name}")
        if not binary[np.array(self.results, dtype=np.int64)].all():
            raise Broken(f"{place}.results names a column that is not binary")

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        lower, upper = infinite_from_none(self.lower, -np.inf), infinite_from_none(self.upper, np.inf)
        return Reified(**common, lower=lower, upper=upper)


@dataclass(frozen=True, eq=False)
class Reified(TruthDefinition):
    """1 where `lower <= argument <= upper`, else 0; the result columns are binary.

    `steps`: the distances between the values that the arguments can have, 0 where they can have any
    (`ir/granularity.py`); left out, they are 0.
    """

    lower: Floats = field(default_factory=lambda: np.zeros(0))
    upper: Floats = field(default_factory=lambda: np.zeros(0))
    steps: Floats = field(default_factory=lambda: np.zeros(0))

    op: ClassVar[str] = "holds"
    block: ClassVar[type[Block] | None] = HoldsBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "holds": ("a condition on variables", "linear rows need integer variables for it")
    }

    def __post_init__(self) -> None:
        if not len(self.steps):
            object.__setattr__(self, "steps", np.zeros(self.size))

    def evaluate(self, arguments: Floats) -> Floats:
        slack = within_steps(ROUNDING * np.maximum(1.0, np.abs(arguments)), self.steps)
        return ((arguments >= self.lower - slack) & (arguments <= self.upper + slack)).astype(np.float64)

    def values_with_tolerance(self, point: Floats, tolerance: float) -> Floats:
        """Return the truth value of every entry; a point with value 1 is accepted within a tolerance.

        The tolerance is of the largest of 1, the side and the terms of the comparison.
        """
        arguments = self.arguments
        terms = np.zeros(self.size)
        np.maximum.at(terms, arguments.matrix.row_of, np.abs(arguments.matrix.values * point[arguments.matrix.columns]))
        values = arguments.values(point)
        ends = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (self.lower, self.upper)]
        slack = within_steps(tolerance * np.maximum(1.0, np.maximum(terms, np.maximum(*ends))), self.steps)
        near = (values >= self.lower - slack) & (values <= self.upper + slack)
        stated_true = point[self.results] > 0.5
        return np.where(near & stated_true, 1.0, self.evaluate(values))

    def image(self, low: Floats, high: Floats) -> Interval:
        always = (low >= self.lower) & (high <= self.upper)
        # Certain to fail only beyond what a point may break: a choice of the solver counts within that.
        far = np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
        room = within_steps(FEASIBILITY * far, self.steps)
        never = (low > self.upper + room) | (high < self.lower - room)
        return always.astype(np.float64), (~never).astype(np.float64)

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval:
        """A required comparison is a row."""
        must = small > 0.5
        return np.where(must, self.lower, -np.inf), np.where(must, self.upper, np.inf)

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        return self.lower > low, self.upper < high

    def choices(self, arguments: Floats, inside: Floats, values: Floats) -> Choices:
        """A comparison that is true stays true."""
        true = np.flatnonzero(values > 0.5)
        lower, upper = self.lower[true] - arguments[true], self.upper[true] - arguments[true]
        return Choices(true, np.zeros(len(true)), np.ones(len(true)), lower, upper)

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return HoldsBlock(lower=sides(self.lower, -np.inf), upper=sides(self.upper, np.inf), **common)


def within_steps(slack: Floats, steps: Floats) -> Floats:
    """Return the tolerances of comparisons, small enough to separate the values of stepwise expressions."""
    return np.where(steps > 0, np.minimum(slack, ON_STEP * steps), slack)
