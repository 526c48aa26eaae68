"""The loop of models that decide slot by slot: a window is planned, its first slots are executed, then the next window.

A plan is in effect until its committed slots are over, or until an event that the block replans on. Events are
processed when the next slot begins. D.-K. Kang, K.-B. Lee, Y.-C. Kim (2022) decide over a complete week at
once; this is how their model goes online.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.gangs import gang_rows
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Bools, Codes, Ints
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.online.data.carry import LoopClock
from gpusched_dsl.online.data.past import CurrentPlan, ExecutedTime
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.clock_times import CLOCK_TIME
from gpusched_dsl.online.loops.planning_result import PlanningResult
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.online.simulation.assignments import Allocations
from gpusched_dsl.online.simulation.world import TOLERANCE


@dataclass(eq=False)
class SlotLoop(SimulationLoop):
    """Runs to the end of the slots, or until `stop` returns True."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.setup.window is not None
        self.window = self.setup.window
        self.slot = 0  # the next one to be executed; slots are numbered as in the data
        self.forgotten_slots = 0  # slots of the run before the first one of the data
        self.first_planned_slot = 0  # the first slot of the current plan
        self.committed_until = 0  # the first slot to which the current plan does not commit
        self.planned_until = 0  # the first slot after the window of the current plan
        self.charged_until = 0
        self.allocations: Allocations | None = None  # of all slots of the current plan
        self.plan_columns: tuple[Codes, ...] = ()
        self.skipped = np.zeros(0, dtype=np.bool_)  # entries of executed slots whose job or node was not there
        self.unrecorded_result: PlanningResult | None = None  # not in effect yet
        self.has_completions = False  # whether a job has ended in the last slot
        self.pending_events: list[str] = []  # events up to the start of this slot, not planned for yet

    def step(self) -> str:
        """Execute the next slot, after a new plan if one is due; return why the run is over, else ""."""
        if self.stop():
            self.settle()
            return "interrupt"
        if self.slot >= self.window.horizon:
            self.settle()
            return "horizon"
        why = self.process_events()
        if self.slot >= self.committed_until:
            why.insert(0, "window")
        if why:
            self.settle()
            self.plan_window(tuple(why))
        self.execute_slot()
        return ""

    def process_events(self) -> list[str]:
        """Process the events until the beginning of this slot; return those that require a plan."""
        self.observe_events()
        events, self.pending_events = self.pending_events, []
        why = [event for event in events if self.online.replans_on(event)]
        if self.take_clock_time(self.plan_time()):
            why.append(CLOCK_TIME)
        return why

    def observe_events(self) -> None:
        """Process the events until the beginning of this slot; the next step plans because of them."""
        events = self.apply_outages()
        came = self.world.arrive()
        if len(came):
            events.append("arrival")
        self.events += len(came)
        if self.has_completions:
            events.append("completion")
            self.has_completions = False
        self.pending_events = [*self.pending_events, *events]

    def plan_elements(self) -> dict[str, Codes]:
        stop = min(self.slot + self.window.lookahead, self.window.horizon)
        elements = {**super().plan_elements(), self.window.root: np.arange(self.slot, stop, dtype=np.int64)}
        if self.window.foresees and self.jobs_root:
            elements[self.jobs_root] = self.world.unfinished()
        return elements

    def request(self, why: tuple[str, ...] = ()) -> tuple[InstanceView, PlanningRequest]:
        part, request = super().request(why)
        return part, replace(request, before=self._ran_before(part))

    def _ran_before(self, part: InstanceView) -> dict[str, VariableValues] | None:
        """Return what ran in the last executed slot, as values of the next one, in codes of a part."""
        variable, at = self.placement.variable, self.placement.position("slot")
        if self.current_plan is None or at is None or variable not in self.current_plan.values:
            return None
        given, job_at = self.current_plan.values[variable], self.placement.position("job")
        ran = given.codes[at] == min(self.slot, self.planned_until) - 1
        if job_at is not None:
            ran &= np.isin(given.codes[job_at], self.world.running)
        codes = [column[ran] for column in given.codes]
        codes[at] = np.full(len(codes[at]), self.slot, dtype=np.int64)
        return self.codes.all_inner({variable: VariableValues(tuple(codes), given.values[ran])}, part)

    def clock(self) -> LoopClock:
        clock = super().clock()
        before = self.slot - 1 if self.slot else clock.committed
        return replace(clock, now=float(self.slot + self.forgotten_slots), committed=before)

    def start_of(self, slot: int) -> float:
        """Return the time at which a slot begins."""
        return (slot + self.forgotten_slots) * self.setup.slot_length

    def plan_time(self) -> float:
        """Return the start of the slot with which the next plan begins."""
        return self.start_of(self.slot)

    def plan_window(self, why: tuple[str, ...]) -> PlanningResult:
        """Plan the window that begins with this slot."""
        result = self.plan(why)
        columns, values = result.selected_values(self.placement)
        gangs = gang_rows(result.reader, columns, values) if self.placement.has_gangs else None
        self.record_due_times(result)
        self.plan_columns = columns
        self.allocations = result.reader.allocations_of(columns, gangs)
        self.skipped = np.zeros(len(self.allocations), dtype=np.bool_)
        self.first_planned_slot = self.charged_until = self.slot
        self.committed_until = self.slot + self.window.every
        self.planned_until = min(self.slot + self.window.lookahead, self.window.horizon)
        self.unrecorded_result = result
        return result

    def plan_restored(self, why: tuple[str, ...]) -> None:
        self.plan_window(why)
        self.execute_slot()

    def execute_slot(self) -> None:
        """Execute one slot as planned: its jobs, and its time."""
        self.begin_slot()
        self.finish_slot()

    def begin_slot(self) -> None:
        """Put the decisions of this slot into effect; it then counts as executed."""
        allocations, result = self.allocations, self.last_result
        if allocations is not None and result is not None:
            due = allocations.slot == self.slot
            up = self._are_up(allocations.place)
            if allocations.gangs:  # a gang with a part on a failed node does not run
                up &= ~np.isin(allocations.job, allocations.job[due & ~up])
            rows = np.flatnonzero(due & self._are_present(allocations.job) & up)
            self.skipped = self.skipped | due  # a new array: copies of the run share the old one
            self.skipped[rows] = False
            rows = rows[allocations.job[rows] >= 0]  # decisions without jobs are only charged for
            changes = self.apply_allocations(result, tuple(c[rows] for c in self.plan_columns), allocations.take(rows))
            if self.unrecorded_result is not None:
                self.record_step(self.unrecorded_result, changes)
                self.unrecorded_result = None
        self.slot += 1

    def finish_slot(self) -> None:
        """Let the time of the slot that was begun last pass, with the completions in it."""
        end = self.start_of(self.slot)
        while len(self.world.running):
            first = float(self.world.completions().min())
            if first > end - TOLERANCE * max(1.0, end):
                break
            self.world.advance(first)
            self._complete()
        self.world.advance(end)
        self._complete()

    def _complete(self) -> None:
        ended = self.world.complete()
        self.events += len(ended)
        if len(ended):
            self.has_completions = True
            self.charge_rates()

    def _are_present(self, jobs: Ints) -> Bools:
        """Return which jobs are present and unfinished; allocations without a job count as present."""
        world = self.world
        here = np.zeros(len(world.status) + 1, dtype=np.bool_)
        here[world.present()] = True
        here[-1] = True
        return here[jobs]

    def _are_up(self, places: Ints) -> Bools:
        """Return which places are available."""
        return self.nodes.are_up(self.places_root, places)

    def settle(self) -> None:
        """Charge the stated charges for the slots executed since the plan.

        From then on the plan is the one that was executed: so charges and `carry` read the same.
        """
        if self.slot <= self.charged_until or self.last_result is None:
            return
        last = min(self.slot, self.planned_until)  # a live cluster may have gone on without a plan
        codes = np.arange(self.charged_until - self.first_planned_slot, last - self.first_planned_slot, dtype=np.int64)
        self.current_plan = self._executed_plan()
        if self.past is not None and self.current_plan is not None:
            slots = np.arange(self.first_planned_slot, last, dtype=np.int64)
            executed = (ExecutedTime(1.0, self.current_plan, slots),)
            self.past = structs.replace(self.past, plan=self.current_plan, executed=executed)
        self.charge_stated(1.0, (self.online.window.slots if self.online.window else "", codes))
        self.charged_until = self.slot

    def _executed_plan(self) -> CurrentPlan | None:
        """Return the current plan without the skipped allocations."""
        variable = self.placement.variable
        if self.current_plan is None or self.last_result is None or not self.skipped.any():
            return self.current_plan
        components = self.codes.components(variable)
        values = self.current_plan.values[variable]
        skipped = self.last_result.part.outer_codes(
            components, tuple(column[self.skipped] for column in self.plan_columns)
        )
        is_kept = np.ones(len(values.values), dtype=np.bool_)
        place = TupleDomain(components, values.codes).locate(skipped)
        is_kept[place[place >= 0]] = False
        return self.current_plan.without(variable, is_kept)
