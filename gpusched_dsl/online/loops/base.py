"""What both loops share: the instance of what is there, asking for a plan, putting it into effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.deadline import INTERRUPT, Abandoned, StoppedEarly, limit
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.blocks.policies.scope import clock_unit
from gpusched_dsl.language.checked import Element, Numeric, TypedExpr, ValueType
from gpusched_dsl.language.checked_online import CHANGES, CheckedCharge, CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, Unit, convertible, number_factor
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.carry import Carrier, CurrentPlan, LoopClock, variables_read, without
from gpusched_dsl.online.data.magnitudes import check_clock, check_magnitudes, check_period
from gpusched_dsl.online.journal.plan_codec import plan_data, plan_from
from gpusched_dsl.online.planners.failures import Failures, is_of_solving
from gpusched_dsl.online.planners.protocol import AS_BEFORE, Plan, Planner, PlanningRequest
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_record import RunOutcome, RunStep
from gpusched_dsl.online.simulation.assignments import AllocationReader, Allocations
from gpusched_dsl.online.simulation.charging import charge, plan_store, rates
from gpusched_dsl.online.simulation.realisation import Outages, truth_of
from gpusched_dsl.online.simulation.world import RUNNING, World

CHOSEN = 0.5  # a binary above this is 1


class StepJournal(Protocol):
    """Where steps are written; one that has been written before is read instead of planned again."""

    def recorded(self) -> Mapping[str, Any] | None: ...

    def write(self, step: Mapping[str, Any]) -> None: ...


@dataclass(eq=False)
class SimulationLoop:
    """The state of one run. Subclasses say when time passes and what is planned when."""

    online: CheckedOnline
    base: Base
    planner: Planner
    fallback: Planner | None = None
    config: RunConfig = field(default_factory=RunConfig)
    journal: StepJournal | None = None
    stop: Callable[[], bool] = lambda: False
    tell: Callable[[SimulationLoop], None] = lambda driver: None
    external: bool = False  # completions and failures are told from outside, not drawn
    fast_replay: Callable[[Any], RunOutcome | None] | None = (
        None  # fast replay of the whole run, where that is possible
    )
    examine: Callable[[SimulationLoop, Instance, Plan], None] | None = None  # looks at plans that were made

    def __post_init__(self) -> None:
        online, base = self.online, self.base
        if online.base.placement is None:
            message = f"`{online.base.name}` has no `placement`: nothing says what its decisions mean in the cluster"
            raise DiagnosticError([Diagnostic("GSM7002", message, online.span, help="state one in the model")])
        self.placement = online.base.placement
        self._check_jobs()
        self.jobs_root = online.arrival.jobs if online.arrival is not None else self.placement.root("job")
        self.places_root = self.placement.root("node") or self.placement.root("node_type")
        self.kinds_root = self.placement.root("node_type") or self.places_root
        self.carrier = Carrier(online, base)
        clock = UNITS["h"] if online.window is not None else online.unit
        self.policy_time = number_factor(
            clock_unit(online.base), clock
        )  # the world's time in one unit of the policies' `now`
        check_magnitudes(base, base.given)
        self.slot_length = self._slot_length()
        truth = truth_of(online, base, self.config.seed, self.slot_length)
        come = truth.arrival[np.isfinite(truth.arrival)]
        check_clock(float(np.abs(come).max(initial=0.0)), self.unit)
        places, kinds = self._count(self.places_root), self._count(self.kinds_root)
        indices = len(self.placement.indices) - (online.window is not None)
        self.world = World(truth, places, kinds, indices)
        drawn = () if self.external else online.outages
        self.outages = [Outages(o, online, base, self.config.seed) for o in drawn]
        self.down: dict[str, Codes] = {}  # of each root set, the elements that are down
        self.standing: CurrentPlan | None = None
        self.memory: dict[str, Floats] = {}
        self.instance: Instance | None = None
        self.part: InstanceView | None = None
        self.reader: AllocationReader | None = None
        self.columns: tuple[Codes, ...] = ()  # of the entries in effect, in codes of the part
        self.entry_jobs: Ints = np.zeros(0, dtype=np.int64)
        self.steps: list[RunStep] = []
        self.warnings: list[Diagnostic] = []
        self.failures: dict[tuple[str, str], Failures] = {}  # by planner and code
        self.failure: DiagnosticError | None = None  # of the last plan
        self.event_by_event: tuple[str, ...] = ()  # why there was no fast replay
        self.events = 0
        self.last_plan = -np.inf
        self._clock_time = time.perf_counter()
        variables = online.base.variables
        self.types: dict[str, tuple[ValueType, ...]] = {
            name: tuple(v.type for v in variable.indexing.variables) for name, variable in variables.items()
        }
        self.types[""] = () if not self.jobs_root else (Element(self.jobs_root),)
        kept = {self.placement.variable} | self.carrier.variables
        self.kept = kept.union(*(variables_read(c.value, online) for c in online.charges))

    def _check_jobs(self) -> None:
        """Raise DiagnosticError (GSM7002) where jobs would never come, or come and have no place in a plan."""
        online, placed = self.online, self.placement.item("job") is not None
        if placed and online.arrival is None:
            message = f"`{online.name}` has no line `arrive`: no plan would have a job"
            help = "state when jobs arrive: `arrive j in Jobs at 0;` if all are there from the start"
            raise DiagnosticError([Diagnostic("GSM7002", message, online.span, help=help)])
        if not placed and (online.arrival is not None or online.window is None):
            message = f"the placement of `{online.base.name}` has no `job`: nothing says what a plan means for a job"
            help = "name the index of the jobs: `job j;`"
            raise DiagnosticError([Diagnostic("GSM7002", message, self.placement.span, help=help)])

    # --- names and numbers -------------------------------------------------------------------------------------------

    def _count(self, root: str) -> int:
        return len(self.base.store.universes[root].labels) if root else 1

    def number(self, expr: TypedExpr) -> float:
        """A value that depends on nothing but the scenario."""
        return self.number_of(expr, self.base)

    def number_of(self, expr: TypedExpr, base: Base) -> float:
        """The same of other data."""
        return Evaluator(self.online.base, base.store, base.limits).number(expr)

    def _slot_length(self) -> float:
        """Hours of a slot; 0 without a window."""
        if self.online.window is None:
            return 0.0
        lasts = self.placement.value("lasts")
        if lasts is None:
            message = "nothing says how long a slot is: the placement has no `lasts`"
            raise DiagnosticError([Diagnostic("GSM7002", message, self.placement.span, help="write `lasts slot;`")])
        if free_variables(lasts):
            message = "slots are of different lengths: `lasts` of the placement depends on what is decided"
            raise DiagnosticError([Diagnostic("GSM7002", message, lasts.span, help="slots of a window are all alike")])
        ev = Evaluator(self.online.base, self.base.store, self.base.limits)
        length = float(np.asarray(ev.numbers(lasts, EMPTY_FRAME)).reshape(-1)[0])
        assert isinstance(lasts.type, Numeric)
        length *= number_factor(lasts.type.unit, UNITS["h"])
        check_period(length, "h", "the length of a slot", lasts.span)
        return length

    @property
    def unit(self) -> str:
        return str(UNITS["h"] if self.online.window is not None else self.online.unit)

    # --- the instance of now -----------------------------------------------------------------------------------------

    def clock(self) -> LoopClock:
        world = self.world
        running = np.zeros(len(world.status))
        running[world.running] = 1.0
        requested = (world.request <= world.now + world.tolerance()).astype(np.float64)
        return LoopClock(world.now, world.remaining(), world.done, running, requested)

    def kept_elements(self) -> dict[str, Codes]:
        """The elements that a plan is made for: jobs that are there, nodes that are up."""
        kept = {self.jobs_root: self.world.present()} if self.jobs_root else {}
        for root, down in self.down.items():
            if len(down):
                kept[root] = np.setdiff1d(self.base.whole(root), down)
        return kept

    def policy_now(self) -> float:
        """The time as policies read it."""
        return self.world.now / self.policy_time

    def run(self) -> RunOutcome:
        """The whole run; a plan that `stop` ends is dropped. Raises DiagnosticError as planning does."""
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

    def plan(self, why: tuple[str, ...], events: list[dict[str, Any]] | None = None) -> Plan:
        """Make a plan for what is there, or take that of the journal, and put it into `standing`.

        Raises Abandoned where `stop` says so on the way: then nothing has changed.
        """
        began = time.perf_counter()
        other = began - self._clock_time
        try:
            with limit(None, self.stop) as deadline:
                part = self.base.part(self.kept_elements())
                carried = {**self.carrier.carried(part, self.clock(), self.standing), **self._remembered(part)}
                instance = self.base.instance_of(part, carried, self.instance)
                built = time.perf_counter()
                running = None if self.standing is None else self.inner(self.standing.values, part)
                plan = self._recorded(part)
                fresh = plan is None
                if plan is None:
                    plan = self._ask(instance, running, deadline.rest_of(self.config.time_limit))
                deadline.check()
        except StoppedEarly as stopped:
            if stopped.reason != INTERRUPT:
                raise
            raise Abandoned from None
        planned = time.perf_counter()
        if fresh and self.examine is not None:
            self.examine(self, instance, plan)
        self.instance, self.part = instance, part
        reader, store = self.reader, instance.store
        self.reader = (
            AllocationReader(self.online, store, self.base.limits, part) if reader is None else reader.on(store, part)
        )
        self._remember(plan, part)
        if fresh and self.journal is not None:
            self._write(plan, part, why, events or [])
        self.last_plan = self.world.now
        self._clock_time = time.perf_counter()
        seconds = planned - built if fresh else plan.seconds  # of a recorded plan what it took then
        self._pending = (why, seconds, built - began, other + self._clock_time - planned)
        return plan

    def _ask(self, instance: Instance, running: Mapping[str, VariableValues] | None, seconds: float | None) -> Plan:
        """The plan of the method, else that of the fallback, else what runs goes on.

        `failure` is the first error of a solver on the way. Each of both may take so many `seconds`.
        """
        number = len(self.steps)
        question = PlanningRequest(instance, self.policy_now(), number, self.config.seed, running, seconds)
        self.failure = None
        plan = self._plan_of(self.planner, question)
        if plan is None and self.fallback is not None:
            plan = self._plan_of(self.fallback, question)
        if plan is None:
            plan = Plan({} if running is None else running, AS_BEFORE, "none")
        return plan

    def _plan_of(self, planner: Planner, question: PlanningRequest) -> Plan | None:
        """None where there is no plan in time, or the solver failed; other errors are raised."""
        try:
            return planner.plan(question)
        except DiagnosticError as error:
            if not is_of_solving(error):
                raise
            self.failure = self.failure or error
            for diagnostic in error.diagnostics:
                key = planner.name, diagnostic.code
                known = self.failures.get(key)
                new = Failures(planner.name, diagnostic, self.world.now, self.unit)
                self.failures[key] = new if known is None else known.another()
            return None
        finally:
            self._warn_of_crashes(planner)

    def _warn_of_crashes(self, planner: Planner) -> None:
        """Warn of the first crash of each kind: the run goes on with the fallback, or as before."""
        for crash in getattr(planner, "crashes", ()):
            if not any(warning.message == crash.message for warning in self.warnings):
                help = "the run went on with a new process of the solver, its fallback, or the plan before"
                self.warnings.append(replace(crash, severity=Severity.WARNING, help=help))

    def inner(self, values: Mapping[str, VariableValues], part: InstanceView) -> dict[str, VariableValues]:
        """Values in codes of a part, without what is not in it."""
        found = {}
        for name, given in values.items():
            components = self._components(name)
            codes = part.inner(components, given.codes)
            inside = np.ones(len(given.values), dtype=np.bool_)
            for component, column in zip(components, codes, strict=True):
                inside &= (column >= 0) | (component is None)
            found[name] = VariableValues(tuple(c[inside] for c in codes), given.values[inside])
        return found

    def _components(self, name: str) -> tuple[Any, ...]:
        return tuple(self.base.store.component(kind) for kind in self.types[name])

    def _outer(self, name: str, given: VariableValues, part: InstanceView) -> VariableValues:
        return VariableValues(part.outer(self._components(name), given.codes), given.values)

    # --- what a policy remembers -------------------------------------------------------------------------------------

    def _remembered(self, part: InstanceView) -> dict[str, KnownValues]:
        return {name: KnownValues(self._memory_of(name, part)) for name in self.memory}

    def _memory_of(self, name: str, part: InstanceView) -> Callable[[Domain], Floats]:
        """Values of jobs that are remembered, the given ones for the others."""

        def make(domain: Domain) -> Floats:
            [codes] = part.outer(domain.components, domain.columns())
            given = self.base.store.params[name]
            before = given.values[given.domain.locate((codes,))]
            kept = self.memory[name][codes]
            return np.where(np.isnan(kept), before, kept)

        return make

    def _remember(self, plan: Plan, part: InstanceView) -> None:
        self.standing = CurrentPlan({name: self._outer(name, plan.values[name], part) for name in plan.values})
        for name, given in plan.remembered.items():
            outer = self._outer("", given, part)
            if name not in self.memory:
                self.memory[name] = np.full(len(self.world.status), np.nan)
            self.memory[name][outer.codes[0]] = outer.values
        self.world.request[:] = np.inf
        if plan.again is not None:
            outer = self._outer("", plan.again, part)
            self.world.request[outer.codes[0]] = self.world.now + outer.values * self.policy_time

    # --- the plan in effect ------------------------------------------------------------------------------------------

    def chosen(self, plan: Plan) -> tuple[Codes, ...]:
        """The elements of the placement's family that are 1, in codes of the part, by job."""
        given = plan.values.get(self.placement.variable)
        if given is None:
            return tuple(np.zeros(0, dtype=np.int64) for _ in self.placement.indices)
        columns = tuple(c[given.values > CHOSEN] for c in given.codes)
        order = np.argsort(columns[self.placement.position("job") or 0], kind="stable")
        return tuple(c[order] for c in columns)

    def know_jobs(self) -> None:
        """Note when the jobs of the plan are due, and what being late costs."""
        assert self.reader is not None
        assert self.part is not None
        jobs = self.part.kept.get(self.jobs_root, np.zeros(0, dtype=np.int64))
        if len(jobs):
            self.world.know(jobs, *self.reader.jobs(np.arange(len(jobs), dtype=np.int64)))

    def put(self, columns: tuple[Codes, ...], entries: Allocations) -> Any:
        """Let the world run these entries from now on; returns what changed."""
        reader = self.reader
        assert reader is not None
        self.columns, self.entry_jobs = columns, entries.job
        delays, costs = reader.changes(columns)
        changed = self.world.apply(entries, delays, costs, costs.get("halt"))
        self.charge_rates()
        return changed

    def charge_rates(self) -> None:
        """Rates of what runs now: after a plan, and when a job has left."""
        assert self.reader is not None
        rates(self.online, self.world, self.reader, self.columns, self.entry_jobs)

    def left(self) -> None:
        """Jobs have ended, or were halted by a failure: rates are of those that go on."""
        if self.reader is not None:
            self.charge_rates()

    def drop_ended(self) -> None:
        """Leave jobs that do not run any more out of the plan that holds."""
        variable = self.placement.variable
        if self.standing is None or not self.jobs_root or variable not in self.standing.values:
            return
        at = self.placement.position("job")
        if at is not None:
            given = self.standing.values[variable]
            running = self.world.status[given.codes[at]] == RUNNING
            self.standing = without(self.standing, variable, running)

    def note(self, plan: Plan, changed: Any) -> None:
        """The line of this plan in the record."""
        why, plan_seconds, build_seconds, other = self._pending
        counts = {name: len(getattr(changed, name)) for name in CHANGES}
        self.steps.append(
            RunStep(
                len(self.steps), self.world.now, why, plan.method, plan.status, len(self.world.present()),
                len(self.world.running), counts["start"], counts["resume"], counts["migration"], counts["resize"],
                counts["halt"], counts["boot"], plan_seconds, build_seconds, other, plan.objective, plan.bound,
            )
        )  # fmt: skip
        self.tell(self)

    @property
    def money(self) -> Unit:
        return next((o.unit for o in self.online.base.objectives), DIMENSIONLESS)

    def amount(self, charge: CheckedCharge) -> Unit:
        """The unit of what a stated charge adds up to: rates are by the time of the clock."""
        return charge.unit if self.online.window is not None else charge.unit * self.online.unit

    def charge_stated(self, times: float, slots: tuple[str, Codes] | None = None) -> None:
        """Add the stated charges of the plan in effect."""
        if not self.online.charges or self.part is None or self.instance is None or self.standing is None:
            return
        values = self.inner(self.standing.values, self.part)
        store = plan_store(self.online, self.instance.store, values, self.base.limits, slots)
        for stated in self.online.charges:
            times_money = times * number_factor(self.amount(stated), self.money)  # 1 for what is no money
            charge(
                stated, self.online, store, self.base.limits, self.part, self.world.ledger, times_money,
                self.jobs_root, self.places_root,
            )  # fmt: skip

    # --- events that nobody plans ------------------------------------------------------------------------------------

    def fail(self, root: str, codes: Codes) -> None:
        """Nodes go down: what runs on them is halted."""
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
            message = f"the journal does not fit this run: its step {data['number']} is at {data['time']:g}"
            help = "the journal is of other inputs or options; start a new one"
            raise DiagnosticError([Diagnostic("GSM7003", message, help=help)])
        whole = plan_from(dict(data["plan"]), self.types, self.base.store.universes)
        again = None if whole.again is None else self.inner({"": whole.again}, part)[""]
        remembered = {name: self.inner({"": g}, part)[""] for name, g in whole.remembered.items()}
        return Plan(
            self.inner(whole.values, part), whole.method, whole.status, whole.seconds, whole.objective, whole.bound,
            again, remembered, whole.notes,
        )  # fmt: skip

    def _write(self, plan: Plan, part: InstanceView, why: tuple[str, ...], events: list[dict[str, Any]]) -> None:
        assert self.journal is not None
        values = {n: self._outer(n, g, part) for n, g in plan.values.items() if n in self.kept}
        again = None if plan.again is None else self._outer("", plan.again, part)
        remembered = {name: self._outer("", given, part) for name, given in plan.remembered.items()}
        whole = Plan(
            values, plan.method, plan.status, plan.seconds, plan.objective, plan.bound, again, remembered, plan.notes
        )
        data = plan_data(whole, self.types, self.base.store.universes)
        step = {"number": len(self.steps), "time": self.world.now, "why": list(why), "events": events, "plan": data}
        self.journal.write(step)

    # --- the end -----------------------------------------------------------------------------------------------------

    def outcome(self, ended: str, **extra: Any) -> RunOutcome:
        money, spare = self.money, None if self.fallback is None else self.fallback.name
        amounts = {c.name: self.amount(c) for c in self.online.charges}
        quantities = {name: str(unit) for name, unit in amounts.items() if not convertible(unit, money)}
        return RunOutcome(
            online=self.online,
            base=self.base,
            world=self.world,
            steps=tuple(self.steps),
            ended=ended,
            unit=self.unit,
            money=str(money),
            slot_length=self.slot_length,
            events=self.events,
            quantities=quantities,
            warnings=(*self.warnings, *(f.warning(spare) for f in self.failures.values())),
            extra=extra,
            event_by_event=self.event_by_event,
        )

    def warn(self, code: str, message: str, help: str | None = None) -> None:
        self.warnings.append(Diagnostic(code, message, self.online.span, help=help, severity=Severity.WARNING))
