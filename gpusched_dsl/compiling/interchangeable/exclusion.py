"""Which 0/1 columns of one slot exclude which others on an element.

All exclusions of a slot must be part of `core + group` for groups of columns that have nothing in common: then columns
of the core have elements of their own, and each group shares the rest of the elements among its columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.local import Local
from gpusched_dsl.compiling.interchangeable.packing_rows import Kinds
from gpusched_dsl.compiling.interchangeable.work import BLAS, STEP, ElementWork
from gpusched_dsl.ir.arrays import Bools, Codes

ON_PAIRS = 10  # looks at every pair of rows of a slot


@dataclass(frozen=True, eq=False)
class Exclusion:
    """`core` ascends. The columns of group g are `members[starts[g]:starts[g+1]]`; `carrier` is -1 for none."""

    carrier: int
    core: Codes
    members: Codes
    starts: Codes


def exclusion_of(local: Local, kinds: Kinds, slot: Codes, state: Bools, work: ElementWork) -> list[Exclusion]:
    """The exclusions of every slot; raises Obstacle naming the rows of a slot in which they overlap otherwise.

    Also where rows are too many to be compared with each other within `work`.
    """
    count = int(slot.max(initial=-1)) + 1
    own = local.own[kinds.exclusions]
    of_row = slot[own.indices[own.indptr[:-1]]] if len(kinds.exclusions) else np.zeros(0, dtype=np.int64)
    order = np.argsort(of_row, kind="stable")
    own = own[order]
    entry_row = np.repeat(np.arange(len(order)), np.diff(own.indptr))
    begin = np.searchsorted(of_row[order], np.arange(count + 1))
    columns = np.flatnonzero(state & (slot >= 0) & (local.integer | kinds.carrier))
    columns = columns[np.argsort(slot[columns], kind="stable")]  # ascending in each slot
    first = np.searchsorted(slot[columns], np.arange(count + 1))
    result = []
    for s in range(count):
        entries = slice(own.indptr[begin[s]], own.indptr[begin[s + 1]])
        row, column = entry_row[entries] - begin[s], own.indices[entries]
        rows = order[begin[s] : begin[s + 1]]
        result.append(_Slot(local, kinds, rows, row, column, columns[first[s] : first[s + 1]], work).exclusion())
    return result


class _Slot:
    """One slot: its exclusions `rows`, with the entries `(row[i], column[i])`, and its columns."""

    def __init__(
        self, local: Local, kinds: Kinds, rows: Codes, row: Codes, column: Codes, columns: Codes, work: ElementWork
    ) -> None:
        self.local, self.kinds, self.rows, self.work = local, kinds, rows, work
        self.row, self.column = row, column
        carriers = columns[kinds.carrier[columns]]
        self.columns = columns[~kinds.carrier[columns]]
        if len(carriers) > 1:
            names = " and ".join(f"`{n}`" for n in dict.fromkeys(local.column_family(int(c)).name for c in carriers))
            raise self._obstacle(0, f"and others put one column on two carriers, {names}")
        self.carrier = int(carriers[0]) if len(carriers) else -1

    def _obstacle(self, row: int, why: str) -> Obstacle:
        if not len(self.rows):
            family = self.local.column_family(int(self.columns[0]))
        else:
            family = self.local.row_family(int(self.kinds.exclusions[self.rows[row]]))
        return Obstacle(f"`{family.name}` {why}", family.span)

    def exclusion(self) -> Exclusion:
        none = np.zeros(0, dtype=np.int64)
        if not len(self.rows):
            if len(self.columns) > 1 or (len(self.columns) and self.carrier >= 0):
                raise self._obstacle(0, "may be 1 together with other columns of one element")
            return Exclusion(self.carrier, self.columns, none, np.zeros(1, dtype=np.int64))
        every, wide = len(self.rows), len(self.columns)
        span = self.local.row_family(int(self.kinds.exclusions[self.rows[0]])).span
        self.work.spend(STEP + 4 * every * wide + every * every * (wide // BLAS + ON_PAIRS), span)
        inside = np.zeros((len(self.rows), len(self.columns)), dtype=np.bool_)
        member = self.column != self.carrier
        beside = ~member & (self.kinds.on[self.rows[self.row]] != self.carrier)
        if beside.any():
            raise self._obstacle(int(self.row[np.flatnonzero(beside)[0]]), "lets a column exclude its carrier")
        inside[self.row[member], np.searchsorted(self.columns, self.column[member])] = True
        if not inside.any(axis=0).all():
            raise self._obstacle(0, "lacks a column that other rows of the slot have")
        top = self._largest_rows(inside)
        core = inside[top].all(axis=0)
        rest = inside[top] & ~core
        if (rest.sum(axis=0) > 1).any():
            raise self._obstacle(int(top[0]), "and others exclude columns that overlap only in part")
        group, at = np.nonzero(rest)
        starts = np.searchsorted(group, np.arange(len(top) + 1))
        return Exclusion(self.carrier, self.columns[core], self.columns[at], starts.astype(np.int64))

    def _largest_rows(self, inside: Bools) -> Codes:
        """The rows that no other row implies."""
        own = self.kinds.on[self.rows]
        exact = self.kinds.exact[self.rows]
        # Row i is part of row j; sums of integers below 2 ** 24 are exact.
        weaker = (inside.astype(np.float32) @ (~inside).T.astype(np.float32)) == 0
        weaker &= (own[:, None] < 0) | (own[:, None] == own[None, :])
        weaker &= ~exact[:, None] | (weaker.T & exact[None, :])  # an equation only by the same one
        np.fill_diagonal(weaker, False)
        same = weaker & weaker.T
        weaker &= ~(
            same & (np.arange(len(own))[:, None] < np.arange(len(own))[None, :])
        )  # of equal ones the first stays
        top = np.flatnonzero(~weaker.any(axis=1))
        if (own[top] != self.carrier).any():
            raise self._obstacle(int(top[np.flatnonzero(own[top] != self.carrier)[0]]), "is separate from a carrier")
        return top
