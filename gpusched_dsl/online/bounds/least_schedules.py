"""The least cost of a schedule of each job by itself, at given prices of the capacity that it uses.

The time after the arrival is cut into cells: at the starts of bins, and at the due date. In a cell, the job runs in
each of its ways for some of the time, or waits. In way w it pays `rate` per time, its own and that of the capacity, and
does 1 / time of its work per time. A schedule that completes in cell k leaves the cells behind it empty, and is late by

    start of k - due + running time in k

at least, if k begins after the due date. For each k the least cost is a linear program: a unit of work from cells of
limited length. As in a linear knapsack with multiple choices, only the lower hull of (work, cost) per time counts in
each cell, whose edges are taken in the order of their slopes (P. Sinha, A. Zoltners, The Multiple-Choice Knapsack
Problem, Operations Research 27, 1979). In a late cell k the running time costs the weight in addition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled_always

IDLE = -1


class PricedJobs(NamedTuple):
    """J jobs with W ways, job j with those from `first[j]` to `first[j + 1]`, and B bins, the last without end."""

    first: Ints  # (J + 1,)
    time: Floats  # (W,) of the complete job
    cost: Floats  # (W,) of the complete job, without the capacity that it uses
    pool: Ints  # (W,)
    pair: Ints  # (W,) the pair of job and type of node, of K pairs
    loads: Floats  # (L, W) what a way uses of its pool, by L measures
    came: Floats  # (J,)
    due: Floats  # (J,)
    weight: Floats  # (J,) money by time of tardiness, 0 if that costs nothing
    starts: Floats  # (B,)


class OfBins(NamedTuple):
    """Prices in each bin, or what is used in it: of the pools, and of the pairs of jobs and types."""

    pools: Floats  # (L, P, B) by measure: per unit and time, or units times time
    pairs: Floats  # (K, B): per time, or time


class _Edges(NamedTuple):
    """Edges of hulls: from way `before`, or from waiting, to `way` in a cell."""

    slope: Floats  # money per work
    work: Floats  # at most, in this cell
    cell: Ints
    way: Ints
    before: Ints
    taken: Floats  # the work of a schedule


@compiled_always
def least_costs(jobs: PricedJobs, prices: OfBins, used: OfBins) -> Floats:
    """Return the least cost of each job at these prices, (J,), and set what these schedules use."""
    count, bins = len(jobs.came), len(jobs.starts)
    widest = 0
    for j in range(count):
        widest = max(widest, jobs.first[j + 1] - jobs.first[j])
    begin, end, bin_ = np.empty(bins + 1), np.empty(bins + 1), np.empty(bins + 1, dtype=np.int64)
    edges, late_edges = _edges((bins + 1) * widest), _edges(widest)
    rate, hull = np.empty(widest), np.empty(widest, dtype=np.int64)
    costs = np.empty(count)
    used.pools[:] = 0.0
    used.pairs[:] = 0.0
    for j in range(count):
        weight, due = jobs.weight[j], jobs.due[j]
        cells = _cells(jobs, j, begin, end, bin_)
        size = 0
        for cell in range(cells):
            length = end[cell] - begin[cell]
            size = _add_edges(jobs, j, prices, bin_[cell], 0.0, length, cell, edges, size, rate, hull)
        order = np.argsort(edges.slope[:size], kind="mergesort")
        least = _take(edges, order, size, cells, False, late_edges, 0, 0.0, np.inf)  # however late
        soonest = cells - 1
        if weight > 0.0:
            soonest = 0
            for cell in range(cells):
                if end[cell] <= due:
                    soonest = cell
        best, last = np.inf, cells - 1
        for cell in range(soonest, cells):
            late = weight > 0.0 and begin[cell] >= due
            lateness = weight * (begin[cell] - due) if late else 0.0
            if lateness + least >= best:
                break
            own = 0
            if late:
                length = end[cell] - begin[cell]
                own = _add_edges(jobs, j, prices, bin_[cell], weight, length, cell, late_edges, 0, rate, hull)
            cost = _take(edges, order, size, cell, late, late_edges, own, lateness, best)
            if cost < best:
                best, last = cost, cell
        costs[j] = best
        late, own = weight > 0.0 and begin[last] >= due, 0
        if late:
            length = end[last] - begin[last]
            own = _add_edges(jobs, j, prices, bin_[last], weight, length, last, late_edges, 0, rate, hull)
        _take(edges, order, size, last, late, late_edges, own, 0.0, np.inf)
        _add_use(jobs, j, edges, size, bin_, used)
        _add_use(jobs, j, late_edges, own, bin_, used)
    return costs


@compiled_always
def _edges(size: int) -> _Edges:
    return _Edges(
        np.empty(size), np.empty(size), np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64), np.empty(size),
    )  # fmt: skip


@compiled_always
def _cells(jobs: PricedJobs, j: int, begin: Floats, end: Floats, bin_: Ints) -> int:
    """Set the cells of a job and return their number."""
    bins, came, due = len(jobs.starts), jobs.came[j], jobs.due[j]
    cells = 0
    for b in range(bins):
        until = jobs.starts[b + 1] if b + 1 < bins else np.inf
        if until <= came:
            continue
        since = max(jobs.starts[b], came)
        if jobs.weight[j] > 0.0 and since < due < until:
            begin[cells], end[cells], bin_[cells] = since, due, b
            cells += 1
            since = due
        begin[cells], end[cells], bin_[cells] = since, until, b
        cells += 1
    return cells


@compiled_always
def _add_edges(
    jobs: PricedJobs,
    j: int,
    prices: OfBins,
    b: int,
    extra: float,
    length: float,
    cell: int,
    edges: _Edges,
    at: int,
    rate: Floats,
    hull: Ints,
) -> int:
    """Write the edges of a cell in bin `b` from place `at` on, with `extra` money per time, and return their end.

    Without an end of the cell, the way with the least cost of the complete job is the only edge.
    """
    first, ways = jobs.first[j], jobs.first[j + 1] - jobs.first[j]
    for w in range(ways):
        way = first + w
        rate[w] = jobs.cost[way] / jobs.time[way] + extra + prices.pairs[jobs.pair[way], b]
        for measure in range(len(jobs.loads)):
            rate[w] += prices.pools[measure, jobs.pool[way], b] * jobs.loads[measure, way]
    if np.isinf(length):
        best = 0
        for w in range(1, ways):
            if rate[w] * jobs.time[first + w] < rate[best] * jobs.time[first + best]:
                best = w
        edges.slope[at], edges.work[at] = rate[best] * jobs.time[first + best], np.inf
        edges.cell[at], edges.way[at], edges.before[at] = cell, first + best, IDLE
        return at + 1
    before, paid, pace = IDLE, 0.0, 0.0
    while True:
        next_, slope, faster = -1, np.inf, 0.0
        for w in range(ways):
            speed = 1.0 / jobs.time[first + w]
            if speed > pace:
                to = (rate[w] - paid) / (speed - pace)
                if to < slope or (to == slope and speed > faster):
                    next_, slope, faster = w, to, speed
        if next_ < 0:
            return at
        edges.slope[at], edges.work[at] = slope, (faster - pace) * length
        edges.cell[at], edges.way[at], edges.before[at] = cell, first + next_, before
        at += 1
        before, paid, pace = first + next_, rate[next_], faster


@compiled_always
def _take(
    edges: _Edges,
    order: Ints,
    size: int,
    last: int,
    is_late: bool,
    late_edges: _Edges,
    own: int,
    cost: float,
    limit: float,
) -> float:
    """Take a unit of work from the cells up to `last`, the cheapest first; return `cost` and its cost.

    From `limit` on, that is infinite. If it is late, the edges of the last cell are the first `own` of `late_edges`,
    else those among all.
    """
    edges.taken[:size] = 0.0
    late_edges.taken[:own] = 0.0
    rest, at, late_at = 1.0, 0, 0
    while rest > 0.0:
        while at < size and (edges.cell[order[at]] > last or (is_late and edges.cell[order[at]] == last)):
            at += 1
        slope = edges.slope[order[at]] if at < size else np.inf
        late_slope = late_edges.slope[late_at] if late_at < own else np.inf
        if slope == np.inf and late_slope == np.inf:
            return np.inf
        if slope <= late_slope:
            work = min(rest, edges.work[order[at]])
            edges.taken[order[at]] = work
            at += 1
        else:
            slope = late_slope
            work = min(rest, late_edges.work[late_at])
            late_edges.taken[late_at] = work
            late_at += 1
        cost += work * slope
        rest -= work
        if cost >= limit:
            return np.inf
    return cost


@compiled_always
def _add_use(jobs: PricedJobs, j: int, edges: _Edges, size: int, bin_: Ints, used: OfBins) -> None:
    """Add what a schedule uses: along an edge, time passes from one way to the other."""
    for at in range(size):
        if edges.taken[at] <= 0.0:
            continue
        way, before, b = edges.way[at], edges.before[at], bin_[edges.cell[at]]
        slower = 1.0 / jobs.time[before] if before != IDLE else 0.0
        lasts = edges.taken[at] / (1.0 / jobs.time[way] - slower)
        _add_time(jobs, way, lasts, b, used)
        if before != IDLE:
            _add_time(jobs, before, -lasts, b, used)


@compiled_always
def _add_time(jobs: PricedJobs, way: int, lasts: float, b: int, used: OfBins) -> None:
    used.pairs[jobs.pair[way], b] += lasts
    for measure in range(len(jobs.loads)):
        used.pools[measure, jobs.pool[way], b] += jobs.loads[measure, way] * lasts
