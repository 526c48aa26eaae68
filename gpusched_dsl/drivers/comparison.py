"""Compares what the cluster really did with what methods would have done for the same jobs, and with the bound."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpusched_dsl.backends.interrupt import Control, CtrlC
from gpusched_dsl.compiling.gangs import gang_rows
from gpusched_dsl.data.chunks import DataChunk
from gpusched_dsl.data.sources.python_values import pieces_of
from gpusched_dsl.drivers.observed_jobs import ClusterHistory, JobHistory
from gpusched_dsl.drivers.observed_plans import NAME, ObservedPlanner, ObservedStays, index_columns
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import UNITS, number_factor
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.bounds.capacity_bound import capacity_bounds
from gpusched_dsl.online.data.base import EVERYTHING, Base
from gpusched_dsl.online.data.updates import with_jobs
from gpusched_dsl.online.loops.setup import RunSetup, set_up
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.progress import CostSamples
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.simulation.assignments import AllocationReader
from gpusched_dsl.reporting.runs.comparison import RunComparison, RunRow
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.reporting.runs.summary import broken_text

NOTHING = "GSM5411"


@dataclass(frozen=True, eq=False)
class ShadowComparison:
    """Rows of the cluster and of the methods over the same jobs; `left_out` counts observed jobs that are not."""

    runs: RunComparison
    jobs: int
    left_out: int

    def summary(self) -> tuple[str, ...]:
        """The lines below the table: who was compared, and what each method saves."""
        observed = self.runs.results[0] if self.runs.rows[0].result is not None else None
        lines = [f"compared: {self.jobs} jobs that the cluster has run and that have ended"]
        if self.left_out:
            lines.append(f"left out: {self.left_out} jobs that wait or run, never ran, or have no data")
        if observed is None:
            return tuple(lines)
        for row in self.runs.rows[1:]:
            if row.result is None or row.result.ended != "finished":
                continue
            if row.result.is_broken:
                lines.append(f"{row.method} violates the model, so no saving is stated: {broken_text(row.result)}")
                continue
            saved = observed.total - row.result.total
            share = f" ({saved / observed.total:.1%})" if observed.total else ""
            word = "would have saved" if saved >= 0 else "would have cost more by"
            lines.append(f"{row.method} {word} {abs(saved):.6g} {observed.money}{share if saved >= 0 else ''}")
        bound = self.runs.bound
        if bound is not None and bound.value is not None and observed.total:
            most = max(0.0, observed.total - bound.value)
            lines.append(
                f"no method could have saved more than {most:.6g} {observed.money} ({most / observed.total:.1%})"
            )
        return tuple(line.strip() for line in lines)


def compare_with_cluster(
    workspace: Workspace, config: RunConfig, history: ClusterHistory, start: float, methods: Sequence[str]
) -> ShadowComparison:
    """Run each method on the jobs of a history, and the cluster's own decisions.

    `start` is time 0 in seconds since 1970. Every job arrives when it was submitted, or at time 0, and takes as much
    longer or shorter than planned as its last execution did. Raises DiagnosticError as runs do, and GSM5411 without
    jobs to compare.
    """
    jobs = history.comparable
    jobs = [job for job in jobs if job.stays[-1].end > start]
    if not jobs:
        message = "there is no job to compare: none has run and ended while it was observed"
        raise DiagnosticError([Diagnostic(NOTHING, message, help="let the command run longer")])
    rows: list[RunRow] = []
    for method in (NAME, *methods):
        wanted = replace(config, method=config.method if method == NAME else method, journal=None, bound=False)
        try:
            rows.append(RunRow(method, _run(workspace, wanted, jobs, start, observed=method == NAME)))
        except DiagnosticError as error:
            rows.append(RunRow(method, None, tuple(error.diagnostics)))
    rows = _with_bound(rows)
    if all(row.result is None for row in rows):
        raise DiagnosticError([d for row in rows for d in row.diagnostics])
    return ShadowComparison(RunComparison(tuple(rows)), len(jobs), len(history.jobs) - len(jobs))


def _with_bound(rows: list[RunRow]) -> list[RunRow]:
    """Give all rows the bound of the first method: the cluster may have done work twice."""
    found = next((row.result for row in rows[1:] if row.result is not None), None)
    if found is None:
        return rows
    control = Control()
    with CtrlC(control):
        bounds = capacity_bounds(found.history, lambda: control.stop_requested)
    return [
        row
        if row.result is None
        else replace(row, result=replace(row.result, given_bound=bounds.total, completion_bound=bounds.completion))
        for row in rows
    ]


def _run(
    workspace: Workspace, config: RunConfig, jobs: Sequence[JobHistory], start: float, *, observed: bool
) -> RunResult:
    began = time.perf_counter()
    empty = setup_of(workspace, replace(config, verify="none", refuses_broken=False) if observed else config)
    root = empty.jobs_root
    base, _ = with_jobs(empty.base, root, _chunks(empty, jobs))
    setup = set_up(empty.online, base, empty.planner, empty.fallback, empty.config, external=False)
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
        arrival[order[job.name]] = max(0.0, job.submitted - start) * seconds
        stretch[order[job.name]] = max(length * seconds / predicted[mine[-1]], 1e-9)
    real = replace(setup.realisation, arrival=arrival, stretch=stretch, ends=setup.realisation.work.copy())
    setup = replace(setup, realisation=real, outages=())
    if observed:
        unit = seconds / setup.policy_time
        by_clock = replace(stays, start=stays.start * unit, end=stays.end * unit)
        setup = replace(setup, planner=ObservedPlanner(setup.placement, by_clock, {}), fallback=None)
    samples = CostSamples()
    outcome = loop_of(setup, on_plan=samples, fast=False).run()
    scenario = base.instance.scenario.name or ""
    info = RunInfo(NAME if observed else config.method, scenario=scenario, seconds=time.perf_counter() - began)
    return RunResult(outcome, info, samples)


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
    columns = index_columns(placement, components, rows, {})
    if placement.has_gangs:
        found = np.zeros(len(stays.job))
        done = 0
        for at, allocation in enumerate(stays.allocations):
            part = tuple(column[done : done + len(allocation)] for column in columns)
            values = np.array(list(allocation.values()), dtype=np.float64)
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
