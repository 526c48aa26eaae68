"""Why a job waits, or runs where it does, in the plan of a moment: by capacities, the queue, rows and slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gpusched_dsl.explaining.decisions.counterfactuals import CounterfactualProblem
from gpusched_dsl.explaining.decisions.model_room import JobRoom, ModelRoom
from gpusched_dsl.explaining.decisions.policy_trace import Turn
from gpusched_dsl.explaining.decisions.row_limits import RowLimits
from gpusched_dsl.explaining.free_room import PlaceOptions, take
from gpusched_dsl.explaining.job_reason import (
    NEVER,
    NO_ROOM,
    ROOM,
    ROW,
    JobAhead,
    JobReason,
    NextEnd,
    RowLimit,
    SlotOutlook,
)
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.ir.tolerances import CHOSEN, FEASIBILITY
from gpusched_dsl.policies.rows.problem import side_model

MOST_WAITING = 50  # jobs that a running job may keep waiting
MOST_ELEMENTS = 2_000_000  # of the jobs ahead: of more no places are compared


@dataclass(frozen=True, eq=False)
class MomentJobs:
    """The jobs of a moment's instance by code: whether they run, or wait, their planned ends, and when they are due."""

    runs: Bools
    waits: Bools
    ends: Floats  # NaN where unknown
    due: Floats  # inf where unknown


@dataclass(eq=False)
class MomentReason:
    """Finds the reason for one job of a moment. `slot_time` is the time of a slot by its code, in models with slots."""

    question: CounterfactualProblem
    states: MomentJobs
    slot_time: Callable[[int], float]
    room: ModelRoom = field(init=False)

    def __post_init__(self) -> None:
        question, instance = self.question, self.question.moment.instance
        self.model = instance.scenario.model
        assert self.model.placement is not None
        self.placement = self.model.placement
        chosen = np.flatnonzero(question.planned_values > CHOSEN)
        columns, ends = question.family.domain.columns_at(chosen), self.states.ends
        if self.placement.item("slot") is None:  # a job that has ended since the plan has left its place
            kept = self.states.runs[columns[self.placement.position("job") or 0]]
            chosen, columns = chosen[kept], tuple(column[kept] for column in columns)
        else:
            ends = np.full(len(ends), np.nan)
        values = question.planned_values[chosen]
        self.room = ModelRoom(self.model, instance.store, question.limits, columns, values, ends)
        self.slot = question.moment.slot if self.room.slot_at is not None else None

    def reason(self, turn: Turn | None = None) -> JobReason | None:
        """Return the reason; None if neither the capacities of nodes nor a row tell one.

        Raises DiagnosticError as evaluation does.
        """
        found = self.room.of_job(self.question.job)
        if found is None:
            rows = () if self.question.runs else self._rows(self.question.own_elements, 1)
            return JobReason(ROW, (), rows=rows) if rows else None
        return self._running(found, turn) if self.question.runs else self._waiting(found, turn)

    def _now(self, found: JobRoom) -> PlaceOptions:
        """The options of the job in the present slot; all of them where there are no slots."""
        return found.options if self.slot is None else take(found.options, found.slot == self.slot)

    # --- waiting jobs ------------------------------------------------------------------------------------------------

    def _waiting(self, found: JobRoom, turn: Turn | None) -> JobReason:
        job, cluster, now = self.question.job, found.cluster, self._now(found)
        slots = self._outlook(found)
        if slots is not None:
            cluster = cluster.without(found.number(job))
            if not len(now.place):
                return JobReason(ROOM, (), slots=slots, note="it has no way to run in this slot")
        reason = cluster.waiting_reason(now, self._ahead(found, turn))
        elements = self._elements(found, None if slots is None else found.slot == self.slot)
        workers = int(now.workers.max(initial=1))
        if reason.kind == ROOM:
            fits = elements[cluster.fits(now)]
            rows = self._rows(fits, workers) or self._relaxed(fits)
            note = "" if turn is None or not turn.wait_reason else f"{turn.policy}: {turn.wait_reason}"
            if rows:
                end = self._next_end(rows[0])
                return replace(reason, kind=ROW, rows=rows, next_end=end, slots=slots)
            fitting = cluster.fitting_places(self._allowed(now, elements))
            return replace(reason, fitting=fitting or reason.fitting, note=note, slots=slots)
        # Where capacities of slots are rows of the model too, they would only be said twice.
        rows = self._rows(elements, workers) if reason.kind == NO_ROOM and slots is None else ()
        return replace(reason, rows=rows, slots=slots if reason.kind != NEVER else None)

    def _elements(self, found: JobRoom, kept: Bools | None) -> Ints:
        """Return the options as positions in the family of the problem."""
        positions = found.elements if kept is None else found.elements[kept]
        return self.question.family.domain.locate(self.room.domain.columns_at(positions))

    def _rows(self, elements: Ints, workers: int) -> tuple[RowLimit, ...]:
        """Return side rows that exclude the job from elements."""
        return self._limits.of(elements[elements >= 0], workers)

    @cached_property
    def _limits(self) -> RowLimits:
        """The side rows: those that roles do not explain. Of slots, roles explain none."""
        side = side_model(self.model)
        kept = side.rows.constraints
        return RowLimits(self.question, kept if self.slot is not None else side.checked.constraints, kept)

    def _allowed(self, options: PlaceOptions, elements: Ints) -> PlaceOptions:
        """Return the options (elements of the family) that no single side row excludes."""
        return take(options, (elements >= 0) & ~self._limits.excluded(elements))

    def _relaxed(self, elements: Ints) -> tuple[RowLimit, ...]:
        """Return the rows that a solver would relax to run the job in one of these elements."""
        elements = elements[elements >= 0]
        if not len(elements) or self.question.solver.over:
            return ()
        forced = self.question.force_running(elements)
        return () if forced.cost is not None else self._limits.named(forced.row_names)

    def _next_end(self, row: RowLimit) -> NextEnd | None:
        """Return the first end of a job in a row, and whether the row then leaves room."""
        if row.used is None or row.limit is None or row.adds is None:
            return None
        room, ends = self.room, self.states.ends
        codes = dict(zip(room.labels(room.job_at, np.arange(len(ends))), range(len(ends)), strict=True))
        known = [(float(ends[codes[job]]), job, uses) for job, uses in zip(row.jobs, row.uses, strict=True)]
        known = [one for one in known if np.isfinite(one[0])]
        if not known:
            return None
        time, job, _ = min(known)
        left = row.used - sum(uses for end, _, uses in known if end <= time)
        return NextEnd(job, time, (), left + row.adds <= row.limit + FEASIBILITY * max(1.0, abs(row.limit)))

    def _ahead(self, found: JobRoom, turn: Turn | None) -> list[JobAhead]:
        """Return the jobs before this one in the queue that can use one of its places."""
        node_at = self.room.node_at
        if turn is None or not turn.before or node_at is None:
            return []
        before = np.array(turn.before, dtype=np.int64)
        room, job_at = self.room, self.room.job_at
        counts = room.domain.counts_of(job_at, before)
        if counts.sum() <= MOST_ELEMENTS:
            columns = room.domain.columns_at(room.domain.positions_with(job_at, before))
            own = room.domain.columns_at(found.elements)[node_at]
            before = before[np.isin(before, columns[job_at][np.isin(columns[node_at], own)])]
        running = self.question.moment.running or {}
        given = running.get(self.placement.variable)
        ran = np.zeros(0, dtype=np.int64) if given is None else given.codes[job_at][given.values > CHOSEN]
        planned = np.isin(before, room.planned[job_at])
        states = np.where(planned, np.where(np.isin(before, ran), "runs", "starts"), "waits").tolist()
        return [JobAhead(job, state) for job, state in zip(room.labels(job_at, before), states, strict=True)]

    # --- running jobs ------------------------------------------------------------------------------------------------

    def _running(self, found: JobRoom, turn: Turn | None) -> JobReason:
        job, cluster = self.question.job, found.cluster
        number, slots, now = found.number(job), self._outlook(found), self._now(found)
        if slots is not None:
            kept = np.isin(cluster.place, np.unique(now.place))
            cluster = replace(
                cluster, job=cluster.job[kept], place=cluster.place[kept], uses=cluster.uses[kept],
                end=cluster.end[kept],
            )  # fmt: skip
        if not (cluster.job == number).any():
            return JobReason(ROOM, (), slots=slots)
        blocks = self._blocked(job) if slots is None else ()
        note = "" if turn is None else _placing_text(turn)
        reason = cluster.running_reason(now, number, blocks)
        elements = self._elements(found, None if slots is None else found.slot == self.slot)
        allowed = cluster.without(number).fitting_places(self._allowed(now, elements))
        fitting = tuple(place for place in reason.fitting if place in allowed)
        return replace(reason, fitting=fitting, slots=slots, note=note)

    def _blocked(self, job: int) -> tuple[str, ...]:
        """Return waiting jobs that have no room now, and would have room without a job."""
        blocked = []
        for other in np.flatnonzero(self.states.waits)[:MOST_WAITING].tolist():
            found = self.room.of_job(other)
            number = -1 if found is None else found.number(job)
            if found is None or number < 0 or found.cluster.has_room(found.options):
                continue
            if found.cluster.without(number).has_room(found.options):
                blocked.append(other)
        return tuple(self.room.labels(self.room.job_at, np.array(blocked, dtype=np.int64)))

    # --- slots -------------------------------------------------------------------------------------------------------

    def _outlook(self, found: JobRoom) -> SlotOutlook | None:
        """Return the slots of the job from the present one on."""
        slot_at = self.room.slot_at
        if self.slot is None or slot_at is None:
            return None
        job, room = self.question.job, self.room
        slots = np.unique(found.slot[found.slot >= self.slot])
        due = float(self.states.due[job])
        ends = np.array([self.slot_time(int(slot) + 1) for slot in slots])
        in_time = slots[ends <= due + FEASIBILITY * max(1.0, abs(due))] if np.isfinite(due) else slots
        cluster = found.cluster.without(found.number(job))
        fitting = np.unique(found.slot[cluster.fits(found.options)])
        planned = np.unique(room.planned[slot_at][room.planned[room.job_at] == job])
        return SlotOutlook(
            self._times(planned[planned >= self.slot]),
            self._times(np.intersect1d(fitting, in_time)),
            len(in_time),
            due if np.isfinite(due) else None,
        )

    def _times(self, slots: Codes) -> tuple[float, ...]:
        return tuple(self.slot_time(int(slot)) for slot in slots)


def _placing_text(turn: Turn) -> str:
    """Return why a policy placed a job where it runs, as far as one rule did."""
    placed = [attempt for attempt in turn.attempts if attempt.placed]
    if placed:
        place = f"position {turn.place} of {turn.length} in the queue"
        return f"{turn.policy}: {place}, the rule `{placed[-1].rule}` placed it"
    return f"{turn.policy}: {turn.notes[-1]}" if turn.keeps else ""
