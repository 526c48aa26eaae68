"""Several laws with a piecewise linear survival function as one: row i of every argument is for the law of row i."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.arrays import Codes, Floats, unique
from gpusched_dsl.ir.distributions.base import Distribution, as_floats
from gpusched_dsl.ir.distributions.linear_survival import LinearSurvival
from gpusched_dsl.ir.distributions.tables import keys_of


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
        if self._stack is not None:
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
    """The arrays of all laws behind one another; law i has the knots `starts[i] .. starts[i+1]-1`."""

    starts: Codes
    knots: Floats
    left: Floats
    right: Floats
    density: Floats
    at_knots: Floats
    beyond: Floats
    by_knot: NDArray[np.complex128]
    by_left: NDArray[np.complex128]
    by_right: NDArray[np.complex128]

    @staticmethod
    def of(laws: Sequence[LinearSurvival]) -> _Stack:
        sizes = [len(law.knots) for law in laws]
        owner = np.repeat(np.arange(len(laws)), sizes)
        parts = zip(*(law.arrays for law in laws), strict=True)
        knots, left, right, density, at_knots, beyond = (np.concatenate(part) for part in parts)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        keys = keys_of(owner, knots), keys_of(owner, -left), keys_of(owner, -right)
        return _Stack(starts, knots, left, right, density, at_knots, beyond, *keys)

    def rows(self, which: Codes) -> StackedSurvivals:
        return StackedSurvivals(self.knots, self.left, self.right, self, which)


@dataclass(frozen=True, eq=False)
class StackedSurvivals(LinearSurvival):
    """The law `which[i]` of a stack in row i: arguments and values have the shape of `which`."""

    stack: _Stack
    which: Codes

    def __post_init__(self) -> None:
        known = {"density": self.stack.density, "at_knots": self.stack.at_knots, "_beyond": self.stack.beyond}
        self.__dict__.update(known)

    @cached_property
    def _first(self) -> Codes:
        return self.stack.starts[self.which]

    @cached_property
    def _last(self) -> Codes:
        return self.stack.starts[self.which + 1] - 1

    def _count_up_to(self, x: Floats) -> Codes:
        return self.stack.by_knot.searchsorted(keys_of(self.which, as_floats(x)), side="right")

    def _first_not_above(self, y: Floats) -> Codes:
        return self.stack.by_right.searchsorted(keys_of(self.which, -as_floats(y)))

    def _count_not_below(self, y: Floats) -> Codes:
        return self.stack.by_left.searchsorted(keys_of(self.which, -as_floats(y)), side="right")

    @property
    def support(self) -> tuple[Floats, Floats]:  # type: ignore[override]
        return self.knots[self._first], self.knots[self._last]

    @property
    def mean(self) -> Floats:  # type: ignore[override]
        return self.at_knots[self._last]
