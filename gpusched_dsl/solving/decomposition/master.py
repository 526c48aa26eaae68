"""The master problem inside HiGHS: shared columns as they are, one convexity row per block, points added in place.

    min  c x + sum_p cost_p w_p   where   lower <= A x + E t <= upper,   t_k == sum_p use_pk w_p,
                                          sum over the points p of block k of w_p == 1,   w >= 0.

A use that stands in one row only needs no t: its points enter that row. Slack of the use rows at a price (`elastic`)
keeps the master feasible while points are missing, and the prices of uses below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock
from gpusched_dsl.solving.decomposition.points import Points
from gsdsl_backends.highs.quiet import QuietHighs

Raw = highspy.HighsModelStatus
INFINITE = highspy.kHighsInf

# Numbers of HiGHS: new columns and other costs leave the last point feasible, other bounds leave its duals feasible.
DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4


@dataclass(frozen=True, eq=False)
class MasterAnswer:
    """`duals` of the rows of `BlockStructure`, `shared` and `weights` the point, `slack` by how much each use is
    off."""

    value: float
    duals: Floats
    convexity: Floats
    shared: Floats
    weights: Floats
    slack: Floats


class Master:
    """One master problem, warm from solve to solve."""

    def __init__(self, parts: BlockStructure, elastic: float, watch: DecompositionClock) -> None:
        self._parts = parts
        self._watch = watch
        self.elastic = elastic
        rows, shared, uses = parts.rows, len(parts.shared), parts.uses
        using = np.flatnonzero(parts.use_of >= 0)
        often = np.bincount(parts.use_of[using], minlength=uses)
        self._extra = np.flatnonzero(often > 1)  # uses with a column t and a row of their own
        self._price_row = np.zeros(uses, dtype=np.int64)
        self._price_row[parts.use_of[using]] = using
        self._price_row[self._extra] = rows + np.arange(len(self._extra))
        self._sign = np.where(often > 1, -1.0, 1.0)  # rows of t read: t - sum use w == 0
        self._convexity = rows + len(self._extra)
        self._points = 0
        self._is_feasible = False  # whether the last optimum still satisfies rows and bounds
        self._highs = QuietHighs()
        self._highs.setOptionValue("threads", 1)
        self._load(rows, shared, uses, using)
        self._first_point = shared + len(self._extra) + 2 * uses

    def _load(self, rows: int, shared: int, uses: int, using: Codes) -> None:
        parts = self._parts
        extra, blocks = len(self._extra), parts.blocks.count
        place = np.full(uses, -1, dtype=np.int64)
        place[self._extra] = np.arange(extra)
        linked = using[place[parts.use_of[using]] >= 0]
        height = rows + extra + blocks
        t_rows = np.concatenate((linked, rows + np.arange(extra)))
        t_columns = np.concatenate((place[parts.use_of[linked]], np.arange(extra)))
        t = sp.coo_array((np.ones(len(t_rows)), (t_rows, t_columns)), shape=(height, extra))
        a = sp.vstack((parts.a, sp.csr_array((extra + blocks, shared))))
        each = np.arange(uses)
        slack = sp.coo_array((np.ones(uses), (self._price_row, each)), shape=(height, uses))
        matrix = sp.hstack((a, t, slack, -slack), format="csr")
        zeros = np.zeros(extra)
        costs = np.concatenate((parts.shared_cost, zeros, np.full(2 * uses, self.elastic)))
        lower = np.concatenate((parts.problem.lower[parts.shared], np.full(extra, -np.inf), np.zeros(2 * uses)))
        upper = np.concatenate((parts.problem.upper[parts.shared], np.full(extra, np.inf), np.full(2 * uses, np.inf)))
        row_lower = np.concatenate((parts.lower, zeros, np.ones(blocks)))
        row_upper = np.concatenate((parts.upper, zeros, np.ones(blocks)))
        self._highs.passModel(
            len(costs), height, matrix.nnz, int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize),
            parts.constant, costs, lower, upper, row_lower, row_upper,
            matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data,
            np.zeros(len(costs), dtype=np.int32),
        )  # fmt: skip

    def add(self, points: Points) -> None:
        """Columns for these points."""
        if not points.count:
            return
        parts = self._parts
        uses = points.uses(parts)
        counts = np.diff(uses.indptr) + 1
        starts = np.concatenate(([0], np.cumsum(counts)))
        last = starts[1:] - 1
        rows, values = np.empty(starts[-1], dtype=np.int32), np.ones(starts[-1])
        inner = np.ones(starts[-1], dtype=np.bool_)
        inner[last] = False
        rows[inner] = self._price_row[uses.indices]
        values[inner] = self._sign[uses.indices] * uses.data
        rows[last] = self._convexity + points.block
        self._highs.addCols(
            points.count, points.costs(parts), np.zeros(points.count), np.full(points.count, INFINITE), len(rows),
            starts[:-1].astype(np.int32), rows, values,
        )  # fmt: skip
        self._points += points.count

    def fix_shared(self, columns: Codes, values: Floats) -> None:
        """Fix shared columns (positions among them) at values."""
        self._set_bounds(columns, values, values)

    def free_shared(self) -> None:
        """Give all shared columns their own bounds again."""
        parts = self._parts
        columns = np.arange(len(parts.shared))
        lower, upper = parts.problem.lower[parts.shared], parts.problem.upper[parts.shared]
        self._set_bounds(columns, lower, upper)

    def fix_points(self, points: Codes) -> None:
        """Fix these points (numbered in the order of addition) at weight 1."""
        columns = self._first_point + points
        self._set_bounds(columns, np.ones(len(points)), np.full(len(points), INFINITE))

    def forbid_points(self, points: Codes) -> None:
        """Fix these points at weight 0."""
        columns = self._first_point + points
        self._set_bounds(columns, np.zeros(len(points)), np.zeros(len(points)))

    def free_points(self) -> None:
        """Release all fixed points."""
        columns = self._first_point + np.arange(self._points)
        self._set_bounds(columns, np.zeros(self._points), np.full(self._points, INFINITE))

    def _set_bounds(self, columns: Codes, lower: Floats, upper: Floats) -> None:
        self._is_feasible = False
        self._highs.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)

    def price_slack(self, elastic: float) -> None:
        """Change the cost of the slack of the use rows."""
        self.elastic = elastic
        first = len(self._parts.shared) + len(self._extra)
        columns = np.arange(first, self._first_point, dtype=np.int32)
        self._highs.changeColsCost(len(columns), columns, np.full(len(columns), elastic))

    def solve(self) -> MasterAnswer | None:
        """The optimum of the linear master; None when it was stopped, is infeasible or has no optimum."""
        left = self._watch.remaining_seconds
        if left is not None:
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(left, 0.0))
        self._highs.setOptionValue("simplex_strategy", PRIMAL_SIMPLEX if self._is_feasible else DUAL_SIMPLEX)
        self._highs.cbSimplexInterrupt.subscribe(self._look)
        try:
            self._highs.run()
        finally:
            self._highs.cbSimplexInterrupt.unsubscribe(self._look)
        if self._highs.getModelStatus() != Raw.kOptimal:
            self._is_feasible = False
            return None
        self._is_feasible = True
        solution = self._highs.getSolution()
        values, duals = np.array(solution.col_value), np.array(solution.row_dual)
        parts = self._parts
        slack = values[len(parts.shared) + len(self._extra) : self._first_point]
        return MasterAnswer(
            float(self._highs.getInfo().objective_function_value),
            duals[: parts.rows],
            duals[self._convexity :],
            values[: len(parts.shared)],
            values[self._first_point :],
            slack[: parts.uses] + slack[parts.uses :],
        )

    def _look(self, event: Any) -> None:
        event.interrupt(self._watch.stop_requested)

    def close(self) -> None:
        self._highs.clear()
