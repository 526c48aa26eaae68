"""Drives a cluster through the live loop and its journal: observations become events, decisions become actions."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR, UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET, structs

from gpusched_dsl.compiling.build import check_solvable
from gpusched_dsl.language.calendar import Calendar
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.scenarios.scenario import states_calendar
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.checkpoints.state_files import UNWRITABLE, CheckpointedSteps
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.quarantine import split_quarantined
from gpusched_dsl.online.live.clock import LONGEST_RUN, LiveClock, start_of
from gpusched_dsl.online.live.messages import Acknowledged, AnyRecord, Decided, Failed, Quarantined
from gpusched_dsl.online.live.seen_names import SeenNames
from gpusched_dsl.online.live.session import LiveRun
from gpusched_dsl.online.live.trial import Defect, plain_defect
from gpusched_dsl.online.open import run_scenario
from gpusched_dsl.online.planners.protocol import BROKEN
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.live import LiveParts, live_parts
from gsdsl_clusters.drivers.actuator import Actuator
from gsdsl_clusters.drivers.capacity import capacity_of
from gsdsl_clusters.drivers.events import CAPACITY, Content, EventMaker, KnownState, event_content
from gsdsl_clusters.drivers.exclusions import wrong_shape
from gsdsl_clusters.drivers.history import HistoryWriter
from gsdsl_clusters.drivers.mapping import JobMapping, check_mapping
from gsdsl_clusters.drivers.protocol import (
    Action,
    ActionRefused,
    Allocation,
    ClusterUnavailable,
    DrivenCluster,
    ExplainingCluster,
    JobState,
    Observation,
    ObservedJob,
    PreparedCluster,
)
from gsdsl_clusters.drivers.reconcile import Difference, WantedState, answers, difference
from gsdsl_clusters.drivers.records import RECORD, RecordFile
from gsdsl_clusters.drivers.settings import FREEZE, DriveSettings
from gsdsl_clusters.drivers.source import ClusterLines
from gsdsl_clusters.drivers.value_file import ValueFile
from gsdsl_clusters.drivers.waiting_jobs import WaitingExplainer

JOURNAL, ACTIONS, HISTORY, ORIGIN, MODE = "run.db", "actions.jsonl", "cluster.jsonl", "drive.json", "mode"
AT_END = ("GSM7050", "GSM7052", UNWRITABLE)  # warnings of a run that are reported at its end
Report = Callable[[Diagnostic], None]


@dataclass(frozen=True)
class DriveOptions:
    """`acts`: change the cluster, else only watch. The run ends after `rounds` observations, or if `stop` says so.

    `wait` passes a number of seconds; `on_action` is called with every change, in shadow mode with those not made, and
    `on_observation` with the time of every observation, after it is recorded. `on_state` gets each observation with the
    plan, after it was carried out, and the time.
    """

    acts: bool = False
    rounds: int | None = None
    stop: Callable[[], bool] = lambda: False
    now: Callable[[], float] = time.time
    wait: Callable[[float], object] = time.sleep
    on_action: Callable[[Action], None] = lambda action: None
    on_observation: Callable[[float], None] = lambda now: None
    on_state: Callable[[Observation, WantedState, float], None] = lambda observation, plan, now: None


@dataclass
class DriveSummary:
    """What a driver run did: observations, events, plans, changes (in shadow mode: those it would have made).

    `broken` counts the decisions whose plan violates the model or was refused because it did.
    """

    rounds: int = 0
    events: int = 0
    plans: int = 0
    changes: int = 0
    broken: int = 0
    left_out: dict[str, str] = field(default_factory=dict)


def config_of(settings: DriveSettings, method: str | None = None) -> RunConfig:
    """The configuration of the runs of a cluster file, whose author may name programs."""
    config = RunConfig(
        online=settings.online, scenario=settings.scenario, method=method or settings.method,
        fallback=settings.fallback, time_limit=settings.time_limit, seed=settings.seed,
        journal=settings.folder / JOURNAL, refuses_broken=settings.guard.obeys_model,
    )  # fmt: skip
    return config.allowing(config.method, config.fallback)


def drive(
    workspace: Workspace,
    settings: DriveSettings,
    cluster: DrivenCluster,
    options: DriveOptions,
    *,
    report: Report,
    on_record: Callable[[Any], None] = lambda record: None,
    defect: Defect = plain_defect,
) -> DriveSummary:
    """Drive the cluster of a cluster file until the run ends; the same call continues it.

    `report` gets warnings as they occur, `on_record` the records of the live run. Raises DiagnosticError for errors in
    text, data and the cluster file, for records that cannot be used, and as the journal does.
    """
    start = start_of_run(workspace, settings, options.now)
    _check_mode(settings, acts=options.acts)
    parts = parts_of(workspace, settings, start)
    for warning in parts.warnings:
        report(warning)
    mapping = mapping_of(settings, parts, start)
    if options.acts:
        _prepare(cluster, settings.interval, options, report)
    return _Drive(settings, cluster, options, report, on_record, parts, mapping).run(defect)


def _prepare(cluster: DrivenCluster, interval: float, options: DriveOptions, report: Report) -> None:
    """Prepare the cluster, again until it answers. Raises DiagnosticError: GSM5407 if it refuses, GSM5405 if it has not
    answered when the run is stopped.
    """
    if not isinstance(cluster, PreparedCluster):
        return
    attempts = 0
    while True:
        attempts += 1
        try:
            cluster.prepare()
            return
        except ActionRefused as refusal:
            raise DiagnosticError([Diagnostic("GSM5407", f"the cluster cannot be prepared: {refusal}")]) from refusal
        except ClusterUnavailable as failure:
            told = Diagnostic("GSM5405", f"the cluster cannot be prepared: {failure}", severity=Severity.WARNING)
            if attempts == 1:
                report(told)
            if attempts != options.rounds and not options.stop():
                options.wait(interval)
            if attempts == options.rounds or options.stop():
                raise DiagnosticError([structs.replace(told, severity=Severity.ERROR)]) from failure


def mapping_of(settings: DriveSettings, parts: LiveParts, start: datetime) -> JobMapping:
    """The mapping of a cluster file, checked against the model. Raises DiagnosticError."""
    if parts.clock.seconds is None:
        message = f"the clock of `{parts.setup.online.name}` is no time, so it cannot follow a cluster"
        raise DiagnosticError([Diagnostic("GSM5403", message, parts.setup.online.span, help="give it a unit of time")])
    online = parts.setup.online
    mapping = JobMapping(online.base, online, settings.derived, settings.sources, start.timestamp())
    given = parts.setup.base.instance.scenario.assignments
    check_mapping(mapping, settings.spans, settings.jobs_span, given)
    return mapping


def parts_of(workspace: Workspace, settings: DriveSettings, start: datetime, method: str | None = None) -> LiveParts:
    """Return what the run of a cluster file consists of. Its time zone is stated, or there is none."""
    config = config_of(settings, method)
    return live_parts(workspace, config, start=start.isoformat(), has_zone=has_zone(settings))


def has_zone(settings: DriveSettings) -> bool:
    """Whether the start of a cluster file states a time zone."""
    return settings.start is not None and start_of(settings.start).tzinfo is not None


def start_of_run(
    workspace: Workspace, settings: DriveSettings, now: Callable[[], float], *, create: bool = True
) -> datetime:
    """Time 0 of the run: that of the folder, else of the cluster file, else of the scenario's calendar, else now.

    Raises DiagnosticError.
    """
    path = settings.folder / ORIGIN
    try:
        if path.exists():
            found: str = msgspec.json.decode(path.read_bytes(), type=dict[str, str])["start"]
            return _with_zone(start_of(found))
        at = int(now())
        calendar = _calendar_of(workspace, settings)
        if settings.start is not None:
            start = _stated_start(settings.start, at, calendar)
        elif calendar is not None:
            start = _check_start(calendar.date(0.0), at, "the start of the calendar", _STATE)
        else:
            start = datetime.fromtimestamp(at, UTC)
        if create:
            settings.folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(msgspec.json.encode({"start": start.isoformat()}) + b"\n")
        return start
    except (OSError, msgspec.MsgspecError, KeyError) as failure:
        help = "use another `folder` in the cluster file"
        raise DiagnosticError([Diagnostic(RECORD, f"`{path}` cannot be used: {failure}", help=help)]) from failure


def _calendar_of(workspace: Workspace, settings: DriveSettings) -> Calendar | None:
    """Return the calendar that the scenario states. Raises DiagnosticError."""
    name = run_scenario(workspace, settings.scenario, settings.online)
    if not states_calendar(workspace, name):
        return None
    checked = check_solvable(workspace, name)[0].calendar
    return None if checked is None else checked.calendar


def _check_mode(settings: DriveSettings, *, acts: bool) -> None:
    """Raise DiagnosticError (GSM5409) for a folder of the other mode: its plans were carried out, or were not."""
    path, mode = settings.folder / MODE, "act" if acts else "shadow"
    try:
        if not path.exists():
            path.write_text(mode + "\n", encoding="utf-8")
        found = path.read_text(encoding="utf-8").strip()
    except OSError as failure:
        raise DiagnosticError([Diagnostic(RECORD, f"`{path}` cannot be used: {failure.strerror}")]) from failure
    if found != mode:
        message = f"`{settings.folder}` has the records of a run {'with' if found == 'act' else 'without'} `--act`"
        help = "use another `folder` in the cluster file: the jobs of these records run by other decisions"
        raise DiagnosticError([Diagnostic(RECORD, message, help=help)])


def _stated_start(text: str, now: float, calendar: Calendar | None) -> datetime:
    """The start of the cluster file, by default on the clock of the calendar. Raises DiagnosticError."""
    start = start_of(text)
    if start.tzinfo is None and calendar is not None:
        return _check_start(LiveClock(start=start, calendar=calendar).date_of(text), now, "`start`", _OMIT)
    if start.year <= 1 or start.year >= MAXYEAR:  # no other zone may have such a date
        start = start.replace(tzinfo=UTC)
    return _check_start(_with_zone(start), now, "`start`", _OMIT, text)


def _check_start(start: datetime, now: float, what: str, help: str, text: str = "") -> datetime:
    """Return the start. Raises DiagnosticError (GSM5402): before it, and long after it, no time passes."""
    passed = now - start.timestamp()
    if not 0 <= passed <= LONGEST_RUN:
        when = "in the future" if passed < 0 else "more than a thousand years ago"
        message = f"{what} is {text or start.isoformat()}, {when}"
        raise DiagnosticError([Diagnostic("GSM5402", message, help=help)])
    return start


def _with_zone(start: datetime) -> datetime:
    return start if start.tzinfo is not None else start.astimezone()


_STATE = "state a `start` in the cluster file"
_OMIT = "omit it: time 0 is then that of the scenario's calendar, or of the first observation"


class _Drive:
    """One run of a driver over a folder of records."""

    def __init__(
        self,
        settings: DriveSettings,
        cluster: DrivenCluster,
        options: DriveOptions,
        report: Report,
        on_record: Callable[[Any], None],
        parts: LiveParts,
        mapping: JobMapping,
    ) -> None:
        self._settings, self._cluster, self._options = settings, cluster, options
        self._report, self._on_record, self._parts, self._mapping = report, on_record, parts, mapping
        self.summary = DriveSummary()
        self._violated: set[str] = set()  # rows told
        self._down = False
        self._values = None if settings.values is None else ValueFile(settings.values, self._tell_left_out)
        self._told_left_out = SeenNames()
        explained = cluster if isinstance(cluster, ExplainingCluster) else None
        self._explainer = None if explained is None else WaitingExplainer(explained, options.now)
        self._waits: dict[str, tuple[Allocation, int]] = {}  # of planned jobs: observations since their start
        assert parts.clock.seconds is not None
        self._start, self._unit_seconds = mapping.start, parts.clock.seconds

    def run(self, defect: Defect) -> DriveSummary:
        folder, guard = self._settings.folder, self._settings.guard
        with ExitStack() as stack:
            journal = stack.enter_context(Journal.open(folder / JOURNAL, self._parts.header))
            actions, history = RecordFile(folder / ACTIONS), RecordFile(folder / HISTORY)
            stack.callback(actions.close)
            stack.callback(history.close)
            loop = self._parts.make_loop(CheckpointedSteps(journal))
            self._actuator = Actuator(
                self._cluster, actions, guard, folder / FREEZE, self._options.acts, self._options.now, self._tell,
                self._options.on_action,
            )  # fmt: skip
            self._history = HistoryWriter(history, self._mapping.values)
            self._maker = EventMaker(
                _known_of(journal), self._mapping.values, capacity_of(loop.placement, loop.base),
                lambda: self._plan().allocations, self._leave_out, self._note_leaving, acting=self._options.acts,
                checkpoints=guard.checkpoints, preempt=guard.preempt, patience=guard.patience,
                left_out=self.summary.left_out,
                plans_after=any(source.field == "after" for source in self._settings.sources.values()),
            )  # fmt: skip
            self._loop = loop
            self._lines = ClusterLines(
                self._cluster, self._maker, self._settings.interval, self._to_clock, self._settle, self._observed,
                self._unavailable, self._extra, self._options.rounds, self._options.stop, self._options.now,
                self._options.wait,
            )  # fmt: skip
            run = LiveRun(loop, self._receive, self._parts.name, self._parts.clock, journal, None, defect)
            run.run(self._lines)
            for warning in loop.warnings():
                if warning.code in AT_END:
                    self._report(warning)
        self.summary.rounds, self.summary.changes = self._lines.rounds_done, self._actuator.done
        return self.summary

    # --- events in ---------------------------------------------------------------------------------------------------

    def _to_clock(self, seconds: float) -> float:
        return max(0.0, (seconds - self._start) / self._unit_seconds)

    def _observed(self, observation: Observation, now: float) -> None:
        if self._down:
            self._down = False
            self._tell("GSM5405", "the cluster answers again", Severity.NOTE)
        for what in observation.unread:
            self._tell_left_out(what)
        self._history.write(observation, now)
        self._options.on_observation(now)

    def _unavailable(self, message: str) -> None:
        if not self._down:
            self._down = True
            self._tell("GSM5405", f"the cluster cannot be observed: {message}")

    def _extra(self, observation: Observation, contents: list[Content], now: float) -> list[Content]:
        """Add values from the file, and a tick if a plan or a change is due; first, which jobs have not started."""
        loop = self._loop
        if self._values is not None:
            contents = [*self._values.events(now), *contents]
        if loop.next_due() <= self._to_clock(now):
            contents = [*contents, event_content("tick", f"tick {loop.events}", now)]
        if not contents or not self._options.acts or self._settings.guard.checkpoints:
            return contents
        return [*self._not_started(observation, now), *contents]

    def _not_started(self, observation: Observation, now: float) -> list[Content]:
        """Jobs that run according to the plan, but still wait in the cluster, have made no progress."""
        loop = self._loop
        labels = loop.base.store.universes[loop.jobs_root].labels
        found = []
        for code in loop.planned_to_run(self._to_clock(now)).tolist():
            name = str(labels[code])
            job = observation.jobs.get(name)
            if job is not None and job.state in (JobState.PENDING, JobState.BLOCKED) and not job.allocation:
                found.append(event_content("progress", f"waits {name} {loop.events}", now, job=name, fraction=0.0))
        return found

    def _leave_out(self, job: str, why: str) -> None:
        self._tell_left_out(f"job `{job}` is left out: {why}")

    def _tell_left_out(self, what: str) -> None:
        """Say once what is left out: an object that is not understood is noticed twice, where it is read and used."""
        if what not in self._told_left_out:
            self._told_left_out.add(what)
            self._tell("GSM5406", what)

    def _note_leaving(self, job: str, why: str) -> None:
        self._tell("GSM5406", f"job `{job}` leaves the queue for now: {why}", Severity.NOTE)

    # --- records and actions out -------------------------------------------------------------------------------------

    def _receive(self, line: bytes) -> None:
        record = _decode(line)
        self._on_record(record)
        match record:
            case Failed(id=str() as id):
                self._event_refused(id, record.message)
            case Quarantined():
                self._event_refused(record.id, record.message)
            case Decided() if not record.again and not record.is_border:
                self.summary.plans += 1
                self._tell_violation(record)
                self._tell_repeated(record)
            case Acknowledged(id=id) if id in self._lines.contents:
                self._maker.known.learn(self._lines.contents.pop(id))
                self.summary.events += 1

    def _tell_violation(self, decided: Decided) -> None:
        """Tell the first plan that violates each row."""
        if decided.violation is UNSET:
            return
        self.summary.broken += 1
        method, _, row = decided.violation.partition(": ")
        family = row.partition("[")[0]
        if family in self._violated:
            return
        self._violated.add(family)
        refused = decided.status != BROKEN
        outcome = "it is not carried out" if refused else "it is carried out, as `obeys_model` is false"
        self._report(
            Diagnostic(
                "GSM5421", f"the plan of {method} violates the model: {row}; {outcome}",
                help="plan with a method that obeys the rule, such as a solver, or name one as `fallback`",
                severity=Severity.WARNING,
            )
        )  # fmt: skip

    def _tell_repeated(self, decided: Decided) -> None:
        """Report once that a parameter has no values for later slots."""
        for name, last in ({} if decided.repeated is UNSET else decided.repeated).items():
            message = f"`{name}` has no values after slot {last}: the plan repeats those of this slot"
            if message not in self._told_left_out:
                self._told_left_out.add(message)
                self._tell("GSM7051", message)

    def _event_refused(self, id: str, message: str) -> None:
        content = self._lines.contents.pop(id, None)
        if content is None:
            return
        if content["kind"] == "arrivals":
            self._maker.refused_together([str(one["job"]) for one in content["jobs"]])
        elif id.startswith(CAPACITY):  # the model does not allow other numbers: nodes are up or down
            self._maker.model = replace(self._maker.model, parameter="", gpus={})
            self._tell("GSM5408", f"the plan cannot use parts of nodes: {message}")
        elif content["kind"] == "arrival":
            self._maker.refused(str(content["job"]), message)
        else:
            self._tell("GSM5407", f"the event `{id}` was refused: {message}")

    def _settle(self, observation: Observation) -> None:
        """Compare the cluster with the plan and act."""
        guard, maker, plan = self._settings.guard, self._maker, self._plan()
        barred = [
            name
            for name, wanted in plan.allocations.items()
            if name in observation.jobs and maker.exclusions.objection(observation.jobs[name], wanted)
        ]
        plan = replace(plan, away=maker.known.away, barred=barred)
        until = self._options.now() + guard.retry
        for name in barred:
            self._exclude_shape(observation.jobs[name], plan.allocations[name], until)
        found = difference(plan, observation, preempt=guard.preempt)
        found = replace(found, actions=(*found.actions, *answers(observation, maker.left_out)))
        for action, why in self._actuator.apply(found):
            maker.exclusions.exclude(action.job, action.allocation, until, f"`{action.kind}` was refused: {why}")
        self._actuator.forget(observation.jobs)
        if self._options.acts:
            self._find_stuck(plan, found, observation, until)
            if self._explainer is not None:
                starting = {name: where for name, where in plan.allocations.items() if name not in plan.barred}
                self._explainer.tell(observation, starting)
        self._options.on_state(observation, plan, self._options.now())

    def _find_stuck(self, plan: WantedState, found: Difference, observation: Observation, until: float) -> None:
        """Exclude nodes, for a while, on which a job has not started although it was released for them."""
        waits: dict[str, tuple[Allocation, int]] = {}
        guard, without_room = self._settings.guard, set(found.waiting)
        for name, wanted in plan.allocations.items():
            job = observation.jobs.get(name)
            if job is None or job.state is not JobState.PENDING or name in plan.barred:
                continue
            released = not job.held and set(job.pinned) == set(wanted)
            if name in without_room or released or self._actuator.started.get(name) == wanted:
                before, count = self._waits.get(name, (wanted, 0))
                waits[name] = (wanted, count + 1 if before == wanted else 1)
                if count >= guard.patience and before == wanted:
                    del waits[name]
                    self._exclude_stuck(job, wanted, until, job.reason or ("no GPUs are free" * (not released)))
        self._waits = waits

    def _exclude_shape(self, job: ObservedJob, wanted: Allocation, until: float) -> None:
        """Plan without a waiting job, for a while, that the plan divides as the job does not request it."""
        wrong = wrong_shape(job, wanted)
        if wrong and (job.state is JobState.PENDING or not self._options.acts):
            self._maker.exclusions.exclude(job.name, self._maker.model.nodes, until, wrong)
            message = f"the plan lets job `{job.name}` run on {', '.join(wanted)}, but {wrong}"
            self._tell("GSM5408", f"{message}; it is not started, and its GPUs go to others")

    def _exclude_stuck(self, job: ObservedJob, wanted: Allocation, until: float, why: str) -> None:
        why = why or "the cluster gives no reason"
        nodes = self._maker.model.nodes if job.waits_everywhere else tuple(wanted)
        self._maker.exclusions.exclude(job.name, nodes, until, why)
        where = "" if job.waits_everywhere else f" on {', '.join(wanted)}"
        message = f"job `{job.name}` has not started{where} in {self._settings.guard.patience} observations: {why}"
        self._tell("GSM5408", f"{message}; its GPUs go to others")

    def _plan(self) -> WantedState:
        """The plan in effect, with the names of the cluster."""
        loop, world = self._loop, self._loop.world
        universes = loop.base.store.universes
        jobs, places = universes[loop.jobs_root].labels, universes[loop.places_root].labels
        kinds = universes[loop.setup.kinds_root].labels if loop.setup.kinds_root != loop.places_root else None
        parts = world.parts
        allocations: dict[str, dict[str, int]] = {}
        types: dict[str, str] = {}
        rows = zip(parts.job.tolist(), parts.place.tolist(), parts.kind.tolist(), parts.uses.tolist(), strict=True)
        for job, place, kind, uses in rows:
            node = str(places[place])
            allocations.setdefault(str(jobs[job]), {})[node] = round(uses)
            if kinds is not None and kind >= 0:
                types[node] = str(kinds[kind])
        present = (str(jobs[job]) for job in world.present().tolist())
        return WantedState(allocations, tuple(present), loop.step_count, types)

    def _tell(self, code: str, message: str, severity: Severity = Severity.WARNING) -> None:
        self._report(Diagnostic(code, message, severity=severity))


def _known_of(journal: Journal) -> KnownState:
    """What the run was told according to its journal."""
    known = KnownState()
    accepted, quarantined = split_quarantined(journal.external())
    for external in accepted:
        if external.id not in quarantined:
            known.learn(external.content)
    return known


_decode = msgspec.json.Decoder(AnyRecord).decode
