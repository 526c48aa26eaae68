"""Variations of a policy: some jobs earlier or later in its queue, some ways to run a job preferred.

A variation belongs to jobs, so it is the same in all later plans of a simulated run, and in later plans of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.ir.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Variation:
    """Changes for N jobs with W ways: `shift` is added to the place of a job in the queue.

    `factor` multiplies the first key by which the ways of a job are chosen. `jobs` are elements of the complete run in
    ascending order, job k has the ways `first[k]` to `first[k + 1]`, each of a `kind` of node.
    """

    jobs: Ints  # (N,)
    first: Ints  # (N + 1,)
    kind: Ints  # (W,)
    shift: Floats  # (N,)
    factor: Floats  # (W,)

    @staticmethod
    def none(jobs: Ints, first: Ints, kind: Ints) -> Variation:
        """Return the variation that changes nothing."""
        return Variation(jobs, first, kind, np.zeros(len(jobs)), np.ones(len(kind)))

    def reorder(self, queue: Ints) -> Ints:
        """Return a queue, numbers of jobs, with jobs shifted; those that the variation does not know have no shift."""
        shift = np.zeros(len(queue))
        known = queue < len(self.jobs)
        shift[known] = self.shift[queue[known]]
        return queue[np.argsort(np.arange(len(queue)) + shift, kind="stable")]

    def changed_as_in(self, other: Variation) -> Variation:
        """Return the changes of the other one for the jobs of this one, as far as both have them with equal ways."""
        known = np.isin(self.jobs, other.jobs)
        at = np.searchsorted(other.jobs, self.jobs[known])
        ways, theirs = np.diff(self.first)[known], np.diff(other.first)[at]
        same = ways == theirs
        own, at, ways = np.flatnonzero(known)[same], at[same], ways[same]
        shift, factor = self.shift.copy(), self.factor.copy()
        shift[own] = other.shift[at]
        to = np.repeat(self.first[:-1][own], ways) + ranges(ways)
        factor[to] = other.factor[np.repeat(other.first[:-1][at], ways) + ranges(ways)]
        return Variation(self.jobs, self.first, self.kind, shift, factor)
