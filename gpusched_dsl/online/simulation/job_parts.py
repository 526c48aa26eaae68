"""The places of running jobs: one row for each job, or for each node of a gang."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints, unique


@dataclass(frozen=True, eq=False)
class JobParts:
    """Jobs on places, by job; the rows of a gang are on different places, in their order.

    `uses` GPUs and `rate` (money by time) are those of the job on this place, `node_price` that of the whole node.
    """

    job: Ints
    place: Ints
    kind: Ints
    uses: Floats
    rate: Floats
    node_price: Floats

    @staticmethod
    def empty() -> JobParts:
        codes, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
        return JobParts(codes, codes, codes, numbers, numbers, numbers)

    def __len__(self) -> int:
        return len(self.job)

    def take(self, rows: Ints | Bools) -> Self:
        """Return some rows."""
        return replace(self, **{name: column[rows] for name, column in vars(self).items() if np.ndim(column)})

    def of_jobs(self, jobs: Ints) -> JobParts:
        """Return the rows of some jobs."""
        wanted = np.zeros(int(max(self.job.max(initial=0), jobs.max(initial=0))) + 1, dtype=np.bool_)
        wanted[jobs] = True
        return self.take(wanted[self.job])

    def sums(self, values: Floats, jobs: Ints) -> Floats:
        """Return the sums of values of the rows by job; `jobs` are all jobs of the rows, sorted."""
        if len(jobs) == len(self.job):
            return values
        found = np.bincount(np.searchsorted(jobs, self.job), weights=values, minlength=len(jobs))
        return found.astype(np.float64)


def changed_jobs(before: JobParts, after: JobParts) -> tuple[Ints, Ints]:
    """Return the jobs of `after` that `before` has on other places, and those with other GPUs on the same places."""
    both = before.of_jobs(after.job), after.of_jobs(before.job)
    width = 1 + int(max(part.place.max(initial=0) for part in both))
    old, new = (part.job * width + part.place for part in both)
    moved: Ints = unique(np.setxor1d(old, new) // width)
    _, at_old, at_new = np.intersect1d(old, new, return_indices=True)
    other = both[0].uses[at_old] != both[1].uses[at_new]
    return moved, np.setdiff1d(both[1].job[at_new[other]], moved)
