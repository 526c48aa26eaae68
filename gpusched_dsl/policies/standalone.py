"""Rules that find the places of all jobs by themselves: `backfill`, `fair_share`, `max_min`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.blocks.policies.rule_table import rules_of
from gpusched_dsl.language.checked_policy import ARRIVED, ATTAINED, CheckedPolicy, time_of
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.job_facts import JobFacts, JobRoles
from gpusched_dsl.policies.kernels.compiled import ready_seconds
from gpusched_dsl.policies.kernels.later_rows import LinkedRows, no_linked_rows
from gpusched_dsl.policies.kernels.reservations import Ways, backfill, place_ways, take_turns
from gpusched_dsl.policies.kernels.row_guard import RowGuard, restart
from gpusched_dsl.policies.max_min import possible_ways, ways_by_priority
from gpusched_dsl.policies.search import SearchResult
from gpusched_dsl.policies.verifying import verify
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule, Workload, copy_of, empty_schedule


def is_standalone(policy: CheckedPolicy) -> bool:
    """Whether the rule of `place` finds the places of all jobs by itself."""
    return any(rule.name in rules_of("standalone") for rule in policy.place)


def reserves(policy: CheckedPolicy) -> bool:
    """Whether a policy makes reservations."""
    return policy.place[0].name == "backfill"


def run_standalone(
    policy: CheckedPolicy,
    cluster: Cluster,
    instructions: Instructions,
    initial: Schedule | None,
    store: ValueStore,
    limits: MemoryLimits,
    known: JobFacts | None = None,
    guard: RowGuard | None = None,
    linked: LinkedRows | None = None,
) -> SearchResult[Schedule]:
    """Return the schedule; jobs that `initial` runs stay. It obeys the rows of `guard`, the `linked` ones too.

    Raises BrokenSchedule if a kernel makes one that is none, DiagnosticError (GSM3016) for shares that cannot be.
    """
    start = empty_schedule(cluster.work) if initial is None else initial
    return _Run(policy, cluster, instructions, start, store, limits, known or {}, guard, linked).run()


class _Run:
    def __init__(
        self,
        policy: CheckedPolicy,
        cluster: Cluster,
        instructions: Instructions,
        start: Schedule,
        store: ValueStore,
        limits: MemoryLimits,
        known: JobFacts,
        guard: RowGuard | None,
        linked: LinkedRows | None,
    ) -> None:
        self.policy, self.cluster, self.work, self.lines = policy, cluster, cluster.work, instructions
        self.start, self.known, self.guard = start, known, guard
        self.linked = no_linked_rows() if linked is None else linked
        self.roles = JobRoles(policy.model, cluster, store, limits)

    def run(self) -> SearchResult[Schedule]:
        rule = self.policy.place[0].name
        solve = {"backfill": self._backfill, "fair_share": self._fair_share, "max_min": self._max_min}[rule]
        ready = ready_seconds()
        schedule = solve()
        return SearchResult([schedule], compile_seconds=ready_seconds() - ready)

    # --- rules -------------------------------------------------------------------------------------------------------

    def _backfill(self) -> Schedule:
        every = any(rule.modifiers == ("conservative",) for rule in self.policy.place)
        reserved = np.full(len(self.start.node), np.inf)
        listed, guard, linked = (self.lines.ranked, self.lines.order), self.guard, self.linked
        return self._schedule(lambda ways, plan: backfill(ways, *listed, every, plan, reserved, guard, linked))

    def _fair_share(self) -> Schedule:
        users = self.roles.users()
        runs = self.start.node != NONE
        gpus = self.work.size[self.start.way[runs]] / self.work.parts
        used = np.bincount(users.user[runs], weights=gpus, minlength=len(users.share)).astype(np.float64)

        def in_turns(ways: Ways, plan: Schedule) -> None:
            for queue in queues_in_turn(self.lines):
                take_turns(ways, self.lines.ranked, queue, *users, used, plan, self.guard)

        return self._schedule(in_turns)

    def _max_min(self) -> Schedule:
        times = known_times(self.policy, self.cluster, self.known)
        order = ways_by_priority(self.work, self.lines, partial(possible_ways, self.work), self.roles.shares(), *times)
        return self._schedule(lambda ways, plan: place_ways(ways, order, plan, self.guard))

    def _schedule(self, kernel: Callable[[Ways, Schedule], object]) -> Schedule:
        start = self.start
        plan = copy_of(start)
        if self.guard is not None:
            restart(self.guard)
        kernel(ways_of(self.work), plan)
        schedule = schedule_of(self.work, plan.node, plan.way, plan.gpu)
        schedule.chosen[start.node != NONE] = NONE
        verify(self.work, schedule)
        return schedule


def queues_in_turn(lines: Instructions) -> list[Ints]:
    """Return the queues whose users take turns, one after the other: each job of the front, then all others."""
    front = [lines.order[at : at + 1] for at in range(lines.front)]
    return [*front, lines.order[lines.front :]]


def known_times(policy: CheckedPolicy, cluster: Cluster, known: JobFacts) -> tuple[Floats, Floats]:
    """The GPU time of each job so far, and the time since its arrival."""

    def of_jobs(name: str) -> Floats:
        values = known.get(name)
        return np.zeros(len(cluster.jobs)) if values is None else values[cluster.jobs]

    return of_jobs(ATTAINED), np.maximum(time_of(policy) - of_jobs(ARRIVED), 0.0)


def ways_of(work: Workload) -> Ways:
    """The nodes and ways of a decision for the rules here."""
    gpu_price = work.price / np.maximum(work.units, 1)
    largest_first = np.lexsort((np.arange(len(work.units)), gpu_price, -work.units))
    return Ways(
        work.parts, work.node_kind, work.units, work.family, work.stock, work.room, largest_first, work.first_way,
        work.job, work.kind, work.size, work.time, work.needs, work.form, work.like_at,
    )  # fmt: skip


def schedule_of(work: Workload, node: Ints, way: Ints, gpu: Ints) -> Schedule:
    """The schedule of jobs on nodes, with the types of rented nodes and what is left of each node."""
    plan = empty_schedule(work)
    placed = np.flatnonzero(node != NONE)
    n, w, g = node[placed], way[placed], gpu[placed]
    plan.node[:], plan.way[:], plan.gpu[:] = node, way, gpu
    plan.chosen[placed] = w
    plan.jobs[:] = np.bincount(n, minlength=len(plan.jobs))
    used = np.unique(n)
    plan.opened[used] = np.arange(len(used))
    plan.kind[n] = work.kind[w]
    rented = used[work.node_kind[used] == NONE]
    plan.left[rented] = work.room[plan.kind[rented]]
    part = g != NONE
    plan.used[:] = np.bincount(n[~part], weights=work.size[w[~part]], minlength=len(plan.used)).astype(np.int64)
    if part.any():
        taken = np.zeros(plan.spare.shape, dtype=np.int64)
        np.add.at(taken, (n[part], g[part]), work.size[w[part]])
        plan.spare[:] = np.where(taken > 0, work.parts - taken, NONE)
        plan.used[:] += (taken > 0).sum(axis=1) * work.parts
    np.subtract.at(plan.left, n, work.needs[w])
    return plan
