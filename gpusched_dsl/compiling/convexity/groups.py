"""Parts of sums: all entries of one sum whose columns have the same function, which may be convex together."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.convexity.factored_terms import FactoredTerms
from gpusched_dsl.compiling.convexity.polynomials import Polynomials
from gpusched_dsl.compiling.convexity.readers import Readers
from gpusched_dsl.ir.arrays import Bools, Codes, Floats


class TermGroups(Struct, frozen=True, eq=False):
    """Group g is the part of reader `readers[g]` with function `factors[g]`: `polynomials` row g times the function.

    It consists of the `entries` of the readers' matrix with `group == g`. `signs[g]` is 1 where it must be convex, -1
    where its opposite must be; `polynomials` are multiplied by it already.
    """

    readers: Codes
    factors: Codes
    signs: Floats
    polynomials: Polynomials
    entries: Codes
    group: Codes

    @property
    def count(self) -> int:
        return len(self.readers)

    def take(self, which: Codes) -> TermGroups:
        numbers = np.full(self.count, -1, dtype=np.int64)
        numbers[which] = np.arange(len(which))
        group = numbers[self.group]
        kept = np.flatnonzero(group >= 0)
        return TermGroups(
            self.readers[which], self.factors[which], self.signs[which], self.polynomials.take(which),
            self.entries[kept], group[kept],
        )  # fmt: skip


def groups_of(
    readers: Readers, terms: FactoredTerms, kind: int, asked: Bools, open_readers: Bools, entries_left: Bools
) -> TermGroups:
    """The groups of a kind of function with a column that is `asked` for, in the readers and entries that are left."""
    matrix = readers.matrix
    columns, rows = matrix.columns.astype(np.int64), matrix.row_of.astype(np.int64)
    usable = open_readers & (readers.signs != 0)
    entries = np.flatnonzero((terms.kind_of(columns) == kind) & usable[rows] & entries_left)
    columns, rows = columns[entries], rows[entries]
    width = len(terms.kinds)
    keys, group = np.unique(rows * width + terms.factor[columns], return_inverse=True)
    group = group.reshape(-1)
    signs = readers.signs[keys // width]
    numerators = terms.numerators.combine(
        len(keys), group, terms.numerator[columns], matrix.values[entries] * signs[group]
    )
    found = TermGroups(keys // width, keys % width, signs, numerators, entries, group)
    return found.take(np.flatnonzero(np.bincount(group, weights=asked[columns], minlength=len(keys))))
