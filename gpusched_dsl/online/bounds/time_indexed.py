"""A lower bound on the cost of a run by any method: a time-indexed linear relaxation with the capacity of the cluster.

Time is cut into bins [s[b], s[b+1]), the last one without end. x[j, w, b] >= 0 is the fraction of job j that is done in
way w in bin b. Let job j need the time T[w] and the money c[w] in way w, and take u[w] of pool p (nodes of one kind) of
capacity C[p]. Of every run, with any halts, moves and waiting, the fractions satisfy

    sum over w, b of x[j, w, b] == 1                                   all work is done
    sum over w of T[w] x[j, w, b] <= length of b after the arrival     a job runs in one way at a time
    sum over j, w of u[w] T[w] x[j, w, b] <= C[p] * length of b        capacity

and the tardiness L[j] = max(0, end - due) of job j is at least each of

    sum T[w] x - (due - arrival)                                       its running time
    sum over bins after the due time of T[w] x                         its running time after the due time
    sum max(0, s[b] - due) x                                           work after the due time is late by its time
    sum max(0, s[b] - arrival) x + min T / 2 - (due - arrival)         the mean time of its work, and half of its time

where s[b] is the start of the bin or the arrival. The third holds since a job ends after all of its work. For the
last let U(t) be the unfinished fraction: its integral from the arrival to the end is the mean time of the work, and U
falls by at most 1 / min T per time and ends at 0, so that integral is at most the completion time less half of min T.
Hence the least sum of c[w] x + weight * L is a lower bound. With costs 0, due times equal to arrivals and weights
1 / jobs it bounds the mean completion time: the preemptive time-indexed relaxation of M. E. Dyer and L. A. Wolsey,
Discrete Applied Mathematics 26, 1990, with the half of A. S. Schulz and M. Skutella, 2002.

The value is not that of the solver: for any multipliers of the rows, where those of L add up to at most the weight,
the Lagrangian is least at bounds of the variables, so weak duality gives a bound whatever the solver's tolerances are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints

if TYPE_CHECKING:
    from scipy import sparse

MOST_COLUMNS = 200_000
BINS = (6, 64)  # the fewest and the most
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class TimedJobs:
    """J jobs; job j has the ways `first[j]` to `first[j + 1]`. `cost` is of the complete job in each way."""

    first: Ints  # (J + 1,)
    time: Floats  # (W,)
    cost: Floats  # (W,)
    uses: Floats  # (W,) of the pool
    pool: Ints  # (W,)
    capacity: Floats  # (P,)
    came: Floats  # (J,)
    due: Floats  # (J,) infinite: never
    weight: Floats  # (J,) money by time of tardiness

    @property
    def owner(self) -> Ints:
        return np.repeat(np.arange(len(self.came)), np.diff(self.first))


def time_indexed_bound(jobs: TimedJobs, most: int = MOST_COLUMNS) -> float | None:
    """The bound; None without jobs, if there are too many ways, or the solver finds no prices in time."""
    from scipy.optimize import linprog

    ways = len(jobs.time)
    count = min(BINS[1], most // max(ways, 1))
    if not ways or count < BINS[0]:
        return None
    program = _Program.of(jobs, bins_of(jobs, count))
    solved = linprog(
        program.objective, A_ub=program.at_most, b_ub=program.most, A_eq=program.equal, b_eq=program.value,
        bounds=np.stack((np.zeros(len(program.upper)), program.upper), axis=1), method="highs",
        options={"time_limit": SECONDS},
    )  # fmt: skip
    if solved.x is None or solved.status != 0:
        return None
    prices = np.maximum(-np.asarray(solved.ineqlin.marginals), 0.0)
    return program.lagrangian(np.asarray(solved.eqlin.marginals), prices)


def bins_of(jobs: TimedJobs, count: int) -> Floats:
    """The starts of at most `count` bins: at equal distances up to about the end of all work, and at events."""
    least = np.full(len(jobs.came), np.inf)
    np.minimum.at(least, jobs.owner, jobs.time * jobs.uses)
    shortest = np.full(len(jobs.came), np.inf)
    np.minimum.at(shortest, jobs.owner, jobs.time)
    begin = float(jobs.came.min())
    work = float(least.sum()) / max(float(jobs.capacity.sum()), 1e-300)
    end = max(float((jobs.came + shortest).max()), begin + work)
    events = np.concatenate((jobs.came, jobs.due[np.isfinite(jobs.due)]))
    events = np.sort(events[(events > begin) & (events < end)])
    half = count // 2
    picked = events[np.linspace(0, len(events) - 1, min(half, len(events))).astype(np.int64)] if len(events) else events
    return np.unique(np.concatenate((np.linspace(begin, end, count - len(picked)), picked)))


@dataclass(frozen=True, eq=False)
class _Program:
    """min objective z, at_most z <= most, equal z == value, 0 <= z <= upper; the last columns are tardiness.

    `late_rows` are the rows of each job's tardiness (J, 4) in `at_most`.
    """

    objective: Floats
    at_most: sparse.csr_matrix
    most: Floats
    equal: sparse.csr_matrix
    value: Floats
    upper: Floats
    late_rows: Ints
    weight: Floats

    @classmethod
    def of(cls, jobs: TimedJobs, starts: Floats) -> _Program:
        from scipy import sparse

        count, bins, ways, pools = len(jobs.came), len(starts), len(jobs.time), len(jobs.capacity)
        ends = np.append(starts[1:], np.inf)
        owner, way, bin_ = jobs.owner, np.repeat(np.arange(ways), bins), np.tile(np.arange(bins), ways)
        job = owner[way]
        possible = ends[bin_] > jobs.came[job]
        way, bin_, job = way[possible], bin_[possible], job[possible]
        columns, time, start = np.arange(len(way)), jobs.time[way], np.maximum(starts[bin_], jobs.came[job])
        length = ends[bin_] - start
        total, last = len(way) + count, bin_ == bins - 1

        def matrix(rows: Ints, at: Ints, values: Floats, height: int) -> sparse.csr_matrix:
            return sparse.csr_matrix((values, (rows, at)), (height, total))

        bounded = ~last
        one_way = matrix((job * bins + bin_)[bounded], columns[bounded], time[bounded], count * bins)
        lengths = np.maximum(ends[None, :] - np.maximum(starts[None, :], jobs.came[:, None]), 0.0).reshape(-1)
        in_pool = matrix(
            (jobs.pool[way] * bins + bin_)[bounded], columns[bounded], (jobs.uses[way] * time)[bounded], pools * bins
        )
        room = (jobs.capacity[:, None] * (ends - starts)[None, :]).reshape(-1)

        due = np.where(np.isfinite(jobs.due), jobs.due, np.inf)
        has = due - jobs.came
        shortest = np.full(count, np.inf)
        np.minimum.at(shortest, owner, jobs.time)
        counts = np.isfinite(due) & (jobs.weight > 0)
        tardy = len(way) + np.arange(count)
        of_due = counts[job]
        late = np.where(of_due, np.maximum(0.0, start - np.where(of_due, due[job], 0.0)), 0.0)
        parts = (time, np.where(start >= due[job], time, 0.0), late, start - jobs.came[job])
        rows = [
            matrix(job, columns, np.where(of_due, part, 0.0), count)
            - matrix(np.arange(count), tardy, np.ones(count), count)
            for part in parts
        ]
        has = np.where(counts, has, 0.0)
        sides = [has, np.zeros(count), np.zeros(count), np.where(counts, has - shortest / 2, 0.0)]
        blocks, values = [one_way, in_pool, *rows], [lengths, room, *sides]
        at_most, most = sparse.vstack(blocks).tocsr(), np.concatenate(values)
        kept = np.isfinite(most)
        number = np.cumsum(kept) - 1
        begin = count * bins + pools * bins
        late_rows = number[begin + np.arange(len(parts))[None, :] * count + np.arange(count)[:, None]]
        weight = np.where(counts, jobs.weight, 0.0)
        return cls(
            np.concatenate((jobs.cost[way], weight)),
            at_most[kept],
            most[kept],
            matrix(job, columns, np.ones(len(way)), count),
            np.ones(count),
            np.concatenate((np.minimum(1.0, length / time), np.full(count, np.inf))),
            late_rows,
            weight,
        )

    def lagrangian(self, free: Floats, prices: Floats) -> float:
        """Weak duality: a lower bound for any `free` multipliers of the equations and `prices` >= 0 of the rows."""
        prices = prices.copy()
        late = prices[self.late_rows]
        together = late.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(together > self.weight, self.weight / together, 1.0)
        prices[self.late_rows] = late * scale[:, None]
        reduced = self.objective - self.equal.T @ free + self.at_most.T @ prices
        timed = np.isfinite(self.upper)
        gain = np.minimum(reduced[timed], 0.0) * self.upper[timed]
        return float(self.value @ free - self.most @ prices + gain.sum())
