"""The normal law and the lognormal one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log

import numpy as np

from gpusched_dsl.ir.distributions.base import INF, as_floats, need
from gpusched_dsl.ir.distributions.restricted import Restrictable
from gpusched_dsl.ir.matrix import Floats


def _tail(z: Floats) -> Floats:
    """P(Z > z) of the standard normal law."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-z))


def _place_of(y: Floats) -> Floats:
    """The z with P(Z > z) = y."""
    from scipy.special import ndtri

    return np.asarray(-ndtri(np.clip(y, 0.0, 1.0)))


@dataclass(frozen=True)
class Normal(Restrictable):
    """The normal law; raises ValueError unless deviation > 0, both finite. Truncate it where W cannot be negative."""

    centre: float
    deviation: float

    def __post_init__(self) -> None:
        need(bool(np.isfinite([self.centre, self.deviation]).all()), "a parameter is not finite")
        need(self.deviation > 0, "the deviation is not positive")

    @property
    def mean(self) -> float:
        return self.centre

    @property
    def support(self) -> tuple[float, float]:
        return -INF, INF

    def survival(self, x: Floats) -> Floats:
        return _tail(self._z(x))

    def partial_expectation(self, x: Floats) -> Floats:
        # E min(W, x) = x - E max(x - W, 0), and x - W is as W - x mirrored.
        z = self._z(x)
        with np.errstate(invalid="ignore"):
            near = np.where(z < 0, as_floats(x) - self.deviation * _loss(-z), self.centre - self.deviation * _loss(z))
        return np.where(np.isneginf(z), -INF, near)

    def stop_loss(self, x: Floats) -> Floats:
        return self.deviation * _loss(self._z(x))

    def _z(self, x: Floats) -> Floats:
        return np.asarray((as_floats(x) - self.centre) / self.deviation)

    def inv_lo(self, y: Floats) -> Floats:
        return self.centre + self.deviation * _place_of(y)


def _loss(z: Floats) -> Floats:
    """E[max(Z - z, 0)] of the standard normal law: the density at z less z times the tail.

    The two cancel far out; there the tail is written with erfcx, so that a factor exp(-z^2 / 2) can be taken out.
    """
    from scipy.special import erfcx

    z = as_floats(z)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.exp(-z * z / 2) / ROOT_OF_2_PI
        scaled = 1 / ROOT_OF_2_PI - z * erfcx(z / np.sqrt(2.0)) / 2
        # Beyond 1e4 deviations the difference itself is 1 / (z^2 sqrt(2 pi)), and exp(-z^2 / 2) is 0 anyway.
        above = np.where(z < 1e4, near * ROOT_OF_2_PI * scaled, 0.0)
        below = near - z * _tail(z)
    return np.where(np.isposinf(z), 0.0, np.where(np.isneginf(z), INF, np.where(z > 0, above, below)))


ROOT_OF_2_PI = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class LogNormal(Restrictable):
    """The law of exp(N) with N normal of deviation `sigma`; raises ValueError unless both are positive and finite."""

    median: float
    sigma: float

    def __post_init__(self) -> None:
        need(bool(np.isfinite([self.median, self.sigma]).all()), "a parameter is not finite")
        need(self.median > 0, "the median is not positive")
        need(self.sigma > 0, "sigma is not positive")
        need(self.sigma <= LARGEST_SIGMA, f"sigma is above {LARGEST_SIGMA:g}: the mean is too large a number")

    @staticmethod
    def of_mean(mean: float, sigma: float) -> LogNormal:
        return LogNormal(mean * exp(-(min(sigma, LARGEST_SIGMA) ** 2) / 2), sigma)

    @cached_property
    def mean(self) -> float:
        return exp(log(self.median) + self.sigma**2 / 2)

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, INF

    def survival(self, x: Floats) -> Floats:
        return _tail(self._z(x))

    def partial_expectation(self, x: Floats) -> Floats:
        x, z = as_floats(x), self._z(x)
        with np.errstate(invalid="ignore"):
            inside = self.mean * _tail(self.sigma - z) + np.where(np.isinf(x), 0.0, x * _tail(z))
        return np.where(x <= 0, x, inside)

    def stop_loss(self, x: Floats) -> Floats:
        x, z = as_floats(x), self._z(x)
        with np.errstate(invalid="ignore"):
            inside = self.mean * _tail(z - self.sigma) - np.where(np.isinf(x), 0.0, x * _tail(z))
        return np.where(x <= 0, self.mean - x, np.maximum(inside, 0.0))

    def _z(self, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(as_floats(x), 0.0) / self.median) / self.sigma)

    def inv_lo(self, y: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(self.median * np.exp(self.sigma * _place_of(y)))


LARGEST_SIGMA = 10.0
