"""A loop with external events: time advances with them, and progress is reported, not simulated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar, cast

import msgspec
import numpy as np

from gpusched_dsl.data.sources.python_values import pieces_of
from gpusched_dsl.ir.domains import decode
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.magnitudes import LARGEST, check_magnitudes
from gpusched_dsl.online.data.updates import with_jobs, with_values
from gpusched_dsl.online.live.clock import LiveClock
from gpusched_dsl.online.live.messages import (
    VERSION,
    AnyEvent,
    Arrival,
    Completion,
    Decided,
    Entry,
    NodeDown,
    NodeUp,
    Progress,
    Value,
    Withdrawal,
    content_of,
    event_of,
)
from gpusched_dsl.online.loops.base import MadePlan
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.restoring import LoopState
from gpusched_dsl.online.loops.setup import period_of
from gpusched_dsl.online.planners.failures import is_of_solving
from gpusched_dsl.online.planners.protocol import Planner
from gpusched_dsl.online.run_record import RunStep
from gpusched_dsl.online.simulation.realisation import truth_of
from gpusched_dsl.online.simulation.world import FUTURE, GONE, RUNNING, WAITING

Label = str | int
P = TypeVar("P", bound=Planner | None)
_MOST_INTEGER = 2**63
_INTEGER = re.compile(r"-?[0-9]{1,18}")
REHEARSAL = 1.0  # seconds at most for a plan that is made to see whether one can be made


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event that fits the data `checked_against`; `base` are the data that it leads to, where it changes them."""

    event: AnyEvent
    checked_against: Any
    base: Any


@dataclass(eq=False)
class LiveEventLoop(EventLoop):
    """Implements `gpusched_dsl.online.live.session.LiveLoop`: equal calls make equal decisions.

    Jobs of the scenario come when it says; others come by events, with what is known of them. Between events jobs
    progress as planned; they end when that is told.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.world.ends[:] = np.inf
        self._why: list[str] = []
        self._told: list[Decided] = []
        self._ids: set[str] = set()

    @property
    def now(self) -> float:
        return self.world.now

    # --- events ------------------------------------------------------------------------------------------------------

    def on_event(self, event: AnyEvent | Mapping[str, Any]) -> Sequence[Decided]:
        """Apply an event and plan if it requires that; return the decisions.

        A dictionary is one as in a line of a live run; `version` and `id` may be left out. An event whose id is known
        changes nothing. Its time is a number in the unit of the clock; without one, or where it is past, it is now.
        Raises DiagnosticError for an event that does not fit or cannot be planned for; nothing has changed then.
        """
        if isinstance(event, Mapping):
            told = {"version": VERSION, "id": f"event {self.events + 1}", **event}
            event = event_of(content_of(msgspec.json.encode(told)))
        if event.id in self._ids:
            return ()
        time = LiveClock(str(self.online.unit)).read(event.time, self.now)
        candidate = self.check(event)
        before = self.state()
        try:
            self.apply(candidate, max(time, self.now))
            made = self.decide()
            if made is not None and isinstance(event, Arrival | Value):
                self._refuse_failure(made)
        except Exception:
            self.restore(before)
            raise
        self._ids.add(event.id)
        return self.decisions()

    def check(self, event: AnyEvent) -> Candidate:
        """The event with the data that it leads to, for `apply`; nothing changes.

        Raises DiagnosticError for an event that does not fit: GSM5207, as data are checked, and GSM7007 for numbers
        beyond what a run can compute with.
        """
        base: Any = None
        match event:
            case Arrival():
                if self._known(event.job) is None:
                    base = self._new_base(event)
                elif self.world.status[self._job(event.job)] != FUTURE:
                    _refuse(f"job `{event.job}` is already present", "use one label for all events of a job")
            case Completion() | Progress() | Withdrawal():
                code = self._job(event.job)
                if self.world.status[code] not in (WAITING, RUNNING):
                    _refuse(f"job `{event.job}` is not present", "it has not arrived, or has already ended")
                if isinstance(event, Progress) and event.done is not None and not event.done <= LARGEST:
                    help = "write `done` in the unit of `work` in the block"
                    _refuse(
                        f"job `{event.job}` has done {event.done:g}; the largest possible value is {LARGEST:g}", help
                    )
            case NodeDown() | NodeUp():
                self._node(event.node)
            case Value():
                base = self._with_values(event)
        return Candidate(event, self.base, base)

    def apply(self, candidate: Candidate, time: float) -> None:
        """Advance to `time` and apply an event that `check` accepted, without a plan.

        Raises ValueError where the data have changed since it was checked.
        """
        if candidate.checked_against is not self.base:
            raise ValueError("the data have changed since the event was checked")
        event = candidate.event
        self.advance(max(time, self.now))
        if len(self.world.arrive()):  # jobs of the scenario
            self._why.append("arrival")
        match event:
            case Arrival():
                self._arrive(event, candidate.base)
            case Completion():
                self.world.finish(self._jobs(event.job))
                self._why.append("completion")
                self.left()
            case Progress():
                code = self._job(event.job)
                work = self.world.work[code]
                self.world.done[code] = event.done if event.done is not None else (event.fraction or 0.0) * work
            case Withdrawal():
                self.world.withdraw(self._jobs(event.job))
                self._why.append("completion")
                self.left()
            case NodeDown():
                self.fail(self.places_root, np.array([self._node(event.node)]))
                self._why.append("failure")
            case NodeUp():
                self.recover(self.places_root, np.array([self._node(event.node)]))
                self._why.append("recovery")
            case Value():
                self._use(candidate.base)
                self.period = period_of(self.online, self.base)
                self._why.append("change")
        self.events += 1

    def decide(self, why: tuple[str, ...] = ()) -> MadePlan | None:
        """Plan if the applied events require it, if the period is over, or if the policy requested this time."""
        asked = list(dict.fromkeys(w for w in self._why if self.online.replans_on(w)))
        self._why = []
        if self.period_is_over(asked):
            asked.append("period")
        if (self.world.request <= self.now + self.world.tolerance()).any():
            asked.append("request")
        made = super().decide((*why, *asked)) if asked else None
        if made is not None:
            self._told.append(self._decided())
        return made

    def decisions(self) -> Sequence[Decided]:
        """Return the decisions since the last call."""
        told, self._told = self._told, []
        return told

    # --- on trial ----------------------------------------------------------------------------------------------------

    def state(self) -> LoopState:
        return LoopState(self)

    def restore(self, state: object) -> None:
        assert isinstance(state, LoopState)
        state.restore(self)
        self.planner, self.fallback = _anew(self.planner), _anew(self.fallback)

    def rehearse(self, made: MadePlan | None) -> None:
        """Plan within a second and discard the plan, unless `decide` has just `made` one.

        Raises DiagnosticError as planning, and where the solver fails, although the fallback could plan: a job or a
        value with which the solver cannot plan is refused rather than all is left to the fallback. Where it had failed
        without the event already, the event is not to blame.
        """
        if made is not None:
            self._refuse_failure(made)
        if made is not None or not len(self.world.present()):
            return
        _, request = self.request()
        planner = self.planner.fresh()
        try:
            planner.plan(replace(request, seconds=min(self.config.time_limit or REHEARSAL, REHEARSAL)))
        except DiagnosticError as error:
            if not (self._failed_at(self.steps[-1:]) and is_of_solving(error)):
                raise
        finally:
            planner.close()

    def _failed_at(self, steps: Sequence[RunStep]) -> bool:
        """Whether the fallback made the plan of a step; the steps are in the journal."""
        return any(step.method != self.planner.name for step in steps)

    def _refuse_failure(self, made: MadePlan) -> None:
        """Raise the error of the solver at the last plan, unless it failed at the plan before as well."""
        if made.failure is not None and not self._failed_at(self.steps[-2:-1]):
            raise made.failure

    def finish(self) -> dict[str, Any]:
        """Return the cost of the run so far, and the number of finished jobs."""
        outcome = self.outcome("finished")
        world = self.world
        return {
            "total": outcome.total,
            "costs": dict(world.ledger.totals),
            "done": int(np.isfinite(world.end).sum() - (world.status == GONE).sum()),
            "present": len(world.present()),
            "plans": len(self.steps),
        }

    # --- inside ------------------------------------------------------------------------------------------------------

    def _decided(self) -> Decided:
        assert self.standing is not None
        step = self.steps[-1]
        entries = {}
        for name in sorted(self.setup.kept & self.standing.values.keys()):
            given = self.standing.values[name]
            labels = decode(self.codes.components(name), given.codes) if given.codes else [()] * len(given.values)
            entries[name] = [Entry(list(k), v) for k, v in zip(labels, given.values.tolist(), strict=True)]
        return Decided(
            step=step.number + 1, time=step.time, why=list(step.why), method=step.method, status=step.status,
            seconds=step.plan_seconds, objective=step.objective, bound=step.bound, entries=entries,
        )  # fmt: skip

    def _known(self, label: Label) -> int | None:
        return self.base.store.universes[self.jobs_root].code_of.get(label)

    def _job(self, label: Label) -> int:
        code = self._known(label)
        if code is None:
            universe = self.base.store.universes[self.jobs_root]
            near = did_you_mean(str(label), map(str, universe.labels))
            _refuse(f"unknown job `{label}`", near or "send its arrival first")
        return code

    def _jobs(self, label: Label) -> Any:
        return np.array([self._job(label)], dtype=np.int64)

    def _node(self, label: Label) -> int:
        universe = self.base.store.universes[self.places_root]
        code = universe.code_of.get(label)
        if code is None:
            _refuse(f"unknown node `{label}`", did_you_mean(str(label), map(str, universe.labels)) or "")
        return code

    def _arrive(self, event: Arrival, base: Any) -> None:
        """`base` has the job; None where the data have had it before."""
        code = self._known(event.job)
        if code is None:
            code = len(self.world.status)
            self._use(base)
            truth = truth_of(self.online, base, self.config.seed, self.setup.slot_length)
            new = slice(code, code + 1)
            self.world.grow(
                replace(
                    truth, arrival=np.array([self.now]), work=truth.work[new], ends=np.array([np.inf]),
                    stretch=np.ones(1),
                )
            )  # fmt: skip
            for name, kept in self.memory.items():
                self.memory[name] = np.append(kept, np.nan)
        else:
            self.world.arrival[code] = self.now
        self.world.arrive()
        self._why.append("arrival")

    def _new_base(self, event: Arrival) -> Any:
        """The base with the job of an event, from the values that it brings along."""
        model = self.base.model
        replaced = {self.jobs_root: pieces_of(model, self.jobs_root, [event.job])}
        for name, told in event.values.items():
            if name in self.online.brought:
                continue
            if name not in model.params and name not in model.sets:
                _refuse(f"`{name}` is not a parameter of `{model.name}`", did_you_mean(name, model.params) or "")
            if name in model.sets:
                rows = told if isinstance(told, list) else [[told]]
                replaced[name] = pieces_of(model, name, [(event.job, *row) for row in rows])
            else:
                replaced[name] = pieces_of(model, name, dict(_values_by_subscripts(name, told, (event.job,))))
        base, _ = with_jobs(self.base, self.jobs_root, replaced)
        check_magnitudes(base, replaced)
        return base

    def _with_values(self, event: Value) -> Any:
        """The base with the values of an event."""
        params = self.base.store.params
        for name in event.values:
            if name not in params or self.base.model.params[name].value is not None:
                _refuse(f"`{name}` is not a parameter that can change", did_you_mean(name, params) or "")
        changes = {name: _values_by_subscripts(name, told, ()) for name, told in event.values.items()}
        base = with_values(self.base, changes)
        check_magnitudes(base, event.values)
        period_of(self.online, base)
        return base


def _anew(planner: P) -> P:
    """Return a planner without the state of a failed plan."""
    if planner is None:
        return planner
    planner.close()
    return cast(P, planner.fresh())


def _values_by_subscripts(name: str, told: Any, before: tuple[Label, ...]) -> list[tuple[tuple[Label, ...], Any]]:
    """Values by subscripts: one value, an object by subscripts joined with commas, or rows of subscripts and value."""
    if isinstance(told, Mapping):
        pairs = [((*before, *_split(key)), value) for key, value in told.items()]
    elif isinstance(told, list):
        if not all(told):
            _refuse(f"a row of `{name}` is empty", "a row has the subscripts and then the value")
        pairs = [((*before, *row[:-1]), row[-1]) for row in told]
    else:
        pairs = [(before, told)]
    for key, value in pairs:
        if isinstance(value, int) and abs(value) > _MOST_INTEGER:
            shown = ",".join(map(str, key))
            _refuse(f"`{name}` of `{shown}` is an integer of {value.bit_length()} bits", "the largest number is 1e+15")
    return pairs


def _split(key: str) -> tuple[Label, ...]:
    return tuple(int(k) if _INTEGER.fullmatch(k.strip()) else k.strip() for k in key.split(","))


def _refuse(message: str, help: str) -> NoReturn:
    raise DiagnosticError([Diagnostic("GSM5207", message, help=help or None)])
