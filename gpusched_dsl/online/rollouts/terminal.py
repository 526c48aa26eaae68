"""The value of the end of a rollout: the least that unfinished jobs can still cost, each by itself.

A job with the fraction f of its work left at time t costs, in its best way w,

    rate[w] * f * time[w] + weight * max(0, t + f * time[w] - due),

where `time[w]` is that of all its work. This is a lower bound of its cost: it ignores all other jobs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.units import Unit, number_factor
from gpusched_dsl.online.simulation.world import lateness
from gpusched_dsl.policies.workload import Workload


@dataclass(frozen=True, eq=False)
class TerminalValue:
    """The ways of jobs in the unit of the clock, for all of their work."""

    first_way: Ints
    time: Floats
    rate: Floats

    @staticmethod
    def of(work: Workload, left: Floats, lasts: Unit, clock: Unit) -> TerminalValue:
        """From a workload whose jobs have the fractions `left` of their work."""
        hours = number_factor(lasts, clock)
        return TerminalValue(work.first_way, work.time * hours / left[work.job], work.rate / hours)

    def costs(self, jobs: Ints, left: Floats, now: float, due: Floats, weight: Floats) -> Floats:
        """Return the least cost of each of some jobs, in money; the other arrays are over these jobs."""
        counts = np.diff(self.first_way)[jobs]
        has_ways = counts > 0
        row = np.repeat(np.arange(len(jobs)), counts)
        starts = np.cumsum(counts) - counts
        way = np.repeat(self.first_way[jobs], counts) + np.arange(len(row)) - np.repeat(starts, counts)
        time = self.time[way] * left[row]
        late = lateness(now + time, due[row])
        cost = self.rate[way] * time + weight[row] * late
        found = np.zeros(len(jobs))
        if len(row):
            found[has_ways] = np.minimum.reduceat(cost, starts[has_ways])
        return found
