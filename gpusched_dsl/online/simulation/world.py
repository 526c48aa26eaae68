"""The simulated cluster: progress of jobs, effects of plans, and their costs.

It knows no formulation: a plan comes as `Allocations`, and what is told of it goes into a `Ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints, unique
from gpusched_dsl.language.checked_online import EXECUTION, TARDINESS
from gpusched_dsl.online.simulation.assignments import Allocations
from gpusched_dsl.online.simulation.job_parts import JobParts, changed_jobs
from gpusched_dsl.online.simulation.ledger import Ledger
from gpusched_dsl.online.simulation.realisation import Realisation

FUTURE, WAITING, RUNNING, DONE, GONE = range(5)
STATES = ("future", "waiting", "running", "done", "withdrawn")
TOLERANCE = 1e-9  # of the work of a job, and of a time


@dataclass(frozen=True, eq=False)
class PlanChanges:
    """The changes by a plan: jobs by kind of change, and places that are switched on or change their type."""

    start: Ints
    resume: Ints
    migration: Ints
    resize: Ints
    halt: Ints
    boot: Ints  # places


class World:
    """The state of all jobs of a run: arrays over jobs (codes of the run), one time for all.

    `rates` turns the entries that run into money by time of each entry and of each place in use: it stands for what
    the online block charges.
    """

    def __init__(self, realisation: Realisation, places: int, kinds: int, indices: int) -> None:
        count = len(realisation.arrival)
        self.now = 0.0
        self.arrival, self.work = realisation.arrival.copy(), realisation.work.copy()
        self.ends, self.stretch = realisation.ends.copy(), realisation.stretch.copy()
        self.status = np.full(count, FUTURE, dtype=np.int64)
        self.was_there = np.zeros(count, dtype=np.bool_)  # a job that is on hold, or was
        self.done = np.zeros(count)
        self.attained = np.zeros(count)  # GPUs times time so far
        self.speed = np.zeros(count)  # planned work by time in the last place
        self.blocked_until = np.zeros(count)  # no progress before this time
        self.delay_left = np.zeros(count)  # of a job that was halted during a delay
        self.due = np.full(count, np.inf)
        self.weight = np.zeros(count)
        self.place = np.full(count, -1, dtype=np.int64)
        self.kind = np.full(count, -1, dtype=np.int64)
        self.way = np.full((count, indices), -1, dtype=np.int64)
        self.uses = np.zeros(count)
        self.since = np.zeros(count)
        self.first_start = np.full(count, np.nan)
        self.end = np.full(count, np.nan)
        self.request = np.full(count, np.inf)
        self.counts = {
            name: np.zeros(count, dtype=np.int64) for name in PlanChanges.__dataclass_fields__ if name != "boot"
        }
        self.boots = 0
        self.place_kind = np.full(places, -1, dtype=np.int64)  # -1: not in use
        self.halt_cost = np.zeros(count)
        self.ledger = Ledger(count, places)
        self.running: Ints = np.zeros(0, dtype=np.int64)
        self.rate: Floats = np.zeros(0)  # of each running job
        self.used_places: Ints = np.zeros(0, dtype=np.int64)
        self.place_rate: Floats = np.zeros(0)
        self.parts = JobParts.empty()  # of the running jobs
        self.gpu_time = np.zeros(kinds)
        self.place_time = np.zeros(kinds)
        self.stretches: list[tuple[Ints, Ints, Ints, Floats, Floats, Floats]] = []

    # --- jobs that come and go ---------------------------------------------------------------------------------------

    def grow(self, realisation: Realisation) -> None:
        """Append jobs after the known ones."""
        more = len(realisation.arrival)
        blank = World(realisation, len(self.place_kind), len(self.gpu_time), self.way.shape[1])
        for name in OF_JOBS:
            setattr(self, name, np.concatenate((getattr(self, name), getattr(blank, name))))
        for name, counts in self.counts.items():
            self.counts[name] = np.concatenate((counts, np.zeros(more, dtype=np.int64)))
        self.ledger.grow(len(self.status))

    def keep_jobs(self, kept: Ints) -> None:
        """Forget all other jobs, which have ended; codes are then places among the kept ones."""
        place = np.full(len(self.status), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        for name in OF_JOBS:
            setattr(self, name, getattr(self, name)[kept])
        self.counts = {name: counts[kept] for name, counts in self.counts.items()}
        self.ledger.keep_jobs(kept)
        self.running = place[self.running]
        self.parts = replace(self.parts, job=place[self.parts.job])
        self.stretches = []

    def add_places(self, count: int, kinds: int = 0) -> None:
        """Append places that are not in use, and kinds of places."""
        self.gpu_time = np.concatenate((self.gpu_time, np.zeros(kinds)))
        self.place_time = np.concatenate((self.place_time, np.zeros(kinds)))
        self.place_kind = np.concatenate((self.place_kind, np.full(count, -1, dtype=np.int64)))
        self.ledger.add_places(count)

    def tolerance(self) -> float:
        return TOLERANCE * max(1.0, abs(self.now))

    def arrive(self) -> Ints:
        """Return jobs that have newly arrived by now."""
        come = np.flatnonzero((self.status == FUTURE) & (self.arrival <= self.now + self.tolerance()))
        self.status[come] = WAITING
        self.since[come] = self.now
        return come

    def next_arrival(self) -> float:
        waiting = self.arrival[self.status == FUTURE]
        return float(waiting.min(initial=np.inf))

    def last_change(self) -> float:
        """Return the last time at which a job arrived, started, was halted, moved or ended."""
        ended = self.end[~np.isnan(self.end)]
        return float(max(self.since[self.status != FUTURE].max(initial=0.0), ended.max(initial=0.0)))

    def arrived(self) -> Ints:
        """Jobs that have arrived, also those that have ended or are on hold."""
        return np.flatnonzero((self.status != FUTURE) | self.was_there)

    def present(self) -> Ints:
        """Jobs that are there and not finished."""
        return np.flatnonzero((self.status == WAITING) | (self.status == RUNNING))

    def has_present(self) -> bool:
        """Whether a job is there and not finished."""
        return len(self.running) > 0 or bool((self.status == WAITING).any())

    def unfinished(self) -> Ints:
        """Jobs that are there or will arrive, and are not finished."""
        to_come = (self.status == FUTURE) & np.isfinite(self.arrival)
        return np.flatnonzero(to_come | (self.status == WAITING) | (self.status == RUNNING))

    def remaining(self) -> Floats:
        """Return the remaining fraction of the work, as known to the planner: of the stated work, not of the real work.

        It stays above 0 for jobs that take longer than stated, until they end.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            left = 1.0 - self.done / self.work
        left = np.where(np.isfinite(left), left, 1.0)
        over = (left <= TOLERANCE) & (self.status == DONE)
        return np.where(over, 0.0, np.clip(left, TOLERANCE, 1.0))

    # --- time --------------------------------------------------------------------------------------------------------

    def pace(self, jobs: Ints) -> Floats:
        """True work by time."""
        return self.speed[jobs] / self.stretch[jobs]

    def completions(self) -> Floats:
        """Return the end of each running job if nothing changes."""
        jobs = self.running
        pace = self.pace(jobs)
        left = np.maximum(self.ends[jobs] - self.done[jobs], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(left > 0, left / pace, 0.0)
        return np.maximum(self.now, self.blocked_until[jobs]) + np.where(np.isnan(needed), np.inf, needed)

    def planned_ends(self) -> Floats:
        """Return the end of each running job by its stated work; now for one that takes longer than stated."""
        jobs = self.running
        left = np.maximum(self.work[jobs] - self.done[jobs], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(left > 0, left / self.speed[jobs], 0.0)
        return np.maximum(self.now, self.blocked_until[jobs]) + needed

    def advance(self, until: float) -> None:
        """Advance the time: progress, money, and time in use."""
        passed = until - self.now
        if passed > 0:
            jobs = self.running
            if len(jobs):
                active = np.maximum(until - np.maximum(self.now, self.blocked_until[jobs]), 0.0)
                self.done[jobs] += self.pace(jobs) * active
                self.attained[jobs] += passed * self.uses[jobs]
                self.charge_time(passed)
            self.now = until

    def charge_time(self, passed: float) -> None:
        """Add the money, and the time in use, of a time in which the same jobs run."""
        if self.place_rate.any():
            self.ledger.add(EXECUTION, passed * float(self.place_rate.sum()))
            self.ledger.share_jobs(EXECUTION, self.running, passed * self.rate)
            self.ledger.share_places(EXECUTION, self.used_places, passed * self.place_rate)
        np.add.at(self.gpu_time, self.parts.kind, passed * self.parts.uses)
        np.add.at(self.place_time, self.place_kind[self.used_places], passed)

    def complete(self) -> Ints:
        """Return jobs that have finished by now, and charge their tardiness."""
        jobs, near = self.running, self.tolerance()
        ends = self.ends[jobs]
        left = ends - self.done[jobs]
        over = (left <= TOLERANCE * np.maximum(1.0, ends)) | (left <= self.pace(jobs) * near)
        over &= self.blocked_until[jobs] <= self.now + near
        ended = jobs[over]
        self.finish(ended)
        return ended

    def finish(self, jobs: Ints) -> None:
        """End jobs now."""
        if not len(jobs):
            return
        self.close_stretches(jobs)
        self.done[jobs] = np.minimum(self.done[jobs], self.ends[jobs])
        self.status[jobs] = DONE
        self.end[jobs] = self.now
        self.charge_tardiness(jobs, self.weight[jobs] * lateness(self.now, self.due[jobs]))
        self.remove_from_places(jobs)

    def charge_tardiness(self, jobs: Ints, amounts: Floats) -> None:
        """Add the money for the tardiness of jobs that end."""
        if self.weight[jobs].any():
            self.ledger.add_jobs(TARDINESS, jobs, amounts)

    def withdraw(self, jobs: Ints) -> None:
        """Cancel unfinished jobs."""
        self.close_stretches(jobs[self.status[jobs] == RUNNING])
        self.status[jobs] = GONE
        self.end[jobs] = self.now
        self.remove_from_places(jobs)

    def close_stretches(self, jobs: Ints) -> None:
        """Note where jobs were until now."""
        if len(jobs):
            parts = self.parts.of_jobs(jobs)
            until = np.full(len(parts), self.now)
            self.stretches.append((parts.job, parts.place, parts.kind, parts.uses, self.since[parts.job], until))

    def remove_from_places(self, jobs: Ints) -> None:
        """Take jobs that do not run any more from their places."""
        self.place[jobs] = -1
        self.request[jobs] = np.inf
        self.running = self.running[self.status[self.running] == RUNNING]
        self.parts = self.parts.take(self.status[self.parts.job] == RUNNING)
        self.used_places = unique(self.parts.place)
        idle = np.ones(len(self.place_kind), dtype=np.bool_)
        idle[self.used_places] = False
        self.place_kind[idle] = -1

    # --- plans -------------------------------------------------------------------------------------------------------

    def have_no_due_time(self, jobs: Ints) -> Bools:
        """Return which jobs have neither a due time nor a price of tardiness."""
        unknown: Bools = np.isinf(self.due[jobs]) & (self.weight[jobs] == 0)
        return unknown

    def set_due(self, jobs: Ints, due: Floats, weight: Floats) -> None:
        """Record the times at which jobs are due, and their tardiness prices."""
        self.due[jobs] = due
        self.weight[jobs] = weight

    def apply(
        self,
        plan: Allocations,
        delays: Mapping[str, Floats],
        costs: Mapping[str, Floats],
        halt_costs: Floats | None = None,
    ) -> PlanChanges:
        """Put a plan into effect: jobs that it does not name are halted. `delays` and `costs` are by kind of change.

        A gang has the largest delay and cost of its nodes, and the boots of all of them.
        """
        first = first_rows(plan)
        jobs = plan.job[first]
        was = self.status[jobs] == RUNNING
        ran = ~np.isnan(self.first_start[jobs])
        parts = parts_of(plan)
        moved, other = self._moved(jobs, was, plan, first, parts)
        kinds = {"start": ~was & ~ran, "resume": ~was & ran, "migration": moved, "resize": other}
        new_kind = np.full(len(self.place_kind), -1, dtype=np.int64)
        new_kind[plan.place] = plan.kind
        switched = (new_kind >= 0) & (new_kind != self.place_kind)
        boots = switched[plan.place]
        stays = np.zeros(len(self.status), dtype=np.bool_)
        stays[jobs] = True
        halted = self.running[~stays[self.running]]
        self.close_stretches(np.concatenate((halted, jobs[moved | other])))
        self._charge_changes(plan, first, kinds, boots, costs, halted)
        self._keep_delays(halted)
        wait = np.where(was, 0.0, self.delay_left[jobs])
        for name, rows in kinds.items():
            if name in delays:
                wait = np.where(rows, np.maximum(wait, largest(delays[name], first)), wait)
        if "boot" in delays:
            rows = boots if len(first) == len(plan) else np.logical_or.reduceat(boots, first)
            wait = np.where(rows, np.maximum(wait, largest(np.where(boots, delays["boot"], 0.0), first)), wait)
        self.blocked_until[jobs] = np.maximum(np.where(was, self.blocked_until[jobs], -np.inf), self.now + wait)
        self.delay_left[jobs] = 0.0
        self.since[jobs[~was | moved | other]] = self.now
        self.status[halted], self.place[halted], self.since[halted] = WAITING, -1, self.now
        self.status[jobs], self.place[jobs], self.kind[jobs] = RUNNING, plan.place[first], plan.kind[first]
        self.way[jobs], self.uses[jobs] = plan.way[first], sums(plan.uses, first)
        left = np.maximum(self.work[jobs] - self.done[jobs], TOLERANCE * self.work[jobs])
        speed = plan.speed[first]
        self.speed[jobs] = np.where(np.isnan(speed), left / plan.lasts[first], speed)
        self.first_start[jobs] = np.where(ran, self.first_start[jobs], self.now)
        self.halt_cost[jobs] = 0.0 if halt_costs is None else largest(halt_costs, first)
        self.running, self.parts = np.sort(jobs), parts
        self.place_kind = new_kind
        self.used_places = np.flatnonzero(new_kind >= 0)
        changes = PlanChanges(
            **{name: jobs[rows] for name, rows in kinds.items()},
            halt=halted,
            boot=np.flatnonzero(switched),
        )
        for name, counts in self.counts.items():
            counts[getattr(changes, name)] += 1
        self.boots += len(changes.boot)
        return changes

    def _moved(self, jobs: Ints, was: Bools, plan: Allocations, first: Ints, parts: JobParts) -> tuple[Bools, Bools]:
        """Return which running jobs go to other places, and which others change their way to run."""
        way = was & (self.way[jobs] != plan.way[first]).any(axis=1)
        if not plan.gangs:
            moved = was & (self.place[jobs] != plan.place)
            return moved, way & ~moved
        elsewhere, otherwise = changed_jobs(self.parts, parts)
        moved = was & np.isin(jobs, elsewhere)
        return moved, ~moved & (way | (was & np.isin(jobs, otherwise)))

    def _keep_delays(self, jobs: Ints) -> None:
        """Record the rest of the delays of halted jobs: no job works before the end of its delay."""
        self.delay_left[jobs] = np.maximum(self.blocked_until[jobs] - self.now, 0.0)

    def _charge_changes(
        self,
        plan: Allocations,
        first: Ints,
        kinds: Mapping[str, Bools],
        boots: Bools,
        costs: Mapping[str, Floats],
        halted: Ints,
    ) -> None:
        for name, amounts in costs.items():
            if name in kinds and kinds[name].any():
                self.ledger.add_jobs(name, plan.job[first[kinds[name]]], largest(amounts, first)[kinds[name]])
            elif name == "boot" and boots.any():  # once for each place, however many jobs it has
                rows = np.flatnonzero(boots)
                rows = rows[np.unique(plan.place[rows], return_index=True)[1]]
                jobs, at = np.unique(plan.job[rows], return_inverse=True)
                self.ledger.add_jobs(name, jobs, np.bincount(at.reshape(-1), weights=amounts[rows]).astype(np.float64))
        if len(halted) and self.halt_cost[halted].any():
            self.ledger.add_jobs("halt", halted, self.halt_cost[halted])

    def set_rates(self, of_jobs: Floats, of_places: Floats) -> None:
        """Set money per time: of each running job, its share, and of each used place, the total."""
        self.rate, self.place_rate = of_jobs, of_places

    def halt_on(self, places: Ints) -> Ints:
        """Halt the jobs of places that go down, gangs with a part there too."""
        hit = unique(self.parts.job[np.isin(self.parts.place, places)])
        self.halt(hit)
        return hit

    def halt(self, jobs: Ints) -> None:
        """Put running jobs back into the queue, with their progress; nothing is charged."""
        if len(jobs):
            self.close_stretches(jobs)
            self._keep_delays(jobs)
            self.status[jobs] = WAITING
            self.since[jobs] = self.now
            self.counts["halt"][jobs] += 1
            self.remove_from_places(jobs)

    def hold(self, jobs: Ints) -> Floats:
        """Take waiting jobs out of the queue until `release`; return their times of arrival, which it needs."""
        arrival: Floats = self.arrival[jobs].copy()
        self.was_there[jobs] = True
        self.status[jobs], self.arrival[jobs], self.request[jobs] = FUTURE, np.inf, np.inf
        return arrival

    def release(self, jobs: Ints, arrival: Floats) -> None:
        """Put jobs that were on hold back into the queue."""
        self.status[jobs], self.arrival[jobs], self.since[jobs] = WAITING, arrival, self.now


OF_JOBS = (
    "arrival", "work", "ends", "stretch", "status", "was_there", "done", "attained", "speed", "blocked_until",
    "delay_left", "due", "weight", "place", "kind", "way", "uses", "since", "first_start", "end", "request",
    "halt_cost",
)  # fmt: skip


def lateness(end: float | Floats, due: Floats) -> Floats:
    """Return the time by which jobs end after they are due; 0 for jobs without a due time."""
    return np.where(np.isfinite(due), np.maximum(end - due, 0.0), 0.0)


def first_rows(plan: Allocations) -> Ints:
    """Return the first row of each job."""
    if not plan.gangs:
        return np.arange(len(plan), dtype=np.int64)
    new = np.ones(len(plan), dtype=np.bool_)
    new[1:] = plan.job[1:] != plan.job[:-1]
    return np.flatnonzero(new)


def largest(values: Floats, first: Ints) -> Floats:
    """Return the largest value of each job, for rows by job."""
    found: Floats = values if len(first) == len(values) else np.maximum.reduceat(values, first)
    return found


def sums(values: Floats, first: Ints) -> Floats:
    """Return the sum of the values of each job, for rows by job."""
    found: Floats = values if len(first) == len(values) else np.add.reduceat(values, first)
    return found


def parts_of(plan: Allocations) -> JobParts:
    """Return the places of the jobs of a plan, by job."""
    parts = JobParts(plan.job, plan.place, plan.kind, plan.uses, plan.rate, plan.node_price)
    return parts.take(np.lexsort((plan.place, plan.job)))
