"""Exponentials, logarithms and absolute values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.base import Block, Choices, Definition
from gpusched_dsl.ir.definitions.intervals import Interval, loosen, loosen_arguments
from gpusched_dsl.ir.definitions.power import AWAY

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution

_FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {"exp": np.exp, "log": np.log, "abs": np.abs}
_NARROW = "it becomes linear only if its argument is integer and has narrow bounds"


class UnaryBlock(Block, tag="unary"):
    """The function of each argument; `log` is the natural one."""

    function: Literal["exp", "log", "abs"]

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return Unary(**common, function=self.function)


@dataclass(frozen=True, eq=False)
class Unary(Definition):
    """`exp`, `log` (natural) or `abs` of one argument."""

    function: str = "exp"

    op: ClassVar[str] = "unary"
    block: ClassVar[type[Block] | None] = UnaryBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "exp": ("an exponential of a continuous term", _NARROW),
        "log": ("a logarithm of a continuous term", _NARROW),
        "abs": ("not convex in this place", "linear rows need integer variables for it"),
    }

    @property
    def operation(self) -> str:
        return self.function

    def evaluate(self, arguments: Floats) -> Floats:
        return _FUNCTIONS[self.function](arguments)

    def entries_without_value(self, end: Floats) -> Bools:
        return np.asarray(end <= 0) if self.function == "log" else Definition.entries_without_value(self, end)

    def domain_text(self, entry: int) -> str:
        return "above 0"

    def image(self, low: Floats, high: Floats) -> Interval:
        if self.function == "abs":
            inside = (low <= 0) & (high >= 0)
            a, b = np.abs(low), np.abs(high)
            return np.where(inside, 0.0, np.minimum(a, b)), np.maximum(a, b)
        if self.function == "log":
            return loosen(np.log(np.maximum(low, 0.0)), np.log(np.maximum(high, 0.0)))
        return loosen(np.exp(low), np.exp(high))

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval:
        if self.function == "abs":
            return -large, large
        if self.function == "log":
            return loosen_arguments(np.exp(small), np.exp(large))
        return loosen_arguments(np.log(np.maximum(small, 0.0)), np.log(np.maximum(large, 0.0)))

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        yes = np.ones_like(low, dtype=np.bool_)
        if self.function == "abs":
            return high > 0, low < 0
        return yes, low <= 0 if self.function == "log" else ~yes

    def convexity_of_moving(self, low: Floats, high: Floats, moving: Codes) -> tuple[Bools, Bools]:
        yes = np.ones(self.size, dtype=np.bool_)
        if self.function == "abs":
            return yes, (low >= 0) | (high <= 0)
        return (~yes, yes) if self.function == "log" else (yes, ~yes)

    def integer_entries(self, arguments: Bools) -> Bools:
        return arguments if self.function == "abs" else Definition.integer_entries(self, arguments)

    def multiples(self, arguments: Floats) -> Floats:
        return arguments if self.function == "abs" else Definition.multiples(self, arguments)

    @property
    def is_tabulable(self) -> bool:
        return self.function != "abs"

    def move_into_domain(self, arguments: Floats) -> Floats:
        return np.maximum(arguments, AWAY) if self.function == "log" else arguments

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        if self.function == "abs":
            return np.where(inside < 0, -1.0, 1.0)
        return 1.0 / inside if self.function == "log" else values

    def choices(self, arguments: Floats, inside: Floats, values: Floats) -> Choices:
        """The argument of an absolute value keeps its sign."""
        if self.function != "abs":
            return Definition.choices(self, arguments, inside, values)
        count, side = len(arguments), np.where(arguments < 0, -1.0, 1.0)
        return Choices(np.arange(count), np.zeros(count), side, -side * arguments, np.full(count, np.inf))

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return UnaryBlock(function=self.function, **common)  # type: ignore[arg-type]
