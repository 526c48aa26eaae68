"""Distributions with a piecewise linear survival function: discrete, uniform, measured, and their mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.distributions.base import INF, Distribution, LawFamily, StoredDistribution, as_floats, require
from gpusched_dsl.ir.distributions.named import NamedDistribution
from gpusched_dsl.ir.distributions.restricted import check_chance
from gpusched_dsl.ir.distributions.tables import Tables
from gpusched_dsl.ir.json.arrays import Broken, check_length, finite_array, finite_numbers
from gpusched_dsl.ir.tolerances import ROUNDING

# How far probabilities that are stated may be from a sum of 1.
SUM_SLACK = 1e-6


class LinearSurvivalLaw(StoredDistribution, tag="linear_survival"):
    """P(W >= knots[i]) = left[i] and P(W > knots[i]) = right[i]; linear between, 1 before and 0 after the knots."""

    knots: list[float]
    left: list[float]
    right: list[float]

    def distribution(self, place: str) -> Distribution:
        check_length(self.left, len(self.knots), f"{place}.left", "knots")
        check_length(self.right, len(self.knots), f"{place}.right", "knots")
        knots = finite_array(self.knots, f"{place}.knots")
        left, right = finite_array(self.left, f"{place}.left"), finite_array(self.right, f"{place}.right")
        if not len(knots) or (np.diff(knots) <= 0).any():
            raise Broken(f"{place}.knots does not increase, or is empty")
        along: Floats = np.column_stack((left, right)).reshape(-1)  # the survival, from the first knot to the last
        if along[0] != 1 or along[-1] != 0 or (np.diff(along) > ROUNDING).any():
            raise Broken(f"{place}: the survival does not fall from 1 to 0")
        return LinearSurvival(knots, left, right)


@dataclass(frozen=True, eq=False)
class LinearSurvival(Distribution):
    """S is 1 before `knots[0]`, 0 from the last knot on, and linear from `right[i]` at knot i to `left[i+1]`.

    `knots` increase strictly; `left[i] = S(knots[i]-)`, `right[i] = S(knots[i])`: S jumps by their difference.
    With `density[i]` = (right[i] - left[i+1]) / h: G(knots[i] + u) = G_i + right[i] u - density[i] u^2 / 2.
    """

    knots: Floats
    left: Floats
    right: Floats

    form: ClassVar[type[StoredDistribution] | None] = LinearSurvivalLaw

    @classmethod
    def family_of(cls, laws: Sequence[LinearSurvival]) -> LawFamily:
        return Tables.of([(law.knots, law.left, law.right) for law in laws])

    def to_struct(self) -> StoredDistribution:
        return LinearSurvivalLaw(finite_numbers(self.knots), finite_numbers(self.left), finite_numbers(self.right))

    @cached_property
    def density(self) -> Floats:
        """Return the slope of -S after each knot but the last; there 0."""
        return np.append((self.right[:-1] - self.left[1:]) / np.diff(self.knots), 0.0)

    @cached_property
    def at_knots(self) -> Floats:
        """G at the knots."""
        rises = np.diff(self.knots) * (self.right[:-1] + self.left[1:]) / 2
        return np.asarray(self.knots[0] + np.concatenate(([0.0], np.cumsum(rises))))

    @cached_property
    def _beyond(self) -> Floats:
        """The integral of S from each knot on, summed from the end."""
        rises = np.diff(self.knots) * (self.right[:-1] + self.left[1:]) / 2
        return np.append(np.cumsum(rises[::-1])[::-1], 0.0)

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All that is known of each knot."""
        return self.knots, self.left, self.right, self.at_knots, self._beyond

    @property
    def mean(self) -> float:
        return float(self.at_knots[-1])

    @property
    def support(self) -> tuple[float, float]:
        return float(self.knots[0]), float(self.knots[-1])

    @cached_property
    def atoms(self) -> tuple[Floats, Floats] | None:
        if self.density.any():
            return None
        weights = self.left - self.right
        some = weights > 0
        return self.knots[some], weights[some]

    @property
    def jumps(self) -> Floats:
        return self.knots[self.left > self.right]

    @property
    def kinks(self) -> Floats:
        return self.knots

    # The knots of this law are those from `_first` to `_last`; `StackedSurvivals` has one such range for each row.

    @property
    def _first(self) -> Codes | int:
        return 0

    @property
    def _last(self) -> Codes | int:
        return len(self.knots) - 1

    def _count_up_to(self, x: Floats) -> Codes:
        """Return the place behind the last knot that is not beyond x."""
        return np.searchsorted(self.knots, x, side="right")

    def _first_not_above(self, y: Floats) -> Codes:
        """Return the first knot at which S is at most y, the place behind the last knot if there is none."""
        return np.searchsorted(-self.right, -y, side="left")

    def _count_not_below(self, y: Floats) -> Codes:
        """Return the place behind the last knot before which S is at least y."""
        return np.searchsorted(-self.left, -y, side="right")

    def survival(self, x: Floats) -> Floats:
        at, step = self._place(x)
        return np.where(at < self._first, 1.0, self.right[at] - self.density[at] * step)

    def survival_left(self, x: Floats) -> Floats:
        at, _ = self._place(x)
        return np.where((at >= self._first) & (self.knots[at] == x), self.left[at], self.survival(x))

    def partial_expectation(self, x: Floats) -> Floats:
        at, step = self._place(x)
        return np.where(at < self._first, x, self.at_knots[at] + (self.right[at] - self.density[at] * step / 2) * step)

    def stop_loss(self, x: Floats) -> Floats:
        at, step = self._place(x)
        after = np.minimum(at + 1, self._last)
        back = self.knots[after] - self.knots[at] - step
        inside = self._beyond[after] + (self.left[after] + self.density[at] * back / 2) * back
        before = self.at_knots[self._last] - as_floats(x)
        return np.where(at < self._first, before, np.where(at == self._last, 0.0, inside))

    def _place(self, x: Floats) -> tuple[Codes, Floats]:
        """Return the last knot not beyond each x, the place before the first one if there is none, and the distance
        of x from it (0 outside).
        """
        x, first = as_floats(x), self._first
        at = self._count_up_to(x) - 1
        within = np.minimum(np.maximum(x, self.knots[first]), self.knots[self._last])
        return at, within - self.knots[np.maximum(at, first)]

    def inv_lo(self, y: Floats) -> Floats:
        # Along the curve knot by knot: left[0], right[0], left[1], ...: the first place not above y.
        y = as_floats(y)
        here = np.minimum(self._first_not_above(y), self._last)
        before = np.maximum(here - 1, self._first)
        slope = self.density[before]
        early = (here > self._first) & (self.left[here] <= y) & (slope > 0)
        step = np.where(early, (self.right[before] - y) / np.where(slope > 0, slope, 1.0), 0.0)
        return np.where(early, np.minimum(self.knots[before] + step, self.knots[here]), self.knots[here])

    def inv_hi(self, y: Floats) -> Floats:
        y = as_floats(y)
        last = self._count_not_below(y) - 1
        here = np.maximum(last, self._first)
        after = np.minimum(here + 1, self._last)
        slope = self.density[here]
        later = (last >= self._first) & (self.right[here] >= y) & (slope > 0)
        step = np.where(later, (self.right[here] - y) / np.where(slope > 0, slope, 1.0), 0.0)
        return np.where(later, np.minimum(self.knots[here] + step, self.knots[after]), self.knots[here])

    def truncate(self, low: float = -INF, high: float = INF) -> Distribution:
        if low < self.knots[0] and high >= self.knots[-1]:
            return self
        check_chance(self, low, high)
        above, beyond = self.survival(as_floats(low)), self.survival(as_floats(high))
        chance = float(above - beyond)
        inside = (self.knots > low) & (self.knots <= high)
        knots, left, right = self.knots[inside], self.left[inside], self.right[inside]
        if low >= self.knots[0]:
            knots, left, right = np.append(low, knots), np.append(above, left), np.append(above, right)
        if high < self.knots[-1] and not (len(knots) and knots[-1] == high):
            end = float(self.survival_left(as_floats(high)))
            knots, left, right = np.append(knots, high), np.append(left, end), np.append(right, beyond)
        return trim(knots, (left - beyond) / chance, (right - beyond) / chance)

    def censor(self, high: float) -> Distribution:
        if high >= self.knots[-1]:
            return self
        inside = self.knots < high
        end = float(self.survival_left(as_floats(high)))
        return trim(
            np.append(self.knots[inside], high), np.append(self.left[inside], end), np.append(self.right[inside], 0.0)
        )


def trim(knots: Floats, left: Floats, right: Floats) -> LinearSurvival:
    """The law with rounding mended and the knots left out at which nothing begins or ends."""
    left, right = np.clip(left, 0.0, 1.0), np.clip(right, 0.0, 1.0)
    left[0], right[-1] = 1.0, 0.0
    begun = max(int(np.searchsorted(-right, -1.0, side="right")) - 1, 0)  # from here on S can fall
    ended = int(np.searchsorted(-left, 0.0, side="left"))  # S is 0 before this knot
    # A knot at which S is 0 already ends a falling piece, or nothing at all.
    if ended < len(knots) and ended > 0 and right[ended - 1] > 0:
        ended += 1
    keep = slice(begun, max(ended, begun + 1))
    knots, left, right = knots[keep], left[keep].copy(), right[keep].copy()
    left[0], right[-1] = 1.0, 0.0
    return LinearSurvival(knots, left, right)


def discrete(values: Floats, weights: Floats | None = None) -> LinearSurvival:
    """Return the distribution with `weights` (normalised; equal by default) at `values`, in any order and with
    repetitions.

    Raises ValueError for no values, values that are not finite, negative weights, weights that are all zero.
    """
    values = as_floats(values).reshape(-1)
    require(len(values) > 0, "no values")
    require(np.isfinite(values), "a value is not finite")
    given = np.ones(len(values)) if weights is None else as_floats(weights).reshape(-1)
    require(len(given) == len(values), "the number of weights differs from the number of values")
    require(np.isfinite(given) & (given >= 0), "a weight is negative or not finite")
    require(given.sum() > 0, "the weights are all zero")
    knots, place = np.unique(values, return_inverse=True)
    weight = np.bincount(place.reshape(-1), weights=given, minlength=len(knots))
    knots, weight = knots[weight > 0], weight[weight > 0]
    above = np.append(np.cumsum(weight[::-1])[::-1], 0.0) / weight.sum()
    above[0] = 1.0
    return LinearSurvival(knots, above[:-1], above[1:])


def deterministic(value: float) -> LinearSurvival:
    """The law of the number `value`."""
    return discrete(np.array([value]))


def uniform(low: float, high: float) -> LinearSurvival:
    """The uniform law on [low, high]; raises ValueError unless low < high, both finite."""
    require(bool(np.isfinite([low, high]).all()), "an end is not finite")
    require(low < high, "the lower end is not below the upper end")
    return LinearSurvival(np.array([low, high]), np.array([1.0, 0.0]), np.array([1.0, 0.0]))


def survival_points(points: Floats, survival: Floats) -> LinearSurvival:
    """Return the distribution with S(points[i]) = survival[i], linear between; the rest at the last point is at its
    value.

    `points` do not decrease; S jumps at a point that stands twice, and at the first one if S is below 1 there.
    Raises ValueError for anything else, or for a survival that rises or leaves [0, 1].
    """
    points, survival = as_floats(points).reshape(-1), as_floats(survival).reshape(-1)
    require(len(points) > 0, "no points")
    require(np.isfinite(points), "a point is not finite")
    require((survival >= 0) & (survival <= 1), "a survival is not a probability")
    require(np.diff(points) >= 0, "the points do not increase")
    require(np.diff(survival) <= 0, "the survival rises")
    knots, first, counts = np.unique(points, return_index=True, return_counts=True)
    left, right = survival[first].copy(), survival[first + counts - 1].copy()
    left[0], right[-1] = 1.0, 0.0
    return trim(knots, left, right)


def mix(laws: Sequence[LinearSurvival], weights: Floats) -> LinearSurvival:
    """The mixture of such laws: their survival functions averaged."""
    knots = np.unique(np.concatenate([law.knots for law in laws]))
    left = np.sum([w * law.survival_left(knots) for law, w in zip(laws, weights, strict=True)], axis=0)
    right = np.sum([w * law.survival(knots) for law, w in zip(laws, weights, strict=True)], axis=0)
    return trim(knots, np.minimum(left, 1.0), np.minimum(right, left))


UNIFORM = NamedDistribution(LinearSurvival, lambda given: uniform(given["low"], given["high"]))
DETERMINISTIC = NamedDistribution(LinearSurvival, lambda given: deterministic(given["value"]))
