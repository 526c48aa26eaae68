"""Prices of the rows that jobs have in common, and the bound that they prove.

For prices p of these rows, each job takes the way with the least cost minus p times its uses, or none:

    L(p) = offset + sum_r p_r side_r + sum_j min(0, min_k cost_k - uses_k p) + sum of the least (costs - p matrix)_c v_c

is at most the optimum, whatever p is (weak duality). A sweep evaluates it share by share. The first prices are dual
values of the linear program of a sample of the jobs.

Rounding: the numbers of a case are sums of fewer than `OPERATIONS` products, so that an error of each is at most
`ERROR` times the sum of their sizes, which is subtracted for every job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.solving.shares.tables import Common, ShareTables, WayTable

SAMPLE = 1_000  # jobs of the first program


ERROR = 1e-11  # of the sum of the sizes of the numbers of a case: 100,000 products


@dataclass(frozen=True, eq=False)
class Sweep:
    """The bound at some prices, and for each job its best case and how much more another one costs.

    `choice` numbers ways within their share, -1 for none.
    """

    prices: Floats
    bound: float
    choice: tuple[Codes, ...]
    margin: tuple[Floats, ...]


class Pricing:
    """Evaluates prices on tables."""

    def __init__(self, tables: ShareTables) -> None:
        self.tables, self.common = tables, tables.common
        use = np.zeros(self.common.rows)
        for share in tables.shares:
            use[: self.common.linking] += share.fixed_use
        self.lower, self.upper = self.common.lower - use, self.common.upper - use
        self.offset = self.common.offset + sum(share.fixed_cost for share in tables.shares)

    def sweep(self, prices: Floats) -> Sweep:
        """Return the bound and the best cases at some prices; those of the wrong sign for their row count as 0."""
        prices = allowed_prices(self.lower, self.upper, prices)
        parts, sizes = [self.offset], [abs(self.offset)]
        sides = np.where(prices > 0, self.lower, np.where(prices < 0, self.upper, 0.0)) * prices
        own = self.common.costs - self.common.matrix.T @ prices
        magnitude = np.abs(self.common.costs) + abs(self.common.matrix).T @ np.abs(prices)
        ends = np.where(own > 0, self.common.column_lower, np.where(own < 0, self.common.column_upper, 0.0))
        widest = np.maximum(np.abs(self.common.column_lower), np.abs(self.common.column_upper))
        loose = ERROR * magnitude  # the sign of a reduced cost within its error is not known
        unsure = (np.abs(own) <= loose) & np.isinf(widest) & (magnitude > 0)
        with np.errstate(invalid="ignore"):
            least = np.where(own == 0, 0.0, own * ends)
            weight = np.where(magnitude == 0, 0.0, magnitude * np.where(np.isfinite(widest), widest, np.abs(ends)))
        parts += [float(sides.sum()), float(least.sum())]
        sizes += [float(np.abs(sides).sum()), float(weight[np.isfinite(weight)].sum())]
        choice, margin = [], []
        for share in self.tables.shares:
            checkpoint()
            best, cost, other, size = best_cases(share, self.common, prices)
            choice.append(best)
            margin.append(other - cost)
            parts.append(float(cost.sum()))
            sizes.append(size)
        bound = sum(parts) - ERROR * sum(sizes)
        if unsure.any() or not np.isfinite(bound):
            bound = -np.inf
        return Sweep(prices, bound, tuple(choice), tuple(margin))


def allowed_prices(lower: Floats, upper: Floats, prices: Floats) -> Floats:
    """Prices of rows without a lower side are at most 0, without an upper side at least 0."""
    prices = np.where(np.isfinite(prices), prices, 0.0)
    prices = np.where(np.isfinite(lower), prices, np.minimum(prices, 0.0))
    return np.asarray(np.where(np.isfinite(upper), prices, np.maximum(prices, 0.0)) + 0.0)


def reduced_costs(share: WayTable, common: Common, prices: Floats) -> Floats:
    """The cost of each way minus the prices of what it uses."""
    reduced = share.cost - np.append(prices, 0.0)[share.places]
    if share.uses.nnz:
        reduced -= share.uses @ prices[: common.linking]
    return np.asarray(reduced)


def best_cases(share: WayTable, common: Common, prices: Floats) -> tuple[Codes, Floats, Floats, float]:
    """The best way of each job (-1: none), its cost, that of the next best case, and the sum of all sizes."""
    jobs, count = len(share.jobs), np.diff(share.first)
    reduced = reduced_costs(share, common, prices)
    none = np.where(share.exact, np.inf, 0.0)
    filled = np.flatnonzero(count)
    if not len(filled):
        return np.full(jobs, -1), none, none, 0.0
    starts = share.first[:-1][filled]
    least, next_best = np.full(jobs, np.inf), np.full(jobs, np.inf)
    least[filled] = np.minimum.reduceat(reduced, starts)
    is_least = np.flatnonzero(reduced == np.repeat(least, count))
    owner = np.searchsorted(share.first, is_least, side="right") - 1
    first = np.concatenate(([True], owner[1:] != owner[:-1]))
    way = np.full(jobs, -1)
    way[owner[first]] = is_least[first]
    rest = reduced.copy()
    rest[is_least[first]] = np.inf
    next_best[filled] = np.minimum.reduceat(rest, starts)
    takes = least < none
    best = np.where(takes, least, none)
    other = np.where(takes, np.minimum(next_best, none), least)
    size = np.abs(share.cost) + np.abs(np.append(prices, 0.0)[share.places])
    if share.uses.nnz:
        size += abs(share.uses) @ np.abs(prices[: common.linking])
    total = float(np.maximum.reduceat(size, starts).sum()) + abs(share.fixed_cost)
    return np.where(takes, way, -1), best, other, total


@dataclass(frozen=True, eq=False)
class Relaxed:
    """An optimum of a linear program: its dual values of the rows in common, its objective and its point."""

    prices: Floats
    objective: float
    point: Floats


@dataclass(frozen=True, eq=False)
class Restricted:
    """The program of some ways of some jobs, with the cases of all other jobs fixed.

    Its columns are the ways `way[i]` of job `job[i]` of share `share[i]`, then the columns of no job; its rows are
    those in common, then one for each of the jobs.
    """

    pricing: Pricing
    share: Codes
    job: Codes
    way: Codes
    cost: Floats
    matrix: Any
    lower: Floats
    upper: Floats
    offset: float

    @property
    def common(self) -> Common:
        return self.pricing.common

    @cached_property
    def ways(self) -> int:
        return len(self.way)

    @cached_property
    def column_lower(self) -> Floats:
        return np.concatenate((np.zeros(self.ways), self.common.column_lower))

    @cached_property
    def column_upper(self) -> Floats:
        return np.concatenate((np.ones(self.ways), self.common.column_upper))

    @cached_property
    def is_network(self) -> bool:
        """Whether ways use nothing but places: then each vertex with integers in common has no fractions of ways.

        A way is then in the row of its job and in one row of places, which are two sides of a bipartite graph.
        """
        return not any(share.uses.nnz for share in self.pricing.tables.shares)

    @cached_property
    def integer(self) -> Bools:
        return np.concatenate((np.full(self.ways, not self.is_network), self.common.integer))

    def relax(self, common: Floats | None = None) -> Relaxed | None:
        """Solve the linear program to a vertex, with given values of the columns in common; None without an optimum."""
        from scipy.optimize import linprog

        lower, upper = self.lower, self.upper
        equal = np.flatnonzero(lower == upper)
        above = np.flatnonzero((lower != upper) & np.isfinite(upper))
        below = np.flatnonzero((lower != upper) & np.isfinite(lower))
        column_lower, column_upper = self.column_lower.copy(), self.column_upper.copy()
        column_upper[: self.ways] = np.inf  # their rows limit them, and have all of the price
        if common is not None:
            column_lower[self.ways :] = column_upper[self.ways :] = common
        solved = linprog(
            self.cost,
            A_ub=sparse.vstack((self.matrix[above], -self.matrix[below])),
            b_ub=np.concatenate((upper[above], -lower[below])),
            A_eq=self.matrix[equal],
            b_eq=lower[equal],
            bounds=np.stack((column_lower, column_upper), axis=1),
            method="highs-ipm" if common is None else "highs-ds",  # a vertex
        )
        if solved.status != 0:
            return None
        prices = np.zeros(len(lower))
        prices[equal] = solved.eqlin.marginals
        prices[above] += solved.ineqlin.marginals[: len(above)]
        prices[below] -= solved.ineqlin.marginals[len(above) :]
        return Relaxed(prices[: self.common.rows], float(solved.fun) + self.offset, np.asarray(solved.x))


def sample(pricing: Pricing, jobs: int = SAMPLE) -> Restricted:
    """The program of some of the jobs, with as large a part of the sides and of what is in common."""
    tables = pricing.tables
    every = max(1, tables.jobs // jobs)
    taken, at = [], 0
    for share in tables.shares:
        taken.append(np.flatnonzero((np.arange(len(share.jobs)) + at) % every == 0))
        at += len(share.jobs)
    part = sum(map(len, taken)) / max(1, tables.jobs)
    found = restricted(pricing, taken, None, [np.ones(share.count, dtype=np.bool_) for share in tables.shares])
    common = found.common
    scaled = Common(**{
        **common.__dict__,
        "column_lower": part * common.column_lower,
        "column_upper": part * common.column_upper,
    })  # fmt: skip
    lower, upper = found.lower.copy(), found.upper.copy()
    lower[: common.rows], upper[: common.rows] = part * pricing.lower, part * pricing.upper
    smaller = _Scaled(pricing.tables, scaled)
    return Restricted(
        smaller, found.share, found.job, found.way, found.cost, found.matrix, lower, upper, part * pricing.offset
    )


class _Scaled(Pricing):
    """The pricing of a sample: only what is in common differs."""

    def __init__(self, tables: ShareTables, common: Common) -> None:
        self.tables, self.common = tables, common


def restricted(
    pricing: Pricing, jobs: Sequence[Codes], choice: Sequence[Codes] | None, kept: Sequence[Bools]
) -> Restricted:
    """The program of the kept ways of some jobs of each share; all others have their case in `choice`."""
    common = pricing.common
    use, offset = np.zeros(common.rows), pricing.offset
    columns: list[tuple[Codes, Codes, Codes, Floats]] = []
    blocks, exact = [], []
    for number, (share, own) in enumerate(zip(pricing.tables.shares, jobs, strict=True)):
        free = np.zeros(len(share.jobs), dtype=np.bool_)
        free[own] = True
        if choice is not None:
            fixed = choice[number][~free]
            fixed = fixed[fixed >= 0]
            offset += float(share.cost[fixed].sum())
            use += np.bincount(share.places[fixed] + 1, minlength=common.rows + 1)[1:]
            if share.uses.nnz:
                use[: common.linking] += np.asarray(share.uses[fixed].sum(axis=0)).reshape(-1)
        owner = np.repeat(np.arange(len(share.jobs)), np.diff(share.first))
        ways = np.flatnonzero(kept[number] & free[owner])
        columns.append((np.full(len(ways), number), owner[ways], ways, share.cost[ways]))
        blocks.append(_uses(share, common, ways))
        exact.append(share.exact)
    share_of, job, way, cost = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    lines, line = np.unique(np.stack((share_of, job)), axis=1, return_inverse=True)
    line = line.reshape(-1)
    must = np.array([exact[s][j] for s, j in zip(*lines.tolist(), strict=True)], dtype=np.bool_)
    choose = sparse.csr_matrix((np.ones(len(way)), (line, np.arange(len(way)))), (lines.shape[1], len(way)))
    none = sparse.csr_matrix((lines.shape[1], common.matrix.shape[1]))
    in_common = sparse.hstack((sparse.vstack(blocks).T, common.matrix))
    matrix = sparse.vstack((in_common, sparse.hstack((choose, none)))).tocsr()
    return Restricted(
        pricing,
        share_of,
        job,
        way,
        np.concatenate((cost, common.costs)),
        matrix,
        np.concatenate((pricing.lower - use, np.where(must, 1.0, -np.inf))),
        np.concatenate((pricing.upper - use, np.ones(lines.shape[1]))),
        offset,
    )


def _uses(share: WayTable, common: Common, ways: Codes) -> Any:
    """What some ways use of the rows in common (ways x rows)."""
    places = share.places[ways]
    placed = np.flatnonzero(places >= 0)
    entries = np.ones(len(placed)), (placed, places[placed].astype(np.int64))
    found = sparse.csr_matrix(entries, (len(ways), common.rows))
    if share.uses.nnz:
        rest = sparse.csr_matrix((len(ways), common.rows - common.linking))
        found = found + sparse.hstack((share.uses[ways], rest)).tocsr()
    return found.tocsr()
