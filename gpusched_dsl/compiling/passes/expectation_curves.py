"""Piecewise-linear curves for G(x) = E[min(W, x)], exact or with the largest error known.

G is concave with G' = S, the survival function. Between two knots the chord lies below G; the tangents at the knots
meet above it. Where a chord with slope s is farthest from G the survival is s, which `inv_lo` finds; two tangents are
farthest from G where they meet. So the error of a curve is computed, not estimated.

Knots stand where the integral of sqrt(-dS dx) has grown by equal steps: a cell of length h over which S falls by f has
a chord error of at most h f / 4, about h f / 8 where the density hardly changes, and equal errors need the fewest cells
(at most about sqrt(range / error) / 2 of them by Cauchy-Schwarz, whatever the law).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions.partial_expectation import EXACT_ATOMS
from gpusched_dsl.ir.distributions import Distribution

GRID = 500


class ExpectationCurve(Struct, frozen=True, eq=False):
    """Points with x increasing; before the first the slope is `before`, after the last `after`."""

    x: Floats
    y: Floats
    before: float
    after: float
    error: float


def curve_of(law: Distribution, low: float, high: float, error: float, most: int, above: bool) -> ExpectationCurve:
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
    grid, measure, kinks = _grid(law, start, end, most)
    wanted = int(np.ceil(np.clip(measure[-1] / np.sqrt(8 * error), 1, 3 * most // 4)))
    steps = np.interp(np.linspace(0.0, measure[-1], wanted + 1)[1:-1], measure, grid)
    knots = np.unique(np.concatenate((grid[[0, -1]], steps, kinks)))
    while True:
        farthest, errors = (_meetings if above else _bulges)(law, knots)
        room = most - len(errors)
        worst = np.argsort(-errors, kind="stable")[: max(room, 0)]
        worst = worst[errors[worst] > error]
        more = np.union1d(knots, farthest[worst])
        if len(more) == len(knots):
            break
        knots = more
    return (_tangents if above else _chords)(law, knots, low, high)


def _range(law: Distribution, low: float, high: float, error: float) -> tuple[float, float]:
    """Return the range of knots: within the support, without tails whose contribution is below the error."""
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


def _line(law: Distribution, low: float, high: float) -> ExpectationCurve:
    """Return the values outside the support: G(x) = x before it, the mean after it."""
    at = np.array([law.support[0] if high <= law.support[0] else law.support[1]])
    at = np.where(np.isfinite(at), at, np.clip(law.mean, low, high))
    return ExpectationCurve(at, law.partial_expectation(at), 1.0, 0.0, 0.0)


def _through_atoms(law: Distribution, atoms: Floats, low: float, high: float) -> ExpectationCurve:
    """Through G at the atoms, and at the finite ends of the range."""
    ends = np.array([low, high])
    x = np.union1d(atoms, ends[np.isfinite(ends)]) if len(atoms) == 0 or np.isfinite(ends).any() else atoms
    if not len(x):
        x = np.array([law.mean])
    before, after = float(law.survival_left(x[:1])[0]), float(law.survival(x[-1:])[0])
    return ExpectationCurve(x, law.partial_expectation(x), before, after, 0.0)


def _grid(law: Distribution, start: float, end: float, most: int) -> tuple[Floats, Floats, Floats]:
    """Return points close in x and in S, the integral of sqrt(-dS dx) up to each, and the required knots.

    Knots stand at all jumps and kinks if these are few; else a cell of the grid, a fraction of those wanted, holds
    several jumps, and they count as one fall.
    """
    kinks = law.kinks[(law.kinks > start) & (law.kinks < end)]
    few = len(kinks) <= most // 2
    levels = np.linspace(0.0, 1.0, GRID // 5 + 1)[1:-1]
    tail = np.logspace(-15, -3, 37)
    lines = np.linspace(start, end, (GRID if few else most) + 1)
    places = lines, law.inv_lo(np.concatenate((levels, tail, 1 - tail))), kinks if few else lines
    grid = np.unique(np.clip(np.concatenate(places), start, end))
    left = law.survival_left(grid)
    falls = np.maximum((law.survival(grid) if few else left)[:-1] - left[1:], 0.0)
    measure = np.concatenate(([0.0], np.cumsum(np.sqrt(falls * np.diff(grid)))))
    return grid, measure, kinks if few else np.zeros(0)


def _bulges(law: Distribution, knots: Floats) -> tuple[Floats, Floats]:
    """Where in each cell G is farthest from its chord, and how far."""
    y = law.partial_expectation(knots)
    slopes = np.diff(y) / np.diff(knots)
    at = np.clip(law.inv_lo(slopes), knots[:-1], knots[1:])
    return at, law.partial_expectation(at) - (y[:-1] + slopes * (at - knots[:-1]))


def _meetings(law: Distribution, knots: Floats) -> tuple[Floats, Floats]:
    """Where the tangents at both ends of each cell meet, and how far above G."""
    at, height = _meeting_points(law, knots)
    return at, height - law.partial_expectation(at)


def _meeting_points(law: Distribution, knots: Floats) -> tuple[Floats, Floats]:
    y, width = law.partial_expectation(knots), np.diff(knots)
    leaving, coming = law.survival(knots)[:-1], law.survival_left(knots)[1:]
    falls = leaving - coming
    step = np.where(falls > 0, (np.diff(y) - coming * width) / np.where(falls > 0, falls, 1.0), width / 2)
    step = np.clip(step, 0.0, width)
    at = knots[:-1] + step
    return at, np.maximum(y[:-1] + leaving * step, law.partial_expectation(at))  # above G in spite of rounding


def _chords(law: Distribution, knots: Floats, low: float, high: float) -> ExpectationCurve:
    """Slope 1 before the first knot and 0 after the last; the tails count as errors if the range includes them."""
    y = law.partial_expectation(knots)
    below = float(knots[0] - y[0]) if low < knots[0] else 0.0
    beyond = float(law.stop_loss(knots[-1:])[0]) if high > knots[-1] else 0.0
    return ExpectationCurve(knots, y, 1.0, 0.0, max(float(_bulges(law, knots)[1].max(initial=0.0)), below, beyond))


def _tangents(law: Distribution, knots: Floats, low: float, high: float) -> ExpectationCurve:
    """Use the tangents at the ends of the knots beyond them, or, for cut tails, the bounds of G: x and the mean."""
    y = law.partial_expectation(knots)
    at, height = _meeting_points(law, knots)
    error = float((height - law.partial_expectation(at)).max(initial=0.0))
    before = 1.0 if knots[0] == law.support[0] else float(law.survival_left(knots[:1])[0])
    after = 0.0 if knots[-1] == law.support[1] else float(law.survival(knots[-1:])[0])
    if np.isneginf(low) and before < 1:
        y[0], error, before = knots[0], max(error, float(knots[0] - y[0])), 1.0
    if np.isposinf(high) and after > 0:
        y[-1], error, after = law.mean, max(error, law.mean - float(y[-1])), 0.0
    x, first = np.unique(np.concatenate((knots, at)), return_index=True)
    return ExpectationCurve(x, np.concatenate((y, height))[first], before, after, error)
