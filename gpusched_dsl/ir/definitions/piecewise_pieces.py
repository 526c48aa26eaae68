"""The linear pieces of piecewise-linear terms over the range of their arguments, for all entries at once."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.curves import Curves

# Slopes that differ by less than this, relative to the steepest of their term, are one: what rounding makes.
FLAT = 1e-12


class LinearPieces(Struct, frozen=True, eq=False):
    """Piece p of entry `entry[p]` (increasing): `y[p] + slope[p] * (argument - x[p])` on `left[p] .. right[p]`.

    Neighbouring pieces have different slopes. `run[p]` counts, within its entry, the runs of pieces that need no
    binary between them: over a run the function is convex where only `result >= f` matters, concave where only
    `result <= f` does, and linear where both do.
    """

    entry: Codes
    left: Floats
    right: Floats
    slope: Floats
    x: Floats
    y: Floats
    run: Codes
    starts: Codes

    @property
    def counts(self) -> Codes:
        return np.diff(self.starts)

    @property
    def runs(self) -> Codes:
        """Count the runs of each entry."""
        last = np.maximum(self.starts[1:] - 1, 0)
        return np.where(self.counts > 0, self.run[last] + 1, 0) if len(self.run) else np.zeros_like(self.counts)

    def of(self, entries: Codes) -> LinearPieces:
        """Return the pieces of some entries (increasing), renumbered."""
        numbers = np.full(len(self.starts) - 1, -1, dtype=np.int64)
        numbers[entries] = np.arange(len(entries))
        kept = numbers[self.entry] >= 0
        starts = np.concatenate(([0], np.cumsum(self.counts[entries])))
        return LinearPieces(
            numbers[self.entry[kept]], self.left[kept], self.right[kept], self.slope[kept],
            self.x[kept], self.y[kept], self.run[kept], starts,
        )  # fmt: skip

    def value_at(self, at: Floats) -> Floats:
        """The height of each piece, continued beyond its ends, at one argument per piece."""
        return self.y + self.slope * (at - self.x)


def pieces_of(curves: Curves, which: Codes, low: Floats, high: Floats, down: Bools, up: Bools) -> LinearPieces:
    """The pieces of curve `which[i]` that meet the range `low[i] .. high[i]` of its argument (ends may be infinite).

    `down[i]`: `result >= f` is needed in entry i; `up[i]`: `result <= f` is.
    """
    first, count = curves.starts[which], np.diff(curves.starts)[which]
    # Segment s of a curve ends at its point s and starts at point s - 1; the first and last go on for ever.
    own = np.repeat(np.arange(len(which), dtype=np.int64), count + 1)
    begins = np.concatenate(([0], np.cumsum(count + 1)))
    place = np.arange(begins[-1], dtype=np.int64) - begins[own]
    point = first[own] + place
    before, beyond = place == 0, place == count[own]
    left = np.where(before, -np.inf, curves.x[np.maximum(point - 1, 0)])
    right = np.where(beyond, np.inf, curves.x[np.minimum(point, len(curves.x) - 1)])
    met = (right > low[own]) & (left < high[own])
    # An argument that is fixed at a point or beyond both touches no open segment: take the one that ends there.
    met |= (low[own] == high[own]) & (left < low[own]) & (low[own] <= right)
    own, point, left, right = own[met], point[met], left[met], right[met]
    before, beyond = before[met], beyond[met]
    slope = _slopes(curves, which[own], point, before, beyond)
    at = np.where(before, point, point - 1)
    return _merge(own, left, right, slope, curves.x[at], curves.y[at], low, high, down, up)


def _slopes(curves: Curves, curve: Codes, point: Codes, before: Bools, beyond: Bools) -> Floats:
    """The slope of the segment that ends at each point."""
    here, last = np.minimum(point, len(curves.x) - 1), np.maximum(point - 1, 0)
    width = curves.x[here] - curves.x[last]
    inner = (curves.y[here] - curves.y[last]) / np.where(before | beyond | (width == 0), 1.0, width)
    return np.where(before, curves.slope_before[curve], np.where(beyond, curves.slope_after[curve], inner))


def _merge(
    own: Codes, left: Floats, right: Floats, slope: Floats, x: Floats, y: Floats,
    low: Floats, high: Floats, down: Bools, up: Bools,
) -> LinearPieces:  # fmt: skip
    """Neighbours of one slope joined, ends clipped to the range, runs counted."""
    entries = len(low)
    scale = np.zeros(entries)
    np.maximum.at(scale, own, np.abs(slope))
    change = np.diff(slope, prepend=0.0)
    fresh = np.diff(own, prepend=-1) > 0
    kept = fresh | (np.abs(change) > FLAT * scale[own])
    last = np.append(np.flatnonzero(kept)[1:] - 1, len(own) - 1) if len(own) else np.zeros(0, dtype=np.int64)
    right = right[last]
    own, left, slope, x, y, fresh = own[kept], left[kept], slope[kept], x[kept], y[kept], fresh[kept]
    change = np.diff(slope, prepend=0.0)
    kink = ~fresh & ((down[own] & (change < 0)) | (up[own] & (change > 0)))
    number = np.cumsum(kink)
    begin = np.flatnonzero(fresh)
    starts = np.concatenate(([0], np.cumsum(np.bincount(own, minlength=entries))))
    run: Codes = number - np.repeat(number[begin], np.diff(starts)[own[begin]])
    return LinearPieces(own, np.maximum(left, low[own]), np.minimum(right, high[own]), slope, x, y, run, starts)
