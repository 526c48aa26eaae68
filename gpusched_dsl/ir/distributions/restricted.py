"""Distributions derived from another one: renormalised on an interval, or with the tail moved to an end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.distributions.base import INF, Distribution, ExponentialSum, as_floats, require


def check_chance(law: Distribution, low: float, high: float) -> None:
    """Raise ValueError unless low < W <= high has a probability that can be computed."""
    chance = float(law.chance(as_floats(low), as_floats(high)))
    require(not np.isnan(chance), "the probability of the condition is too small to compute")
    require(chance > 0, "the condition has probability 0")


class Restrictable(Distribution):
    """A law without a form of its own for its restrictions: they are computed from the law itself."""

    def truncate(self, low: float = -INF, high: float = INF) -> Distribution:
        if low < self.support[0] and high >= self.support[1]:
            return self
        check_chance(self, low, high)
        return Truncated(self, low, high)

    def censor(self, high: float) -> Distribution:
        return self if high >= self.support[1] else Censored(self, high)


@dataclass(frozen=True, eq=False)
class Truncated(Restrictable):
    """The law of W given low < W <= high, with W ~ `law`."""

    law: Distribution
    low: float
    high: float

    @cached_property
    def mean(self) -> float:
        return float(self.law.partial_expectation_given(as_floats(INF), as_floats(self.low), as_floats(self.high)))

    @cached_property
    def support(self) -> tuple[float, float]:
        ends = self.law.inv_hi(self._above), self.law.inv_lo(self._beyond)
        return max(float(ends[0]), self.low), min(float(ends[1]), self.high)

    @cached_property
    def _above(self) -> Floats:
        return self.law.survival(as_floats(self.low))

    @cached_property
    def _beyond(self) -> Floats:
        return self.law.survival(as_floats(self.high))

    def survival(self, x: Floats) -> Floats:
        return self.law.survival_given(as_floats(x), as_floats(self.low), as_floats(self.high))

    def survival_left(self, x: Floats) -> Floats:
        x = as_floats(x)
        inside = (self.law.survival_left(x) - self._beyond) / (self._above - self._beyond)
        return np.where(x <= self.low, 1.0, np.where(x > self.high, 0.0, inside))

    def partial_expectation(self, x: Floats) -> Floats:
        return self.law.partial_expectation_given(as_floats(x), as_floats(self.low), as_floats(self.high))

    def stop_loss(self, x: Floats) -> Floats:
        low, high = self.support
        x = as_floats(x)
        top = np.clip(x, low, high)
        with np.errstate(invalid="ignore"):
            tied = np.where(self._beyond > 0, self._beyond * (high - top), 0.0)
        inside = (self.law.integral(top, as_floats(high)) - tied) / (self._above - self._beyond)
        return np.where(x < low, self.mean - x, inside)

    def inv_lo(self, y: Floats) -> Floats:
        return np.clip(self.law.inv_lo(self._unscale(y)), *self.support)

    def inv_hi(self, y: Floats) -> Floats:
        return np.clip(self.law.inv_hi(self._unscale(y)), *self.support)

    def _unscale(self, y: Floats) -> Floats:
        return self._beyond + as_floats(y) * (self._above - self._beyond)

    @property
    def jumps(self) -> Floats:
        jumps = self.law.jumps
        return jumps[(jumps > self.low) & (jumps <= self.high)]

    @property
    def kinks(self) -> Floats:
        inner = self.law.kinks
        low, high = self.support
        ends = np.array(self.support)
        return np.union1d(inner[(inner > low) & (inner < high)], ends[np.isfinite(ends)])

    @property
    def exponentials(self) -> ExponentialSum | None:
        inner = self.law.exponentials
        if inner is None or self.low > inner.low:
            return None
        rest, chance = float(self._beyond), float(self._above - self._beyond)
        high = min(self.high, inner.high)
        return ExponentialSum(inner.low, high, (inner.slope - rest) / chance, inner.factors / chance, inner.rates)

    def truncate(self, low: float = -INF, high: float = INF) -> Distribution:
        if low < self.support[0] and high >= self.support[1]:
            return self
        check_chance(self, low, high)
        return self.law.truncate(max(low, self.low), min(high, self.high))


@dataclass(frozen=True, eq=False)
class Censored(Restrictable):
    """The law of min(W, high), with W ~ `law`."""

    law: Distribution
    high: float

    @cached_property
    def mean(self) -> float:
        return float(self.law.partial_expectation(as_floats(self.high)))

    @property
    def support(self) -> tuple[float, float]:
        return min(self.law.support[0], self.high), self.high

    def survival(self, x: Floats) -> Floats:
        return np.where(as_floats(x) < self.high, self.law.survival(x), 0.0)

    def survival_left(self, x: Floats) -> Floats:
        return np.where(as_floats(x) <= self.high, self.law.survival_left(x), 0.0)

    def partial_expectation(self, x: Floats) -> Floats:
        return self.law.partial_expectation(np.minimum(x, self.high))

    def stop_loss(self, x: Floats) -> Floats:
        x = as_floats(x)
        return np.where(x < self.high, self.law.integral(np.minimum(x, self.high), as_floats(self.high)), 0.0)

    def inv_lo(self, y: Floats) -> Floats:
        return np.minimum(self.law.inv_lo(y), self.high)

    def inv_hi(self, y: Floats) -> Floats:
        return np.minimum(self.law.inv_hi(y), self.high)

    @property
    def jumps(self) -> Floats:
        jumps = self.law.jumps
        return np.append(jumps[jumps < self.high], self.high)

    @property
    def kinks(self) -> Floats:
        inner = self.law.kinks
        return np.append(inner[inner < self.high], self.high)

    @property
    def exponentials(self) -> ExponentialSum | None:
        inner = self.law.exponentials
        return None if inner is None or inner.low >= self.high else structs.replace(inner, high=self.high)

    def truncate(self, low: float = -INF, high: float = INF) -> Distribution:
        if low < self.support[0] and high >= self.high:
            return self
        if high < self.high:
            return self.law.truncate(low, high)
        check_chance(self, low, high)
        return self.law.condition_above(low).censor(self.high)

    def censor(self, high: float) -> Distribution:
        return self if high >= self.high else self.law.censor(high)
