"""Grids: frames whose rows are all combinations of a few axes, so that their columns need not be stored.

An expression that depends on some axes only is evaluated once per combination of those and spread over the others by
broadcasting; the place of `run[j, n, v, g]` is a sum of one small array per factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.language.checked import IndexVar


class GridAxis(Struct, frozen=True, eq=False):
    """One factor of a grid: `columns` have the codes of `variables` for each of its `size` elements."""

    variables: tuple[IndexVar, ...]
    columns: tuple[Codes, ...]
    size: int


class GridColumns(Mapping[IndexVar, Codes]):
    """The code columns of a grid in row-major order, each computed on demand."""

    def __init__(self, axes: Sequence[GridAxis]) -> None:
        self._made: dict[IndexVar, Codes] = {}
        self._place: dict[IndexVar, tuple[Codes, int, int]] = {}
        before, after = 1, 1
        for axis in axes:
            after *= axis.size
        for axis in axes:
            after //= max(axis.size, 1)
            for variable, column in zip(axis.variables, axis.columns, strict=True):
                self._place[variable] = (column, before, after)
            before *= axis.size

    def __getitem__(self, variable: IndexVar) -> Codes:
        if variable not in self._made:
            column, before, after = self._place[variable]
            if after != 1:
                column = np.repeat(column, after)
            # The column of a single axis is the domain's own: its elements are found without a search.
            self._made[variable] = np.tile(column, before) if before != 1 else column
        return self._made[variable]

    def take(self, rows: Codes) -> dict[IndexVar, Codes]:
        """The codes in some rows, without the complete columns."""
        return {v: column[rows // after % len(column)] for v, (column, _, after) in self._place.items()}

    def __iter__(self) -> Iterator[IndexVar]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)
