"""The live loop by slots: slot k covers the time from k to k + 1 slot lengths after the start of the run.

A slot begins by a plan, or as an earlier plan decided. Events within a slot are planned for at the next border, as in a
simulated run. Slots whose borders have passed when an event arrives begin in order, as planned. If a plan is due in the
present slot, it is made with this event, and its decisions take effect at the time of the event. No plan is made for a
slot that is over. After the last planned slot the running jobs continue until the next event.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from msgspec import UNSET, structs

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.carry import LoopClock
from gpusched_dsl.online.data.more_slots import KnownSlots, check_slots, slot_place, with_known, with_slots
from gpusched_dsl.online.data.past import CurrentPlan
from gpusched_dsl.online.data.updates import with_only
from gpusched_dsl.online.live.decisions import decision_of, differ, in_slot, later_slots, slot_time
from gpusched_dsl.online.live.event_data import values_by_subscripts
from gpusched_dsl.online.live.labels import refuse
from gpusched_dsl.online.live.messages import BORDER, AnyEvent, Completion, Decided, End, NodeDown, Value, Withdrawal
from gpusched_dsl.online.loops import forgetting_slots
from gpusched_dsl.online.loops.branching import independent_copy
from gpusched_dsl.online.loops.clock_times import CLOCK_TIME
from gpusched_dsl.online.loops.event_check import Candidate, check_event
from gpusched_dsl.online.loops.external import ExternalEventLoop
from gpusched_dsl.online.loops.external_run import ExternalLoop
from gpusched_dsl.online.loops.forgetting_slots import reads_passed_slots
from gpusched_dsl.online.loops.planning_result import PlanningResult
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.online.simulation.world import TOLERANCE

SIMULATED_WINDOWS = 4  # a simulated continuation ends after so many windows
MOST_AHEAD = 100_000  # slots after the present one that an event may name: more than a year of five minutes is a slip


@dataclass(frozen=True, slots=True)
class SlotCandidate(Candidate):
    """An event with the data after it, and the slots in which these are known."""

    known_slots: KnownSlots


@dataclass(eq=False)
class ExternalSlotLoop(ExternalLoop, SlotLoop):
    """A live loop by slots. `known_slots` are the slots with values of the data or of events."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.online.window is not None
        check_slots(self.base, self.window.root, self.online.window.span)
        carried = {carry.target for carry in self.online.carries}
        self.known_slots = KnownSlots.of(self.base, self.window.root, carried)
        self._planned_base = self.base  # the data of the last plan
        self._shown = CurrentPlan()  # the values in effect, as last reported
        self._forgets_slots = self._forgets and not reads_passed_slots(self.online, self.base, self.window.root)
        self._is_ending = False
        self._unplanned = (0, 0)  # slots without a plan, and the first of them, counted from the start of the run
        self._repeated: dict[str, int | str | None] = {}  # by the current plan
        self._repeating: dict[str, tuple[int, int | str | None]] = {}  # by parameter: plans, and the first last slot

    # --- time --------------------------------------------------------------------------------------------------------

    def next_due(self) -> float:
        """Return the next border."""
        return self.plan_time()

    def planned_to_run(self, time: float) -> Ints:
        running, planned = self.world.running, self.allocations
        if planned is None:
            return running
        ends = (planned.slot + 1 + self.forgotten_slots) * self.setup.slot_length
        passed = (planned.slot >= self.slot) & (ends <= time)
        return np.union1d(running, planned.job[passed & self._are_present(planned.job)])

    def pass_time(self, time: float) -> None:
        near = self.world.tolerance()
        present = math.floor((time + near) / self.setup.slot_length) - self.forgotten_slots
        if self.allocations is None:
            self.slot = max(self.slot, present)  # nothing was planned until then
        while (border := self.plan_time()) < time - near:
            self._advance(border)
            if self.slot >= present and self._plan_is_due():
                break
            if self.slot < self.planned_until:
                self._begin_as_planned()
            else:
                self._pass_unplanned(present)
        self._advance(time)

    def _advance(self, time: float) -> None:
        self.world.advance(time)
        if len(self.world.arrive()):  # jobs of the scenario
            self._pending_reasons.append("arrival")

    def _plan_is_due(self) -> bool:
        """Whether the next slot needs a plan: the committed slots are over, or an event or the clock asks for it."""
        if self.slot >= self.committed_until or self.clock_time_is_due(self.plan_time()):
            return True
        return any(map(self.online.replans_on, self._pending_reasons))

    def _begin_as_planned(self) -> None:
        self.begin_slot()
        now = self._in_slot(self.slot - 1)
        if differ(now, self._shown, self.window.root, self.codes):
            self._shown = now
            at = slot_time(self.slot - 1, self.window.root, self.codes, self.start_of(self.slot - 1), self.live_clock)
            record = decision_of(self.steps[-1], now, self.setup.kept_variables, self.codes)
            record.time, record.why, record.seconds, record.slot = self.world.now, [BORDER], 0.0, at
            self._unreported.append(record)

    def _pass_unplanned(self, present: int) -> None:
        """Let slots pass that no plan has decided: up to the present one if a plan is due there."""
        until = max(present, self.slot + 1)
        count, first = self._unplanned
        self._unplanned = count + until - self.slot, first if count else self.slot + self.forgotten_slots
        self.slot = until

    def decide(self, why: tuple[str, ...] = ()) -> PlanningResult | None:
        """Begin the present slot, if it has not begun: by a plan if one is due."""
        world = self.world
        if self._is_ending or self.plan_time() > world.now + world.tolerance():
            return None
        if not self._plan_is_due():
            self._begin_as_planned()
            return None
        reasons = list(dict.fromkeys(w for w in self._pending_reasons if self.online.replans_on(w)))
        if self.slot >= self.committed_until:
            reasons.insert(0, "window")
        if self.take_clock_time(self.plan_time()):
            reasons.append(CLOCK_TIME)
        self._pending_reasons = []
        self._grow(self.slot + self.window.lookahead)
        self.settle()
        self.forget()
        return self._plan_and_begin((*why, *reasons))

    def plan_restored(self, why: tuple[str, ...]) -> None:
        self._plan_and_begin(why)

    def _plan_and_begin(self, why: tuple[str, ...]) -> PlanningResult:
        """Plan the window from the present slot on, and begin this slot."""
        result = self.plan_window(why)
        self._planned_base = self.base
        self._note_repeated()
        self.begin_slot()
        self._report_plan(result)
        return result

    def _note_repeated(self) -> None:
        """Note the parameters without known values in a part of the window."""
        window = np.arange(self.first_planned_slot, self.planned_until)
        self._repeated = self.known_slots.last_known(self.base, window)
        new = {}
        for name, last in self._repeated.items():
            plans, first = self._repeating.get(name, (0, last))
            new[name] = plans + 1, first
        self._repeating = {**self._repeating, **new}

    def _grow(self, count: int) -> None:
        """Let the run have at least this number of slots, with twice the window if they are too few."""
        if count > self.window.horizon:
            base, self.known_slots = with_slots(self.base, self.known_slots, count + self.window.lookahead)
            self.use_data(base)

    def forget(self) -> None:
        super().forget()
        first = self.slot - forgetting_slots.KEPT
        if self.allocations is not None:  # `carry` reads the slots of the last plan
            first = min(first, self.first_planned_slot)
        if not self._forgets_slots or self.slot < 2 * forgetting_slots.KEPT or first <= 0:
            return
        root = self.window.root
        part = InstanceView(self.base.store.universes, {root: self.base.all_codes(root)[first:]})
        try:
            base = with_only(self.base, part)
        except DiagnosticError:  # a check of the model needs the other slots
            self._forgets_slots = False
            return
        if self.current_plan is not None:
            self.current_plan = CurrentPlan(self.codes.all_inner(self.current_plan.values, part))
        self._shown = CurrentPlan(self.codes.all_inner(self._shown.values, part))
        if self.past is not None:
            past = self.past.translated(
                lambda values: self.codes.all_inner(values, part),
                lambda name, columns: self._inner(part, name, columns),
            )
            executed = tuple(
                span if span.slots is None else structs.replace(span, slots=span.slots - first)
                for span in past.executed
            )
            self.past = structs.replace(past, executed=executed)
        self.known_slots = self.known_slots.without(self.base, first)
        self.forgotten_slots += first
        for name in ("slot", "first_planned_slot", "committed_until", "planned_until", "charged_until"):
            setattr(self, name, getattr(self, name) - first)
        self.use_data(base)
        self._planned_base = base
        self.last_result, self.columns, self.allocated_jobs = None, (), self.world.running[:0]

    def use_data(self, base: Base) -> None:
        super().use_data(base)
        if hasattr(self, "window"):
            self.window = replace(self.window, horizon=len(base.store.universes[self.window.root].labels))

    def clock(self) -> LoopClock:
        """Return the clock of the run: a job that no event has ended has work left, however long it has run."""
        clock = super().clock()
        most = self.world.work * (1.0 - TOLERANCE)
        unfinished = self._are_present(np.arange(len(most), dtype=np.int64))
        return replace(clock, done=np.where(unfinished, np.minimum(clock.done, most), clock.done))

    # --- decisions ---------------------------------------------------------------------------------------------------

    def _in_slot(self, slot: int) -> CurrentPlan:
        """Return the values of the plan in a slot, without those that are not executed."""
        plan = self._executed_plan()
        assert plan is not None
        return in_slot(plan, self.window.root, slot, self.setup.kept_variables, self.codes)

    def _report_plan(self, result: PlanningResult) -> None:
        assert self.current_plan is not None
        self._shown = self._in_slot(self.first_planned_slot)
        self._unreported.append(self._described(self._shown, result.plan.violation))

    def _described(self, plan: CurrentPlan, violation: str = "") -> Decided:
        """Return the record of the last plan with the values in effect in the slot that was begun last."""
        root, codes, slot = self.window.root, self.codes, self.slot - 1
        record = decision_of(self.steps[-1], plan, self.setup.kept_variables, codes, violation)
        record.slot = slot_time(slot, root, codes, self.start_of(slot), self.live_clock)
        if self.current_plan is not None and slot < self.planned_until:
            planned = self._executed_plan()
            assert planned is not None
            until, variable = self.planned_until, self.placement.variable
            record.later = list(
                later_slots(planned, variable, root, slot, until, codes, self.start_of, self.live_clock)
            )
        record.repeated = self._repeated or UNSET
        return record

    def decision(self) -> Decided | None:
        """Return the decision in effect: that of the slot that was begun last, without jobs that do not run any more.

        None before the first plan.
        """
        if not self.steps or self.current_plan is None:
            return None
        return self._described(self.without_departed(self._shown))

    # --- events ------------------------------------------------------------------------------------------------------

    def check(self, event: AnyEvent) -> Candidate:
        """Return the event with the changed data, for `apply`; nothing changes. A value may name later slots.

        Raises DiagnosticError as `check_event` does, and GSM5207 for a slot that is too far ahead.
        """
        if not isinstance(event, Value):
            return super().check(event)
        labels = self._slots_of(event)
        most = max((int(label) for found in labels.values() for label in found), default=0)
        base, known = self.base, self.known_slots
        first = base.store.universes[self.window.root].labels[0]
        assert isinstance(first, int)
        least = min((int(label) for found in labels.values() for label in found), default=first)
        if first - self.forgotten_slots <= least < first:
            refuse(f"slot {least} is over for long, and forgotten", f"the first slot that is kept is {first}")
        if most - first > self.slot + MOST_AHEAD:
            help = f"slots are numbered from {first}; the present one is {first + max(self.slot - 1, 0)}"
            refuse(f"slot {most} is more than {MOST_AHEAD} slots ahead", help)
        base, known = with_slots(base, known, most - first + 1)
        candidate = check_event(event, base, self.online, self.world, self.forgotten)
        assert candidate.base is not None
        base, known = with_known(candidate.base, known, labels)
        return SlotCandidate(event, self.base, base, known)

    def _slots_of(self, event: Value) -> dict[str, set[int | str]]:
        """Return the slots in which an event gives values, by parameter; labels that are no numbers are left out."""
        found: dict[str, set[int | str]] = {}
        carried = {carry.target for carry in self.online.carries}
        for name, values in event.values.items():
            param = self.base.store.params.get(name)
            at = None if param is None else slot_place(param.domain, self.window.root)
            if at is None or name in carried:
                continue
            keys = (key for key, _ in values_by_subscripts(name, values, ()))
            found[name] = {key[at] for key in keys if len(key) > at and isinstance(key[at], int)}
        return found

    def note_event(self, candidate: Candidate) -> None:
        super().note_event(candidate)
        if isinstance(candidate, SlotCandidate):
            self.known_slots = candidate.known_slots
        self._is_ending = isinstance(candidate.event, End)
        match candidate.event:
            case Completion() | Withdrawal():
                self._skip_since(candidate.event, job=self._job(candidate.event.job))
            case NodeDown():
                self._skip_since(candidate.event, node=self._node(candidate.event.node))

    def _skip_since(self, event: Completion | Withdrawal | NodeDown, *, job: int = -2, node: int = -2) -> None:
        """Take a job, or the jobs of a node, out of the slots of the plan that began after a late event happened."""
        if event.time is None or self.allocations is None:
            return
        happened = self.live_clock.read(event.time, self.now)
        if happened >= self.now:
            return
        starts = (self.allocations.slot + self.forgotten_slots) * self.setup.slot_length
        rows = self.allocations
        begun = (rows.slot < self.slot) & (starts >= happened - self.world.tolerance())
        hit = begun & ((rows.job == job) | (rows.place == node))
        if rows.gangs:  # all parts of a gang in the slot
            gang = rows.slot * len(self.world.status) + rows.job
            hit = begun & np.isin(gang, gang[hit])
        self.skipped = self.skipped | hit

    # --- on trial, charges and the end -------------------------------------------------------------------------------

    def rehearsal_request(self) -> PlanningRequest:
        """Return the request of the plan at the next border: the present slot goes on as planned until then."""
        other = independent_copy(self, type(self), self.config.seed)
        other._grow(self.slot + self.window.lookahead)
        other.world.advance(self.plan_time())
        other.settle()
        return other.request()[1]

    def charged_result(self, result: PlanningResult) -> PlanningResult:
        """Return the plan with the values that are known now: prices may have come after the plan."""
        if self.base is self._planned_base:
            return result
        store = result.instance.store
        part = self.base.part(result.part.kept)
        carried = {
            carry.target: KnownValues.of(store.params[carry.target].values)
            for carry in self.online.carries
        }  # fmt: skip
        try:
            instance: Instance = self.base.instance_of(part, carried)
        except DiagnosticError as failure:
            self._warn_of_charges(failure.diagnostics[0])
            return result
        return replace(result, instance=instance, part=part)

    def _warn_of_charges(self, why: Diagnostic) -> None:
        message = (
            f"slots before {self.run_clock.text(self.world.now)} are charged by the values of their plan: {why.message}"
        )
        help = "values that came after the plan contradict it, and do not count in these charges"
        self.diagnostics.warn_once(
            Diagnostic("GSM7052", message, self.online.span, help=help, severity=Severity.WARNING)
        )  # fmt: skip

    def warnings(self) -> tuple[Diagnostic, ...]:
        span, labels = self.online.span, self.base.store.universes[self.window.root].labels
        found = []
        count, first = self._unplanned
        assert isinstance(labels[0], int)
        earliest = min(labels[0] - self.forgotten_slots + first, labels[-1])
        if count:
            slots = count_text(count, "slot passed", "slots passed")
            message = f"{slots} without a plan, the first is {earliest}: jobs continued"
            help = (
                "send a `tick` at least once in every window; these slots have no stated charges, and "
                "accumulated values do not count them"
            )
            found.append(Diagnostic("GSM7050", message, span, help=help, severity=Severity.WARNING))
        for name, (plans, last) in self._repeating.items():
            repeat = count_text(plans, "plan repeats", "plans repeat")
            message = f"`{name}` had no values after slot {last}: {repeat} those of the last known slot"
            help = f'send them in time: `{{"kind": "value", "values": {{"{name}": ...}}}}`'
            found.append(Diagnostic("GSM7051", message, span, help=help, severity=Severity.WARNING))
        return (*super().warnings(), *found)

    def simulated_from(self, time: float, seed: int) -> SlotLoop:
        """Return a simulation that continues this run, with all unknown quantities drawn: the present slot ends as
        planned.
        """
        other = independent_copy(self, SlotLoop, seed)
        base, _ = with_slots(self.base, self.known_slots, self.slot + SIMULATED_WINDOWS * self.window.lookahead)
        other.use_data(base)
        other.window = replace(self.window, horizon=len(base.store.universes[self.window.root].labels))
        other.world.advance(min(time, self.plan_time()))
        self.draw_unknown(other, seed)
        other.pending_events = list(self._pending_reasons)
        other.finish_slot()
        return other

    def finish(self) -> dict[str, Any]:
        self.settle()
        return super().finish()


AnyExternalLoop: TypeAlias = ExternalEventLoop | ExternalSlotLoop
