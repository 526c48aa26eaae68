"""Better prices by cutting planes in a box, from sweeps over all jobs.

The bound is concave and piecewise linear in the prices. Each sweep gives for groups of jobs a line that touches their
part of it from above; columns of no job are in the program of the lines as they are. The program is maximised within a
box around the best prices, which grows after progress and shrinks after none (R. E. Marsten, W. W. Hogan,
J. W. Blankenship, The BOXSTEP Method for Large-Scale Optimization, Operations Research 23, 1975).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.solving.shares.pricing import Pricing, Sweep

STEPS = 60
GROUPS = 16
FIRST_BOX, GROWS, SHRINKS = 0.05, 2.0, 0.4  # of the mean price
GOOD = 0.1  # of the promised gain


def improve(pricing: Pricing, sweep: Sweep, precision: float, found: Callable[[Sweep], None]) -> Sweep:
    """Return a sweep at better prices: within `precision` of the best bound, relative, if few steps reach it."""
    return _Bundle(pricing, sweep).run(precision, found)


class _Bundle:
    def __init__(self, pricing: Pricing, sweep: Sweep) -> None:
        self.pricing, self.best = pricing, sweep
        self.levels: list[Floats] = []
        self.slopes: list[Floats] = []
        prices = np.abs(sweep.prices)
        mean = float(prices[prices > 0].mean()) if prices.any() else 1.0
        self.scale = np.maximum(prices, mean)
        self._keep_lines(sweep)

    def run(self, precision: float, found: Callable[[Sweep], None]) -> Sweep:
        box = FIRST_BOX
        for _ in range(STEPS):
            checkpoint()
            step = self._maximise(box)
            if step is None:
                break
            prices, value = step
            promised = value - self.best.bound
            binds = bool((np.abs(prices - self.best.prices) >= box * self.scale * (1 - 1e-9)).any())
            if promised <= precision * max(1.0, abs(self.best.bound)):
                if not binds:
                    break
                box *= GROWS
                continue
            here = self.pricing.sweep(prices)
            self._keep_lines(here)
            gained = here.bound - self.best.bound
            if gained > 0:
                self.best = here
                found(here)
            if gained >= GOOD * promised:
                box = box * GROWS if binds else box
            else:
                box *= SHRINKS
        return self.best

    def _keep_lines(self, sweep: Sweep) -> None:
        common, tables = self.pricing.common, self.pricing.tables
        level, slope = np.zeros(GROUPS), np.zeros((GROUPS, common.rows))
        for share, choice in zip(tables.shares, sweep.choice, strict=True):
            taken = np.flatnonzero(choice >= 0)
            ways, group = choice[taken], taken % GROUPS
            level += np.bincount(group, weights=share.cost[ways], minlength=GROUPS)
            placed = share.places[ways] >= 0
            at = group[placed] * common.rows + share.places[ways[placed]]
            slope += np.bincount(at, minlength=slope.size).reshape(slope.shape)
            if share.uses.nnz:
                into = sparse.csr_matrix((np.ones(len(ways)), (group, np.arange(len(ways)))), (GROUPS, len(ways)))
                slope[:, : common.linking] += (into @ share.uses[ways]).toarray()
        self.levels.append(level)
        self.slopes.append(slope)

    def _maximise(self, box: float) -> tuple[Floats, float] | None:
        """The best prices of the program within the box, and its value.

        Its columns are prices of lower sides, of upper sides, values of the groups, values of columns of no job.
        """
        from scipy.optimize import linprog

        pricing, common = self.pricing, self.pricing.common
        rows, own = common.rows, len(common.costs)
        slopes, levels = np.concatenate(self.slopes), np.concatenate(self.levels)
        groups = sparse.vstack([sparse.identity(GROUPS)] * len(self.levels))
        none = sparse.csr_matrix
        blocks = [sparse.hstack((slopes, -slopes, groups, none((len(slopes), own))))]
        sides: list[Floats] = [levels]
        priced = common.matrix.T.tocsr()
        for ends in (common.column_lower, common.column_upper):
            finite = np.isfinite(ends)
            at = sparse.diags(np.where(finite, ends, 0.0)) @ priced
            part = sparse.hstack((at, -at, none((own, GROUPS)), sparse.identity(own))).tocsr()
            blocks.append(part[finite])
            sides.append((np.where(finite, ends, 0.0) * common.costs)[finite])
            sign = -1.0 if ends is common.column_lower else 1.0  # without an end, its reduced cost has a sign
            signed = sparse.hstack((sign * priced, -sign * priced, none((own, GROUPS + own)))).tocsr()
            blocks.append(signed[~finite])
            sides.append((sign * common.costs)[~finite])
        near = sparse.hstack((sparse.identity(rows), -sparse.identity(rows), none((rows, GROUPS + own))))
        blocks += [near, -near]
        sides += [self.best.prices + box * self.scale, box * self.scale - self.best.prices]
        has_lower, has_upper = np.isfinite(pricing.lower), np.isfinite(pricing.upper)
        gain = np.concatenate(
            (
                np.where(has_lower, pricing.lower, 0.0),
                -np.where(has_upper, pricing.upper, 0.0),
                np.ones(GROUPS + own),
            )
        )
        free = np.isinf(common.column_lower) & np.isinf(common.column_upper)
        most = np.concatenate(
            (*(np.where(side, np.inf, 0.0) for side in (has_lower, has_upper)), np.full(GROUPS, np.inf),
             np.where(free, 0.0, np.inf))
        )  # fmt: skip
        least = np.concatenate((np.zeros(2 * rows), np.full(GROUPS + own, -np.inf)))
        solved = linprog(
            -gain,
            A_ub=sparse.vstack(blocks).tocsr(),
            b_ub=np.concatenate(sides),
            bounds=np.stack((least, most), axis=1),
            method="highs",
        )
        if solved.x is None:
            return None
        return solved.x[:rows] - solved.x[rows : 2 * rows], float(-solved.fun) + pricing.offset
