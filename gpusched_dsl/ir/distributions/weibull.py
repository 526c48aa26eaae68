"""The Weibull law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gamma
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.distributions.base import INF, Distribution, StoredDistribution, as_floats, require
from gpusched_dsl.ir.distributions.named import NamedDistribution
from gpusched_dsl.ir.distributions.restricted import Restrictable


class WeibullLaw(StoredDistribution, tag="weibull"):
    """P(W > x) = exp(-(x / scale)^shape) for x >= 0."""

    scale: float
    shape: float

    def distribution(self, place: str) -> Distribution:
        return Weibull(self.scale, self.shape)


@dataclass(frozen=True)
class Weibull(Restrictable):
    """P(W > x) = exp(-(x / scale)^shape) for x >= 0; raises ValueError unless both are positive.

    E[max(W - x, 0)] = scale / shape * Gamma(1 / shape, (x / scale)^shape), an upper incomplete gamma function.
    """

    scale: float
    shape: float

    form: ClassVar[type[StoredDistribution] | None] = WeibullLaw
    parameters: ClassVar[tuple[str, ...]] = ("scale", "shape", "mean")

    def __post_init__(self) -> None:
        require(bool(np.isfinite([self.scale, self.shape]).all()), "a parameter is not finite")
        require(self.scale > 0, "the scale is not positive")
        require(self.shape > 0, "the shape is not positive")
        require(self.shape >= SMALLEST_SHAPE, f"the shape is below {SMALLEST_SHAPE:g}: the mean is too large")

    @staticmethod
    def of_mean(mean: float, shape: float) -> Weibull:
        require(shape >= SMALLEST_SHAPE, f"the shape is below {SMALLEST_SHAPE:g}: the mean is too large")
        return Weibull(mean / gamma(1 + 1 / shape), shape)

    @cached_property
    def mean(self) -> float:
        return self.scale * gamma(1 + 1 / self.shape)

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, INF

    def survival(self, x: Floats) -> Floats:
        return np.exp(-self._hazard(x))

    def partial_expectation(self, x: Floats) -> Floats:
        from scipy.special import gammainc

        return np.where(as_floats(x) < 0, x, self.mean * gammainc(1 / self.shape, self._hazard(x)))

    def stop_loss(self, x: Floats) -> Floats:
        from scipy.special import gammaincc

        x = as_floats(x)
        return np.where(x < 0, self.mean - x, self.mean * gammaincc(1 / self.shape, self._hazard(x)))

    def _hazard(self, x: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray((np.maximum(as_floats(x), 0.0) / self.scale) ** self.shape)

    def inv_lo(self, y: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(self.scale * (-np.log(np.clip(y, 0.0, 1.0))) ** (1 / self.shape))

    def to_struct(self) -> StoredDistribution:
        return WeibullLaw(self.scale, self.shape)


def _make(given: Mapping[str, float]) -> Distribution:
    if "scale" in given:
        return Weibull(given["scale"], given["shape"])
    return Weibull.of_mean(given["mean"], given["shape"])


WEIBULL = NamedDistribution(Weibull, _make)
SMALLEST_SHAPE = 0.05
