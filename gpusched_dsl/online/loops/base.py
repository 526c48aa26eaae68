"""The code that all loops share: building the current instance, planning, putting the plan into effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.deadline import INTERRUPT, Abandoned, StoppedEarly, limit
from gpusched_dsl.language.checked_policy import ARRIVED, ATTAINED
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.carry import Carrier, LoopClock
from gpusched_dsl.online.data.past import CurrentPlan, KeptValues, Past
from gpusched_dsl.online.data.plan_codes import PlanCodes
from gpusched_dsl.online.data.policy_memory import PolicyMemory
from gpusched_dsl.online.loops.clock_times import CLOCK_TIME
from gpusched_dsl.online.loops.controller_numbers import ControllerNumbers
from gpusched_dsl.online.loops.planning_result import PlanningResult
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.stated_charges import charge_plan
from gpusched_dsl.online.loops.step_journal import StepJournal, read_plan, step_of
from gpusched_dsl.online.planners.completion import PlanCompletion
from gpusched_dsl.online.planners.failures import OF_SOLVING
from gpusched_dsl.online.planners.fallback import plan_with_fallback
from gpusched_dsl.online.planners.protocol import BROKEN, ControllerState, Outlook, PlanningRequest
from gpusched_dsl.online.planners.violations import violation_note
from gpusched_dsl.online.run_diagnostics import RunDiagnostics
from gpusched_dsl.online.run_record import RunOutcome, RunStep
from gpusched_dsl.online.simulation.assignments import AllocationReader, Allocations
from gpusched_dsl.online.simulation.charging import rates
from gpusched_dsl.online.simulation.node_availability import NodeAvailability
from gpusched_dsl.online.simulation.realisation import Outages
from gpusched_dsl.online.simulation.world import PlanChanges, World
from gpusched_dsl.policies.broken_rows import BrokenRows
from gpusched_dsl.policies.plan import VIOLATES, Plan


@dataclass(eq=False)
class SimulationLoop:
    """The state of one run. Subclasses decide when time advances and when to plan.

    `stop` is asked before each event and while plans are computed. `on_plan` is called after each plan. `examine` finds
    the rows of the model that a plan violates, before it takes effect; it gets the number of the plan.
    `event_by_event` are the reasons against a fast replay of the complete run. `look_ahead` returns the futures for
    planners that simulate their plans.
    """

    setup: RunSetup
    journal: StepJournal | None = None
    stop: Callable[[], bool] = lambda: False
    on_plan: Callable[[SimulationLoop], None] = lambda loop: None
    examine: Callable[[Instance, Plan, int], BrokenRows | None] | None = None
    event_by_event: tuple[str, ...] = ()
    look_ahead: Callable[[SimulationLoop, InstanceView, Instance], Outlook] | None = field(default=None, kw_only=True)
    recoverable: ClassVar[frozenset[str]] = OF_SOLVING  # errors of a method after which the fallback plans

    def __post_init__(self) -> None:
        setup = self.setup
        self.online, self.placement, self.config = setup.online, setup.placement, setup.config
        self.planner, self.fallback = setup.planner, setup.fallback
        self.use_data(setup.base)
        self.jobs_root, self.places_root = setup.jobs_root, setup.places_root
        places, node_types = self._count(setup.places_root), self._count(setup.kinds_root)
        self.world = World(
            setup.realisation, places, node_types, len(self.placement.indices) - (setup.window is not None)
        )
        self.nodes = NodeAvailability([Outages(laws, self.config.seed) for laws in setup.outages])
        self.current_plan: CurrentPlan | None = None
        self.past: Past | None = None  # for `carry`: the last plan with the jobs that ended since
        self.memory = PolicyMemory()
        self.controllers = ControllerNumbers(setup.controllers) if setup.controllers > 1 else None
        self.last_result: PlanningResult | None = None
        self.columns: tuple[Codes, ...] = ()  # of the allocations in effect, in codes of the part
        self.allocated_jobs: Ints = np.zeros(0, dtype=np.int64)
        self.steps: list[RunStep] = []
        self.forgotten_steps = 0  # before those
        self.diagnostics = RunDiagnostics()
        self.completion = PlanCompletion(setup.kept_variables, setup.config.permissions, setup.config.for_solver)
        self.events = 0
        self.last_plan_time = -np.inf
        self.clock_seen = -self.world.tolerance()  # until then clock times of plans have been looked at
        self._clock_time = time.perf_counter()

    def use_data(self, base: Base) -> None:
        """Plan with this data from now on."""
        self.base = base
        self.carrier = Carrier(self.online, base)
        self.codes = PlanCodes(self.setup.types, base.store)
        self.instance: Instance | None = None  # of the last plan: the next one reuses equal parts

    def _count(self, root: str) -> int:
        return len(self.base.store.universes[root].labels) if root else 1

    @property
    def step_count(self) -> int:
        """The number of plans so far."""
        return self.forgotten_steps + len(self.steps)

    @property
    def unit(self) -> str:
        return str(self.setup.clock)

    @property
    def run_clock(self) -> RunClock:
        """The clock for readers: dates, if the scenario has a calendar."""
        return RunClock(self.unit, self.base.store.calendar)

    # --- the current state -------------------------------------------------------------------------------------------

    def clock(self) -> LoopClock:
        world = self.world
        running = np.zeros(len(world.status))
        running[world.running] = 1.0
        requested = (world.request <= world.now + world.tolerance()).astype(np.float64)
        elapsed = 0.0 if self.past is None else self.plan_time() - self.past.time
        return LoopClock(
            world.now, world.remaining(), world.done, running, requested, elapsed=elapsed, arrived=world.arrived()
        )  # fmt: skip

    def clock_time_is_due(self, now: float) -> bool:
        """Whether a clock time of the block has come that no plan has followed."""
        return self.setup.clock_times.next_after(self.clock_seen) <= now + self.world.tolerance()

    def take_clock_time(self, now: float) -> bool:
        """Return `clock_time_is_due`, and look for later clock times from now on."""
        is_due = self.clock_time_is_due(now)
        self.clock_seen = max(self.clock_seen, now + self.world.tolerance())
        return is_due

    def plan_elements(self) -> dict[str, Codes]:
        """Return the elements of a plan: present jobs, available nodes."""
        jobs = {self.jobs_root: self.world.present()} if self.jobs_root else {}
        return {**jobs, **self.nodes.available(self.base)}

    def plan_time(self) -> float:
        """Return the time for which plans are made, by the clock of the world."""
        return self.world.now

    def policy_now(self) -> float:
        """Return the time in the unit of the policies."""
        return self.plan_time() / self.setup.policy_time

    def run(self) -> RunOutcome:
        """Execute the complete run; drop a plan that `stop` ends. Raises DiagnosticError as planning does."""
        try:
            outcome = self._replay_fast()
            if outcome is not None:
                return outcome
            while True:
                ended = self.step()
                if ended:
                    return self.outcome(ended)
        except Abandoned:
            return self.outcome("interrupt")

    def step(self) -> str:
        """Continue to the next plan; return why the run is over, else ""."""
        raise NotImplementedError

    def plan_restored(self, why: tuple[str, ...]) -> None:
        """Go on from a state that was saved directly before a plan because of `why`: plan, and put it into effect."""
        raise NotImplementedError

    def _replay_fast(self) -> RunOutcome | None:
        """Return the outcome of a fast replay; None if this run has to be simulated step by step."""
        return None

    def plan(self, why: tuple[str, ...]) -> PlanningResult:
        """Plan for the current state, or read the plan of the journal, and store it in `current_plan`.

        Raises Abandoned if `stop` returns True meanwhile: then nothing has changed.
        """
        if self.journal is not None:
            self.journal.before_plan(self, why)
        began = time.perf_counter()
        other = began - self._clock_time
        try:
            with limit(None, self.stop) as deadline:
                part, request = self.request(why)
                built = time.perf_counter()
                plan, failure = self._read_recorded(part), None
                is_new = plan is None
                if plan is None:
                    limited_request = replace(request, seconds=deadline.rest_of(self.config.time_limit))
                    planners = (self.planner, self.fallback)
                    plan, failure = plan_with_fallback(
                        planners,
                        limited_request,
                        self.diagnostics,
                        self.world.now,
                        self.online.span,
                        partial(self._refused, request.instance),
                        self.recoverable,
                    )
                    plan = self._with_open_variables(request.instance, plan)
                deadline.check()
        except StoppedEarly as stopped:
            if stopped.reason != INTERRUPT:
                raise
            raise Abandoned from None
        planned = time.perf_counter()
        instance, before = request.instance, self.last_result
        plan = self._marked(instance, plan)
        reader = (
            AllocationReader(self.online, instance.store, self.base.limits, part)
            if before is None
            else before.reader.for_instance(instance.store, part)
        )
        run_plan = self.codes.plan_outer(plan, part)
        self._store_plan(run_plan, request.controllers, request.kept)
        if self.controllers is not None:
            self.controllers = self.controllers.after_plan(part, self.jobs_root, self._nodes())
        if is_new and self.journal is not None:
            variables = self.setup.kept_variables
            self.journal.write(step_of(run_plan, self.codes, variables, self.step_count, self.world.now, why))
        self.instance, self.last_plan_time = instance, self.world.now
        self._clock_time = time.perf_counter()
        seconds = planned - built if is_new else plan.seconds
        others = other + self._clock_time - planned
        self.last_result = PlanningResult(
            plan, instance, part, reader, request.running, why, failure, seconds, built - began, others, request.known
        )
        return self.last_result

    def _refused(self, instance: Instance, plan: Plan) -> BrokenRows | None:
        """Return the rows because of which a plan must not take effect; None if it may."""
        if not self.config.refuses_broken or self.examine is None:
            return None
        found = self.examine(instance, plan, self.step_count)
        if found is not None:
            self.diagnostics.count_broken(plan.method, self.world.now, found, refused=True)
        return found

    def _marked(self, instance: Instance, plan: Plan) -> Plan:
        """Return the plan, marked as broken if it violates the model; one from the journal may be marked already."""
        if self.examine is None or self.config.refuses_broken:
            return plan
        found = self.examine(instance, plan, self.step_count)
        if found is None and plan.status == BROKEN:  # by variables that no journal keeps
            found = BrokenRows(1, plan.violation)
        if found is None:
            return plan
        self.diagnostics.count_broken(plan.method, self.world.now, found)
        notes = (note for note in plan.notes if not note.startswith(VIOLATES))
        return replace(plan, status=BROKEN, notes=(*notes, violation_note(plan.method, found)))

    def _with_open_variables(self, instance: Instance, plan: Plan) -> Plan:
        """Return the plan with the open variables that this run reads, or warn once that there are no such values."""
        when = self.run_clock.text(self.world.now)
        plan, warning = self.completion(instance, plan, self.config.time_limit, when)
        if warning is not None:
            self.diagnostics.warn_once(warning)
        return plan

    def request(self, why: tuple[str, ...] = ()) -> tuple[InstanceView, PlanningRequest]:
        """Return the current planning request, and its part of the run. `why` are the events that ask for a plan."""
        part, clock = self.base.part(self.plan_elements()), self.clock()
        kept = self.carrier.kept_values(part, clock, self.past)
        carried = {
            **self.carrier.carried_values(part, clock, self.past, kept),
            **self.memory.carried_values(self.base, part),
        }
        instance = self.base.instance_of(part, carried, self.instance)
        running = None if self.current_plan is None else self.codes.all_inner(self.current_plan.values, part)
        controllers = None
        if self.controllers is not None:
            inputs, requested = self.base.input_names | carried.keys(), clock.requested > 0
            controllers = self.controllers.state(
                self.world.arrival,
                self.world.present(),
                self._nodes(),
                requested,
                inputs,
                all_plan=not {"period", CLOCK_TIME}.isdisjoint(why),
            )
        return part, PlanningRequest(
            instance,
            self.policy_now(),
            self.step_count,
            self.config.seed,
            running,
            known=self.known(part),
            controllers=controllers,
            outlook=None if self.look_ahead is None else self.look_ahead(self, part, instance),
            base=self.base,
            kept=kept,
        )

    def _nodes(self) -> Codes:
        """Return the available nodes, sorted."""
        return self.nodes.available(self.base).get(self.places_root, self.base.all_codes(self.places_root))

    def known(self, part: InstanceView) -> dict[str, Floats]:
        """Return what policies know of the jobs of a part, in their units."""
        jobs = part.kept.get(self.jobs_root)
        if jobs is None:
            return {}
        world, time = self.world, self.setup.policy_time
        return {ARRIVED: world.arrival[jobs] / time, ATTAINED: world.attained[jobs] / time}

    def _read_recorded(self, part: InstanceView) -> Plan | None:
        """Return the recorded plan of this step in codes of the part; None where a plan has to be computed."""
        if self.journal is None:
            return None
        plan = read_plan(self.journal, self.codes, self.step_count, self.world.now, self.world.tolerance())
        return None if plan is None else self.codes.plan_inner(plan, part)

    def _store_plan(
        self, plan: Plan, controllers: ControllerState | None, kept: Mapping[str, KeptValues]
    ) -> None:  # fmt: skip
        """Store a plan in codes of the run as the current plan.

        Jobs of controllers that did not plan keep the times of their next plans.
        """
        self.current_plan = CurrentPlan(plan.values)
        self.past = Past(self.current_plan, self.plan_time(), kept)
        self.memory.store(plan.remembered, len(self.world.status))
        planned = np.ones(len(self.world.request), dtype=np.bool_)
        if controllers is not None and self.controllers is not None:
            planned = controllers.plans[self.controllers.of_jobs(self.world.arrival)]
        self.world.request[planned] = np.inf
        if plan.again is not None:
            self.world.request[plan.again.codes[0]] = self.world.now + plan.again.values * self.setup.policy_time

    # --- the plan in effect ------------------------------------------------------------------------------------------

    def record_due_times(self, result: PlanningResult) -> None:
        """Record the due times of the jobs of the plan that have none yet, and the price of their tardiness."""
        jobs = result.part.kept.get(self.jobs_root, np.zeros(0, dtype=np.int64))
        new = np.flatnonzero(self.world.have_no_due_time(jobs))
        if len(new):
            due, weight = result.reader.due_and_weight(new)
            self.world.set_due(jobs[new], self.plan_time() + due, weight)

    def apply_allocations(
        self, result: PlanningResult, columns: tuple[Codes, ...], allocations: Allocations
    ) -> PlanChanges:
        """Put allocations of a plan into effect; return the changes."""
        self.columns, self.allocated_jobs = columns, allocations.job
        delays, costs = result.reader.changes(columns)
        changes = self.world.apply(allocations, delays, costs, costs.get("halt"))
        self.charge_rates()
        return changes

    def charge_rates(self) -> None:
        """Set the rates of the running jobs: after a plan, and when a job has left."""
        assert self.last_result is not None
        rates(self.online, self.world, self.last_result.reader, self.columns, self.allocated_jobs)

    def handle_departures(self) -> None:
        """Set the rates of the other jobs after jobs have ended or were halted by a failure."""
        if self.last_result is not None:
            self.charge_rates()

    def record_step(self, result: PlanningResult, changes: PlanChanges) -> None:
        """Append the line of this plan to the record."""
        self.steps.append(result.step(self.step_count, self.world, changes))
        self.on_plan(self)

    def charge_stated(self, times: float, slots: tuple[str, Codes] | None = None) -> None:
        """Add the stated charges of the plan in effect."""
        if self.online.charges and self.last_result is not None and self.current_plan is not None:
            result = self.charged_result(self.last_result)
            values = self.codes.all_inner(self.current_plan.values, result.part)
            charge_plan(self.setup, self.base, result, values, self.world.ledger, times, slots)

    def charged_result(self, result: PlanningResult) -> PlanningResult:
        """Return the plan with the data by which it is charged."""
        return result

    # --- failures of nodes -------------------------------------------------------------------------------------------

    def fail_nodes(self, root: str, codes: Codes) -> None:
        """Take nodes out of service; their jobs are halted."""
        self.nodes.fail(root, codes)
        if root == self.places_root and len(self.world.halt_on(codes)):
            self.handle_departures()

    def apply_outages(self) -> list[str]:
        """Apply the failures and recoveries that are due; return the names of the events."""
        names = []
        for change in self.nodes.changes(self.world.now, self.world.tolerance()):
            if len(change.failing):
                self.fail_nodes(change.root, change.failing)
                names.append("failure")
            if len(change.recovering):
                self.nodes.recover(change.root, change.recovering)
                names.append("recovery")
        self.events += len(names)
        return names

    # --- the end -----------------------------------------------------------------------------------------------------

    def outcome(self, ended: str, **extra: Any) -> RunOutcome:
        setup = self.setup
        return RunOutcome(
            online=self.online,
            base=self.base,
            world=self.world,
            steps=tuple(self.steps),
            ended=ended,
            unit=self.unit,
            money=str(setup.money),
            slot_length=setup.slot_length,
            events=self.events,
            quantities=setup.quantities,
            warnings=self.warnings(),
            broken=self.diagnostics.broken,
            extra=extra,
            event_by_event=self.event_by_event,
        )

    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return the warnings of the run so far."""
        fallback = None if self.fallback is None else self.fallback.name
        own = self.diagnostics.all_warnings(fallback, self.step_count, self.run_clock, self.online.span)
        return (*self.setup.warnings, *own)

    def warn(self, code: str, message: str, help: str | None = None) -> None:
        warning = Diagnostic(code, message, self.online.span, help=help, severity=Severity.WARNING)
        self.diagnostics.warnings.append(warning)
