"""The lognormal law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.distributions.base import INF, Distribution, StoredDistribution, as_floats, require
from gpusched_dsl.ir.distributions.named import NamedDistribution
from gpusched_dsl.ir.distributions.restricted import Restrictable
from gpusched_dsl.ir.distributions.standard_normal import place_of, tail


class LogNormalLaw(StoredDistribution, tag="lognormal"):
    """The law of exp(N) with N normal around log(median) with deviation `sigma`."""

    median: float
    sigma: float

    def distribution(self, place: str) -> Distribution:
        return LogNormal(self.median, self.sigma)


@dataclass(frozen=True)
class LogNormal(Restrictable):
    """The law of exp(N) with N normal of deviation `sigma`; raises ValueError unless both are positive and finite."""

    median: float
    sigma: float

    form: ClassVar[type[StoredDistribution] | None] = LogNormalLaw
    parameters: ClassVar[tuple[str, ...]] = ("median", "sigma", "mean")

    def __post_init__(self) -> None:
        require(bool(np.isfinite([self.median, self.sigma]).all()), "a parameter is not finite")
        require(self.median > 0, "the median is not positive")
        require(self.sigma > 0, "sigma is not positive")
        require(self.sigma <= LARGEST_SIGMA, f"sigma is above {LARGEST_SIGMA:g}: the mean is too large")

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
        return tail(self._z(x))

    def partial_expectation(self, x: Floats) -> Floats:
        x, z = as_floats(x), self._z(x)
        with np.errstate(invalid="ignore"):
            inside = self.mean * tail(self.sigma - z) + np.where(np.isinf(x), 0.0, x * tail(z))
        return np.where(x <= 0, x, inside)

    def stop_loss(self, x: Floats) -> Floats:
        x, z = as_floats(x), self._z(x)
        with np.errstate(invalid="ignore"):
            inside = self.mean * tail(z - self.sigma) - np.where(np.isinf(x), 0.0, x * tail(z))
        return np.where(x <= 0, self.mean - x, np.maximum(inside, 0.0))

    def _z(self, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(as_floats(x), 0.0) / self.median) / self.sigma)

    def inv_lo(self, y: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(self.median * np.exp(self.sigma * place_of(y)))

    def to_struct(self) -> StoredDistribution:
        return LogNormalLaw(self.median, self.sigma)


def _make(given: Mapping[str, float]) -> Distribution:
    if "mean" not in given:
        return LogNormal(given["median"], given["sigma"])
    if "sigma" in given:
        return LogNormal.of_mean(given["mean"], given["sigma"])
    return LogNormal.of_mean(given["mean"], float(np.sqrt(np.log1p((given["deviation"] / given["mean"]) ** 2))))


LOGNORMAL = NamedDistribution(LogNormal, _make)
LARGEST_SIGMA = 10.0
