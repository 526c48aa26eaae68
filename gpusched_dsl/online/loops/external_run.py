"""What all loops with external events share: time advances with the events, and progress is reported, not simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.ir.arrays import Codes, Ints
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.past import CurrentPlan
from gpusched_dsl.online.data.updates import with_only
from gpusched_dsl.online.live.clock import LiveClock, live_clock
from gpusched_dsl.online.live.labels import Label, job_code, node_code
from gpusched_dsl.online.live.messages import (
    AnyEvent,
    Arrival,
    Arrivals,
    Completion,
    Decided,
    NodeDown,
    NodeUp,
    Progress,
    Value,
    Withdrawal,
    other_event,
)
from gpusched_dsl.online.live.python_events import fingerprint, python_event
from gpusched_dsl.online.live.seen_names import SeenNames
from gpusched_dsl.online.loops import forgetting
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.event_check import Candidate, check_event
from gpusched_dsl.online.loops.forgetting import ended_long_ago, reads_ended_jobs, without_jobs
from gpusched_dsl.online.loops.planning_result import PlanningResult
from gpusched_dsl.online.loops.restoring import LoopState
from gpusched_dsl.online.planners.failures import OF_LIVE_PLANS, is_of_solving
from gpusched_dsl.online.planners.protocol import Planner, PlanningRequest
from gpusched_dsl.online.run_record import RunStep
from gpusched_dsl.online.simulation.realisation import realisation_of, redraw, stretch_beyond
from gpusched_dsl.online.simulation.world import DONE, RUNNING, WAITING

P = TypeVar("P", bound=Planner | None)
REHEARSAL = 1.0  # seconds at most for a plan that only shows whether planning succeeds


@dataclass(eq=False)
class ExternalLoop(SimulationLoop):
    """Implements `gpusched_dsl.online.live.session.LiveLoop`: equal calls make equal decisions.

    Jobs of the scenario arrive at the times of the scenario; others arrive by events, with their values. Between events
    jobs progress as planned; they end when an event reports that. Jobs and plans of long ago are forgotten
    (`forgetting.py`). `live_clock` reads the times of events. Subclasses
    define how time passes, when a plan is due, and the decision in effect.
    """

    recoverable: ClassVar[frozenset[str]] = OF_LIVE_PLANS
    live_clock: LiveClock = field(default_factory=LiveClock, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.world.ends[:] = np.inf
        if not self.live_clock.unit:
            self.live_clock = live_clock(self.setup.clock)
        self._pending_reasons: list[str] = []
        self._unreported: list[Decided] = []
        self._ids, self._contents = SeenNames(), SeenNames()  # of the events of a program
        self.forgotten = SeenNames()  # labels of jobs
        self._forgotten_done = 0
        self._forgets = self.controllers is None and not reads_ended_jobs(self.online, self.base)
        self._measured: frozenset[int] = frozenset()  # jobs whose progress was reported

    @property
    def now(self) -> float:
        return self.world.now

    def pass_time(self, time: float) -> None:
        """Advance to the time of an event, not before `now`."""
        raise NotImplementedError

    def decide(self, why: tuple[str, ...] = ()) -> PlanningResult | None:
        """Plan if the applied events or the time require it; return the plan, None without one."""
        raise NotImplementedError

    def decision(self) -> Decided | None:
        """Return the decision in effect, without jobs that do not run any more; None before the first plan."""
        raise NotImplementedError

    def without_departed(self, plan: CurrentPlan) -> CurrentPlan:
        """Return a plan without the jobs that are not there any more."""
        there = np.isin(self.world.status, (WAITING, RUNNING))
        for name, values in plan.values.items():
            kept = np.ones(len(values.values), dtype=np.bool_)
            for component, codes in zip(self.codes.components(name), values.codes, strict=True):
                if component is not None and component.name == self.jobs_root:
                    kept &= there[codes]
            plan = plan.without(name, kept)
        return plan

    def next_due(self) -> float:
        """Return the time at which a plan or a change is due without a further event; infinite if there is none."""
        raise NotImplementedError

    def planned_to_run(self, time: float) -> Ints:
        """Return the jobs that have run between the last event and `time` according to the plan."""
        return self.world.running

    # --- events ------------------------------------------------------------------------------------------------------

    def on_event(self, event: AnyEvent | Mapping[str, Any]) -> Sequence[Decided]:
        """Apply an event and plan if it requires that; return the decisions (`interface/live.py`).

        Raises DiagnosticError for an event that does not fit or cannot be planned for; then nothing has changed.
        """
        event = python_event(event, self._free_id())
        content = fingerprint(event)
        if event.id in self._ids:
            if content not in self._contents:
                raise DiagnosticError([other_event(event.id)])
            return ()
        time = self.live_clock.read(event.time, self.now)
        candidate = self.check(event)
        before = self.state()
        try:
            self.apply(candidate, max(time, self.now))
            result = self.decide()
            if result is not None and isinstance(event, Arrival | Arrivals | Value):
                self._raise_failure(result)
        except Exception:
            self.restore(before)
            raise
        self._ids.add(event.id)
        self._contents.add(content)
        return self.decisions()

    def _free_id(self) -> str:
        """Return an id for an event without one."""
        number = self.events + 1
        while f"event {number}" in self._ids:
            number += 1
        return f"event {number}"

    def check(self, event: AnyEvent) -> Candidate:
        """Return the event with the changed data, for `apply`; nothing changes.

        Raises DiagnosticError for an event that does not fit: GSM5207, as data are checked, and GSM7007 for numbers
        that a run cannot compute with.
        """
        return check_event(event, self.base, self.online, self.world, self.forgotten)

    def apply(self, candidate: Candidate, time: float) -> None:
        """Advance to `time` and apply an event that `check` accepted, without a plan.

        Raises ValueError where the data have changed since it was checked.
        """
        if candidate.checked_against is not self.base:
            raise ValueError("the data have changed since the event was checked")
        self.pass_time(max(time, self.now))
        self.note_event(candidate)
        self.events += 1

    def note_event(self, candidate: Candidate) -> None:
        """Apply an accepted event at the present time."""
        event = candidate.event
        match event:
            case Arrival():
                self._arrive((event.job,), candidate.base)
            case Arrivals():
                self._arrive([one.job for one in event.jobs], candidate.base)
            case Completion():
                self.world.finish(self._jobs(event.job))
                self._pending_reasons.append("completion")
                self.handle_departures()
            case Progress():
                code = self._job(event.job)
                work = self.world.work[code]
                self.world.done[code] = event.done if event.done is not None else (event.fraction or 0.0) * work
                self._measured -= {code}
                if self.world.done[code] > 0:
                    self._measured |= {code}
            case Withdrawal():
                self._withdraw(self._jobs(event.job), returns=event.returns)
                self._pending_reasons.append("completion")
                self.handle_departures()
            case NodeDown():
                self.fail_nodes(self.places_root, np.array([self._node(event.node)]))
                self._pending_reasons.append("failure")
            case NodeUp():
                self.nodes.recover(self.places_root, np.array([self._node(event.node)]))
                self._pending_reasons.append("recovery")
            case Value():
                assert candidate.base is not None
                self.use_data(candidate.base)
                self._pending_reasons.append("change")

    def decisions(self) -> Sequence[Decided]:
        """Return the decisions since the last call."""
        decisions, self._unreported = self._unreported, []
        return decisions

    # --- on trial ----------------------------------------------------------------------------------------------------

    def state(self) -> LoopState:
        return LoopState(self)

    def restore(self, state: object) -> None:
        assert isinstance(state, LoopState)
        state.restore(self)
        self.planner, self.fallback = _restart(self.planner), _restart(self.fallback)

    def rehearse(self, result: PlanningResult | None) -> None:
        """Plan within a second and discard the plan, unless `decide` has just returned the `result` of one.

        Raises DiagnosticError as planning does, also where only the solver fails: a job or a value that the solver
        cannot plan with is refused, so that later plans do not all need the fallback. If the solver had failed
        before the event already, the event is accepted.
        """
        if result is not None:
            self._raise_failure(result)
        if result is not None or not len(self.world.present()):
            return
        request = self.rehearsal_request()
        planner = self.planner.fresh()
        try:
            planner.plan(replace(request, seconds=min(self.config.time_limit or REHEARSAL, REHEARSAL)))
        except DiagnosticError as error:
            if not (self._used_fallback(self.steps[-1:]) and is_of_solving(error, self.recoverable)):
                raise
        finally:
            planner.close()

    def rehearsal_request(self) -> PlanningRequest:
        """Return the request of the next plan as far as it is known, without a change of the run."""
        return self.request()[1]

    def _used_fallback(self, steps: Sequence[RunStep]) -> bool:
        """Whether the fallback computed the plan of a step; the steps are in the journal."""
        return any(step.method != self.planner.name for step in steps)

    def _raise_failure(self, result: PlanningResult) -> None:
        """Raise the error of the solver at the last plan, unless it failed at the plan before as well."""
        if result.failure is not None and not self._used_fallback(self.steps[-2:-1]):
            raise result.failure

    # --- continuations and the end -----------------------------------------------------------------------------------

    def draw_unknown(self, other: SimulationLoop, seed: int) -> None:
        """Draw the unknown quantities of a simulated continuation.

        The draws are conditional: no job has ended until now. Without reports of its progress, a running job that
        takes s times as long as planned has done 1/s of the progress that was planned. Nobody else arrives.
        """
        world = other.world
        drawn = realisation_of(self.online, self.base, seed, self.setup.slot_length)
        started = world.done > 0
        world.ends, _ = redraw(self.online, self.base, drawn.ends, drawn.stretch, world.done, started, seed)
        planned = np.where(started, world.done / world.work, 0.0)
        planned[list(self._measured)] = 0.0
        beyond = stretch_beyond(self.online, self.base, planned, seed)
        world.stretch = drawn.stretch if beyond is None else beyond
        unmeasured = started.copy()
        unmeasured[list(self._measured)] = False
        slower = world.stretch if self.online.ends is not None else np.maximum(world.stretch, planned)
        world.done[unmeasured] /= slower[unmeasured]  # a job that is overdue ends now
        other.nodes = self.nodes.redraw(world.now, seed)

    def finish(self) -> dict[str, Any]:
        """Return the cost of the run so far, and the number of finished jobs."""
        outcome = self.outcome("finished")
        world = self.world
        return {
            "total": outcome.total,
            "costs": dict(world.ledger.totals),
            "done": int((world.status == DONE).sum()) + self._forgotten_done,
            "present": len(world.present()),
            "plans": self.step_count,
            "plans_broken": 0 if self.diagnostics.broken is None else self.diagnostics.broken.plans,
        }

    # --- long runs ---------------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Remove jobs and plans of long ago; a plan must follow, with the new data."""
        if len(self.steps) >= 2 * forgetting.KEPT:
            self.forgotten_steps += len(self.steps) - forgetting.KEPT
            self.steps = self.steps[-forgetting.KEPT :]
        if len(self.world.stretches) >= 2 * forgetting.KEPT:
            self.world.stretches = []
        jobs = ended_long_ago(self.world) if self._forgets else self.world.running[:0]
        if self.past is not None:  # `carry` reads the jobs of the last plan
            jobs = jobs[self.world.end[jobs] < self.past.time]
        if not len(jobs):
            return
        world, root = self.world, self.jobs_root
        kept, part = without_jobs(self.base, root, jobs)
        try:
            base = with_only(self.base, part)
        except DiagnosticError:  # a check of the model needs the other jobs
            self._forgets = False
            return
        self._forgotten_done += int((world.status[jobs] == DONE).sum())
        self.forgotten = self.forgotten.union(self.base.labels(root, jobs))
        if self.current_plan is not None:
            self.current_plan = CurrentPlan(self.codes.all_inner(self.current_plan.values, part))
        if self.past is not None:
            self.past = self.past.translated(
                lambda values: self.codes.all_inner(values, part),
                lambda name, columns: self._inner(part, name, columns),
            )
        measured = np.zeros(len(world.status), dtype=np.bool_)
        measured[list(self._measured)] = True
        self._measured = frozenset(np.flatnonzero(measured[kept]).tolist())
        world.keep_jobs(kept)
        self.memory.keep_jobs(kept)
        self.use_data(base)
        self.last_result, self.columns, self.allocated_jobs = None, (), kept[:0]

    def _inner(self, part: InstanceView, name: str, columns: tuple[Codes, ...]) -> tuple[Codes, ...]:
        """Return the index of a parameter in codes of a part."""
        return part.inner_codes(self.base.store.params[name].domain.components, columns)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _job(self, label: Label) -> int:
        return job_code(self.base, self.jobs_root, label)

    def _jobs(self, label: Label) -> Ints:
        return np.array([self._job(label)], dtype=np.int64)

    def _node(self, label: Label) -> int:
        return node_code(self.base, self.places_root, label)

    def _withdraw(self, jobs: Ints, *, returns: bool) -> None:
        """Take jobs out of the queue for good, or until they arrive again."""
        if not returns:
            self.world.withdraw(jobs)
            return
        self.world.halt(jobs[self.world.status[jobs] == RUNNING])
        self.world.hold(jobs)

    def _arrive(self, labels: Sequence[Label], base: Base | None) -> None:
        """Add jobs; `base` are the data with new ones, None if the data had the job before."""
        if base is not None:
            first, new = len(self.world.status), len(labels)
            self.use_data(base)
            realisation = realisation_of(self.online, base, self.config.seed, self.setup.slot_length)
            self.world.grow(
                replace(
                    realisation, arrival=np.full(new, self.now), work=realisation.work[first:],
                    ends=np.full(new, np.inf), stretch=np.ones(new),
                )
            )  # fmt: skip
            self.memory.add_jobs(new)
        else:
            self.world.arrival[[self._job(label) for label in labels]] = self.now
        self.world.arrive()
        self._pending_reasons.append("arrival")


def _restart(planner: P) -> P:
    """Return a planner without the state of a failed plan."""
    if planner is None:
        return planner
    planner.close()
    return cast(P, planner.fresh())
