"""Better prices by cutting planes in a box, from sweeps over all jobs.

The bound is concave and piecewise linear in the prices. Each sweep gives for groups of jobs a line that touches their
part of it from above; columns of no job are in the program of the lines as they are (`policies/prices/price_model.py`).
It is maximised within a box around the best prices, which grows after progress and shrinks after none (R. E. Marsten,
W. W. Hogan, J. W. Blankenship, The BOXSTEP Method for Large-Scale Optimization, Operations Research 23, 1975).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.policies.prices.price_model import PriceModel
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
        common = pricing.common
        prices = np.abs(sweep.prices)
        mean = float(prices[prices > 0].mean()) if prices.any() else 1.0
        self.model = PriceModel(
            GROUPS, (pricing.lower, pricing.upper), np.maximum(prices, mean), common.matrix.T.tocsr(), common.costs,
            (common.column_lower, common.column_upper),
        )  # fmt: skip
        self._keep_lines(sweep)

    def run(self, precision: float, found: Callable[[Sweep], None]) -> Sweep:
        box = FIRST_BOX
        for _ in range(STEPS):
            checkpoint()
            step = self.model.maximise(self.best.prices, box)
            if step is None:
                break
            prices, value = step
            promised = value + self.pricing.offset - self.best.bound
            binds = self.model.binds(prices, self.best.prices, box)
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
        self.model.add(level, slope)
