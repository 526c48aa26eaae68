"""Queues in which rows that demand something are met.

A pass places jobs in the order of a queue, so a row such as "both or none" may miss a job for which no GPU is left.
Then the jobs of the row go to the front of the queue. If it still misses one of them and no running job is the reason
of the demand, that one goes before the others there. Else those whose running is the reason are taken out of the queue:
those that the row names, else those that rows refuse once all jobs that do not run are known not to. If none of this
helps, a search begins with an empty plan (`demand_search.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.kernels.row_guard import GuardArrays, RowGuard, refused_if_closed
from gpusched_dsl.policies.rows.guard import Running
from gpusched_dsl.policies.workload import NONE

_MOST_HEADS = 12  # orders in which jobs of the front change places
_FAR = 3  # rows from a row to jobs, through other variables


class DemandRows(Protocol):
    """The rows of a decision, as `QueueRepair` reads them."""

    @property
    def guard(self) -> RowGuard:
        """The rows; the state is changed."""

    @property
    def arrays(self) -> GuardArrays:
        """The arrays of the guard by name."""

    @property
    def workers(self) -> Ints:
        """The most that the values of the columns of each job add up to."""

    @property
    def job_of_column(self) -> Ints:
        """The job of each column, NONE for a column of another variable."""

    def columns_of(self, running: Running) -> Ints:
        """Return the column of each row of a plan."""

    def point_of(self, running: Running) -> Floats:
        """Return the values of all columns of the placement's variable in a plan."""


@dataclass
class QueueRepair:
    """The order of a queue as rows change it: `front` goes first, `out` is not placed, `tried` was in front once, and
    `heads` are fronts whose first job was moved there.
    """

    order: Ints
    front: list[int] = field(default_factory=list)
    out: set[int] = field(default_factory=set)
    tried: set[int] = field(default_factory=set)
    heads: list[tuple[int, ...]] = field(default_factory=list)

    def queue(self) -> Ints:
        """Return the jobs in their order now."""
        moved = {*self.front, *self.out}
        rest = [j for j in self.order.tolist() if j not in moved]
        return np.array(self.front + rest, dtype=np.int64)

    def mend(self, rows: DemandRows, running: Running, row: int) -> bool:
        """Change the queue so that a row may be met that a plan misses; whether there was anything to change."""
        runs = np.zeros(len(rows.workers), dtype=np.bool_)
        runs[running.job] = True
        helping, asking = jobs_of(rows, row, running)
        known = set(self.order.tolist()) - self.out
        reasons = [j for j in self.order.tolist() if j in known and asking[j] and runs[j]]
        missing = [j for j in self.order.tolist() if j in known and helping[j] and not runs[j]]
        new = [j for j in missing if j not in self.tried]
        if new:
            self.front = [
                j for j in self.front if runs[j]
            ]  # one that finds no place there would stop a queue that waits
            self.front += [j for j in reasons if j not in self.front] + new[:1]
            self.tried.update(self.front)
            return True
        if not reasons and missing and self._moves_to_head(missing[0]):
            return True
        if not reasons:
            reasons = self._refused(rows, running)
        if reasons:
            self.out.update(reasons)
            self.front = [j for j in self.front if j not in self.out]
            return True
        return False

    def _moves_to_head(self, job: int) -> bool:
        """Move a job that was in front before all others there; whether that is a new order, of few."""
        self.front = [job, *(j for j in self.front if j != job)]
        self.heads.append(tuple(self.front))
        return len(self.heads) <= _MOST_HEADS and self.heads[-1] not in self.heads[:-1]

    def _refused(self, rows: DemandRows, running: Running) -> list[int]:
        """Return the jobs that may not run if it is known that those of a plan are all."""
        place = np.full(len(rows.workers), len(self.order))
        place[self.order] = np.arange(len(self.order))
        first = np.argsort(place[running.job], kind="stable")
        refused = np.zeros(len(first), dtype=np.bool_)
        refused_if_closed(rows.guard, rows.columns_of(running)[first], rows.point_of(running), refused)
        known = set(self.order.tolist()) - self.out
        return [j for j in np.unique(running.job[first[refused]]).tolist() if j in known]


def jobs_of(rows: DemandRows, row: int, running: Running) -> tuple[Bools, Bools]:
    """Return which jobs help to meet a row by running, and for which running jobs it demands something."""
    guard = rows.arrays
    helping, asking = (np.zeros(len(rows.workers), dtype=np.bool_) for _ in range(2))
    if row == NONE:
        return helping, asking
    entries = slice(int(guard.row_starts[row]), int(guard.row_starts[row + 1]))
    columns, values = guard.row_columns[entries], guard.row_values[entries]
    job = rows.job_of_column[columns]
    value = float(values @ rows.point_of(running)[columns])
    slack = guard.sides[row, 2]
    above, below = value > guard.sides[row, 1] + slack, value < guard.sides[row, 0] - slack
    if (job == NONE).any() or not (above or below):
        near = _reached(rows, row)
        return near, near
    sign = -1.0 if above else 1.0
    helping[job[sign * values > 0]] = True
    asking[job[sign * values < 0]] = True
    return helping, asking


def _reached(rows: DemandRows, row: int) -> Bools:
    """Return the jobs with columns in rows that are linked to a row by other variables."""
    return distances(rows, row, _FAR, through_jobs=False) < _FAR


def distances(rows: DemandRows, row: int, far: int, *, through_jobs: bool) -> Ints:
    """Return for each job over how many rows variables link it to a row, `far` if over more.

    These are variables other than the placement's, or with `through_jobs` all.
    """
    guard, job_of = rows.arrays, rows.job_of_column
    seen: set[int] = set()
    found = np.full(len(rows.workers), far)
    next_rows: Sequence[int] = [] if row == NONE else [row]
    for distance in range(far):
        columns: set[int] = set()
        for r in next_rows:
            seen.add(r)
            columns.update(guard.row_columns[guard.row_starts[r] : guard.row_starts[r + 1]].tolist())
        following: set[int] = set()
        for c in columns:
            if job_of[c] != NONE:
                found[job_of[c]] = min(found[job_of[c]], distance)
            if through_jobs or job_of[c] == NONE:
                following.update(guard.column_rows[guard.column_starts[c] : guard.column_starts[c + 1]].tolist())
        next_rows = sorted(following - seen)
    return found
