"""Piecewise-linear curves for G(x) = E[min(W, x)], exact or with the largest error known.

G is concave with G' = S, the survival function. Between two knots the chord lies below G; the tangents at the knots
meet above it. Where a chord with slope s is farthest from G the survival is s, which `inv_lo` finds; two tangents are
farthest from G where they meet. So the error of a curve is computed, not estimated.

Knots stand where the integral of sqrt(-dS dx) has grown by equal steps: a cell of length h over which S falls by f has
a chord error of at most h f / 4, about h f / 8 where the density hardly changes, and equal errors need the fewest cells
(at most about sqrt(range / error) / 2 of them by Cauchy-Schwarz, whatever the law).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.ir.matrix import Floats

# More atoms than that in the range are approximated too: every entry gets a row for each of them.
EXACT_ATOMS = 1000
GRID = 1000


@dataclass(frozen=True, eq=False)
class Curve:
    """Points with x increasing; before the first the slope is `before`, behind the last `after`."""

    x: Floats
    y: Floats
    before: float
    after: float
    error: float


def curve_of(law: Distribution, low: float, high: float, error: float, most: int, above: bool) -> Curve:
    """A curve for arguments in `low .. high` (infinite ends allowed), nowhere above G, or with `above` nowhere below.

    The error is at most `error` if `most` cells or fewer can do that, else what so many cells can do.
    """
    if law.atoms is not None:
        values, _ = law.atoms
        inside = values[(values >= low) & (values <= high)]
        if len(inside) <= EXACT_ATOMS:
            return _through_atoms(law, inside, low, high)
    start, end = _range(law, low, high, error)
    if start >= end:
        return _line(law, low, high)
    grid, measure = _grid(law, start, end)
    whole = float(measure[-1])
    wanted = int(np.ceil(np.clip(whole / np.sqrt(8 * error), 1, most)))
    while True:
        knots = _knots(law, grid, measure, wanted)
        curve = (_tangents if above else _chords)(law, knots, low, high)
        if curve.error <= error or wanted >= most:
            return curve
        wanted = min(most, wanted + max(2, wanted // 8))


def _range(law: Distribution, low: float, high: float, error: float) -> tuple[float, float]:
    """Where knots may stand: within the support, tails cut off where what lies beyond is worth less than the error."""
    start, end = max(low, law.support[0]), min(high, law.support[1])
    if np.isneginf(start):
        levels = 1 - np.logspace(-1, -15, 57)
        places = law.inv_lo(levels)
        fits = places - law.partial_expectation(places) <= error / 2  # E max(x - W, 0)
        start = float(min(places[fits].max() if fits.any() else places.min(), end))
    if np.isposinf(end):
        places = law.inv_hi(np.logspace(-1, -15, 57))
        fits = law.stop_loss(places) <= error / 2
        end = float(max(places[fits].min() if fits.any() else places.max(), start))
    return start, end


def _line(law: Distribution, low: float, high: float) -> Curve:
    """Outside the support: G(x) = x before it, the mean behind it."""
    at = np.array([law.support[0] if high <= law.support[0] else law.support[1]])
    at = np.where(np.isfinite(at), at, np.clip(law.mean, low, high))
    return Curve(at, law.partial_expectation(at), 1.0, 0.0, 0.0)


def _through_atoms(law: Distribution, atoms: Floats, low: float, high: float) -> Curve:
    """Through G at the atoms, and at the finite ends of the range."""
    ends = np.array([low, high])
    x = np.union1d(atoms, ends[np.isfinite(ends)]) if len(atoms) == 0 or np.isfinite(ends).any() else atoms
    if not len(x):
        x = np.array([law.mean])
    before, after = float(law.survival_left(x[:1])[0]), float(law.survival(x[-1:])[0])
    return Curve(x, law.partial_expectation(x), before, after, 0.0)


def _grid(law: Distribution, start: float, end: float) -> tuple[Floats, Floats]:
    """Places close to one another in x and in S, and the integral of sqrt(-dS dx) up to each."""
    kinks = law.kinks
    levels = np.linspace(0.0, 1.0, GRID // 5 + 1)[1:-1]
    tail = np.logspace(-15, -3, 37)
    places = (
        np.linspace(start, end, GRID + 1),
        law.inv_lo(np.concatenate((levels, tail, 1 - tail))),
        kinks[(kinks > start) & (kinks < end)],
    )
    grid = np.unique(np.clip(np.concatenate(places), start, end))
    falls = np.maximum(law.survival(grid[:-1]) - law.survival_left(grid[1:]), 0.0)
    return grid, np.concatenate(([0.0], np.cumsum(np.sqrt(falls * np.diff(grid)))))


def _knots(law: Distribution, grid: Floats, measure: Floats, cells: int) -> Floats:
    """About `cells` cells of equal measure, with a knot at every jump and kink if these are few."""
    steps = np.interp(np.linspace(0.0, measure[-1], cells + 1)[1:-1], measure, grid)
    kinks = law.kinks
    inside = kinks[(kinks > grid[0]) & (kinks < grid[-1])]
    inside = inside if len(inside) <= cells else np.zeros(0)
    return np.unique(np.concatenate((grid[[0, -1]], steps, inside)))


def _chords(law: Distribution, knots: Floats, low: float, high: float) -> Curve:
    y = law.partial_expectation(knots)
    slopes = np.diff(y) / np.diff(knots)
    farthest = np.clip(law.inv_lo(slopes), knots[:-1], knots[1:])
    gaps = law.partial_expectation(farthest) - (y[:-1] + slopes * (farthest - knots[:-1]))
    error = max(float(gaps.max(initial=0.0)), *_beyond(law, knots, low, high))
    return Curve(knots, y, 1.0, 0.0, error)


def _tangents(law: Distribution, knots: Floats, low: float, high: float) -> Curve:
    """The tangents at the knots; beyond the ends of the knots those there, where the range goes on."""
    y = law.partial_expectation(knots)
    leaving, coming = law.survival(knots)[:-1], law.survival_left(knots)[1:]
    width, falls = np.diff(knots), leaving - coming
    step = np.where(falls > 0, (np.diff(y) - coming * width) / np.where(falls > 0, falls, 1.0), width / 2)
    step = np.clip(step, 0.0, width)
    meet = knots[:-1] + step
    # The lower of both tangents is exact at the meeting point up to rounding; the larger keeps the curve above G.
    at_meet = np.maximum(y[:-1] + leaving * step, law.partial_expectation(meet))
    error = float((at_meet - law.partial_expectation(meet)).max(initial=0.0))
    before = 1.0 if knots[0] == law.support[0] else float(law.survival_left(knots[:1])[0])
    after = 0.0 if knots[-1] == law.support[1] else float(law.survival(knots[-1:])[0])
    ends = y.copy()
    if np.isneginf(low) and before < 1:  # a tail was cut: G stays below x
        ends[0], error, before = knots[0], max(error, float(knots[0] - y[0])), 1.0
    if np.isposinf(high) and after > 0:  # and below the mean
        ends[-1], error, after = law.mean, max(error, law.mean - float(y[-1])), 0.0
    x, values = np.concatenate((knots, meet)), np.concatenate((ends, at_meet))
    x, first = np.unique(x, return_index=True)
    return Curve(x, values[first], before, after, error)


def _beyond(law: Distribution, knots: Floats, low: float, high: float) -> tuple[float, float]:
    """The errors of slope 1 before the first knot and slope 0 behind the last one, as far as the range goes."""
    below = knots[0] - law.partial_expectation(knots[:1])[0] if low < knots[0] else 0.0
    return float(below), float(law.stop_loss(knots[-1:])[0]) if high > knots[-1] else 0.0
