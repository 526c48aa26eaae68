"""The cases of each job of a share: one of its ways is 1, or none; and the values of its other columns in each case.

The ways of a job are columns; a row of the job lets at most one be 1. With a case given, bounds of its other
columns follow from the rows of the job, one column at a time. Each of them takes the end of its interval that costs
less. If all rows of the job hold then, no other values cost less: every value is at a bound that the rows imply. So the
cost of a case is exact, and the job can be replaced by the choice of its case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.solving.shares.share import Share


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases 0, 1, ... are the ways, sorted by job, then the case without a way of each job follows.

    `ways` are the columns of the ways, `others` the other columns of jobs, with their places `slot` in `values`
    (cases x slots). `allowed` has the cases in which the rows of the job can hold; `cost` is that of a minimum.
    """

    share: Share
    ways: Codes
    job: Codes  # of each case
    others: Codes
    slot: Codes
    values: Floats
    allowed: Bools
    cost: Floats

    @cached_property
    def place(self) -> Codes:
        """`others` by job and slot, -1 for none."""
        table = np.full((len(self.share.jobs), self.values.shape[1]), -1, dtype=np.int64)
        table[self.share.job_of_column[self.others], self.slot] = np.arange(len(self.others))
        return table


def cases_of(share: Share, hosted: Codes, sign: float) -> Cases:
    """The cases of all jobs; `hosted` are the columns of jobs on nodes, which must all be ways. Raises Obstacle."""
    return _Cases(share, hosted, sign).run()


def uses_of(cases: Cases, rows: Codes) -> sparse.csr_matrix:
    """Return what each case adds to some linking rows (cases x rows); raise Obstacle if a value is not determined."""
    share = cases.share
    matrix = share.problem.matrix.take(rows)
    full = sparse.csr_matrix((matrix.values, matrix.columns, matrix.starts), (len(rows), share.problem.columns))
    by_column = full.T.tocsr()
    of_ways = sparse.diags(1.0 / copies(share, cases.ways)) @ by_column[cases.ways]
    none = sparse.csr_matrix((len(cases.job) - len(cases.ways), len(rows)))
    found = sparse.vstack((of_ways, none)).tocsr()
    of_others = by_column[cases.others].tocsr()
    if of_others.nnz:
        at = cases.place[cases.job]
        case, slot = np.nonzero(at >= 0)
        entries = cases.values[case, slot], (case, at[case, slot])
        found = found + sparse.csr_matrix(entries, (len(cases.job), len(cases.others))) @ of_others
    return found.tocsr()


def copies(share: Share, columns: Codes) -> Floats:
    """Return for how many elements each column stands in rows of no node: the class has the mean of these."""
    kinds = share.quotient.column_class[columns]
    return np.asarray(np.where(kinds >= 0, share.quotient.classes.sizes[np.maximum(kinds, 0)], 1), dtype=np.float64)


class _Cases:
    def __init__(self, share: Share, hosted: Codes, sign: float) -> None:
        self.share, self.hosted = share, hosted
        problem = share.problem
        self.costs = sign * problem.objectives[0].costs(problem.columns)
        self.rows = np.flatnonzero((share.job_of_row >= 0) & ~share.row_of_node)
        matrix = problem.matrix.take(self.rows)
        self.row, self.column, self.value = matrix.row_of, matrix.columns.astype(np.int64), matrix.values
        self.value = self.value / copies(share, self.column)
        self._refuse_strangers()

    def run(self) -> Cases:
        share, problem = self.share, self.share.problem
        ways = self._ways()
        is_way = np.zeros(problem.columns, dtype=np.bool_)
        is_way[ways] = True
        others = np.flatnonzero((share.job_of_column >= 0) & ~is_way & ~share.of_node)
        slot, slots = _ranks(share.job_of_column[others])
        jobs = len(share.jobs)
        job = np.concatenate((share.job_of_column[ways], np.arange(jobs)))
        low, high = np.zeros((jobs, slots)), np.zeros((jobs, slots))
        cost, integer = np.zeros((jobs, slots)), np.zeros((jobs, slots), dtype=np.bool_)
        at = share.job_of_column[others], slot
        low[at], high[at] = problem.lower[others], problem.upper[others]
        cost[at], integer[at] = self.costs[others], problem.integer[others]
        rows = self._local_rows(ways, others, slot, slots, job)
        read = np.zeros(problem.columns, dtype=np.bool_)
        read[problem.matrix.take(share.linking_rows).columns] = True
        must = np.zeros((jobs, slots), dtype=np.bool_)
        must[at] = read[others]
        values, allowed = _Intervals(rows, job, low, high, integer, cost, must).run()
        total = (cost[job] * values).sum(axis=1)
        total[: len(ways)] += self.costs[ways] / copies(share, ways)
        return Cases(share, ways, job, others, slot, values, allowed, total)

    def _refuse_strangers(self) -> None:
        """Refuse rows of a job with columns of no job, of another job, or of nodes alone."""
        share = self.share
        owner = share.job_of_column[self.column]
        stray = np.flatnonzero(owner != share.job_of_row[self.rows[self.row]])
        if len(stray):
            family = share.problem.row_family(int(self.rows[self.row[stray[0]]]))
            other = share.problem.column_family(int(self.column[stray[0]]))
            raise Obstacle(f"`{family.name}` of one job also contains `{other.name}` of no job or another", family.span)

    def _ways(self) -> Codes:
        """The columns whose row of the job admits one of them; sorted by job."""
        share, problem = self.share, self.share.problem
        lower, upper = problem.lower[self.column], problem.upper[self.column]
        sizes = copies(share, self.column)
        with np.errstate(invalid="ignore"):
            ends = np.where(self.value > 0, lower, upper) * sizes
            least = np.bincount(self.row, weights=self.value * ends, minlength=len(self.rows))
        cap = problem.row_upper[self.rows] - least
        binary = problem.integer[self.column] & (lower == 0) & (upper == 1)
        if len(self.hosted):
            binary &= share.of_node[self.column]
        one = binary & np.isfinite(cap)[self.row] & (self.value > cap[self.row] / 2 * (1 + 1e-9))
        count = np.bincount(self.row[one], minlength=len(self.rows))
        job = share.job_of_row[self.rows]
        order = np.lexsort((-np.arange(len(self.rows)), count, job))
        last = order[np.flatnonzero(np.diff(job[order], append=-1))] if len(order) else order
        best = np.zeros(len(self.rows), dtype=np.bool_)
        best[last] = True
        is_way = np.zeros(problem.columns, dtype=np.bool_)
        is_way[self.column[one & best[self.row]]] = True
        ways = np.flatnonzero(is_way)
        missing = self.hosted[~is_way[self.hosted]]
        if len(missing):
            family = problem.column_family(int(missing[0]))
            raise Obstacle(f"no row of one job limits `{family.name}` to one in all", family.span)
        return ways[np.argsort(share.job_of_column[ways], kind="stable")]

    def _local_rows(self, ways: Codes, others: Codes, slot: Codes, slots: int, job: Codes) -> _LocalRows:
        share, problem = self.share, self.share.problem
        jobs, of_row = len(share.jobs), share.job_of_row[self.rows]
        line, lines = _ranks(of_row)
        lower, upper = np.full((jobs, lines), -np.inf), np.full((jobs, lines), np.inf)
        lower[of_row, line], upper[of_row, line] = problem.row_lower[self.rows], problem.row_upper[self.rows]
        place = np.full(problem.columns, -1, dtype=np.int64)
        place[ways] = np.arange(len(ways))
        own = np.zeros((len(job), lines))
        entry = np.flatnonzero(place[self.column] >= 0)
        own[place[self.column[entry]], line[self.row[entry]]] = self.value[entry]
        place[:] = -1
        place[others] = slot
        entry = np.flatnonzero((place[self.column] >= 0) & (self.value != 0))
        factor = np.zeros((jobs, lines, slots))
        factor[of_row[self.row[entry]], line[self.row[entry]], place[self.column[entry]]] = self.value[entry]
        names = np.full(lines, -1, dtype=np.int64)
        names[line[::-1]] = self.rows[::-1]
        return _LocalRows(lower, upper, own, factor, [problem.row_family(int(row)) for row in names.tolist()])


@dataclass(frozen=True, eq=False)
class _LocalRows:
    """The rows of jobs by line: `lower[j, l] <= own[case, l] + sum_s factor[j, l, s] v_s <= upper[j, l]`."""

    lower: Floats
    upper: Floats
    own: Floats
    factor: Floats
    families: list[Family]


class _Intervals:
    """The intervals of other columns in each case, narrowed row by row."""

    def __init__(
        self, rows: _LocalRows, job: Codes, low: Floats, high: Floats, integer: Bools, cost: Floats, must: Bools
    ) -> None:
        self.rows, self.job, self.must = rows, job, must
        self.low, self.high = low[job], high[job]
        self.integer, self.cost = integer, cost
        self.used = [np.flatnonzero((rows.factor[:, line] != 0).any(axis=0)).tolist() for line in range(self.lines)]
        self.allowed: Bools = np.ones(len(job), dtype=np.bool_)

    @property
    def lines(self) -> int:
        return int(self.rows.lower.shape[1])

    def run(self) -> tuple[Floats, Bools]:
        with np.errstate(invalid="ignore", divide="ignore"):
            for _ in range(self.low.shape[1] + 1):
                for line in range(self.lines):
                    self._narrow(line)
                self.allowed &= (self.low <= self.high + ROUNDING * np.maximum(1.0, np.abs(self.low))).all(axis=1)
                values = self._cheapest()
                broken = self._broken_line(values)
                if broken < 0:
                    return values, self.allowed
        family = self.rows.families[broken]
        raise Obstacle(f"`{family.name}` does not determine the other variables of a job with its way", family.span)

    def _narrow(self, line: int) -> None:
        rows, job = self.rows, self.job
        lower, upper = (side[:, line][job] - rows.own[:, line] for side in (rows.lower, rows.upper))
        slots = self.used[line]
        factors = {slot: rows.factor[:, line, slot][job] for slot in slots}
        least, most = {}, {}
        for slot in slots:
            one, other = factors[slot] * self.low[:, slot], factors[slot] * self.high[:, slot]
            none = factors[slot] == 0
            least[slot] = np.where(none, 0.0, np.minimum(one, other))
            most[slot] = np.where(none, 0.0, np.maximum(one, other))
        sizes = np.maximum(1.0, np.abs(rows.own[:, line]))
        total_least, total_most = sum(least.values(), np.zeros(len(job))), sum(most.values(), np.zeros(len(job)))
        self.allowed &= ~(total_least > upper + ROUNDING * np.maximum(sizes, np.abs(upper)))
        self.allowed &= ~(total_most < lower - ROUNDING * np.maximum(sizes, np.abs(lower)))
        for slot in slots:
            rest_least = sum((v for s, v in least.items() if s != slot), np.zeros(len(job)))
            rest_most = sum((v for s, v in most.items() if s != slot), np.zeros(len(job)))
            factor = factors[slot]
            to_upper, to_lower = (upper - rest_least) / factor, (lower - rest_most) / factor
            high = np.where(factor > 0, to_upper, np.where(factor < 0, to_lower, np.inf))
            low = np.where(factor > 0, to_lower, np.where(factor < 0, to_upper, -np.inf))
            low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
            whole = self.integer[:, slot][self.job]
            if whole.any():
                low = np.where(whole, np.ceil(low - ROUNDING * np.maximum(1.0, np.abs(low))), low)
                high = np.where(whole, np.floor(high + ROUNDING * np.maximum(1.0, np.abs(high))), high)
            np.maximum(self.low[:, slot], low, out=self.low[:, slot])
            np.minimum(self.high[:, slot], high, out=self.high[:, slot])

    def _cheapest(self) -> Floats:
        cost = self.cost[self.job]
        either = np.where(np.isfinite(self.low), self.low, np.where(np.isfinite(self.high), self.high, 0.0))
        values = np.where(cost > 0, self.low, np.where(cost < 0, self.high, either))
        return np.asarray(values + 0.0)

    def _broken_line(self, values: Floats) -> int:
        """Return a line that does not hold in some allowed case, -1 if all do."""
        rows, job = self.rows, self.job
        loose = ((self.high - self.low > ROUNDING) & self.must[job]) | ~np.isfinite(values)
        loose &= self.allowed[:, None]
        for line in range(self.lines):
            total, size = rows.own[:, line].copy(), np.abs(rows.own[:, line])
            for slot in self.used[line]:
                part = rows.factor[:, line, slot][job] * values[:, slot]
                total += part
                size = np.maximum(size, np.abs(part))
            lower, upper = rows.lower[:, line][job], rows.upper[:, line][job]
            below = total < lower - ROUNDING * np.maximum(np.maximum(1.0, size), np.abs(lower))
            above = total > upper + ROUNDING * np.maximum(np.maximum(1.0, size), np.abs(upper))
            if ((below | above) & self.allowed).any():
                return line
            if any(loose[:, slot].any() for slot in self.used[line]):
                return line
        if loose.any():
            raise Obstacle("the costs of a variable of one job have no limit")
        return -1


def _ranks(owner: Codes) -> tuple[Codes, int]:
    """Number the entries of each owner 0, 1, ..., in their order; also return the largest count."""
    order = np.argsort(owner, kind="stable")
    sorted_owner = owner[order]
    rank = np.empty(len(owner), dtype=np.int64)
    rank[order] = np.arange(len(owner)) - np.searchsorted(sorted_owner, sorted_owner)
    return rank, int(rank.max(initial=-1)) + 1
