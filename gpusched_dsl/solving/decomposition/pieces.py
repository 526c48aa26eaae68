"""Pieces of the shared part: columns linked by rows with integer columns if the use by blocks is given.

Shared columns are linked by the rows with an integer column; each component with integer columns is a piece, such as
the nodes that serve and train in one slot. Rows of continuous columns only may cross from piece to piece, as switching
on does from slot to slot. A piece is small, so branch and bound finds its best integer values in a moment: without the
crossing rows (`choose`), or with everything else fixed (`improve`), which never makes a plan worse.
"""

from __future__ import annotations

import highspy
import numpy as np
import scipy.sparse as sp

from gpusched_dsl.ir.arrays import Codes, Floats, unique
from gpusched_dsl.ir.graph import connected_components
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock
from gsdsl_backends.highs.quiet import QuietHighs

# What takes longer than it saves on problems of a dozen integer columns: half the time is saved without it.
QUICK = {
    "threads": 1,
    "presolve": "off",
    "mip_detect_symmetry": False,
    "mip_allow_restart": False,
    "mip_heuristic_run_feasibility_jump": False,  # not known to all versions, which is no harm
}
PIECE_GAP = 0.01  # of choose: heuristics are far nearer to the optimum than the bound at the root
BETTER_GAP = 0.003  # of improve
PIECE_SECONDS = 2.0
SHORTAGE, LEAST_PRICE = 100.0, 1e-6  # of a unit of use that a piece does not admit, in the largest cost of a column
LEAST_SECONDS = 0.01


class SharedPieces:
    """The pieces of the shared part of a problem."""

    def __init__(self, parts: BlockStructure) -> None:
        self._parts = parts
        a = parts.a
        integer = parts.integer
        has_integer = np.asarray(abs(a) @ integer.astype(np.float64)) > 0
        linking = a[has_integer].tocoo()
        rows, width = linking.shape
        label = connected_components(rows + width, linking.row, rows + linking.col)[rows:]
        counts = np.diff(a.indptr)
        filled = np.flatnonzero(counts)
        low = np.full(parts.rows, -1)
        high = np.full(parts.rows, -2)
        labels = label[a.indices]
        if len(filled):
            low[filled] = np.minimum.reduceat(labels, a.indptr[filled])
            high[filled] = np.maximum.reduceat(labels, a.indptr[filled])
        inside = np.where(low == high, low, -1)
        self.numbers = unique(label[integer])
        self._columns = _group(label, self.numbers)
        self._rows = _group(inside, self.numbers)
        self._by_column = a.tocsc()

    def choose(self, values: Floats, used: Floats, watch: DecompositionClock) -> Floats | None:
        """Choose the best integer columns of each piece separately, for about this use; keep the other values.

        Use is rounded up where a row bounds it from above, down where from below, if that leaves the piece feasible.
        A piece without capacity for its use admits as much of it as it can: the blocks adapt. None when the time is
        over or a piece has no point for any use.
        """
        parts = self._parts
        values = values.copy()
        rounded = (np.floor(used + 1e-6), np.ceil(used - 1e-6))
        for columns, rows in zip(self._columns, self._rows, strict=True):
            if watch.over:
                return None
            found = self._solve(columns, rows, rounded, None, None, watch, PIECE_GAP)
            if found is None:
                found = self._solve(columns, rows, (used, used), None, None, watch, PIECE_GAP)
            if found is None:
                found = self._solve(columns, rows, (used, used), None, None, watch, PIECE_GAP, elastic=True)
            if found is None:
                return None
            values[columns] = found
        values[parts.integer] = np.rint(values[parts.integer])
        return values

    def pieces_using(self, uses: Codes) -> Codes:
        """Return the numbers of the pieces with rows of these uses."""
        rows = np.flatnonzero(np.isin(self._parts.use_of, uses))
        columns = unique(self._parts.a[rows].indices)
        numbers = [n for n, own in enumerate(self._columns) if np.isin(own, columns).any()]
        return np.array(numbers, dtype=np.int64)

    def improve(
        self, values: Floats, used: Floats, watch: DecompositionClock, some: Codes | None = None, broken: bool = False
    ) -> Floats:
        """Improve each piece with everything else of the plan fixed: the use, and the activity of the others in
        crossing rows.

        Columns that stand in crossing rows only (as those that count switching on) move with the piece. `some`: numbers
        of pieces; `broken`: their values are no point, so that any point is better.
        """
        parts = self._parts
        values = values.copy()
        for number in range(len(self.numbers)) if some is None else some.tolist():
            if watch.over:
                break
            columns = self._columns[number]
            rows = _rows_of(self._by_column, columns)
            extra = self._movable(rows, columns)
            columns = np.concatenate((columns, extra))
            rows = unique(np.concatenate((rows, _rows_of(self._by_column, extra))))
            start = None if broken else values[columns]
            found = self._solve(columns, rows, (used, used), values, start, watch, BETTER_GAP)
            if found is not None:
                before = float(parts.shared_cost[columns] @ values[columns])
                if broken or float(parts.shared_cost[columns] @ found) < before - 1e-9 * abs(before):
                    values[columns] = found
        values[parts.integer] = np.rint(values[parts.integer])
        return values

    def _movable(self, rows: Codes, columns: Codes) -> Codes:
        """Return the continuous columns of these rows that occur in no other rows."""
        a = self._parts.a
        near = np.setdiff1d(unique(a[rows].indices), columns)
        near = near[~self._parts.integer[near]]
        counts = np.diff(self._by_column.indptr)[near]
        return np.asarray(near[counts == 1])

    def _solve(
        self,
        columns: Codes,
        rows: Codes,
        used: tuple[Floats, Floats],
        fixed: Floats | None,
        start: Floats | None,
        watch: DecompositionClock,
        gap: float,
        *,
        elastic: bool = False,
    ) -> Floats | None:
        """The best values of some columns in some rows; all other columns are at `fixed` (None: not in the rows).

        `elastic`: rows of uses may be broken, at a high price.
        """
        parts = self._parts
        block = parts.a[rows]
        inner = block[:, columns].tocsr()
        use = parts.use_of[rows]
        low, high = (np.append(side, 0.0)[use] for side in used)  # a row without a use takes the last one, 0
        lower, upper = parts.lower[rows] - low, parts.upper[rows] - high
        if fixed is not None:
            rest = fixed.copy()
            rest[columns] = 0.0
            fixed_activity = block @ rest
            lower, upper = lower - fixed_activity, upper - fixed_activity
        if not elastic and (lower > upper + 1e-9).any():
            return None
        upper = np.maximum(lower, upper)
        highs = QuietHighs()
        for name, value in QUICK.items():
            highs.setOptionValue(name, value)
        highs.setOptionValue("mip_rel_gap", gap)
        left = watch.remaining_seconds
        seconds = PIECE_SECONDS if left is None else min(PIECE_SECONDS, max(left, LEAST_SECONDS))
        highs.setOptionValue("time_limit", seconds)
        numbers = parts.shared[columns]
        highs.passModel(
            len(columns), len(rows), inner.nnz, int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize),
            0.0, parts.shared_cost[columns], parts.problem.lower[numbers], parts.problem.upper[numbers], lower, upper,
            inner.indptr.astype(np.int32), inner.indices.astype(np.int32), inner.data,
            parts.problem.integer[numbers].astype(np.int32),
        )  # fmt: skip
        if elastic:
            self._add_slack(highs, np.flatnonzero(use >= 0), columns)
        if start is not None:
            highs.setSolution(len(columns), np.arange(len(columns), dtype=np.int32), start)
        highs.run()
        if highs.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None
        return np.array(highs.getSolution().col_value)[: len(columns)]

    def _add_slack(self, highs: QuietHighs, rows: Codes, columns: Codes) -> None:
        """Slack of both signs in some rows of a piece, dearer than its columns."""
        price = SHORTAGE * max(float(np.abs(self._parts.shared_cost[columns]).max(initial=0.0)), LEAST_PRICE)
        count = 2 * len(rows)
        highs.addCols(
            count, np.full(count, price), np.zeros(count), np.full(count, highspy.kHighsInf), count,
            np.arange(count, dtype=np.int32), np.concatenate((rows, rows)).astype(np.int32),
            np.repeat((1.0, -1.0), len(rows)),
        )  # fmt: skip


def _group(label: Codes, numbers: Codes) -> list[Codes]:
    """The places of each of the labels."""
    order = np.argsort(label, kind="stable")
    ordered = label[order]
    starts, ends = np.searchsorted(ordered, numbers, "left"), np.searchsorted(ordered, numbers, "right")
    return [order[s:e] for s, e in zip(starts.tolist(), ends.tolist(), strict=True)]


def _rows_of(by_column: sp.csc_array, columns: Codes) -> Codes:
    return unique(by_column[:, columns].indices).astype(np.int64)
