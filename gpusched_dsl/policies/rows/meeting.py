"""A queue in which a pass meets all rows that demand jobs, wherever jobs have places: on nodes, in slots, in queues.

The order of the queue is changed (`demands.py`), then a search begins with an empty plan (`demand_search.py`), then a
solver places the fewest jobs that meet all demands (`completion.py`), and the pass adds the others. A row that cannot
be met would only keep jobs from running: it is not asked, and the plan is broken. After that only the order changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Ints
from gpusched_dsl.policies.rows.demand_search import DemandSearch, SearchRows
from gpusched_dsl.policies.rows.demands import QueueRepair
from gpusched_dsl.policies.rows.guard import Running
from gpusched_dsl.policies.workload import NONE

_MOST_STEPS = 60  # passes with other queues


class AskedRows(SearchRows, Protocol):
    """The rows of a decision, as `meet_demands` reads and changes them."""

    @property
    def demands(self) -> Bools:
        """Rows that may be broken because a job does not run."""

    @property
    def relaxed(self) -> Bools:
        """Rows that are not asked as they are."""

    def least_wanted(self, running: Running, queue: Ints, otherwise: int) -> int:
        """Return the row that is given up first of those that a plan breaks."""

    def for_queue(self, queue: Ints) -> Self:
        """Return the rows for other jobs."""

    def without(self, row: int) -> Self:
        """Return the rows without one that demands something, or without all such rows if it is none of them."""

    def with_jobs(self, jobs: Running) -> Self:
        """Return the rows with more jobs that run from the start."""


Rows = TypeVar("Rows", bound=AskedRows)


@dataclass(frozen=True, eq=False)
class Met(Generic[Rows]):
    """The rows that are asked, and the queue in which a pass meets them; its first `front` jobs come first always.

    `placed` are jobs that a solver placed, since no pass meets what rows demand.
    """

    rows: Rows
    queue: Ints
    front: int = 0
    placed: Running | None = None


def meet_demands(
    rows: Rows, order: Ints, run: Callable[[Met[Rows]], Running], fewest: Callable[[], Running | None]
) -> Met[Rows]:
    """Return the queue in which a pass meets all rows that can be met. `order` is the queue of the policy.

    `run` makes a plain pass; `fewest` asks the solver for jobs.
    """
    met, repair, searched, least = Met(rows, order), QueueRepair(order), False, int(NONE)
    for step in range(_MOST_STEPS + 1):
        found = run(met)
        row = met.rows.unmet(found)
        if row is None:
            break
        if met.queue is order:
            least = met.rows.least_wanted(found, order, row)
        if step < _MOST_STEPS and repair.mend(met.rows, found, row):
            queue = repair.queue()
            mended = met.rows.for_queue(queue)
            if not (mended.relaxed & ~met.rows.relaxed).any():
                met = Met(mended, queue, len(repair.front))
                continue  # else a row cannot be met without the jobs that were taken out
        rows = met.rows.for_queue(order)
        if not searched:
            searched, better = True, _searched(Met(rows, order), run)
            if better is None and (placed := fewest()) is not None:
                better = _searched(Met(rows.with_jobs(placed), order, placed=placed), run)
            if better is not None:
                return better
        repair, met = QueueRepair(order), Met(rows.without(least if step < _MOST_STEPS else int(NONE)), order)
    return met


def _searched(met: Met[Rows], run: Callable[[Met[Rows]], Running]) -> Met[Rows] | None:
    """Return a queue with which a pass meets all demands, found from no job or from those that a solver placed."""

    def pass_over(queue: Ints, front: int) -> Running:
        return run(Met(met.rows, queue, front, met.placed))

    search = DemandSearch(met.rows, pass_over, met.queue.tolist())
    queue = search.queue() if met.placed is None else search.queue_from(np.unique(met.placed.job).tolist())
    return None if queue is None else Met(met.rows, queue, search.front, met.placed)
