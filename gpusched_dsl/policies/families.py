"""Families of base laws as parameter arrays: one call works on many arguments of many laws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import cast

import numpy as np

from gpusched_dsl.ir.distributions import Distribution, Exponential, LogNormal, Weibull
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.matrix import Floats


class Family(ABC):
    """Laws that share formulas. Arguments have the shape (m, n); those in line i are for the law `row[i]`, S."""

    @abstractmethod
    def survival(self, x: Floats, row: Codes) -> Floats: ...

    @abstractmethod
    def inverses(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        """inf{x : S(x) <= u} and sup{x : S(x-) >= u}, for u in [0, 1]; they differ where S is flat."""

    @abstractmethod
    def beyond(self, x: Floats, row: Codes) -> Floats:
        """The integral of S from x on, with a small relative error far out too."""


@dataclass(frozen=True, eq=False)
class Exponentials(Family):
    """S(x) = exp(-(x - offset) / scale) from `offset` on."""

    scale: Floats
    offset: Floats

    @staticmethod
    def of(laws: list[Distribution]) -> Exponentials:
        made = cast(list[Exponential], laws)
        return Exponentials(np.array([law.scale for law in made]), np.array([law.offset for law in made]))

    def survival(self, x: Floats, row: Codes) -> Floats:
        return np.exp(-np.maximum(x - self.offset[row, None], 0.0) / self.scale[row, None])

    def inverses(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore"):
            x = self.offset[row, None] - self.scale[row, None] * np.log(u)
        return x, x

    def beyond(self, x: Floats, row: Codes) -> Floats:
        return np.maximum(self.offset[row, None] - x, 0.0) + self.scale[row, None] * self.survival(x, row)


@dataclass(frozen=True, eq=False)
class Weibulls(Family):
    """S(x) = exp(-(x / scale)^shape)."""

    scale: Floats
    shape: Floats
    mean: Floats

    @staticmethod
    def of(laws: list[Distribution]) -> Weibulls:
        made = cast(list[Weibull], laws)
        scale, shape = np.array([law.scale for law in made]), np.array([law.shape for law in made])
        return Weibulls(scale, shape, np.array([law.mean for law in made]))

    def _hazard(self, x: Floats, row: Codes) -> Floats:
        return np.asarray((np.maximum(x, 0.0) / self.scale[row, None]) ** self.shape[row, None])

    def survival(self, x: Floats, row: Codes) -> Floats:
        return np.exp(-self._hazard(x, row))

    def inverses(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore"):
            x = self.scale[row, None] * (-np.log(u)) ** (1 / self.shape[row, None])
        return x, x

    def beyond(self, x: Floats, row: Codes) -> Floats:
        from scipy.special import gammaincc

        tail = self.mean[row, None] * gammaincc(1 / self.shape[row, None], self._hazard(x, row))
        return np.asarray(tail - np.minimum(x, 0.0))


@dataclass(frozen=True, eq=False)
class LogNormals(Family):
    """S(x) = N(-z(x)) with z(x) = log(x / median) / sigma."""

    median: Floats
    sigma: Floats
    mean: Floats

    @staticmethod
    def of(laws: list[Distribution]) -> LogNormals:
        made = cast(list[LogNormal], laws)
        median, sigma = np.array([law.median for law in made]), np.array([law.sigma for law in made])
        return LogNormals(median, sigma, np.array([law.mean for law in made]))

    def _z(self, x: Floats, row: Codes) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(x, 0.0) / self.median[row, None]) / self.sigma[row, None])

    def survival(self, x: Floats, row: Codes) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(-self._z(x, row)))

    def inverses(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        from scipy.special import ndtri

        x = self.median[row, None] * np.exp(-self.sigma[row, None] * ndtri(u))
        return x, x

    def beyond(self, x: Floats, row: Codes) -> Floats:
        from scipy.special import ndtr

        z = self._z(x, row)
        with np.errstate(invalid="ignore"):
            lost = np.where(np.isinf(x), 0.0, x * ndtr(-z))
        return np.asarray(self.mean[row, None] * ndtr(self.sigma[row, None] - z) - lost)


@dataclass(frozen=True, eq=False)
class Others(Family):
    """Any laws, called one after another."""

    laws: tuple[Distribution, ...]

    @staticmethod
    def of(laws: list[Distribution]) -> Others:
        return Others(tuple(laws))

    def _each(self, method: str, x: Floats, row: Codes) -> Floats:
        order = np.argsort(row, kind="stable")
        found = np.empty_like(x)
        numbers, first = np.unique(row[order], return_index=True)
        for number, part in zip(numbers.tolist(), np.split(order, first[1:]), strict=True):
            found[part] = getattr(self.laws[number], method)(x[part])
        return found

    def survival(self, x: Floats, row: Codes) -> Floats:
        return self._each("survival", x, row)

    def inverses(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        return self._each("inv_lo", u, row), self._each("inv_hi", u, row)

    def beyond(self, x: Floats, row: Codes) -> Floats:
        return self._each("stop_loss", x, row)
