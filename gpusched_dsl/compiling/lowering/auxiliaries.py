"""The auxiliary columns of one grounding: their families, their definitions, and which columns are 0 or 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.ir import definitions
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s, unique
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.domains import Domain, IntervalDomain
from gpusched_dsl.ir.matrix import stack
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.language.source import Span

Making = Callable[[Int32s], "definitions.Definition"]
INFINITY = float("inf")


class AuxiliaryColumns:
    """Allocates columns after the declared ones. `owner` is the current declaration, for names."""

    def __init__(
        self,
        declared: tuple[Family, ...],
        zero_one: Bools,
        integer: Bools | None = None,
        bounds: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.owner = ""
        self.families: list[Family] = []
        self.definitions: list[definitions.Definition] = []
        self.columns = len(zero_one)
        self._declared = declared
        self._names = {f.name for f in declared}
        self._zero_one = [zero_one]
        self._declared_integer = zero_one if integer is None else integer
        free = np.full(len(zero_one), INFINITY)
        self._ranges = bounds or (
            -free,
            free,
        )  # of the declared columns and the results of the first `_ranged` definitions
        self._ranged = 0
        self._integer: list[Bools] = []
        self._unbounded: list[Bools] = []
        # Products known so far: sorted keys of their pairs of columns, and the results in the same order.
        self._pairs = np.zeros(0, dtype=np.int64)
        self._products = np.zeros(0, dtype=np.int32)
        self._made_of = np.zeros((0, 3), dtype=np.int32)  # a product and its two factors, in the order of products

    @property
    def zero_one(self) -> Bools:
        """For every column so far whether it can only be 0 or 1."""
        if len(self._zero_one) > 1:
            self._zero_one = [np.concatenate(self._zero_one)]
        return self._zero_one[0]

    @property
    def integer(self) -> Bools:
        """For every column so far whether its values are integers, as far as is known without bounds of rows."""
        return np.concatenate((self._declared_integer, *self._integer)) | self.zero_one

    def add(
        self,
        kind: str,
        domain: Domain,
        make: Making,
        span: Span,
        unit: str = "",
        zero_one: bool | Bools = False,
        integer: bool = False,
        unbounded: bool = False,
    ) -> Int32s:
        """Add columns with the definition of `make`; `zero_one` if their values are always 0 or 1, `integer` if the
        columns are declared binary, `unbounded` if they are declared integer without bounds.

        Over nothing there is no definition, so that a problem whose terms are all over empty sets is linear.
        """
        if not domain.size:
            return np.zeros(0, dtype=np.int32)
        results = np.arange(self.columns, self.columns + domain.size, dtype=np.int32)
        definition = make(results)
        self.families.append(Family(self._name(kind), self.columns, domain, span, unit, doc=definition.name))
        self.definitions.append(definition)
        self.columns += domain.size
        self._zero_one.append(np.broadcast_to(np.asarray(zero_one, dtype=np.bool_), (domain.size,)))
        self._integer.append(np.full(domain.size, integer or unbounded))
        self._unbounded.append(np.full(domain.size, unbounded))
        return results

    def ranges(self, affines: definitions.Affines) -> tuple[Floats, Floats]:
        """The smallest and the largest value of expressions within the declared bounds."""
        from gpusched_dsl.compiling.analysis.ranges import image_of

        for definition in self.definitions[self._ranged :]:
            image = image_of(definition, *Bounds(*self._ranges).of(definition.arguments))
            self._ranges = (np.concatenate((self._ranges[0], image[0])), np.concatenate((self._ranges[1], image[1])))
        self._ranged = len(self.definitions)
        return Bounds(*self._ranges).of(affines)

    def _name(self, kind: str) -> str:
        name = base = f"{self.owner}.{kind}" if self.owner else kind
        number = 1
        while name in self._names:
            number += 1
            name = f"{base}.{number}"
        self._names.add(name)
        return name

    def product(self, left: Int32s, right: Int32s, span: Span) -> Int32s:
        """Return the column of each product of two columns, independent of the order of factors."""
        factors = self._sorted_factors(np.concatenate((self._factors(left), self._factors(right)), axis=1))
        result = factors[:, 0].copy()
        for column in factors.T[1:]:
            more = np.flatnonzero(column >= 0)
            if len(more):
                result[more] = self._pair(result[more], column[more], span)
        return result

    def _factors(self, columns: Int32s) -> Int32s:
        """The columns that each column is a product of (itself when it is none), in rows filled up with -1."""
        parts = columns.reshape(-1, 1)
        while len(self._made_of):
            known = self._made_of[:, 0]
            at = np.minimum(np.searchsorted(known, parts), len(known) - 1)
            made = known[at] == parts
            if not made.any():
                break
            checkpoint()
            parts = np.concatenate(
                (np.where(made, self._made_of[at, 1], parts), np.where(made, self._made_of[at, 2], -1)), axis=1
            )
            # Without the empty places, which would double with each factor.
            parts = -np.sort(-parts, axis=1)
            parts = parts[:, : int((parts >= 0).sum(axis=1).max(initial=1))]
        return parts

    def _sorted_factors(self, parts: Int32s) -> Int32s:
        """Sort factors: 0/1 factors first and without repetitions, -1 last."""
        last = 2 * self.columns
        rank = np.where(parts < 0, last, parts + np.where(self.zero_one[parts], 0, self.columns)).astype(np.int64)
        rank.sort(axis=1)
        again = (rank[:, 1:] == rank[:, :-1]) & (rank[:, 1:] < self.columns)
        if again.any():
            rank[:, 1:][again] = last
            rank.sort(axis=1)
        used = rank[:, : max(1, int((rank < last).sum(axis=1).max(initial=1)))]
        return np.where(used == last, -1, used % self.columns).astype(np.int32)

    def _pair(self, left: Int32s, right: Int32s, span: Span) -> Int32s:
        low, high = np.minimum(left, right).astype(np.int64), np.maximum(left, right).astype(np.int64)
        keys = (low << 32) | high
        known, first, back = np.unique(keys, return_index=True, return_inverse=True)
        columns = np.full(len(known), -1, dtype=np.int32)
        if len(self._pairs):
            at = np.minimum(np.searchsorted(self._pairs, known), len(self._pairs) - 1)
            hit = self._pairs[at] == known
            columns[hit] = self._products[at[hit]]
        one, other = low[first].astype(np.int32), high[first].astype(np.int32)
        square = (columns < 0) & (one == other)
        for new, make in ((square, self._squares), ((columns < 0) & ~square, self._binary_products)):
            if new.any():
                columns[new] = make(one[new], other[new], span)
        order = np.argsort(np.concatenate((self._pairs, known)), kind="stable")
        self._pairs = np.concatenate((self._pairs, known))[order]
        self._products = np.concatenate((self._products, columns))[order]
        results: Int32s = columns[back.reshape(-1)]
        return results

    def _squares(self, one: Int32s, other: Int32s, span: Span) -> Int32s:
        arguments, exponents = definitions.Affines.of_columns(one), np.full(len(one), 2.0)
        name = f"{self.name_of(one)}^2"
        starts = definitions.unary_starts(len(one))
        return self.add(
            "square", _numbers(len(one)),
            lambda results: definitions.Power(results, starts, arguments, span, name, exponents), span,
        )  # fmt: skip

    def _binary_products(self, one: Int32s, other: Int32s, span: Span) -> Int32s:
        arguments = definitions.Affines.of_columns(np.stack((one, other), axis=1).reshape(-1))
        name = f"{self.name_of(one)} * {self.name_of(other)}"
        starts = 2 * np.arange(len(one) + 1, dtype=np.int64)
        results = self.add(
            "product", _numbers(len(one)),
            lambda results: definitions.Product(results, starts, arguments, span, name), span,
            zero_one=self.zero_one[one] & self.zero_one[other],
        )  # fmt: skip
        self._made_of = np.concatenate((self._made_of, np.stack((results, one, other), axis=1)))
        return results

    def name_of(self, columns: Int32s) -> str:
        """The families that some columns belong to, for people: `train`, or `train, serve`."""
        families = [f for f in (*self._declared, *self.families) if f.size]
        firsts = np.array([f.first for f in families])
        used = unique(np.searchsorted(firsts, columns, side="right") - 1)
        own = [families[int(u)] for u in used[:3]]
        text = " or ".join(f.name if f in self._declared else f"({f.doc or f.name})" for f in own)
        return text + (" ..." if len(used) > 3 else "")

    # --- for the problem ---------------------------------------------------------------------------------------------

    def make_integer(self, columns: Int32s) -> None:
        """Declare result columns integer: they are used as conditions, which solvers want to be binary."""
        added = columns[columns >= self._first]
        if len(added):
            integer = np.concatenate(self._integer)
            integer[added - self._first] = True
            self._integer = [integer]

    @property
    def _first(self) -> int:
        return self.columns - sum(len(i) for i in self._integer)

    def bounds(self) -> tuple[Floats, Floats, Bools]:
        """Lower and upper bounds and integrality of the auxiliary columns."""
        integer = np.concatenate([np.zeros(0, dtype=np.bool_), *self._integer])
        lower, upper = np.full(len(integer), -INFINITY), np.full(len(integer), INFINITY)
        binary = integer & ~np.concatenate([np.zeros(0, dtype=np.bool_), *self._unbounded])
        lower[binary], upper[binary] = 0.0, 1.0
        return lower, upper, integer


def _numbers(size: int) -> Domain:
    return IntervalDomain(1, size)


def interleave(parts: Iterable[definitions.Affines]) -> tuple[Codes, definitions.Affines]:
    """Expressions of several arguments, entry by entry: the `starts` of entries and all arguments in order."""
    all_parts = list(parts)
    size, count = all_parts[0].count, len(all_parts)
    order = (np.arange(size)[:, None] + size * np.arange(count)[None, :]).reshape(-1)
    matrix, constants = stack([p.matrix for p in all_parts]), np.concatenate([p.constants for p in all_parts])
    together = definitions.Affines(matrix, constants)
    return count * np.arange(size + 1, dtype=np.int64), together.take(order) if count > 1 else together
