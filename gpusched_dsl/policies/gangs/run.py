"""Runs a policy on gangs: queues with and without reservations, users that take turns, max-min fairness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.policies.gangs.pinned import with_pinned_gangs
from gpusched_dsl.policies.gangs.reader import GangCluster
from gpusched_dsl.policies.gangs.schedule_errors import errors_of
from gpusched_dsl.policies.gangs.workload import GangSchedule, GangWorkload
from gpusched_dsl.policies.job_facts import JobFacts, JobRoles, Users
from gpusched_dsl.policies.kernels.compiled import ready_seconds
from gpusched_dsl.policies.kernels.future import make_future
from gpusched_dsl.policies.kernels.gangs import (
    hold_running,
    place_gangs,
    place_ways_of_gangs,
    take_turns_with_gangs,
)
from gpusched_dsl.policies.kernels.row_guard import RowGuard, arrays_of, restart
from gpusched_dsl.policies.max_min import ways_by_priority
from gpusched_dsl.policies.rows.asking import RowsAsked
from gpusched_dsl.policies.standalone import known_times, queues_in_turn
from gpusched_dsl.policies.verifying import BrokenSchedule
from gpusched_dsl.policies.workload import NONE, Instructions, copy_of


def plan_gangs(
    policy: CheckedPolicy,
    gangs: GangCluster,
    lines: Instructions,
    start: GangSchedule,
    store: ValueStore,
    limits: MemoryLimits,
    known: JobFacts | None = None,
) -> tuple[GangSchedule, RowsAsked, float]:
    """Return the schedule, which obeys the rows of the model, these rows, and the seconds of waiting for kernels.

    Gangs that `start` runs stay, and those that rows place run. Raises as `run_gangs` does, and DiagnosticError as
    `ground` does.
    """
    ready = ready_seconds()

    def plan(guard: RowGuard | None, changed: Instructions, _: bool) -> GangSchedule:
        return run_gangs(policy, gangs, changed, start, store, limits, known, guard)

    placed = with_pinned_gangs(policy.model, gangs, start, store, limits)
    pinned = placed is not None
    start = start if placed is None else placed
    running = start.running()
    workers = gangs.work.most_of_jobs()
    asked = RowsAsked(policy.model, gangs.cluster, store, limits, workers, running, pinned=pinned)
    return asked.first_that_obeys(plan, GangSchedule.running, lines), asked, ready_seconds() - ready


def run_gangs(
    policy: CheckedPolicy,
    gangs: GangCluster,
    lines: Instructions,
    start: GangSchedule,
    store: ValueStore,
    limits: MemoryLimits,
    known: JobFacts | None = None,
    guard: RowGuard | None = None,
) -> GangSchedule:
    """Return the schedule; gangs that `start` runs stay. It obeys the rows of `guard`.

    Raises BrokenSchedule if a kernel makes one that is none, DiagnosticError (GSM3016) for shares that cannot be.
    """
    roles = JobRoles(policy.model, gangs.cluster, store, limits)
    if guard is not None:
        start = with_required_gangs(gangs.work, start, guard)
    return _Run(policy, gangs, lines, start, roles, known or {}, guard).schedule()


@dataclass(frozen=True, eq=False)
class _Run:
    policy: CheckedPolicy
    gangs: GangCluster
    lines: Instructions
    start: GangSchedule
    roles: JobRoles
    known: JobFacts
    guard: RowGuard | None

    def schedule(self) -> GangSchedule:
        work, rules, queue = self.gangs.work, self.policy.place, self.lines.order
        plan = copy_of(self.start)
        used = np.zeros(len(work.node_kind), dtype=np.bool_)
        used[plan.node[: int(plan.rows[0])]] = True
        stock = np.full(len(work.units), len(work.node_kind))
        future = make_future(work.units, work.room, stock, work.node_kind, 0, len(plan.job))
        hold_running(work, future, plan, times_of(work, plan))
        guard = self.guard
        if guard is not None:
            arrays_of(guard).refused[:] = NONE
            restart(guard)
        if rules[0].name == "fair_share":
            users = self.roles.users()
            gpus = self._gpus_of_users(users)
            for turns in queues_in_turn(self.lines):
                take_turns_with_gangs(
                    work, future, used, plan, turns, users.user, users.share, users.quota, gpus, guard
                )
        elif rules[0].name == "max_min":
            place_ways_of_gangs(work, future, used, plan, self._order_of_ways(), guard)
            wide = queue[~np.isin(queue, work.job[self._possible_ways(np.arange(len(work.job)))])]
            if len(wide):  # nodes of one kind are too few for them: they have no shares
                never = np.full(len(plan.runs), np.inf)
                place_gangs(work, future, used, plan, wide, False, 0, never, guard)
        else:
            waits = any(rule.name == "wait" for rule in rules)
            reservations = 0
            if rules[0].name == "backfill":
                reservations = len(plan.runs) if rules[0].modifiers == ("conservative",) else 1
            reserved = np.full(len(plan.runs), np.inf)
            place_gangs(work, future, used, plan, queue, waits, reservations, reserved, guard)
        verify_gangs(work, plan)
        return plan

    def _gpus_of_users(self, users: Users) -> Floats:
        """The GPUs that gangs of each user have."""
        start, work = self.start, self.gangs.work
        rows = slice(0, int(start.rows[0]))
        gpus = work.size[start.way[rows]] * start.workers[rows]
        found = np.bincount(users.user[start.job[rows]], weights=gpus, minlength=len(users.share))
        return found.astype(np.float64)

    def _order_of_ways(self) -> Ints:
        """The ways by the priorities of max-min fairness, of whole gangs on nodes of one kind."""
        work, single = self.gangs.work, self.gangs.cluster.work
        whole = single._replace(size=single.size * work.workers, needs=single.needs * work.workers[:, None])
        times = known_times(self.policy, self.gangs.cluster, self.known)
        return ways_by_priority(whole, self.lines, self._possible_ways, self.roles.shares(), *times)

    def _possible_ways(self, ways: Ints) -> Ints:
        """Those of some ways for which the empty nodes of their kind have room for the gang, and that end."""
        work = self.gangs.work
        kind = work.kind[ways]
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = [np.where(work.size[ways] > 0, work.units[kind] // work.size[ways], np.inf)]
            room = work.room[kind] * (1.0 + FEASIBILITY) / work.needs[ways]
        fits += [np.where(work.needs[ways, r] > 0, np.floor(room[:, r]), np.inf) for r in range(room.shape[1])]
        most = np.minimum(np.min(fits, axis=0), work.most[ways])
        nodes = np.bincount(work.node_kind, minlength=len(work.units))[kind]
        return ways[np.flatnonzero((most * nodes >= work.workers[ways]) & np.isfinite(work.time[ways]))]


def with_required_gangs(work: GangWorkload, start: GangSchedule, guard: RowGuard) -> GangSchedule:
    """Return a schedule with the gangs added whose workers rows place already (`worker[j, n] == held[j, n]`).

    They run whatever their place in the queue, as long as their nodes have room.
    """
    way, node = np.nonzero(work.kind[:, None] == work.node_kind[None, :])
    arrays = arrays_of(guard)
    column = arrays.column[arrays.first[way] + arrays.place[node]]
    workers = np.where(column == NONE, 0, np.rint(arrays.start_bounds[column, 0])).astype(np.int64)
    job = work.job[way]
    wanted = (workers > 0) & ~start.runs[job]
    whole = np.bincount(job[wanted], weights=workers[wanted], minlength=len(start.runs))
    wanted &= whole[job] == work.workers[way]
    if not wanted.any():
        return start
    rows, more = int(start.rows[0]), int(wanted.sum())
    found = copy_of(start)
    given = (job[wanted], node[wanted], way[wanted], workers[wanted])
    for array, values in zip((found.job, found.node, found.way, found.workers), given, strict=True):
        array[rows : rows + more] = values
    found.runs[job[wanted]] = True
    found.rows[0] = rows + more
    return start if errors_of(work, found) else found


def times_of(work: GangWorkload, plan: GangSchedule) -> Floats:
    """The time to the end of the gang of each row."""
    rows = slice(0, int(plan.rows[0]))
    job, way, rack = plan.job[rows], plan.way[rows], work.rack[plan.node[rows]]
    jobs = len(plan.runs)
    slowest = np.zeros(jobs)
    np.maximum.at(slowest, job, work.time[way])
    first, last = np.full(jobs, np.iinfo(np.int64).max), np.full(jobs, -1)
    np.minimum.at(first, job, rack)
    np.maximum.at(last, job, rack)
    several = np.bincount(job, minlength=jobs)[job] > 1
    factor = np.where(several, np.where(first[job] < last[job], work.across_racks[way], work.across_nodes[way]), 1.0)
    return np.asarray(slowest[job] * factor)


def verify_gangs(work: GangWorkload, plan: GangSchedule) -> None:
    """Raise BrokenSchedule unless all workers of each gang that runs are placed, and no node is overfull."""
    found = errors_of(work, plan)
    if found:
        raise BrokenSchedule(f"a policy computed an invalid plan of gangs:  {'; '.join(found)}")
