"""A model of a bound in terms of prices, maximised within a box: the linear program of cutting planes.

For prices p of rows with sides `lower` and `upper`, a Lagrangian is concave and piecewise linear in p. Each evaluation
gives for every group of choices a line `level - slope @ p` that touches their part of it from above; columns without a
choice are in the program as they are, with costs, bounds and the entries `rest` (columns x rows).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gpusched_dsl.ir.arrays import Floats


class PriceModel:
    """The lines so far of `groups` groups, and the columns without a choice; `scale` is the box of each price at 1."""

    def __init__(
        self,
        groups: int,
        sides: tuple[Floats, Floats],
        scale: Floats,
        rest: Any,
        costs: Floats,
        bounds: tuple[Floats, Floats],
    ) -> None:
        self.groups, self.scale, self.rest, self.costs = groups, scale, rest, costs
        self.lower, self.upper = sides
        self.bounds = bounds
        self.levels: list[Floats] = []
        self.slopes: list[Floats] = []

    def add(self, level: Floats, slope: Floats) -> None:
        """Keep a line for each group: `level` has one entry a group, `slope` one row."""
        self.levels.append(level)
        self.slopes.append(slope)

    def binds(self, prices: Floats, best: Floats, box: float) -> bool:
        """Whether a price is at an end of the box around the best ones."""
        return bool((np.abs(prices - best) >= box * self.scale * (1 - 1e-9)).any())

    def maximise(self, best: Floats, box: float, inside: float = 0.0) -> tuple[Floats, float] | None:
        """Return the prices with the largest value of the model within the box, and this value.

        Reduced costs that must not change their sign are at least `inside` from 0, relative to costs of at least 1.

        Columns of the program: prices of lower sides, prices of upper sides (both at least 0), groups, other columns.
        """
        from scipy.optimize import linprog

        rows, groups, others = len(best), self.groups, len(self.costs)
        width = 2 * rows + groups + others
        cuts = len(self.levels)
        slopes = np.concatenate(self.slopes) if cuts else np.zeros((0, rows))
        of_groups = sparse.vstack([sparse.identity(groups)] * cuts)
        blocks = [sparse.hstack((slopes, -slopes, of_groups, sparse.csr_matrix((cuts * groups, others))))]
        sides = [np.concatenate(self.levels)]
        lower, upper = self.bounds
        no_group, one, none = sparse.csr_matrix((others, groups)), sparse.identity(others), sparse.csr_matrix
        free = np.isinf(lower) & np.isinf(upper)  # the reduced cost is 0, and so is the part
        margin = np.where(free, 0.0, inside * np.maximum(1.0, np.abs(self.costs)))
        for bound, sign in ((lower, -1.0), (upper, 1.0)):
            finite = np.isfinite(bound)  # the part of a column is at most its reduced cost times each bound
            at = np.where(finite, bound, 0.0)
            of_rest = sparse.diags(at) @ self.rest
            blocks.append(sparse.hstack((of_rest, -of_rest, no_group, one)).tocsr()[finite])
            sides.append((at * self.costs)[finite])
            signed = sparse.hstack((sign * self.rest, -sign * self.rest, none((others, groups + others))))
            blocks.append(signed.tocsr()[~finite])  # without a bound, its reduced cost has a sign
            sides.append((sign * self.costs - margin)[~finite])
        near = sparse.hstack((sparse.identity(rows), -sparse.identity(rows), none((rows, width - 2 * rows))))
        blocks += [near, -near]
        sides += [best + box * self.scale, box * self.scale - best]
        has_lower, has_upper = np.isfinite(self.lower), np.isfinite(self.upper)
        sides_of_rows = (np.where(has_lower, self.lower, 0.0), -np.where(has_upper, self.upper, 0.0))
        gain = np.concatenate((*sides_of_rows, np.ones(groups + others)))
        signs = [np.where(side, np.inf, 0.0) for side in (has_lower, has_upper)]
        most = np.concatenate((*signs, np.full(groups, np.inf), np.where(free, 0.0, np.inf)))
        least = np.concatenate((np.zeros(2 * rows), np.full(groups + others, -np.inf)))
        solved = linprog(
            -gain,
            A_ub=sparse.vstack(blocks).tocsr(),
            b_ub=np.concatenate(sides),
            bounds=np.stack((least, most), axis=1),
            method="highs",
        )
        if solved.x is None:
            return None
        return solved.x[:rows] - solved.x[rows : 2 * rows], float(-solved.fun)
