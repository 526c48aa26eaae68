"""The passes of a policy for queues, as rows of the model ask for them: with another order, and with placed jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.language.checked import CheckedPlacement
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.kernels.queues import append_all
from gpusched_dsl.policies.kernels.ranking import order_rows
from gpusched_dsl.policies.kernels.row_guard import RowGuard
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.rows.completion import MOST_PLACES, OpenPlaces, PolicyRows, fewest_jobs, whole_problem
from gpusched_dsl.policies.rows.guard import Running
from gpusched_dsl.policies.rows.problem import SideProblem
from gpusched_dsl.policies.workload import NONE


@dataclass(frozen=True, eq=False)
class Candidates:
    """Nodes for jobs, those of a job side by side, the best first. `turn` is the job's place in the order."""

    turn: Ints
    job: Codes
    node: Codes
    time: Floats


class QueuesOfPolicy(Protocol):
    """What a policy says about queues, as its passes read it; `job`, `node` and `place` are positions of indices."""

    policy: CheckedPolicy
    placement: CheckedPlacement
    store: ValueStore
    limits: MemoryLimits
    job: int
    node: int
    place: int

    def plan(
        self, ordered: Codes, found: Candidates, taken: Ints, place: Ints, stop: Callable[[], bool] | None
    ) -> Plan:
        """Return the plan of candidates that jobs take."""

    def from_end(self, job: Codes, node: Codes, place: Ints) -> Ints:
        """Return positions counted from the end of each queue."""

    def codes_of_places(self, from_end: Ints) -> Codes:
        """Return the codes of positions."""

    def sort_keys(self, job: Codes, node: Codes) -> Floats | None:
        """Return the keys of `finish sort by`, None without it."""


class QueuePasses:
    """The passes over the jobs of a queue, as `first_that_obeys` makes them: a way is a candidate.

    Its place is its position from the end of the queue, less 1.
    """

    def __init__(
        self, queues: QueuesOfPolicy, ordered: Codes, found: Candidates, stop: Callable[[], bool] | None
    ) -> None:
        self.queues, self.ordered, self.found, self.stop = queues, ordered, found, stop
        self.nodes, queue = np.unique(found.node, return_inverse=True)
        first = np.searchsorted(found.turn, np.arange(len(ordered) + 1))
        self.given = (first, queue.astype(np.int64), found.time)
        self.by_finish = any(rule.text == "append by earliest_finish" for rule in queues.policy.place)
        self.keys = queues.sort_keys(found.job, found.node)

    def _appended(self, guard: RowGuard | None, queue: Ints, placed: Running | None) -> tuple[Ints, Ints]:
        """Return the candidate of each job, and its position from the beginning of its queue."""
        start = np.full(len(self.ordered), NONE)
        if placed is not None:
            start[placed.job] = placed.way
            head = placed.job[np.argsort(-placed.node, kind="stable")]
            queue = np.concatenate((head, queue[~np.isin(queue, head)]))
        ranks, ready = _ranks(self.found.turn, self.keys, queue), np.zeros(len(self.nodes))
        taken, place = append_all(queue, *self.given, ready, self.by_finish, ranks, start, guard)
        return taken, place

    def plan(self, guard: RowGuard | None, queue: Ints, placed: Running | None) -> Plan:
        """Return a plan with all values that the policy decides."""
        taken, place = self._appended(guard, queue, placed)
        return self.queues.plan(self.ordered, self.found, taken, place, self.stop)

    def run(self, guard: RowGuard, queue: Ints, placed: Running | None) -> Running:
        """Return the places of a plan alone."""
        taken, place = self._appended(guard, queue, placed)
        job = np.flatnonzero(taken != NONE)
        way = taken[job]
        from_end = self.queues.from_end(self.found.job[way], self.found.node[way], place[job])
        return Running(job, from_end - 1, way, np.ones(len(job)))

    def columns(self, problem: SideProblem) -> Ints:
        """Return the column of each candidate in each position, side by side, NONE where the model has none."""
        queues, count = self.queues, len(self.ordered)
        codes = {
            queues.job: np.repeat(self.found.job, count),
            queues.node: np.repeat(self.found.node, count),
            queues.place: np.tile(queues.codes_of_places(np.arange(count) + 1), len(self.found.job)),
        }
        at = problem.source.variable(queues.placement.variable).domain.locate([codes[i] for i in range(len(codes))])
        column = np.full(len(at), NONE)
        column[at >= 0] = problem.columns[at[at >= 0]]
        return column

    def fewest(self, queue: Ints) -> Running | None:
        """Return the fewest jobs that meet all rows of the model, by a solver; None if none are found."""
        queues, count = self.queues, len(self.ordered)
        if len(self.found.job) * count > MOST_PLACES:
            return None
        try:
            side = whole_problem(queues.policy.model, queues.placement, queues.store, queues.limits)
        except DiagnosticError:
            return None
        column = self.columns(side)
        known = np.flatnonzero(column != NONE)
        known = known[np.argsort(column[known], kind="stable")]
        way, place = np.divmod(known, count)
        column, job = column[known], self.found.turn[way]
        beside = _rows_of_queues(column, job, self.given[1][way], place, self._ranks_of_keys()[way])
        none = (np.zeros(0, dtype=np.int64), np.zeros(0))
        found = fewest_jobs(side, OpenPlaces(column, job, np.ones(len(job))), queue, none, beside)
        if found is None:
            return None
        at = np.searchsorted(column, found[0])
        return Running(job[at], place[at], way[at], found[1])

    def _ranks_of_keys(self) -> Ints:
        """Return the rank of each candidate in its queue by `finish sort by`, from 1 on; 1 without it."""
        if self.keys is None:
            return np.ones(len(self.found.turn), dtype=np.int64)
        _, rank = np.unique(self.keys, axis=0, return_inverse=True)
        return rank.reshape(-1) + 1


def _rows_of_queues(column: Ints, job: Ints, node: Ints, place: Ints, rank: Ints) -> PolicyRows:
    """Return what each queue of a policy obeys: a job is once in one, one in each position, without gaps, and sorted.

    With ranks from 1 on, no rank is above that of the position behind it.
    """
    ones, places = np.ones(len(column)), int(place.max(initial=0)) + 1
    cell = node * places + place
    once, of_job = np.unique(job, return_inverse=True)
    alone, of_cell = np.unique(cell, return_inverse=True)
    nearer = place > 0
    follows, of_pair = np.unique(np.concatenate((cell[nearer] - 1, cell)), return_inverse=True)
    entries = [
        (of_job, column, ones),
        (of_cell + len(once), column, ones),
        (
            of_pair + len(once) + len(alone),
            np.concatenate((column[nearer], column)),
            np.concatenate((rank[nearer], -rank)).astype(np.float64),
        ),
    ]
    upper = np.concatenate((np.ones(len(once) + len(alone)), np.zeros(len(follows))))
    return PolicyRows(entries, np.full(len(upper), -np.inf), upper)


def _ranks(turn: Ints, keys: Floats | None, order: Ints) -> Ints:
    """Return the rank of candidates within a queue at the end: by the keys of `finish sort by`, then by `order`.

    `turn` is the job of each candidate.
    """
    at = np.full(turn.max(initial=-1) + 1, len(order))
    at[order[order < len(at)]] = np.flatnonzero(order < len(at))
    by_order = np.argsort(at[turn], kind="stable")
    if keys is not None:
        by_order = by_order[order_rows(keys[by_order])]
    rank = np.empty(len(turn), dtype=np.int64)
    rank[by_order] = np.arange(len(turn))
    return rank
