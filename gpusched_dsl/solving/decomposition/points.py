"""Points of blocks in sparse form, and the pool of those that column generation has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.solving.decomposition.blocks import BlockStructure


@dataclass(frozen=True, eq=False)
class Points:
    """Point p is of `block[p]`; its values other than 0 are row p of `values`, over the own columns of
    `BlockStructure`."""

    block: Codes
    values: sp.csr_array

    @property
    def count(self) -> int:
        return len(self.block)

    def take(self, some: Codes) -> Points:
        return Points(self.block[some], self.values[some])

    def costs(self, parts: BlockStructure) -> Floats:
        return np.asarray(self.values @ parts.own_cost)

    def uses(self, parts: BlockStructure) -> sp.csr_array:
        """Return the amount of every use by every point: points x uses."""
        return (self.values @ parts.use.T).tocsr()

    @staticmethod
    def none(parts: BlockStructure) -> Points:
        return Points(np.zeros(0, dtype=np.int64), sp.csr_array((0, len(parts.own))))


def join_points(some: Sequence[Points]) -> Points:
    """All points one after the other."""
    return Points(np.concatenate([p.block for p in some]), sp.vstack([p.values for p in some], format="csr"))


class PointPool:
    """Distinct points with their costs and uses, numbered in the order of addition."""

    def __init__(self, parts: BlockStructure) -> None:
        self._parts = parts
        self._weights = np.random.default_rng(1).random(len(parts.own))
        self._numbers: dict[tuple[int, float], int] = {}
        self._batches: list[Points] = [Points.none(parts)]
        self.cost: Floats = np.zeros(0)
        self.block: Codes = np.zeros(0, dtype=np.int64)

    @property
    def count(self) -> int:
        return len(self.block)

    @property
    def points(self) -> Points:
        if len(self._batches) > 1:
            self._batches = [join_points(self._batches)]
        return self._batches[0]

    def add(self, points: Points) -> Points:
        """Add the new points; return them."""
        fresh: list[int] = []
        for number, key in enumerate(self._keys(points)):
            if key not in self._numbers:
                self._numbers[key] = len(self._numbers)
                fresh.append(number)
        new = points.take(np.array(fresh, dtype=np.int64))
        self._batches.append(new)
        self.cost = np.concatenate((self.cost, new.costs(self._parts)))
        self.block = np.concatenate((self.block, new.block))
        return new

    def numbers_of(self, points: Points) -> Codes:
        """Return the numbers of points that were added."""
        return np.array([self._numbers[key] for key in self._keys(points)], dtype=np.int64)

    def _keys(self, points: Points) -> list[tuple[int, float]]:
        sums = np.asarray(points.values @ self._weights)
        return list(zip(points.block.tolist(), sums.tolist(), strict=True))


def points_of(parts: BlockStructure, own: Floats) -> Points:
    """The points of all blocks in the values of all own columns."""
    filled = np.flatnonzero(own)
    values = sp.csr_array(
        (own[filled], (parts.block[filled], filled)), shape=(parts.blocks.count, len(parts.own))
    )  # fmt: skip
    return Points(np.arange(parts.blocks.count, dtype=np.int64), values)
