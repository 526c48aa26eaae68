"""A lower bound on the cost of a run by any method: every job separately, in the cheapest way or mixture of ways.

Let job j need the time T[w] from its start to its end in way w (node type, number of GPUs) and pay the rate r[w] while
it runs there. In a run it does the fraction x[w] >= 0 of its work in way w, sum of x == 1, for which it runs for
x[w] T[w] and pays c[w] x[w], c[w] = r[w] T[w]. It cannot end before its arrival + sum of x[w] T[w], for at one time it
runs in one way; waiting, delays of changes and their costs only add. So with D = due - arrival it costs at least

    min over x of  sum c[w] x[w] + weight * max(0, sum T[w] x[w] - D),

a linear problem of its own for each job: what jobs do to one another (room, stock, waiting) is left out, so the sum of
the minima over the jobs is a lower bound of execution and tardiness together.

The minimum over mixtures with time T is h(T), the lower convex hull of the points (T[w], c[w]), and h(T) + weight *
max(0, T - D) is convex and piecewise linear in T with breaks at vertices of the hull and at D. So it is least at a
vertex, which is a single way, or at D, where h(D) lies on an edge of the hull: a mixture of the two ways at its ends,
one in time and one that is not. Hence the minimum over all ways and over all such pairs, each of them possible, is it.

A. Jahani et al. (2019) charge like this. Where whole nodes are charged, a job pays its share by GPUs of a node whose
jobs use at most all of its GPUs: at least price * uses / capacity, the rate that is taken then. Where nodes are charged
by the number G of their GPUs in use, which is no less than what their jobs use together, a job pays at least its uses
times the least rate(G) / G of any G that it fits in (F. Filippini et al., 2024, charge like this).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.contradiction import beats

MOST_PAIRS = 1 << 22  # pairs of ways that are looked at at once


@dataclass(frozen=True, slots=True)
class RunBound:
    """A proved lower bound of `total`, or why there is none. `by_job`: the least of each job, 0 for the others.

    `slack` is by how much a total may be below it as times are one within a tolerance.
    """

    value: float | None
    how: str
    by_job: Floats | None = None
    slack: float = 0.0

    def gap(self, total: float) -> float | None:
        """Return (total - bound) / total: the largest possible saving."""
        if self.value is None or total <= 0 or self.is_refuted_by(total):
            return None
        return max(0.0, (total - self.value) / total)

    def is_refuted_by(self, total: float) -> bool:
        """Whether a total is below the bound by more than rounding: then one of the two is wrong."""
        return beats(total, self.value, slack=self.slack)


def least_costs(first: Ints, time: Floats, cost: Floats, has: Floats, weight: Floats) -> Floats:
    """The least cost of each of J jobs by itself, tardiness included; infinite for a job without ways.

    Job j has the ways `first[j]` to `first[j + 1]` (shape J + 1); `time` and `cost` are of the whole job in each way
    (W,), `has` is due - arrival (infinite: never due), `weight` money by time of tardiness (J,).
    """
    jobs = len(first) - 1
    count = np.diff(first)
    owner = np.repeat(np.arange(jobs), count)
    with np.errstate(invalid="ignore"):
        late = np.maximum(time - has[owner], 0.0)
    found = np.full(jobs, np.inf)
    np.minimum.at(found, owner, cost + np.where(late > 0, weight[owner] * late, 0.0))
    pairs = np.concatenate(([0], np.cumsum(count**2)))
    begin = 0
    while begin < jobs:
        end = max(begin + 1, int(np.searchsorted(pairs, pairs[begin] + MOST_PAIRS, side="right")) - 1)
        np.minimum(found[begin:end], _mixtures(first, time, cost, has, begin, end), out=found[begin:end])
        begin = end
    return found


def _mixtures(first: Ints, time: Floats, cost: Floats, has: Floats, begin: int, end: int) -> Floats:
    """The least cost of a mixture of two ways that ends at the due date, of the jobs from `begin` to `end`."""
    count = np.diff(first[begin : end + 1])
    found = np.full(end - begin, np.inf)
    job = np.repeat(np.arange(end - begin), count**2)
    number = np.arange(len(job)) - np.repeat(np.cumsum(count**2) - count**2, count**2)
    fast = first[begin + job] + number // count[job]
    slow = first[begin + job] + number % count[job]
    due = has[begin + job]
    kept = (time[fast] < due) & (time[slow] > due)
    job, fast, slow, due = job[kept], fast[kept], slow[kept], due[kept]
    part = (due - time[fast]) / (time[slow] - time[fast])  # done in the way that is too slow
    np.minimum.at(found, job, part * cost[slow] + (1.0 - part) * cost[fast])
    return found
