"""A bounded search, from an empty plan, for a queue that meets rows that demand something.

`demands.py` changes the complete queue, and stops where another job has to leave for no reason that a row names: the
jobs that a team must have find no room, or a job that may not be halted. Here a pass places only the jobs that demands
need: of a row that is missed one job after the other that helps it, depth first, with ever more choices other than the
first (limited discrepancy search: W. D. Harvey, M. L. Ginsberg, IJCAI 1995). Then the other jobs come back, in the
order of the queue, as many at a time as no row refuses; a job that needs others comes back with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.rows.demands import DemandRows, distances, jobs_of
from gpusched_dsl.policies.rows.guard import Running

MOST_PASSES = 120  # to find jobs that meet all demands
_DISCREPANCIES = (0, 1, 2, 4)
_FAR = 12  # rows from a row to jobs, through other variables
_PASSES_TO_GROW = 200
_PASSES_OF_A_JOB = 20  # that comes back with those it needs


class SearchRows(DemandRows, Protocol):
    """The rows of a decision, as `DemandSearch` reads them."""

    def unmet(self, running: Running) -> int | None:
        """Return a row that a plan breaks once no other job runs (NONE: an unknown one), None if there is none."""


@dataclass
class DemandSearch:
    """`run(queue, front)` makes a plain pass; the first `front` jobs of the queue come first under every rule.

    `order` is the queue of the policy.
    """

    rows: SearchRows
    run: Callable[[Ints, int], Running]
    order: list[int]
    passes: int = 0  # how many are left
    front: int = 0  # the jobs at the head of the queue that demands need

    def queue(self) -> Ints | None:
        """Return a queue with which a pass meets all demands, None if the search finds none."""
        self.passes = MOST_PASSES
        needed = next((found for limit in _DISCREPANCIES if (found := self._completed([], limit)[0]) is not None), None)
        if needed is None:
            return None
        return self._with_others(needed)

    def queue_from(self, needed: list[int]) -> Ints | None:
        """Return a queue that has some jobs at its head, None if these alone do not meet all demands."""
        running = self.run(np.array(needed, dtype=np.int64), len(needed))
        return self._with_others(needed) if self.rows.unmet(running) is None else None

    def _with_others(self, needed: list[int]) -> Ints:
        inside, self.front = set(needed), len(needed)
        self.passes = _PASSES_TO_GROW
        return np.array(self._grown(needed, [j for j in self.order if j not in inside]), dtype=np.int64)

    def _completed(self, jobs: list[int], limit: int) -> tuple[list[int] | None, bool]:
        """Return jobs with those that they need, so that a pass meets all demands; and whether all have places.

        `limit`: how many choices may be others than the first.
        """
        if self.passes <= 0:
            return None, False
        self.passes -= 1
        running = self.run(np.array(jobs, dtype=np.int64), len(jobs))
        row = self.rows.unmet(running)
        if row is None:
            return jobs, True
        inside = set(jobs)
        if not inside <= set(running.job.tolist()):
            return None, False
        for job in self._helping(row, running, inside):
            for longer in ([job, *jobs], [*jobs, job]) if jobs else ([job],):
                found, placed = self._completed(longer, limit)
                if found is not None:
                    return found, True
                if placed:
                    limit -= 1
                    break
            if limit < 0:
                break
        return None, True

    def _helping(self, row: int, running: Running, inside: set[int]) -> list[int]:
        """Return the jobs that may help a row, those first that it names, then by their distance, then by the queue."""
        helping, _ = jobs_of(self.rows, row, running)
        far = np.where(helping, -1, distances(self.rows, row, _FAR, through_jobs=True))
        return sorted((j for j in self.order if j not in inside and far[j] < _FAR), key=lambda j: int(far[j]))

    def _grown(self, kept: list[int], rest: list[int]) -> list[int]:
        """Return the jobs that are kept and as many of the rest, in their order, as no demand refuses."""
        inside = set(kept)
        rest = [j for j in rest if j not in inside]
        if not rest or self.passes <= 0:
            return kept
        self.passes -= 1
        longer = [*kept, *rest]
        if self.rows.unmet(self.run(np.array(longer, dtype=np.int64), self.front)) is None:
            return longer
        if len(rest) > 1:
            half = len(rest) // 2
            return self._grown(self._grown(kept, rest[:half]), rest[half:])
        left = self.passes
        self.passes = min(left, _PASSES_OF_A_JOB)
        spent = self.passes
        found, _ = self._completed(longer, 0)
        self.passes = left - (spent - self.passes)
        if found is None:
            return kept
        self.front = len(found)
        return found
