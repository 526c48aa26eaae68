"""The code that all loops share: the instance of now, asking for a plan, putting the plan into effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.deadline import INTERRUPT, Abandoned, StoppedEarly, limit
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.checked_online import CHANGES
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import convertible, number_factor
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.carry import Carrier, CurrentPlan, LoopClock, without
from gpusched_dsl.online.data.plan_codes import PlanCodes
from gpusched_dsl.online.journal.plan_codec import plan_data, plan_from
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.planners.failures import Failures, is_of_solving
from gpusched_dsl.online.planners.protocol import AS_BEFORE, Plan, Planner, PlanningRequest
from gpusched_dsl.online.run_record import RunOutcome, RunStep
from gpusched_dsl.online.simulation.assignments import AllocationReader, Allocations
from gpusched_dsl.online.simulation.charging import charge, plan_store, rates
from gpusched_dsl.online.simulation.realisation import Outages
from gpusched_dsl.online.simulation.world import RUNNING, Changed, World

CHOSEN = 0.5  # a binary above this is 1


class StepJournal(Protocol):
    """Where steps are written; one that has been written before is read instead of planned again."""

    def recorded(self) -> Mapping[str, Any] | None: ...

    def write(self, step: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, eq=False)
class MadePlan:
    """A plan in codes of `instance`, a `part` of the run, with its inputs and its computing time.

    `running` is the plan before it, `why` are the events that asked for it. `failure` is the first error of a solver
    on the way. Of a recorded plan `plan_seconds` are those of its first making.
    """

    plan: Plan
    instance: Instance
    part: InstanceView
    reader: AllocationReader
    running: Mapping[str, VariableValues] | None
    why: tuple[str, ...]
    failure: DiagnosticError | None
    plan_seconds: float
    build_seconds: float
    other_seconds: float


@dataclass(eq=False)
class SimulationLoop:
    """The state of one run. Subclasses decide when time advances and when to plan.

    `stop` is asked before each event and while plans are made, `tell` is called after each plan. `examine` is called
    with each new plan. `event_by_event` are the reasons against a fast replay of the complete run.
    """

    setup: RunSetup
    journal: StepJournal | None = None
    stop: Callable[[], bool] = lambda: False
    tell: Callable[[SimulationLoop], None] = lambda driver: None
    examine: Callable[[SimulationLoop, Instance, Plan], None] | None = None
    event_by_event: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        setup = self.setup
        self.online, self.placement, self.config = setup.online, setup.placement, setup.config
        self.planner, self.fallback = setup.planner, setup.fallback
        self._use(setup.base)
        self.jobs_root, self.places_root = setup.jobs_root, setup.places_root
        places, kinds = self._count(setup.places_root), self._count(setup.kinds_root)
        self.world = World(setup.truth, places, kinds, len(self.placement.indices) - (setup.window is not None))
        self.outages = [Outages(laws, self.config.seed) for laws in setup.outages]
        self.down: dict[str, Codes] = {}  # of each root set, the elements that are down
        self.standing: CurrentPlan | None = None
        self.memory: dict[str, Floats] = {}
        self.made: MadePlan | None = None  # the last one
        self.columns: tuple[Codes, ...] = ()  # of the entries in effect, in codes of the part
        self.entry_jobs: Ints = np.zeros(0, dtype=np.int64)
        self.steps: list[RunStep] = []
        self.warnings: list[Diagnostic] = []
        self.failures: dict[tuple[str, str], Failures] = {}  # by planner and code
        self.events = 0
        self.last_plan = -np.inf
        self._clock_time = time.perf_counter()

    def _use(self, base: Base) -> None:
        """Plan with this data from now on."""
        self.base = base
        self.carrier = Carrier(self.online, base)
        self.codes = PlanCodes(self.setup.types, base.store)
        self.instance: Instance | None = None  # of the last plan, for what is the same in the next one

    def _count(self, root: str) -> int:
        return len(self.base.store.universes[root].labels) if root else 1

    @property
    def unit(self) -> str:
        return str(self.setup.clock)

    # --- the instance of now -----------------------------------------------------------------------------------------

    def clock(self) -> LoopClock:
        world = self.world
        running = np.zeros(len(world.status))
        running[world.running] = 1.0
        requested = (world.request <= world.now + world.tolerance()).astype(np.float64)
        return LoopClock(world.now, world.remaining(), world.done, running, requested)

    def kept_elements(self) -> dict[str, Codes]:
        """Return the elements of a plan: present jobs, available nodes."""
        kept = {self.jobs_root: self.world.present()} if self.jobs_root else {}
        for root, down in self.down.items():
            if len(down):
                kept[root] = np.setdiff1d(self.base.whole(root), down)
        return kept

    def policy_now(self) -> float:
        """The time as policies read it."""
        return self.world.now / self.setup.policy_time

    def run(self) -> RunOutcome:
        """Execute the complete run; drop a plan that `stop` ends. Raises DiagnosticError as planning does."""
        try:
            replayed = self._replayed()
            if replayed is not None:
                return replayed
            while True:
                ended = self.step()
                if ended:
                    return self.outcome(ended)
        except Abandoned:
            return self.outcome("interrupt")

    def step(self) -> str:
        """Go on to the next plan; why the run is over, else ""."""
        raise NotImplementedError

    def _replayed(self) -> RunOutcome | None:
        """The outcome of a fast replay, None where this run has to be simulated step by step."""
        return None

    def plan(self, why: tuple[str, ...]) -> MadePlan:
        """Plan for the current state, or read the plan of the journal, and store it in `standing`.

        Raises Abandoned where `stop` says so on the way: then nothing has changed.
        """
        began = time.perf_counter()
        other = began - self._clock_time
        try:
            with limit(None, self.stop) as deadline:
                part, request = self.request()
                built = time.perf_counter()
                plan, failure = self._recorded(part), None
                fresh = plan is None
                if plan is None:
                    plan, failure = self._ask(replace(request, seconds=deadline.rest_of(self.config.time_limit)))
                deadline.check()
        except StoppedEarly as stopped:
            if stopped.reason != INTERRUPT:
                raise
            raise Abandoned from None
        planned = time.perf_counter()
        instance, before = request.instance, self.made
        if fresh and self.examine is not None:
            self.examine(self, instance, plan)
        reader = (
            AllocationReader(self.online, instance.store, self.base.limits, part)
            if before is None
            else before.reader.on(instance.store, part)
        )
        whole = self.codes.plan_outer(plan, part)
        self._remember(whole)
        if fresh and self.journal is not None:
            self.journal.write(self._step_data(whole, why))
        self.instance, self.last_plan = instance, self.world.now
        self._clock_time = time.perf_counter()
        seconds = planned - built if fresh else plan.seconds
        others = other + self._clock_time - planned
        self.made = MadePlan(
            plan, instance, part, reader, request.running, why, failure, seconds, built - began, others
        )
        return self.made

    def request(self) -> tuple[InstanceView, PlanningRequest]:
        """Return the current planning request, and its part of the run."""
        part = self.base.part(self.kept_elements())
        carried = {**self.carrier.carried(part, self.clock(), self.standing), **self._remembered(part)}
        instance = self.base.instance_of(part, carried, self.instance)
        running = None if self.standing is None else self.codes.all_inner(self.standing.values, part)
        return part, PlanningRequest(instance, self.policy_now(), len(self.steps), self.config.seed, running)

    def _ask(self, request: PlanningRequest) -> tuple[Plan, DiagnosticError | None]:
        """Return the plan of the method, else of the fallback, else the running jobs; and the first error of a solver.

        Each of both methods may take the seconds of the request.
        """
        failure: DiagnosticError | None = None
        for planner in (self.planner, self.fallback):
            if planner is None:
                continue
            try:
                plan = planner.plan(request)
            except DiagnosticError as error:
                if not is_of_solving(error):
                    raise
                self._count_failures(planner, error)
                plan, failure = None, failure or error
            finally:
                self._warn_of_crashes(planner)
            if plan is not None:
                return plan, failure
        return Plan({} if request.running is None else request.running, AS_BEFORE, "none"), failure

    def _count_failures(self, planner: Planner, error: DiagnosticError) -> None:
        for diagnostic in error.diagnostics:
            key = planner.name, diagnostic.code
            known = self.failures.get(key)
            new = Failures(planner.name, diagnostic, self.world.now, self.unit)
            self.failures[key] = new if known is None else known.another()

    def _warn_of_crashes(self, planner: Planner) -> None:
        """Warn of the first crash of each kind: the run continues with the fallback, or as before."""
        for crash in getattr(planner, "crashes", ()):
            if not any(warning.message == crash.message for warning in self.warnings):
                help = "the run continued with a new process of the solver, its fallback, or the previous plan"
                self.warnings.append(replace(crash, severity=Severity.WARNING, help=help))

    # --- what a policy remembers -------------------------------------------------------------------------------------

    def _remembered(self, part: InstanceView) -> dict[str, KnownValues]:
        return {name: KnownValues(self._memory_of(name, part)) for name in self.memory}

    def _memory_of(self, name: str, part: InstanceView) -> Callable[[Domain], Floats]:
        """Values of jobs that are remembered, the given ones for the others."""

        def make(domain: Domain) -> Floats:
            [codes] = part.outer_codes(domain.components, domain.columns())
            given = self.base.store.params[name]
            before = given.values[given.domain.locate((codes,))]
            kept = self.memory[name][codes]
            return np.where(np.isnan(kept), before, kept)

        return make

    def _remember(self, plan: Plan) -> None:
        """Store a plan in codes of the run as the current plan."""
        self.standing = CurrentPlan(plan.values)
        for name, given in plan.remembered.items():
            if name not in self.memory:
                self.memory[name] = np.full(len(self.world.status), np.nan)
            self.memory[name][given.codes[0]] = given.values
        self.world.request[:] = np.inf
        if plan.again is not None:
            self.world.request[plan.again.codes[0]] = self.world.now + plan.again.values * self.setup.policy_time

    # --- the plan in effect ------------------------------------------------------------------------------------------

    def chosen(self, plan: Plan) -> tuple[Codes, ...]:
        """The elements of the placement's family that are 1, in codes of the part, by job."""
        given = plan.values.get(self.placement.variable)
        if given is None:
            return tuple(np.zeros(0, dtype=np.int64) for _ in self.placement.indices)
        columns = tuple(c[given.values > CHOSEN] for c in given.codes)
        order = np.argsort(columns[self.placement.position("job") or 0], kind="stable")
        return tuple(c[order] for c in columns)

    def know_jobs(self, made: MadePlan) -> None:
        """Record the due times of the jobs of the plan, and the price of their tardiness."""
        jobs = made.part.kept.get(self.jobs_root, np.zeros(0, dtype=np.int64))
        if len(jobs):
            self.world.know(jobs, *made.reader.jobs(np.arange(len(jobs), dtype=np.int64)))

    def put(self, made: MadePlan, columns: tuple[Codes, ...], entries: Allocations) -> Changed:
        """Execute these entries of a plan from now; return the changes."""
        self.columns, self.entry_jobs = columns, entries.job
        delays, costs = made.reader.changes(columns)
        changed = self.world.apply(entries, delays, costs, costs.get("halt"))
        self.charge_rates()
        return changed

    def charge_rates(self) -> None:
        """Set the rates of the running jobs: after a plan, and when a job has left."""
        assert self.made is not None
        rates(self.online, self.world, self.made.reader, self.columns, self.entry_jobs)

    def left(self) -> None:
        """Jobs have ended, or were halted by a failure: rates are of those that go on."""
        if self.made is not None:
            self.charge_rates()

    def drop_ended(self) -> None:
        """Remove finished jobs from the current plan."""
        variable = self.placement.variable
        if self.standing is None or not self.jobs_root or variable not in self.standing.values:
            return
        at = self.placement.position("job")
        if at is not None:
            given = self.standing.values[variable]
            running = self.world.status[given.codes[at]] == RUNNING
            self.standing = without(self.standing, variable, running)

    def note(self, made: MadePlan, changed: Changed) -> None:
        """The line of this plan in the record."""
        plan = made.plan
        counts = {name: len(getattr(changed, name)) for name in CHANGES}
        self.steps.append(
            RunStep(
                len(self.steps), self.world.now, made.why, plan.method, plan.status, len(self.world.present()),
                len(self.world.running), counts["start"], counts["resume"], counts["migration"], counts["resize"],
                counts["halt"], counts["boot"], made.plan_seconds, made.build_seconds, made.other_seconds,
                plan.objective, plan.bound,
            )
        )  # fmt: skip
        self.tell(self)

    def charge_stated(self, times: float, slots: tuple[str, Codes] | None = None) -> None:
        """Add the stated charges of the plan in effect."""
        made, setup = self.made, self.setup
        if not self.online.charges or made is None or self.standing is None:
            return
        values = self.codes.all_inner(self.standing.values, made.part)
        store = plan_store(self.online, made.instance.store, values, self.base.limits, slots)
        for stated in self.online.charges:
            times_money = times * number_factor(setup.amount(stated), setup.money)  # 1 for what is no money
            charge(
                stated, self.online, store, self.base.limits, made.part, self.world.ledger, times_money,
                self.jobs_root, self.places_root,
            )  # fmt: skip

    # --- events that nobody plans ------------------------------------------------------------------------------------

    def fail(self, root: str, codes: Codes) -> None:
        """Let nodes fail: their jobs are halted."""
        self.down[root] = np.union1d(self.down.get(root, np.zeros(0, dtype=np.int64)), codes)
        if root == self.places_root and len(self.world.halt_on(codes)):
            self.left()

    def recover(self, root: str, codes: Codes) -> None:
        self.down[root] = np.setdiff1d(self.down.get(root, np.zeros(0, dtype=np.int64)), codes)

    def outages_now(self) -> list[str]:
        """Failures and recoveries that are due; the names of the events."""
        happened = []
        for outage in self.outages:
            failing, coming = outage.at(self.world.now, self.world.tolerance())
            if len(failing):
                self.fail(outage.root, failing)
                happened.append("failure")
            if len(coming):
                self.recover(outage.root, coming)
                happened.append("recovery")
        self.events += len(happened)
        return happened

    def next_outage(self) -> float:
        return min((float(o.next.min(initial=np.inf)) for o in self.outages), default=np.inf)

    # --- journal -----------------------------------------------------------------------------------------------------

    def _recorded(self, part: InstanceView) -> Plan | None:
        data = None if self.journal is None else self.journal.recorded()
        if data is None:
            return None
        if data["number"] != len(self.steps) or abs(data["time"] - self.world.now) > self.world.tolerance():
            message = f"the journal does not match this run: its step {data['number']} is at {data['time']:g}"
            help = "the journal has other inputs or options; start a new journal"
            raise DiagnosticError([Diagnostic("GSM7003", message, help=help)])
        return self.codes.plan_inner(plan_from(dict(data["plan"]), self.setup.types, self.base.store.universes), part)

    def _step_data(self, plan: Plan, why: tuple[str, ...]) -> dict[str, Any]:
        """A step as a journal keeps it, of a plan in codes of the run."""
        kept = replace(plan, values={n: given for n, given in plan.values.items() if n in self.setup.kept})
        data = plan_data(kept, self.setup.types, self.base.store.universes)
        return {"number": len(self.steps), "time": self.world.now, "why": list(why), "events": [], "plan": data}

    # --- the end -----------------------------------------------------------------------------------------------------

    def outcome(self, ended: str, **extra: Any) -> RunOutcome:
        setup, spare = self.setup, None if self.fallback is None else self.fallback.name
        amounts = {c.name: setup.amount(c) for c in self.online.charges}
        quantities = {name: str(unit) for name, unit in amounts.items() if not convertible(unit, setup.money)}
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
            quantities=quantities,
            warnings=(*self.warnings, *(f.warning(spare) for f in self.failures.values())),
            extra=extra,
            event_by_event=self.event_by_event,
        )

    def warn(self, code: str, message: str, help: str | None = None) -> None:
        self.warnings.append(Diagnostic(code, message, self.online.span, help=help, severity=Severity.WARNING))
