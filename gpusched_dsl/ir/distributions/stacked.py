"""Several laws with a piecewise linear survival function as one: row i of every argument is for the law of row i."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats, unique
from gpusched_dsl.ir.distributions.base import Distribution, as_floats
from gpusched_dsl.ir.distributions.linear_survival import LinearSurvival
from gpusched_dsl.ir.distributions.tables import Tables, keys_of

_MANY = 8  # of so many times as many laws as are used, a stack is not made: each new job may bring a law of its own


class DistinctLaws(tuple[Distribution, ...]):
    """The laws of a random quantity, each once."""

    @cached_property
    def _stack(self) -> _Stack | None:
        """All of them as one, where each is a table."""
        laws = [law for law in self if type(law) is LinearSurvival]
        return _Stack.of(laws) if len(laws) == len(self) > 1 else None

    def each(self, which: Codes, function: Callable[..., Floats], *arrays: Floats) -> Floats:
        """`function(law, arrays...)` for the law of every row, in one call for laws that are tables, else in one for
        each law. `function` uses methods for arrays only.
        """
        used = unique(which)
        if len(used) == 1:
            return np.broadcast_to(function(self[int(used[0])], *arrays), which.shape)
        if len(self) <= _MANY * len(used) and self._stack is not None:
            return function(self._stack.rows(which), *arrays)
        result = np.empty(len(which))
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], used, side="right").tolist()
        for law, begin, end in zip(used.tolist(), [0, *ends], ends, strict=False):
            rows = order[begin:end]
            result[rows] = function(self[law], *(a[rows] for a in arrays))
        return result


@dataclass(frozen=True, eq=False)
class _Stack:
    """The tables of all laws, with G at their knots and the integral of S beyond them, both as each law has them."""

    tables: Tables
    at_knots: Floats
    beyond: Floats

    @staticmethod
    def of(laws: Sequence[LinearSurvival]) -> _Stack:
        knots, left, right, at_knots, beyond = zip(*(law.arrays for law in laws), strict=True)
        tables = Tables.of(list(zip(knots, left, right, strict=True)))
        return _Stack(tables, np.concatenate(at_knots), np.concatenate(beyond))

    def rows(self, which: Codes) -> StackedSurvivals:
        tables = self.tables
        return StackedSurvivals(tables.knots, tables.left, tables.right, self, which)


@dataclass(frozen=True, eq=False)
class StackedSurvivals(LinearSurvival):
    """The law `which[i]` of a stack in row i: arguments and values have the shape of `which`."""

    stack: _Stack
    which: Codes

    def __post_init__(self) -> None:
        stack = self.stack
        known = {"density": stack.tables.density, "at_knots": stack.at_knots, "_beyond": stack.beyond}
        self.__dict__.update(known)

    @cached_property
    def _found(self) -> list[tuple[Floats, tuple[Codes, Floats]]]:
        return []

    def _place(self, x: Floats) -> tuple[Codes, Floats]:
        # Formulas ask for S, G and the stop loss at the same few arrays in turn, and the object ends with the formula.
        for known, place in self._found:
            if known is x:
                return place
        place = super()._place(x)
        self._found.append((x, place))
        return place

    @cached_property
    def _first(self) -> Codes:
        return self.stack.tables.starts[self.which]

    @cached_property
    def _last(self) -> Codes:
        return self.stack.tables.starts[self.which + 1] - 1

    def _count_up_to(self, x: Floats) -> Codes:
        return self.stack.tables.by_knot.searchsorted(keys_of(self.which, as_floats(x)), side="right")

    def _first_not_above(self, y: Floats) -> Codes:
        return self.stack.tables.by_right.searchsorted(keys_of(self.which, -as_floats(y)))

    def _count_not_below(self, y: Floats) -> Codes:
        return self.stack.tables.by_left.searchsorted(keys_of(self.which, -as_floats(y)), side="right")

    @property
    def support(self) -> tuple[Floats, Floats]:  # type: ignore[override]
        return self.knots[self._first], self.knots[self._last]

    @property
    def mean(self) -> Floats:  # type: ignore[override]
        return self.at_knots[self._last]
