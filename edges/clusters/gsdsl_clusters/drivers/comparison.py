"""Compares what the cluster really did with what methods would have done for the same jobs, and with the bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from gpusched_dsl.compiling.gangs import gang_rows
from gpusched_dsl.data.chunks import DataChunk
from gpusched_dsl.data.sources.python_values import pieces_of
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked import Element
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.language.units import UNITS, number_factor
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.bounds.capacity_bound import capacity_bounds
from gpusched_dsl.online.bounds.single_job import RunBound
from gpusched_dsl.online.data.base import EVERYTHING, Base
from gpusched_dsl.online.data.updates import with_jobs
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.setup import RunSetup, set_up
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.progress import CostSamples
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.simulation.assignments import AllocationReader
from gpusched_dsl.reporting.runs.comparison import RunComparison, RunTrial
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.reporting.runs.summary import broken_text
from gpusched_dsl.workflows.trials import run_in_turn
from gsdsl_backends.interrupt import Control, CtrlC
from gsdsl_clusters.drivers.capacity import capacity_of
from gsdsl_clusters.drivers.observed_jobs import ClusterHistory, JobHistory, Stay
from gsdsl_clusters.drivers.observed_plans import NAME, ObservedPlanner, ObservedStays, index_columns, observed_values
from gsdsl_clusters.drivers.occupancy import Occupancy, gpu_hours
from gsdsl_clusters.drivers.precedence import Precedence
from gsdsl_clusters.drivers.shared_loop import SharedCluster, SharedLoop
from gsdsl_clusters.drivers.slot_comparison import TimedValues, node_outages, observed_slots, run_slots

NOTHING = "GSM5411"


WEEK = 7 * 24 * 3600.0  # s
MOST_LEFT_OUT = 0.1  # share of the GPU hours: with more of them left out, no method is called better


@dataclass(frozen=True, eq=False)
class ShadowComparison(RunComparison):
    """Rows of the cluster and of the methods over the same `jobs`; `left_out` counts observed jobs that are not.

    `gpu_hours` are those of the compared jobs, `hours_left_out` those of all others, which no method could use.
    `interruptions` counts by method how often left-out work has taken the GPUs of a job.
    """

    jobs: int = 0
    left_out: int = 0
    gpu_hours: float = 0.0
    hours_left_out: float = 0.0
    interruptions: Mapping[str, int] = field(default_factory=dict)

    @property
    def share_left_out(self) -> float:
        """The share of the GPU hours that is not compared."""
        return self.hours_left_out / total if (total := self.gpu_hours + self.hours_left_out) else 0.0

    def rank_value(self, row: RunTrial) -> float | None:
        """Return the total; None if too much is left out."""
        return None if self.share_left_out > MOST_LEFT_OUT else super().rank_value(row)

    def footer(self) -> list[str]:
        """Return the lines below the table: who was compared, and what each method saves."""
        return [*super().footer(), *self.summary()]

    def summary(self) -> tuple[str, ...]:
        """Return who was compared, and what each method saves."""
        observed = self.rows[0].result
        lines = [f"compared: {self.jobs} jobs that the cluster has run and that have ended"]
        if self.left_out:
            lines.append(f"left out: {self.left_out} jobs that wait or run, never ran, or have no data")
        if self.hours_left_out:
            lines.append(
                f"left-out work has used {self.hours_left_out:.3g} GPU hours, {self.share_left_out:.1%} of all; "
                "in every row it occupies the GPUs that it has occupied"
            )
        for method, count in self.interruptions.items():
            if count:
                lines.append(f"left-out work takes the GPUs of jobs of {method} {count_text(count, 'time')}")
        if observed is None:
            return tuple(lines)
        if self.share_left_out > MOST_LEFT_OUT:
            lines.append(f"more than {MOST_LEFT_OUT:.0%} of the GPU hours are left out, so no method is called better")
            return tuple(lines)
        lines += [line for row in self.rows[1:] if (line := self._saving(row, observed))]
        if self.bound is not None and self.bound.value is not None and observed.total:
            most = max(0.0, observed.total - self.bound.value)
            lines.append(
                f"no method could have saved more than {most:.6g} {observed.money} ({most / observed.total:.1%})"
            )
        return tuple(line.strip() for line in lines)

    def measures(self) -> dict[str, Any]:
        """Return costs by row, and what methods and the bound save where `summary` states it, as plain data."""
        rows = [row for row in self.rows if row.result is not None and row.result.ended == "finished"]
        found: dict[str, Any] = {"cost": {row.method: row.result.total for row in rows if row.result}, "saved": {}}
        observed = self.rows[0].result
        if observed is None or self.share_left_out > MOST_LEFT_OUT:
            return found
        found["saved"] = {
            row.method: observed.total - row.result.total
            for row in rows
            if row is not self.rows[0] and row.result is not None and not row.result.is_broken
        }
        if self.bound is not None and self.bound.value is not None:
            found["most"] = max(0.0, observed.total - self.bound.value)
        return found

    def _saving(self, row: RunTrial, observed: RunResult) -> str:
        """What a method saves against the cluster, "" if it has not finished."""
        if row.result is None or row.result.ended != "finished":
            return ""
        if row.result.is_broken:
            return f"{row.method} violates the model, so no saving is stated: {broken_text(row.result)}"
        saved = observed.total - row.result.total
        if abs(saved) <= ROUNDING * max(1.0, abs(observed.total), abs(row.result.total)):
            return f"{row.method} would have cost the same"
        if saved < 0:
            return f"{row.method} would have cost more by {-saved:.6g} {observed.money}"
        share = f" ({saved / observed.total:.1%})" if observed.total else ""
        return f"{row.method} would have saved {saved:.6g} {observed.money}{share}"


def compare_with_cluster(
    workspace: Workspace,
    config: RunConfig,
    history: ClusterHistory,
    start: float,
    methods: Sequence[str],
    *,
    checkpoints: bool = False,
    values: Sequence[TimedValues] = (),
) -> ShadowComparison:
    """Run each method on the jobs of a history, and the cluster's own decisions.

    `start` is time 0 in seconds since 1970. Every job arrives when it `arrived`, or at time 0, and takes as much
    longer or shorter than planned as its last execution did. All other jobs occupy their GPUs as they did, and a job
    runs only on nodes that have what it demands. With `checkpoints`, a job that left-out work halts keeps its progress,
    otherwise it begins again. `values` came during the run, for blocks with a window. Raises DiagnosticError as runs
    do, and GSM5411 without jobs to compare.
    """
    jobs = history.comparable
    jobs = [job for job in jobs if job.stays[-1].end > start]
    if not jobs:
        message = "there is no job to compare: none has run and ended while it was observed"
        raise DiagnosticError([Diagnostic(NOTHING, message, help="let the command run longer")])
    setup = setup_of(workspace, replace(config, journal=None, bound=False))
    if setup.window is not None:
        jobs = _without_demands(jobs, history, setup)
    names = {job.name for job in jobs}
    others = [stay for job in history.jobs.values() if job.name not in names for stay in job.executions(history.until)]
    compared = _Compared(jobs, others, history, start, checkpoints, values)
    interruptions: dict[str, int] = {}

    def run(method: str) -> RunTrial:
        wanted = replace(config, method=config.method if method == NAME else method, journal=None, bound=False)
        result, interruptions[method] = _run(workspace, wanted, compared, observed=method == NAME)
        return RunTrial(method, result)

    rows = run_in_turn((NAME, *methods), run, lambda method, diagnostics: RunTrial(method, None, diagnostics))
    rows = _with_bound(rows)
    if all(row.result is None for row in rows):
        raise DiagnosticError([d for row in rows for d in row.diagnostics])
    own_hours = gpu_hours((stay for job in jobs for stay in job.stays), start)
    return ShadowComparison(
        tuple(rows), len(rows) <= len(methods), len(jobs), len(history.jobs) - len(jobs), own_hours,
        gpu_hours(others, start), interruptions,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Compared:
    """The jobs that every method runs, the executions of all others, and time 0 in seconds since 1970."""

    jobs: Sequence[JobHistory]
    others: Sequence[Stay]
    history: ClusterHistory
    start: float
    checkpoints: bool
    values: Sequence[TimedValues] = ()

    def shared_cluster(self, setup: RunSetup, order: Mapping[str, int], seconds: float) -> SharedCluster | None:
        """What left-out work and demands take from a method, None if nothing; `seconds` is one in the run's clock."""
        model = capacity_of(setup.placement, setup.base)
        occupied = Occupancy.of(self.others, model.nodes, self.start)
        excluded = np.zeros((len(order), len(model.nodes)), dtype=np.bool_)
        for job in self.jobs:
            excluded[order[job.name]] = [node in self.excluded_nodes(job, model.nodes) for node in model.nodes]
        waits = Precedence.of(self.jobs, order)
        if not len(occupied.times) and not excluded.any() and not waits:
            return None
        capacity = np.array([model.gpus.get(node, 0) for node in model.nodes], dtype=np.float64)
        by_clock = Occupancy((occupied.times - self.start) * seconds, occupied.gpus)
        return SharedCluster(by_clock, capacity, model.parameter, excluded, self.checkpoints, waits)

    def excluded_nodes(self, job: JobHistory, nodes: Sequence[str]) -> frozenset[str]:
        """The nodes that a job demands not to use; if it was never seen waiting, those with GPUs of another type.

        It has run on the others.
        """
        ran = frozenset(node for stay in job.stays for node in stay.allocation)
        if job.misfits is not None:
            return job.misfits - ran
        types = {self.history.types.get(node, "") for node in ran}
        return frozenset(node for node in nodes if self.history.types.get(node, "") not in types) - ran


def _without_demands(jobs: list[JobHistory], history: ClusterHistory, setup: RunSetup) -> list[JobHistory]:
    """Return the jobs that may run on all nodes and wait for no others: plans by slots cannot be corrected.

    The others count as left out.

    Raises DiagnosticError (GSM5411) if none remains.
    """
    nodes = capacity_of(setup.placement, setup.base).nodes
    every = _Compared(jobs, (), history, 0.0, False)
    found = [job for job in jobs if not (job.after or job.limit or every.excluded_nodes(job, nodes))]
    if not found:
        message = "there is no job to compare: all demand certain nodes or wait for others, unknown to plans by slots"
        help = "compare with a block without a window"
        raise DiagnosticError([Diagnostic(NOTHING, message, help=help)])
    return found


def _with_bound(rows: list[RunTrial]) -> list[RunTrial]:
    """Give all rows the bound of the first method: the cluster may have done work twice."""
    found = next((row.result for row in rows[1:] if row.result is not None), None)
    if found is None:
        return rows
    if found.outcome.online.window is not None:
        none = RunBound(None, "plans by slots are compared without one")
        return [r if r.result is None else replace(r, result=replace(r.result, given_bound=none)) for r in rows]
    control = Control()
    with CtrlC(control):
        bounds = capacity_bounds(found.history, lambda: control.stop_requested)
    return [
        row
        if row.result is None
        else replace(row, result=replace(row.result, given_bound=bounds.total, completion_bound=bounds.completion))
        for row in rows
    ]


def _run(workspace: Workspace, config: RunConfig, compared: _Compared, *, observed: bool) -> tuple[RunResult, int]:
    """The result of a method, or of what the cluster did, and how often left-out work has halted a job."""
    began = time.perf_counter()
    jobs, start = compared.jobs, compared.start
    empty = setup_of(workspace, replace(config, verify="none", refuses_broken=False) if observed else config)
    root = empty.jobs_root
    base, _ = with_jobs(empty.base, root, _chunks(empty, jobs))
    by_slots = empty.window is not None
    setup = set_up(empty.online, base, empty.planner, empty.fallback, empty.config, external=by_slots)
    seconds = number_factor(UNITS["s"], setup.clock)
    stays = _stays(jobs, start)
    labels = [str(label) for label in base.store.universes[root].labels]
    order = {name: at for at, name in enumerate(labels)}
    arrival = np.full(len(labels), np.inf)
    stretch = np.ones(len(labels))
    predicted = _predict_lengths(setup, base, stays)
    for at, job in enumerate(jobs):
        mine = np.flatnonzero(stays.job == at)
        lengths = (stays.end - stays.start)[mine]
        length = float(lengths.sum() if observed else lengths[-1])
        arrival[order[job.name]] = max(0.0, job.arrived - start) * seconds
        stretch[order[job.name]] = max(length * seconds / predicted[mine[-1]], 1e-9)
    real = replace(setup.realisation, arrival=arrival, stretch=stretch, ends=setup.realisation.work.copy())
    setup = replace(setup, realisation=real, outages=())
    if observed and setup.window is not None:
        setup = observed_slots(setup, stays, arrival[[order[job.name] for job in jobs]], seconds)
    elif observed:
        unit = seconds / setup.policy_time
        by_clock = replace(stays, start=stays.start * unit, end=stays.end * unit)
        setup = replace(
            setup, planner=ObservedPlanner(setup.online.base, setup.base.limits, by_clock, {}), fallback=None
        )
    samples, halted = CostSamples(), 0
    if setup.window is None:
        shared = None if observed else compared.shared_cluster(setup, order, seconds)
        most_idle = (compared.history.until - start + WEEK) * seconds  # rules repeat by the week
        make: Callable[..., EventLoop] = partial(EventLoop, most_idle=most_idle)
        if shared is not None:
            make = partial(SharedLoop, shared=shared, most_idle=most_idle)
        loop = loop_of(setup, on_plan=samples, fast=False, event_loop=make)
        outcome, halted = loop.run(), loop.interruptions if isinstance(loop, SharedLoop) else 0
    else:
        occupied = (
            [] if observed else node_outages(compared.others, start, seconds, capacity_of(setup.placement, base).nodes)
        )
        outcome, halted = run_slots(setup, compared.values, occupied, samples, checkpoints=compared.checkpoints)
    scenario = base.instance.scenario.name or ""
    info = RunInfo(NAME if observed else config.method, scenario=scenario, seconds=time.perf_counter() - began)
    return RunResult(outcome, info, samples), halted


def _stays(jobs: Sequence[JobHistory], start: float) -> ObservedStays:
    """The executions in seconds since the start of the run; what was before it is cut off."""
    kept = [(at, stay) for at, job in enumerate(jobs) for stay in job.stays if stay.end > start]
    return ObservedStays(
        [job.name for job in jobs],
        np.array([at for at, _ in kept], dtype=np.int64),
        np.array([max(0.0, stay.start - start) for _, stay in kept]),
        np.array([stay.end - start for _, stay in kept]),
        [stay.allocation for _, stay in kept],
    )


def _chunks(setup: RunSetup, jobs: Sequence[JobHistory]) -> dict[str, Sequence[DataChunk]]:
    """The values of all jobs as data."""
    model, root = setup.base.model, setup.jobs_root
    found: dict[str, Sequence[DataChunk]] = {root: pieces_of(model, root, [job.name for job in jobs])}
    values = [(job.name, job.values or {}) for job in jobs]
    for name in dict.fromkeys(name for _, mapping in values for name in mapping):
        if name in setup.online.brought:
            continue
        rows = [(job, mapping[name]) for job, mapping in values if name in mapping]
        if name in model.sets:
            kinds, known = model.sets[name].types, {job.name for job in jobs}
            named = [at for at, kind in enumerate(kinds) if isinstance(kind, Element) and kind.root == root]
            # a tuple may name a job that is not compared
            rows = [(job, [r for r in given if all((job, *r)[at] in known for at in named)]) for job, given in rows]
            found[name] = pieces_of(model, name, [(job, *row) for job, given in rows for row in given])
        else:
            found[name] = pieces_of(model, name, dict(pair for job, given in rows for pair in _pairs(job, given)))
    return found


def _pairs(job: str, given: Any) -> list[tuple[tuple[Any, ...], Any]]:
    if isinstance(given, list):
        return [((job, *row[:-1]), row[-1]) for row in given]
    if isinstance(given, Mapping):
        return [((job, key), value) for key, value in given.items()]
    return [((job,), given)]


def _predict_lengths(setup: RunSetup, base: Base, stays: ObservedStays) -> Floats:
    """The planned length of the complete job in the place of each stay, in the unit of the clock."""
    placement = setup.placement
    reader = AllocationReader(setup.online, base.store, base.limits, base.part(EVERYTHING))
    components = [base.store.component(index.type) for index in placement.indices]
    rows = [(stays.jobs[j], n, g) for j, a in zip(stays.job, stays.allocations, strict=True) for n, g in a.items()]
    root = placement.root("slot")
    slots = [base.store.universes[root].labels[0]] * len(rows) if root else None
    columns = index_columns(placement, components, rows, {}, slots)
    if placement.has_gangs:
        found = np.zeros(len(stays.job))
        done = 0
        for at, allocation in enumerate(stays.allocations):
            part = tuple(column[done : done + len(allocation)] for column in columns)
            values = observed_values(reader, part, np.array(list(allocation.values()), dtype=np.float64))
            found[at] = _length(setup, reader.allocations_of(part, gang_rows(reader, part, values)))[0]
            done += len(allocation)
        return found
    allocations = reader.allocations_of(columns)
    lengths = _length(setup, allocations)
    first = np.concatenate(([0], np.cumsum([len(a) for a in stays.allocations])))[:-1].astype(np.int64)
    return lengths[first]


def _length(setup: RunSetup, allocations: Any) -> Floats:
    work = setup.realisation.work[allocations.job]
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(np.isnan(allocations.speed), allocations.lasts, work / allocations.speed)
    return found
