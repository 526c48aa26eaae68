"""Index frames: the rows over which an expression is evaluated at once, and how a row multiplies.

A frame is a table with one code column per bound index variable. Iterators multiply its rows; every multiplication is
an `Expansion` that remembers which row each new row came from. Rows keep their order, so `parent` never decreases and
sums over it need no sorting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.grids import GridAxis, GridColumns
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import Domain, Packing
from gpusched_dsl.language.checked import IndexVar


class Frame(Struct, frozen=True, eq=False):
    """`size` rows; `columns` holds one code column of that length per bound variable.

    `axes` are those of a grid (see `grids.py`): rows are all their combinations, the last axis varying fastest.
    """

    size: int
    columns: Mapping[IndexVar, Codes]
    axes: tuple[GridAxis, ...] = ()

    @staticmethod
    def grid(axes: Sequence[GridAxis]) -> Frame:
        """The frame of all combinations of some axes."""
        size = 1
        for axis in axes:
            size *= axis.size
        return Frame(size, GridColumns(axes), tuple(axes))

    def part(self, variables: frozenset[IndexVar]) -> tuple[Frame, tuple[int, ...]] | None:
        """The grid of the axes that bind some of `variables`, and the shape in which it broadcasts over this frame.

        None when this is no grid, or when no axis could be left out.
        """
        used = [not variables.isdisjoint(axis.variables) for axis in self.axes]
        if all(used):
            return None
        sizes = tuple(axis.size if u else 1 for axis, u in zip(self.axes, used, strict=True))
        return Frame.grid([axis for axis, u in zip(self.axes, used, strict=True) if u]), sizes

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes of a grid."""
        return tuple(axis.size for axis in self.axes)

    def take(self, rows: Codes) -> Frame:
        """The rows at some positions, in that order."""
        if isinstance(self.columns, GridColumns) and 16 * len(rows) < self.size:
            return Frame(len(rows), self.columns.take(rows))
        return Frame(len(rows), {v: c[rows] for v, c in self.columns.items()})

    def bind(self, columns: Mapping[IndexVar, Codes]) -> Frame:
        """The same rows with further variables."""
        return Frame(self.size, {**self.columns, **columns})


EMPTY_FRAME = Frame(1, {})


class Expansion(Struct, frozen=True, eq=False):
    """A frame grown from another one; `parent` is the source row of each row, None when rows are the same."""

    frame: Frame
    parent: Codes | None = None

    def filter(self, mask: Bools) -> Expansion:
        """Keep the rows where the mask is true."""
        if mask.all():
            return self
        rows = np.flatnonzero(mask)
        return self._then(self.frame.take(rows), rows)

    def repeat(self, counts: Codes | int) -> Expansion:
        """Every row `counts` times (one number for all, or one per row)."""
        parent = np.repeat(np.arange(self.frame.size, dtype=np.int64), counts)
        columns = {v: np.repeat(c, counts) for v, c in self.frame.columns.items()}
        return self._then(Frame(len(parent), columns), parent)

    def cross(self, axis: GridAxis) -> Expansion:
        """Every row with every element of an axis."""
        frame = self.frame
        if not frame.axes and (frame.columns or frame.size != 1):
            grown = self.repeat(axis.size)
            return grown.bind({v: np.tile(c, frame.size) for v, c in zip(axis.variables, axis.columns, strict=True)})
        parent = np.repeat(np.arange(frame.size, dtype=np.int64), axis.size)
        return self._then(Frame.grid((*frame.axes, axis)), parent)

    def bind(self, columns: Mapping[IndexVar, Codes]) -> Expansion:
        return Expansion(self.frame.bind(columns), self.parent)

    def parents(self) -> Codes:
        return np.arange(self.frame.size, dtype=np.int64) if self.parent is None else self.parent

    def _then(self, frame: Frame, step: Codes) -> Expansion:
        return Expansion(frame, step if self.parent is None else self.parent[step])


def ranges(counts: Codes) -> Codes:
    """0, 1, ..., counts[0]-1, 0, 1, ..., counts[1]-1, ...: the place of each row within its group."""
    total = int(counts.sum())
    ends = np.cumsum(counts)
    return np.arange(total, dtype=np.int64) - np.repeat(ends - counts, counts)


class JoinIndex:
    """The tuples of a relation grouped by some of their columns, ready to be matched with frame rows."""

    def __init__(self, keys: tuple[Codes, ...]) -> None:
        self._packing = Packing.of(keys)
        packed = self._packing.keys(keys)
        self._order = np.argsort(packed, kind="stable")
        ordered = packed[self._order]
        self._starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        self._known = ordered[self._starts]
        self._counts = np.diff(np.append(self._starts, len(packed)))

    @property
    def groups(self) -> int:
        return len(self._known)

    def match(self, keys: tuple[Codes, ...]) -> tuple[Codes, Codes]:
        """For each frame row the number of matching tuples and where they start in the grouped order."""
        if not len(self._known):
            empty = np.zeros(len(keys[0]), dtype=np.int64)
            return empty, empty
        packed = self._packing.keys(keys)
        place = np.minimum(np.searchsorted(self._known, packed), len(self._known) - 1)
        hit = self._known[place] == packed
        return np.where(hit, self._counts[place], 0), self._starts[place]

    @cached_property
    def _is_in_order(self) -> bool:
        return bool((self._order == np.arange(len(self._order))).all())

    def takes_all_in_order(self, counts: Codes, starts: Codes) -> bool:
        """Whether the matching tuples are all tuples, in their own order."""
        if int(counts.sum()) < len(self._order) or not self._is_in_order:
            return False
        return np.array_equal(starts[counts > 0], self._starts)

    def rows(self, counts: Codes, starts: Codes) -> Codes:
        """The positions of the matching tuples, group by group."""
        rows: Codes = self._order[np.repeat(starts, counts) + ranges(counts)]
        return rows


def covers_universe(domain: Domain) -> bool:
    """Whether a one-dimensional domain is a whole root set, so that no element of it can be missing."""
    from gpusched_dsl.ir.domains import IntervalDomain

    return (
        isinstance(domain, IntervalDomain)
        and domain.component is not None
        and domain.low == 0
        and domain.size == len(domain.component.labels)
    )


def all_of(masks: Sequence[Bools]) -> Bools:
    """Where every mask is true."""
    result = masks[0]
    for mask in masks[1:]:
        result = result & mask
    return result
