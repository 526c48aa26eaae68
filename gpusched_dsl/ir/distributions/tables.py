"""Piecewise linear survival functions with jumps, of discrete, measured and uniform distributions, as one table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gpusched_dsl.ir.arrays import Bools, Codes, Floats

# Levels that differ relatively by less than this are one: a level that was computed must find itself again.
SAME_LEVEL = 1e-14


class Tables(Struct, frozen=True, eq=False, dict=True):
    """Law i has the knots `starts[i] .. starts[i+1]-1`; `left`, `right` are S before and at a knot; linear between."""

    starts: Codes
    knots: Floats
    left: Floats
    right: Floats

    @staticmethod
    def of(laws: Sequence[tuple[Floats, Floats, Floats]]) -> Tables:
        """Of the knots of each law, and S before and at them."""
        starts = np.concatenate(([0], np.cumsum([len(knots) for knots, _, _ in laws]))).astype(np.int64)
        knots, left, right = (np.concatenate(parts) for parts in zip(*laws, strict=True))
        return Tables(starts, knots, left, right)

    @cached_property
    def _last(self) -> Bools:
        """Which knots are the last of their law."""
        last = np.zeros(len(self.knots), dtype=np.bool_)
        last[self.starts[1:] - 1] = True
        return last

    @cached_property
    def _owner(self) -> Codes:
        """The law of each knot."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def by_knot(self) -> NDArray[np.complex128]:
        return keys_of(self._owner, self.knots)

    @cached_property
    def by_left(self) -> NDArray[np.complex128]:
        return keys_of(self._owner, -self.left)

    @cached_property
    def by_right(self) -> NDArray[np.complex128]:
        return keys_of(self._owner, -self.right)

    @cached_property
    def _by_flat(self) -> NDArray[np.complex128]:
        starts, levels = self.flats
        return keys_of(np.repeat(np.arange(len(starts) - 1), np.diff(starts)), -levels)

    @cached_property
    def density(self) -> Floats:
        """Return the slope of -S after each knot; 0 after the last of a distribution."""
        width = np.where(self._last, 1.0, np.diff(self.knots, append=0.0))
        return np.where(self._last, 0.0, (self.right - np.append(self.left[1:], 0.0)) / width)

    @cached_property
    def _rest(self) -> Floats:
        """The integral of S from each knot on."""
        width = np.where(self._last, 0.0, np.diff(self.knots, append=0.0))
        area = width * (self.right + np.append(self.left[1:], 0.0)) / 2
        # Summed from the end of each law, so that what is small stays precise.
        sums = np.add.accumulate(area[::-1])[::-1]
        behind = np.append(sums, 0.0)[self.starts[1:]]
        return np.asarray(sums - np.repeat(behind, np.diff(self.starts)))

    @cached_property
    def flats(self) -> tuple[Codes, Floats]:
        """Starts and levels, from high to low, of the flat parts of each law; above its first knot S is 1."""
        flat = np.flatnonzero(~self._last & (self.density == 0.0) & (self.right > 0.0))
        laws = np.arange(len(self.starts) - 1)
        owner = self._owner[flat]
        order = np.argsort(np.concatenate((laws, owner)), kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(laws)) + 1)))
        return starts, np.concatenate((np.ones(len(laws)), self.right[flat]))[order]

    def _place(self, x: Floats, row: Codes) -> tuple[Codes, Floats]:
        """Return the last knot not beyond each x, or the first of the distribution, and the distance of x
        (the last knot: 0).
        """
        beyond = self.by_knot.searchsorted(keys_of(row[:, None], x), side="right")
        at = np.maximum(beyond - 1, self.starts[row, None])
        step = x - self.knots[at]
        return at, np.where(self._last[at], np.minimum(step, 0.0), step)

    def survival(self, x: Floats, row: Codes) -> Floats:
        at, step = self._place(x, row)
        return np.where(step < 0, 1.0, self.right[at] - self.density[at] * np.maximum(step, 0.0))

    def inverses(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        first, end = self.starts[row, None], self.starts[row + 1, None] - 1
        here = np.minimum(self.by_right.searchsorted(keys_of(row[:, None], -u * (1 + SAME_LEVEL))), end)
        before = np.maximum(here - 1, first)
        lower = self._falls_to(u, before, here)
        # The last knot before which S is at least u is one of these two, or behind flat parts at that level.
        level = u * (1 - SAME_LEVEL)
        last = np.where(self.left[here] >= level, here, before)
        while (more := (last < end) & (self.left[np.minimum(last + 1, end)] >= level)).any():
            last = last + more
        return lower, np.maximum(lower, self._falls_to(u, last, np.minimum(last + 1, end)))

    def _falls_to(self, u: Floats, knot: Codes, after: Codes) -> Floats:
        """Return where S falls to u after a knot: there, on the way to the next knot, or by a jump at that knot."""
        slope, gap = self.density[knot], self.right[knot] - u
        slopes = slope > 0
        reached = np.minimum(self.knots[knot] + gap / np.where(slopes, slope, 1.0), self.knots[after])
        return np.where(gap > 0, np.where(slopes, reached, self.knots[after]), self.knots[knot])

    def beyond(self, x: Floats, row: Codes) -> Floats:
        at, step = self._place(x, row)
        inside = self._rest[at] - (self.right[at] - self.density[at] * step / 2) * step
        return np.where(step < 0, self._rest[at] - step, inside)

    def flats_around(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        """The lowest flat level above each u and the highest below it; 0 where there is none below, inf above."""
        starts, levels = self.flats
        first, end = starts[row, None], starts[row + 1, None]
        owner = row[:, None]
        above = self._by_flat.searchsorted(keys_of(owner, -u * (1 + SAME_LEVEL))) - 1
        below = self._by_flat.searchsorted(keys_of(owner, -u * (1 - SAME_LEVEL)), side="right")
        over = np.where(above >= first, levels[np.maximum(above, 0)], np.inf)
        return over, np.where(below < end, levels[np.minimum(below, len(levels) - 1)], 0.0)


def keys_of(owner: Codes, values: Floats) -> NDArray[np.complex128]:
    """Values of several laws as one array that increases where those of each law do: complex numbers are ordered by
    their real part, here the number of the law, then by their imaginary part.
    """
    keys = np.empty(np.broadcast_shapes(owner.shape, values.shape), dtype=np.complex128)
    keys.real, keys.imag = owner, values
    return keys
