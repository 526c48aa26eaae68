"""Index domains: the index tuples of a set, a parameter, a family of variables or rows, as code columns.

An index component is a column of int64 codes. For a component of a nominal root set the code is the element's place
in the root's `Universe`; for an integer component it is the integer itself. A domain turns code columns into
positions (`locate`) and positions into code columns (`columns`), always for whole arrays.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gpusched_dsl.ir.arrays import Bools, Codes, unique

Scalar = str | int


class Universe(Struct, frozen=True, eq=False, dict=True, weakref=True):
    """The elements of a nominal root set, in order. Labels are all strings or all integers."""

    name: str
    labels: tuple[Scalar, ...]

    @cached_property
    def code_of(self) -> dict[Scalar, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def label_array(self) -> NDArray[np.object_]:
        return np.array(self.labels, dtype=object)

    @cached_property
    def integer_labels(self) -> Codes | None:
        """The labels as integers when all of them are, else None."""
        if all(isinstance(label, int) for label in self.labels):
            return np.array(self.labels, dtype=np.int64)
        return None


Component = Universe | None  # None: an integer component


class Domain(ABC):
    """An ordered set of distinct index tuples of one arity."""

    components: tuple[Component, ...]

    @property
    def arity(self) -> int:
        return len(self.components)

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def columns(self) -> tuple[Codes, ...]:
        """One code column per component, each of length `size`, in the order of the domain."""

    @abstractmethod
    def locate(self, columns: Sequence[Codes]) -> Codes:
        """The position of each tuple, -1 where it is not in the domain."""

    def columns_at(self, positions: Codes) -> tuple[Codes, ...]:
        """The code columns of the tuples at these positions."""
        return tuple(column[positions] for column in self.columns())

    def counts_of(self, place: int, codes: Codes) -> Codes:
        """How many tuples have each of these codes as the component at `place`."""
        column = np.sort(self.columns()[place])
        return np.searchsorted(column, codes, side="right") - np.searchsorted(column, codes)

    def positions_with(self, place: int, codes: Codes) -> Codes:
        """The positions, in order, of the tuples with one of these codes as the component at `place`."""
        return np.flatnonzero(np.isin(self.columns()[place], codes))

    def tuple_at(self, position: int) -> tuple[Scalar, ...]:
        """The labels of the tuple at a position."""
        return decode(self.components, [c[position : position + 1] for c in self.columns()])[0]

    def label_columns(self) -> list[list[Scalar]]:
        """The labels of every tuple, a list per component."""
        return [decode_column(u, c) for u, c in zip(self.components, self.columns(), strict=True)]


def decode_column(component: Component, codes: Codes) -> list[Scalar]:
    if component is None:
        return [int(c) for c in codes.tolist()]
    labels: list[Scalar] = component.label_array[codes].tolist()
    return labels


def decode(components: Sequence[Component], columns: Sequence[Codes]) -> list[tuple[Scalar, ...]]:
    """The label tuples of some code columns."""
    if not components:
        return [()]
    return list(zip(*(decode_column(u, c) for u, c in zip(components, columns, strict=True)), strict=True))


def _is_within(numbers: Codes, size: int) -> Bools:
    return (numbers >= 0) & (numbers < size)


def are_all_within(numbers: Codes, size: int) -> bool:
    """Check the common case by one reduction without a temporary array: negative numbers are large as unsigned ones."""
    if numbers.dtype != np.int64:
        return bool(_is_within(numbers, size).all())
    return not len(numbers) or int(np.maximum.reduce(numbers.view(np.uint64))) < size


@dataclass(frozen=True, eq=False)
class ScalarDomain(Domain):
    """The domain without indices: one empty tuple."""

    components: tuple[Component, ...] = ()

    @property
    def size(self) -> int:
        return 1

    def columns(self) -> tuple[Codes, ...]:
        return ()

    def locate(self, columns: Sequence[Codes]) -> Codes:
        raise TypeError("a domain without indices has nothing to locate")


@dataclass(frozen=True, eq=False)
class IntervalDomain(Domain):
    """`low, low + step, ..., ` up to `high`; empty when high < low. Of a root set: all of it (low 0, step 1)."""

    low: int
    high: int
    step: int = 1
    component: Component = None

    @cached_property
    def components(self) -> tuple[Component, ...]:  # type: ignore[override]
        return (self.component,)

    @property
    def size(self) -> int:
        return max(0, (self.high - self.low) // self.step + 1)

    def columns(self) -> tuple[Codes, ...]:
        return (self.low + self.step * np.arange(self.size, dtype=np.int64),)

    def locate(self, columns: Sequence[Codes]) -> Codes:
        offset = columns[0] - self.low if self.low else columns[0]
        if self.step == 1:
            return offset if are_all_within(offset, self.size) else np.where(_is_within(offset, self.size), offset, -1)
        place, rest = np.divmod(offset, self.step)
        return np.where((rest == 0) & (place >= 0) & (place < self.size), place, -1)


@dataclass(frozen=True, eq=False)
class TupleDomain(Domain):
    """Any distinct tuples, kept as columns; positions by a dense table when that is small, else by binary search."""

    components: tuple[Component, ...]
    codes: tuple[Codes, ...]

    @property
    def size(self) -> int:
        return len(self.codes[0])

    def columns(self) -> tuple[Codes, ...]:
        return self.codes

    @cached_property
    def packing(self) -> Packing:
        return Packing.of(self.codes)

    @cached_property
    def _sorted_keys(self) -> tuple[Codes, Codes]:
        keys = self.packing.keys(self.codes)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    @cached_property
    def _table(self) -> Codes | None:
        if self.packing.span > max(4 * self.size, 1 << 20):
            return None
        table = np.full(self.packing.span + 1, -1, dtype=np.int64)
        table[self.packing.keys(self.codes)] = np.arange(self.size)
        return table

    @cached_property
    def _starts(self) -> dict[int, Codes | None]:
        return {}

    def starts_by(self, place: int) -> Codes | None:
        """Where the tuples with each element as the component at `place` start, and where the last ones end.

        None where these elements do not ascend, or are integers.
        """
        if place not in self._starts:
            component, column = self.components[place], self.codes[place]
            ascends = component is not None and bool((column[1:] >= column[:-1]).all())
            elements = np.arange(1 + len(component.labels)) if component is not None else column
            self._starts[place] = np.searchsorted(column, elements) if ascends else None
        return self._starts[place]

    def locate(self, columns: Sequence[Codes]) -> Codes:
        if self.size == 0:
            return np.full(len(columns[0]), -1, dtype=np.int64)
        if all(own is other for own, other in zip(self.codes, columns, strict=True)):
            return np.arange(self.size)  # its own elements, in their order
        keys = self.packing.keys(columns)
        if self._table is not None:
            found: Codes = self._table[keys]  # key -1 (outside) reads the last cell, which is -1
            return found
        known, order = self._sorted_keys
        place = np.minimum(np.searchsorted(known, keys), self.size - 1)
        return np.where(known[place] == keys, order[place], -1)


@dataclass(frozen=True, eq=False)
class ProductDomain(Domain):
    """All combinations of the factors, the last one varying fastest; nothing is stored."""

    factors: tuple[Domain, ...]

    @cached_property
    def components(self) -> tuple[Component, ...]:  # type: ignore[override]
        return tuple(u for f in self.factors for u in f.components)

    @cached_property
    def size(self) -> int:
        size = 1
        for factor in self.factors:
            size *= factor.size
        return size

    def columns(self) -> tuple[Codes, ...]:
        result: list[Codes] = []
        before, after = 1, self.size
        for factor in self.factors:
            after //= max(factor.size, 1)
            result.extend(np.tile(np.repeat(c, after), before) for c in factor.columns())
            before *= factor.size
        return tuple(result)

    def locate(self, columns: Sequence[Codes]) -> Codes:
        position: Codes | None = None
        outside: Bools | None = None
        at = 0
        for factor in self.factors:
            part = factor.locate(columns[at : at + factor.arity])
            at += factor.arity
            missing = part < 0
            if missing.any():
                outside = missing if outside is None else outside | missing
            position = part if position is None else position * factor.size + part
        assert position is not None
        if outside is not None:
            position = np.where(outside, -1, position)
        return position

    def columns_at(self, positions: Codes) -> tuple[Codes, ...]:
        found: list[tuple[Codes, ...]] = []
        for factor in reversed(self.factors):
            positions, inner = np.divmod(positions, factor.size)
            found.append(factor.columns_at(inner))
        return tuple(column for part in reversed(found) for column in part)

    def counts_of(self, place: int, codes: Codes) -> Codes:
        at, inner = self._factor_with(place)
        factor = self.factors[at]
        return factor.counts_of(inner, codes) * (self.size // max(factor.size, 1))

    def positions_with(self, place: int, codes: Codes) -> Codes:
        at, inner = self._factor_with(place)
        after = math.prod(factor.size for factor in self.factors[at + 1 :])
        found = self.factors[at].positions_with(inner, codes)
        starts = np.arange(math.prod(factor.size for factor in self.factors[:at])) * self.factors[at].size
        inside: Codes = np.add.outer(starts, found).ravel() * after
        return np.add.outer(inside, np.arange(after)).ravel()

    def _factor_with(self, place: int) -> tuple[int, int]:
        """The factor with a component, and the place of the component in it."""
        at = 0
        while place >= self.factors[at].arity:
            place -= self.factors[at].arity
            at += 1
        return at, place

    def tuple_at(self, position: int) -> tuple[Scalar, ...]:
        parts: list[tuple[Scalar, ...]] = []
        for factor in reversed(self.factors):
            position, rest = divmod(position, factor.size)
            parts.append(factor.tuple_at(rest))
        return tuple(label for part in reversed(parts) for label in part)


@dataclass(frozen=True)
class Packing:
    """Packs code tuples into one int64 key each, by mixed radix over the ranges seen; `span` keys are possible.

    Where ranges are too wide for 63 bits, `ranks` has the distinct values of each column: their places are packed.
    """

    lows: tuple[int, ...]
    extents: tuple[int, ...]
    span: int = field(default=0)
    ranks: tuple[Codes, ...] = field(default=(), compare=False)

    @staticmethod
    def of(columns: Sequence[Codes]) -> Packing:
        """The packing of these columns; raises OverflowError when not even the distinct values fit into 63 bits."""
        ends = [(int(c.min()), int(c.max())) if len(c) else (0, 0) for c in columns]
        lows, extents = tuple(low for low, _ in ends), tuple(high - low + 1 for low, high in ends)
        if math.prod(extents) < 1 << 62:
            return Packing(lows, extents, math.prod(extents))
        ranks = tuple(unique(c) for c in columns)
        extents = tuple(map(len, ranks))
        if math.prod(extents) >= 1 << 62:
            raise OverflowError("index ranges too wide to pack")
        return Packing((0,) * len(ranks), extents, math.prod(extents), ranks)

    def _ranks_of(self, columns: Sequence[Codes]) -> list[Codes]:
        places = [np.searchsorted(known, c) for known, c in zip(self.ranks, columns, strict=True)]
        last = [len(known) - 1 for known in self.ranks]
        return [
            np.where(known[np.minimum(place, end)] == c, place, -1)
            for known, place, end, c in zip(self.ranks, places, last, columns, strict=True)
        ]

    def keys(self, columns: Sequence[Codes]) -> Codes:
        """One key per tuple, -1 for a tuple outside the ranges."""
        if self.ranks:
            columns = self._ranks_of(columns)
        key: Codes | None = None
        outside: Bools | None = None
        for column, low, extent in zip(columns, self.lows, self.extents, strict=True):
            digit = column - low if low else column
            if not are_all_within(digit, extent):
                bad = ~_is_within(digit, extent)
                outside = bad if outside is None else outside | bad
            key = digit.astype(np.int64, copy=False) if key is None else key * extent + digit
        assert key is not None
        return key if outside is None else np.where(outside, -1, key)
