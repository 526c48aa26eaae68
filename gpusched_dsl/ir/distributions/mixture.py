"""Mixtures: one of several laws, each with a probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.distributions.base import INF, Distribution, ExponentialSum, as_floats, require
from gpusched_dsl.ir.distributions.linear_survival import LinearSurvival, mix
from gpusched_dsl.ir.distributions.restricted import check_chance


def mixture(laws: Sequence[Distribution], weights: Floats) -> Distribution:
    """Return the distribution of W ~ laws[i] with probability weights[i] (normalised).

    Raises ValueError for no laws, negative weights, or weights that are all zero.
    """
    weights = as_floats(weights).reshape(-1)
    require(
        len(laws) > 0 and len(laws) == len(weights), "the number of weights differs from the number of distributions"
    )
    require(np.isfinite(weights) & (weights >= 0), "a weight is negative or not finite")
    require(weights.sum() > 0, "the weights are all zero")
    weights = weights / weights.sum()
    some = [(law, w) for law, w in zip(laws, weights.tolist(), strict=True) if w > 0]
    if len(some) == 1:
        return some[0][0]
    linear = [(law, w) for law, w in some if isinstance(law, LinearSurvival)]
    if len(linear) < 2:
        return Mixture(tuple(law for law, _ in some), np.array([w for _, w in some]))
    share = np.array([w for _, w in linear])
    one = mix([law for law, _ in linear], share / share.sum())
    rest = [(law, w) for law, w in some if not isinstance(law, LinearSurvival)]
    if not rest:
        return one
    return Mixture((one, *(law for law, _ in rest)), np.array([share.sum(), *(w for _, w in rest)]))


@dataclass(frozen=True, eq=False)
class Mixture(Distribution):
    """W ~ laws[i] with probability weights[i]; `mixture` creates it, or simpler distributions if possible."""

    laws: tuple[Distribution, ...]
    weights: Floats

    @cached_property
    def mean(self) -> float:
        return float(sum(w * law.mean for law, w in self._parts))

    @property
    def _parts(self) -> list[tuple[Distribution, float]]:
        return list(zip(self.laws, self.weights.tolist(), strict=True))

    @cached_property
    def support(self) -> tuple[float, float]:
        return min(law.support[0] for law in self.laws), max(law.support[1] for law in self.laws)

    def survival(self, x: Floats) -> Floats:
        return self._mean_of([law.survival(x) for law in self.laws])

    def survival_left(self, x: Floats) -> Floats:
        return self._mean_of([law.survival_left(x) for law in self.laws])

    def partial_expectation(self, x: Floats) -> Floats:
        return self._mean_of([law.partial_expectation(x) for law in self.laws])

    def stop_loss(self, x: Floats) -> Floats:
        return self._mean_of([law.stop_loss(x) for law in self.laws])

    def _mean_of(self, values: list[Floats]) -> Floats:
        return np.asarray(sum(w * v for v, w in zip(values, self.weights.tolist(), strict=True)))

    def inv_lo(self, y: Floats) -> Floats:
        y = as_floats(y)
        ends = [law.inv_lo(y) for law in self.laws]
        found = _bisect(lambda x: np.greater(self.survival(x), y), reduce(np.minimum, ends), reduce(np.maximum, ends))
        return found[1]

    def inv_hi(self, y: Floats) -> Floats:
        y = as_floats(y)
        ends = [law.inv_hi(y) for law in self.laws]
        found = _bisect(
            lambda x: np.greater_equal(self.survival_left(x), y), reduce(np.minimum, ends), reduce(np.maximum, ends)
        )
        return found[0]

    @cached_property
    def jumps(self) -> Floats:
        return np.unique(np.concatenate([law.jumps for law in self.laws]))

    @cached_property
    def kinks(self) -> Floats:
        return np.unique(np.concatenate([law.kinks for law in self.laws]))

    @property
    def exponentials(self) -> ExponentialSum | None:
        parts = [law.exponentials for law in self.laws]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts) or len({(part.low, part.high) for part in found}) > 1:
            return None
        weighted = list(zip(found, self.weights.tolist(), strict=True))
        slope = float(sum(w * part.slope for part, w in weighted))
        factors = np.concatenate([w * part.factors for part, w in weighted])
        rates = np.concatenate([part.rates for part in found])
        return ExponentialSum(found[0].low, found[0].high, slope, factors, rates)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        counts = rng.multinomial(size, self.weights)
        return rng.permutation(
            np.concatenate([law.sample(rng, count) for law, count in zip(self.laws, counts.tolist(), strict=True)])
        )

    def truncate(self, low: float = -INF, high: float = INF) -> Distribution:
        """Each part truncated, with the weights that they then have (Bayes)."""
        if low < self.support[0] and high >= self.support[1]:
            return self
        check_chance(self, low, high)
        chances = [float(law.chance(as_floats(low), as_floats(high))) for law in self.laws]
        some = [(law.truncate(low, high), w * c) for (law, w), c in zip(self._parts, chances, strict=True) if c > 0]
        return mixture([law for law, _ in some], np.array([w for _, w in some]))

    def censor(self, high: float) -> Distribution:
        return mixture([law.censor(high) for law in self.laws], self.weights)


def _bisect(before: Callable[[Floats], Bools], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the last float at which `before` (true, then false) is true and the first at which it is false, in [low,
    high].

    Where it holds nowhere between, both are `low`, and where it holds everywhere both are `high`.
    """
    low, high = np.copy(low), np.copy(high)
    at_low = before(low)
    high = np.where(at_low, high, low)
    low = np.where(before(high), high, low)
    while True:
        with np.errstate(invalid="ignore"):
            middle = low + (high - low) / 2
        open_ones = (middle > low) & (middle < high)  # not where both ends are infinite: the middle is NaN there
        if not np.any(open_ones):
            return low, high
        below = before(middle)
        low, high = np.where(open_ones & below, middle, low), np.where(open_ones & ~below, middle, high)
