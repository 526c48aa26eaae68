"""The normal law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.distributions.base import INF, Distribution, StoredDistribution, as_floats, require
from gpusched_dsl.ir.distributions.named import NamedDistribution
from gpusched_dsl.ir.distributions.restricted import Restrictable
from gpusched_dsl.ir.distributions.standard_normal import place_of, tail


class NormalLaw(StoredDistribution, tag="normal"):
    """The normal law."""

    centre: float
    deviation: float

    def distribution(self, place: str) -> Distribution:
        return Normal(self.centre, self.deviation)


@dataclass(frozen=True)
class Normal(Restrictable):
    """The normal law; raises ValueError unless deviation > 0, both finite. Truncate it where W cannot be negative."""

    centre: float
    deviation: float

    form: ClassVar[type[StoredDistribution] | None] = NormalLaw
    parameters: ClassVar[tuple[str, ...]] = ("centre", "deviation")

    def __post_init__(self) -> None:
        require(bool(np.isfinite([self.centre, self.deviation]).all()), "a parameter is not finite")
        require(self.deviation > 0, "the deviation is not positive")

    @property
    def mean(self) -> float:
        return self.centre

    @property
    def support(self) -> tuple[float, float]:
        return -INF, INF

    def survival(self, x: Floats) -> Floats:
        return tail(self._z(x))

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
        return self.centre + self.deviation * place_of(y)

    def to_struct(self) -> StoredDistribution:
        return NormalLaw(self.centre, self.deviation)


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
        below = near - z * tail(z)
    return np.where(np.isposinf(z), 0.0, np.where(np.isneginf(z), INF, np.where(z > 0, above, below)))


ROOT_OF_2_PI = float(np.sqrt(2 * np.pi))
NORMAL = NamedDistribution(Normal, lambda given: Normal(given["mean"], given["deviation"]))
