"""Positive semidefinite quadratic forms of affine expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.convex import ConvexDefinition
from gpusched_dsl.ir.definitions.intervals import Interval, loosen, product_of


class Pairs(Struct, frozen=True, eq=False):
    """Pairs of arguments: entry i adds `coefficients[k] * argument first[k] * argument second[k]`, k in its range.

    The range is `starts[i] .. starts[i+1] - 1`. Arguments are numbered from 0 within their entry; a pair occurs once,
    with `first <= second`.
    """

    starts: Codes
    first: Codes
    second: Codes
    coefficients: Floats

    @property
    def counts(self) -> Codes:
        return np.diff(self.starts)

    def take(self, entries: Codes) -> Pairs:
        counts = self.counts[entries]
        starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        at = np.arange(starts[-1], dtype=np.int64) + np.repeat(self.starts[:-1][entries] - starts[:-1], counts)
        return Pairs(starts, self.first[at], self.second[at], self.coefficients[at])

    def same(self, other: Pairs) -> bool:
        """Whether both have the same numbers."""
        mine = (self.starts, self.first, self.second, self.coefficients)
        return all(map(np.array_equal, mine, (other.starts, other.first, other.second, other.coefficients)))


NOBODY: Codes = np.zeros(0, dtype=np.int64)
NO_PAIRS = Pairs(np.zeros(1, dtype=np.int64), NOBODY, NOBODY, np.zeros(0))


@dataclass(frozen=True, eq=False)
class QuadraticForm(ConvexDefinition):
    """A sum of products of two arguments with coefficients, which is never negative; made by passes only."""

    pairs: Pairs = field(default_factory=lambda: NO_PAIRS)

    op: ClassVar[str] = "quadratic"
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "quadratic": ("a convex quadratic", "linear rows cannot express it")
    }

    @cached_property
    def pair_entry(self) -> Codes:
        """The entry of each pair."""
        return np.repeat(np.arange(self.size, dtype=np.int64), self.pairs.counts)

    @cached_property
    def pair_places(self) -> tuple[Codes, Codes]:
        """The two arguments of each pair, numbered over all entries."""
        begin = self.starts[:-1][self.pair_entry]
        return begin + self.pairs.first, begin + self.pairs.second

    def evaluate(self, arguments: Floats) -> Floats:
        a, b = self.pair_places
        products = self.pairs.coefficients * arguments[a] * arguments[b]
        return self._sum_pairs(products)

    def _sum_pairs(self, values: Floats) -> Floats:
        """The sums of a value per pair, for each entry."""
        return np.bincount(self.pair_entry, weights=values, minlength=self.size).astype(np.float64, copy=False)

    def image(self, low: Floats, high: Floats) -> Interval:
        a, b = self.pair_places
        small, large = product_of((low[a], high[a]), (low[b], high[b]))
        square = a == b
        small = np.where(square, np.maximum(small, 0.0), small)
        least, most = _scale_interval(self.pairs.coefficients, (small, large))
        least, most = loosen(self._sum_pairs(least), self._sum_pairs(most))
        return np.maximum(least, 0.0), most

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        """The slope in one argument is affine in the others."""
        least, most = self._gradient_range(low, high)
        return ~(most <= 0), ~(least >= 0)

    def _gradient_range(self, low: Floats, high: Floats) -> Interval:
        a, b = self.pair_places
        least, most = np.zeros(len(low)), np.zeros(len(low))
        for to, of in ((a, b), (b, a)):
            begin, end = _scale_interval(self.pairs.coefficients, (low[of], high[of]))
            np.add.at(least, to, begin)
            np.add.at(most, to, end)
        return least, most

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        a, b = self.pair_places
        result = np.zeros(len(inside))
        np.add.at(result, a, self.pairs.coefficients * inside[b])
        np.add.at(result, b, self.pairs.coefficients * inside[a])
        return result

    def take(self, entries: Codes) -> Self:
        taken = super().take(entries)
        return replace(taken, pairs=self.pairs.take(entries))

    def function_keys(self, numbers: dict[Any, int]) -> tuple[list[Any], list[Floats]]:
        """Entries count as different functions."""
        return [id(self.pairs)], [np.arange(self.size, dtype=np.float64)]


def _scale_interval(factor: Floats, interval: Interval) -> Interval:
    """An interval times a number that is not 0."""
    low, high = np.where(factor > 0, interval[0], interval[1]), np.where(factor > 0, interval[1], interval[0])
    return factor * low, factor * high
