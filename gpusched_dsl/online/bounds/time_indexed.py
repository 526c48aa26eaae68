"""A lower bound on the cost of a run by any method: a time-indexed linear relaxation with the capacity of the cluster.

Time is cut into bins [s[b], s[b+1]), the last one without end. x[j, w, b] >= 0 is the fraction of job j that is done in
way w in bin b. Let job j need the time T[w] and the money c[w] in way w, and take u[w] of pool p (nodes of one kind) of
capacity C[p]. Of every run, with any halts, moves and waiting, the fractions satisfy

    sum over w, b of x[j, w, b] == 1                                   all work is done
    sum over w of T[w] x[j, w, b] <= length of b after the arrival     a job runs in one way at a time
    sum over j, w of u[w] T[w] x[j, w, b] <= C[p] * length of b        capacity
    sum over j, w of f(u[w] / size of a node) T[w] x[j, w, b] <= nodes * length of b

with functions f that round shares of nodes (`rounded_shares`): at any time the rounded shares of the jobs on a node add
up to at most 1, so for instance no two jobs that need more than half of a node each run there together. Further,
the tardiness L[j] = max(0, end - due) of job j is, for any number a >= 0, at least each of

    sum T[w] x - (due - arrival)                                               its running time
    sum over bins after the due time of T[w] x                                 its running time after the due time
    sum over bins after the due time of (s[b] - due + min(a, T[w]) - a / 2) x  work after the due time
    sum of (s[b] - arrival + min(a, T[w])) x - a / 2 - (due - arrival)         all of its work

where s[b] is the start of the bin or the arrival. For the last two let t(u) be the time at which the fraction u of the
job is done, and T(u) the time of the way in which this part is done. After a part u the job runs at least the times of
the parts behind it: end - t(u) >= integral of T(v) over v from u to 1. The integral over u is

    end - mean of t(u) >= integral of v T(v) dv >= 1/2 double integral of min(T(u), T(v)) du dv,

as the integral of v T(v) is least if T descends, where it equals the right side. The kernel min is positive
semidefinite, so for f, the distribution of T(u), and the unit mass d at a: <f - d, min (f - d)> >= 0, which is

    1/2 double integral of min(T(u), T(v)) du dv >= integral of min(a, T(v)) dv - a / 2.

So end >= mean of t(u) + mean of min(a, T(u)) - a / 2, and t(u) is at least the start of its bin: the last row. The same
with the parts u >= 1 - q that are done after the due time, and the mass q at a: q end - integral of t(u) over these
parts >= q (integral of min(a, T) over these parts) - q^2 a / 2. Divided by q, with (t - due) / q >= t - due, this is
the third row. One number a is the time of one way; several rows have several of them.

Hence the least sum of c[w] x + weight * L is a lower bound. With costs 0, due times equal to arrivals and weights
1 / jobs it bounds the mean completion time: the preemptive time-indexed relaxation of M. E. Dyer and L. A. Wolsey,
Discrete Applied Mathematics 26, 1990, with the half of A. S. Schulz and M. Skutella, 2002, which is a = min T.

The value is not that of the solver: for any multipliers of the rows, where those of L add up to at most the weight,
the Lagrangian is least at bounds of the variables, so weak duality gives a bound whatever the solver's tolerances are.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.bounds.timed_jobs import TimedJobs, undominated

if TYPE_CHECKING:
    from scipy import sparse

    from gpusched_dsl.backends.interrupt import Control

MOST_COLUMNS = 150_000
BINS = (6, 256)  # the fewest and the most
LEVELS = 4  # numbers a of each job
SECONDS = 120.0
POOR = 1e-3  # of the optimum: prices that are worse than this by more are searched for again


def time_indexed_bound(jobs: TimedJobs, most: int = MOST_COLUMNS) -> float | None:
    """The bound; None without jobs, if there are too many ways, the solver finds no prices in time, or is interrupted.

    An interior point method without crossover finds prices quickly, and any prices give a bound. Where those that
    presolve gives back are poor, the program is solved without presolve.
    """
    from gpusched_dsl.backends.interrupt import Control

    jobs = undominated(jobs)
    ways = len(jobs.time)
    count = min(BINS[1], most // max(ways, 1))
    if not ways or count < BINS[0]:
        return None
    program, control = _Program.of(jobs, bins_of(jobs, count)), Control()
    end = perf_counter() + SECONDS
    best = None
    for presolve in ("choose", "off"):
        found = _solved(program, presolve, end - perf_counter(), control)
        if control.stop_requested:
            return None
        if found is None:
            break
        bound, optimum = found
        best = bound if best is None else max(best, bound)
        if optimum - bound <= POOR * max(abs(optimum), 1e-300):
            break
    return best


def _solved(program: _Program, presolve: str, seconds: float, control: Control) -> tuple[float, float] | None:
    """The bound by the prices that HiGHS finds, and its optimum; None without prices."""
    import highspy

    from gpusched_dsl.backends.highs.quiet import QuietHighs
    from gpusched_dsl.backends.interrupt import run_stoppable

    columns, (rows, equations) = len(program.upper), (len(program.most), len(program.value))
    matrix = program.matrix
    highs = QuietHighs()
    options = {
        "solver": "ipm", "run_crossover": "off", "presolve": presolve, "time_limit": max(seconds, 0.0), "threads": 1,
    }  # fmt: skip
    for name, value in options.items():
        highs.setOptionValue(name, value)
    highs.passModel(
        columns, rows + equations, matrix.nnz, int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize),
        0.0, program.objective, np.zeros(columns), program.upper,
        np.concatenate((np.full(rows, -np.inf), program.value)), np.concatenate((program.most, program.value)),
        matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data,
        np.zeros(columns, dtype=np.int32),
    )  # fmt: skip

    def look(event: Any) -> None:
        if control.stop_requested:
            event.interrupt()

    highs.cbIpmInterrupt.subscribe(look)
    run_stoppable(highs.run, control)  # on Ctrl-C there is no bound, and the run is reported without it
    prices = np.array(highs.getSolution().row_dual)
    if control.stop_requested or len(prices) < rows + equations or not np.isfinite(prices).all() or not prices.any():
        return None
    bound = program.lagrangian(prices[rows:], np.maximum(-prices[:rows], 0.0))
    return bound, float(highs.getInfo().objective_function_value)


def bins_of(jobs: TimedJobs, count: int) -> Floats:
    """The starts of at most `count` bins: at equal distances up to about the end of all work, and at events.

    The work is the least, or that of the cheapest ways if it is more.
    """
    shortest, begin = jobs.time[jobs.best(jobs.time)], float(jobs.came.min())
    lengths = []
    for load, most in jobs.loads:
        work = jobs.time * load
        amounts = [float(work[jobs.best(by)].sum()) for by in (work, jobs.cost)]
        lengths.append(max(amounts) / max(float(most.sum()), 1e-300))
    end = max(float((jobs.came + shortest).max()), begin + max(lengths))
    events = np.concatenate((jobs.came, jobs.due[np.isfinite(jobs.due)]))
    events = np.sort(events[(events > begin) & (events < end)])
    half = count // 2
    picked = events[np.linspace(0, len(events) - 1, min(half, len(events))).astype(np.int64)] if len(events) else events
    return np.unique(np.concatenate((np.linspace(begin, end, count - len(picked)), picked)))


@dataclass(frozen=True, eq=False)
class _Program:
    """min objective z, at_most z <= most, equal z == value, 0 <= z <= upper; the last columns are tardiness.

    `late_rows` are the rows of each job's tardiness (J, 2 + 2 LEVELS) in `at_most`.
    """

    objective: Floats
    at_most: sparse.csr_matrix
    most: Floats
    equal: sparse.csr_matrix
    value: Floats
    upper: Floats
    late_rows: Ints
    weight: Floats

    @property
    def matrix(self) -> sparse.csr_matrix:
        """The rows of `at_most`, then those of `equal`."""
        from scipy import sparse

        return sparse.vstack([self.at_most, self.equal]).tocsr()

    @classmethod
    def of(cls, jobs: TimedJobs, starts: Floats) -> _Program:
        from scipy import sparse

        count, bins, ways, pools, loads = len(jobs.came), len(starts), len(jobs.time), len(jobs.capacity), jobs.loads
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
        in_pool = [
            matrix((jobs.pool[way] * bins + bin_)[bounded], columns[bounded], (load[way] * time)[bounded], pools * bins)
            for load, _ in loads
        ]
        room = [(most[:, None] * (ends - starts)[None, :]).reshape(-1) for _, most in loads]

        due = np.where(np.isfinite(jobs.due), jobs.due, np.inf)
        has = due - jobs.came
        counts = np.isfinite(due) & (jobs.weight > 0)
        tardy = len(way) + np.arange(count)
        of_due = counts[job]
        has, late = np.where(counts, has, 0.0), start - np.where(of_due, due[job], np.inf)
        after, zeros = late >= 0, np.zeros(count)
        parts, sides = [time, np.where(after, time, 0.0)], [has, zeros]
        for level in jobs.levels(LEVELS).T:
            runs = np.minimum(level[job], time)
            parts += [np.where(after, late + runs - level[job] / 2, 0.0), start - jobs.came[job] + runs]
            sides += [zeros, np.where(counts, has + level / 2, 0.0)]
        tardiness = matrix(np.arange(count), tardy, np.ones(count), count)
        rows = [matrix(job, columns, np.where(of_due, part, 0.0), count) - tardiness for part in parts]
        blocks, values = [one_way, *in_pool, *rows], [lengths, *room, *sides]
        at_most, most = sparse.vstack(blocks).tocsr(), np.concatenate(values)
        kept = np.isfinite(most)
        number = np.cumsum(kept) - 1
        begin = count * bins + len(loads) * pools * bins
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
