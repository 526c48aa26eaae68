"""Rows inside blocks by their possible role: the choice of an alternative, its work, the starts of its slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.solving.decomposition.blocks import BlockStructure

INTEGRALITY = 1e-9  # tolerance of the integer work: rounding errors of data


@dataclass(frozen=True, eq=False)
class RowEntries:
    """The entries of the rows inside blocks, and the possible roles of their columns."""

    row: Codes
    column: Codes
    value: Floats
    lower: Floats
    upper: Floats
    block: Codes  # of each row

    @property
    def rows(self) -> int:
        return len(self.block)

    def count(self, which: Bools) -> Codes:
        """Count these entries in each row."""
        return np.bincount(self.row[which], minlength=self.rows)

    def spread(self, which: Bools) -> tuple[Floats, Floats]:
        """The least and the largest coefficient among these entries of each row."""
        low, high = np.full(self.rows, np.inf), np.full(self.rows, -np.inf)
        np.minimum.at(low, self.row[which], self.value[which])
        np.maximum.at(high, self.row[which], self.value[which])
        return low, high

    def single_entry(self, which: Bools) -> tuple[Codes, Floats]:
        """The column and the coefficient of the one such entry of each row (-1 and 0 where there is none)."""
        column, value = np.full(self.rows, -1, dtype=np.int64), np.zeros(self.rows)
        column[self.row[which]] = self.column[which]
        value[self.row[which]] = self.value[which]
        return column, value


@dataclass(frozen=True, eq=False)
class RowKinds:
    """Columns and rows by their possible roles. `of_slot` and `of_home` are by entry, `slots` counts those
    of each row.
    """

    is_slot: Bools
    is_home: Bools
    of_slot: Bools
    of_home: Bools
    slots: Codes
    choice: Bools
    works: Bools
    starting: Bools


@dataclass(frozen=True, eq=False)
class WorkRows:
    """Rows of work: those that keep a slot to its alternative, those that finish work; and their `home` and amount."""

    keeps: Bools
    finishes: Bools
    exact: Bools
    least: Bools
    home: Codes
    amount: Floats


@dataclass(frozen=True, eq=False)
class StartRows:
    """Rows of starts that have the shape: their columns. `first`: of a first slot; `running`: it was active before."""

    rows: Codes
    wrong: Bools  # of all rows
    start: Codes
    slot: Codes
    before: Codes
    first: Bools
    running: Bools


def row_entries(parts: BlockStructure) -> RowEntries:
    """The entries of the rows inside blocks, with columns as places among the own columns."""
    problem = parts.problem
    rows = np.flatnonzero(parts.blocks.row >= 0)
    place = np.full(problem.columns, -1, dtype=np.int64)
    place[parts.own] = np.arange(len(parts.own))
    matrix = problem.matrix.take(rows)
    counted = matrix.values != 0
    return RowEntries(
        matrix.row_of[counted].astype(np.int64),
        place[matrix.columns[counted]],
        matrix.values[counted],
        problem.row_lower[rows],
        problem.row_upper[rows],
        parts.blocks.row[rows].astype(np.int64),
    )


def row_kinds(parts: BlockStructure, entries: RowEntries) -> RowKinds:
    problem, own = parts.problem, parts.own
    lower, upper = problem.lower[own], problem.upper[own]
    is_slot = problem.integer[own] & (lower == 0) & ((upper == 0) | (upper == 1))
    of_slot = is_slot[entries.column]
    slots = entries.count(of_slot)
    low, high = entries.spread(~of_slot)
    choice = (slots == 0) & (low == high) & (entries.lower == low) & (entries.upper == low)
    is_home = np.zeros(len(own), dtype=np.bool_)
    is_home[entries.column[choice[entries.row]]] = True
    of_home = is_home[entries.column]
    homes, others = entries.count(of_home), entries.count(~of_slot & ~of_home)
    works = (slots >= 1) & (homes == 1) & (others == 0)
    starting = ((slots == 1) | (slots == 2)) & (homes == 0) & (others == 1)
    return RowKinds(is_slot, is_home, of_slot, of_home, slots, choice, works, starting)


def work_rows(entries: RowEntries, kinds: RowKinds) -> WorkRows:
    low, high = entries.spread(kinds.of_slot)
    home, coefficient = entries.single_entry(kinds.of_home)
    with np.errstate(divide="ignore", invalid="ignore"):
        side_low = np.where(low > 0, entries.lower, entries.upper) / low
        side_high = np.where(low > 0, entries.upper, entries.lower) / low
        amount = -coefficient / low
    even = kinds.works & (low == high)
    keeps = even & (kinds.slots == 1) & (amount == 1) & (side_low == -np.inf) & (side_high == 0)
    exact = even & (side_low == 0) & (side_high == 0) & (np.abs(amount - np.rint(amount)) <= INTEGRALITY)
    least = even & (side_low == 0) & (side_high == np.inf)
    return WorkRows(keeps, (exact | least) & (amount >= INTEGRALITY), exact, least, home, amount)


def start_rows(entries: RowEntries, kinds: RowKinds) -> StartRows:
    """The slot has the sign against that of the start, the slot before it the same sign."""
    start, of_start = entries.single_entry(~kinds.of_slot & ~kinds.of_home)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = entries.value / of_start[entries.row]
        side_low = np.where(of_start > 0, entries.lower, entries.upper) / of_start
        side_high = np.where(of_start > 0, entries.upper, entries.lower) / of_start
    in_start = kinds.of_slot & kinds.starting[entries.row]
    slot, _ = entries.single_entry(in_start & (scaled == -1))
    before, _ = entries.single_entry(in_start & (scaled == 1))
    first = kinds.slots == 1
    right = (slot >= 0) & (first | ((before >= 0) & (side_low == 0))) & (side_high == np.inf)
    right &= ~first | (side_low == 0) | (side_low == -1)
    rows = np.flatnonzero(kinds.starting & right)
    return StartRows(
        rows, kinds.starting & ~right, start[rows], slot[rows], before[rows], first[rows], side_low[rows] == -1
    )
