"""The exponential law, moved by an offset so that it stays in the family under W > x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.distributions.base import (
    INF,
    Distribution,
    ExponentialSum,
    StoredDistribution,
    as_floats,
    require,
)
from gpusched_dsl.ir.distributions.named import NamedDistribution
from gpusched_dsl.ir.distributions.restricted import Restrictable


class ExponentialLaw(StoredDistribution, tag="exponential"):
    """P(W > x) = exp(-(x - offset) / scale) for x >= offset."""

    scale: float
    offset: float

    def distribution(self, place: str) -> Distribution:
        return Exponential(self.scale, self.offset)


@dataclass(frozen=True)
class Exponential(Restrictable):
    """The law of `offset + X` with P(X > x) = exp(-x / scale); raises ValueError unless scale > 0, both finite."""

    scale: float
    offset: float = 0.0

    form: ClassVar[type[StoredDistribution] | None] = ExponentialLaw
    parameters: ClassVar[tuple[str, ...]] = ("scale", "offset")

    def __post_init__(self) -> None:
        require(bool(np.isfinite([self.scale, self.offset]).all()), "the mean is not finite")
        require(self.scale > 0, "the mean is not positive")

    @property
    def mean(self) -> float:
        return self.offset + self.scale

    @property
    def support(self) -> tuple[float, float]:
        return self.offset, INF

    def survival(self, x: Floats) -> Floats:
        return np.exp(-self._steps(x))

    def partial_expectation(self, x: Floats) -> Floats:
        return np.where(as_floats(x) < self.offset, x, self.offset - self.scale * np.expm1(-self._steps(x)))

    def stop_loss(self, x: Floats) -> Floats:
        x = as_floats(x)
        return np.where(x < self.offset, self.mean - x, self.scale * np.exp(-self._steps(x)))

    def _steps(self, x: Floats) -> Floats:
        return np.maximum(as_floats(x) - self.offset, 0.0) / self.scale

    def inv_lo(self, y: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return self.offset - self.scale * np.log(np.clip(y, 0.0, 1.0))

    @property
    def exponentials(self) -> ExponentialSum:
        return ExponentialSum(self.offset, INF, 0.0, np.array([self.scale]), np.array([1 / self.scale]))

    def condition_above(self, x: float) -> Exponential:
        require(x < INF, "the condition has probability 0")
        return Exponential(self.scale, max(self.offset, x))

    def truncate(self, low: float = -INF, high: float = INF) -> Distribution:
        # Without memory: what is left above `low` is exponential again, and nothing is lost in its tail.
        return self.condition_above(low) if high == INF else Restrictable.truncate(self.condition_above(low), high=high)

    def to_struct(self) -> StoredDistribution:
        return ExponentialLaw(self.scale, self.offset)


EXPONENTIAL = NamedDistribution(
    Exponential, lambda given: Exponential(given["mean"] if "mean" in given else 1 / given["rate"])
)
