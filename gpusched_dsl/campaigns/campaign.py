"""Runs a campaign: what its store lacks, on an engine, with every result stored as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from gpusched_dsl.campaigns.execute import PERFORM, to_stored
from gpusched_dsl.campaigns.inputs import MISSING
from gpusched_dsl.campaigns.lockfile import LOCKFILE, lock_text
from gpusched_dsl.campaigns.plan import CampaignPlan, PlannedRun
from gpusched_dsl.campaigns.results import RESULTS, results_table, write_results
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.campaigns.tasks import FAILED, RunRecord, encode, read_record
from gpusched_dsl.data.sources.excel import missing_package
from gpusched_dsl.data.sources.tables import is_excel
from gpusched_dsl.engines.failures import failure_diagnostic
from gpusched_dsl.engines.protocol import Done, Engine, Failure, Work
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.extras import is_installed
from gsdsl_backends.registry import backend, solver_names


@dataclass(eq=False)
class CampaignProgress:
    """The progress of a campaign: numbers of runs, and the seconds of stored ones by method."""

    total: int
    done: int = 0
    failed: int = 0
    workers: int = 1
    started: float = field(default_factory=time.perf_counter)
    executed: int = 0  # in this call
    to_do: list[str] = field(default_factory=list)  # the methods of runs that are missing
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        return self.total - self.done - self.failed

    @property
    def seconds_left(self) -> float | None:
        """Return an estimate from the mean time of stored runs of the same method; None without stored runs."""
        return estimate_seconds(self.to_do, self.seconds, self.workers)


def estimate_seconds(methods: Sequence[str], seconds: Mapping[str, Sequence[float]], workers: int) -> float | None:
    """Return the time that runs of these methods take, from the times of earlier runs by method; None without any.

    A method without earlier runs counts with the mean of all.
    """
    known = [value for values in seconds.values() for value in values]
    if not known:
        return None
    usual = sum(known) / len(known)
    means = {method: sum(values) / len(values) for method, values in seconds.items() if values}
    return sum(means.get(method, usual) for method in methods) / max(1, min(workers, len(methods) or 1))


@dataclass(frozen=True, eq=False)
class CampaignRun:
    """The end of `run_campaign`: the records of the plan, and whether all runs were executed."""

    plan: CampaignPlan
    records: Mapping[str, RunRecord]
    executed: int
    interrupted: bool
    seconds: float
    warnings: tuple[Diagnostic, ...]


def run_campaign(
    plan: CampaignPlan,
    store: Store,
    engine: Engine,
    *,
    retry: bool = False,
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[CampaignProgress], None] = lambda progress: None,
) -> CampaignRun:
    """Execute the runs of a plan that the store lacks, with `retry` also the failed ones.

    `tell` is called at the start and after every run, `stop` about five times a second: with True, the running runs
    are given up, and the others are in the store. Raises DiagnosticError if the store or the engine cannot be used;
    what was stored before stays. A package that runs need and that is not installed is such an error, before any run.
    """
    start = time.perf_counter()
    records = store.read_all(run.key for run in plan.runs)
    missing = missing_runs(plan, records, retry=retry)
    _require_packages(missing)
    store.write(LOCKFILE, lock_text(plan.complete))
    progress = progress_of(plan, records, missing, engine.workers)
    tell(progress)
    work = [Work(run.key, encode(run.task)) for run in missing]
    for done in engine.run(PERFORM, work, stop) if work else ():
        record = record_of(done)
        store.put(record)
        records[record.key] = record
        _count(progress, plan.by_key[record.key], record)
        progress.workers = engine.workers
        tell(progress)
    _gather(plan.complete, records, store)
    seconds, stopped = time.perf_counter() - start, progress.executed < len(work)
    return CampaignRun(plan, records, progress.executed, stopped, seconds, tuple(store.warnings))


def _require_packages(runs: Sequence[PlannedRun]) -> None:
    """Raise DiagnosticError if a solver of the runs cannot be loaded, or their Excel files cannot be read."""
    absent = {name for run in runs for name, version in run.pins.items() if version == MISSING}
    for name in solver_names():
        if f"version {name}" in absent:
            backend(name)
    if not is_installed("excel") and any(is_excel(name) for run in runs for name in run.task.data):
        raise DiagnosticError([missing_package()])


def _gather(plan: CampaignPlan, records: Mapping[str, RunRecord], store: Store) -> None:
    """Write the results of the complete campaign as one table into the store."""
    others = store.read_all(run.key for run in plan.runs if run.key not in records)
    write_results(results_table(plan, {**records, **others}, all_measures=True), store.folder / RESULTS)


def missing_runs(plan: CampaignPlan, records: Mapping[str, RunRecord], *, retry: bool = False) -> list[PlannedRun]:
    """Return the runs without a record, with `retry` also those whose record is a failure."""
    return [run for run in plan.runs if run.key not in records or (retry and records[run.key].failed)]


def progress_of(
    plan: CampaignPlan, records: Mapping[str, RunRecord], missing: Sequence[PlannedRun], workers: int
) -> CampaignProgress:
    """Return the progress before the missing runs are executed."""
    again = {run.key for run in missing}
    progress = CampaignProgress(len(plan.runs), workers=workers, to_do=[run.run.label for run in missing])
    for planned in plan.runs:
        record = records.get(planned.key)
        if record is not None:
            progress.seconds.setdefault(planned.run.label, []).append(record.seconds)
            if planned.key not in again:
                progress.done += not record.failed
                progress.failed += record.failed
    return progress


def _count(progress: CampaignProgress, planned: PlannedRun, record: RunRecord) -> None:
    progress.executed += 1
    progress.done += not record.failed
    progress.failed += record.failed
    progress.seconds.setdefault(planned.run.label, []).append(record.seconds)
    progress.to_do.remove(planned.run.label)


def record_of(done: Done) -> RunRecord:
    """Return the record of a result; that of a run whose worker died is a failure."""
    if not isinstance(done.result, Failure):
        return msgspec.structs.replace(read_record(done.result), attempts=done.attempts)
    again = "the run may crash a solver; `gsdsl campaign run --retry` starts it again"
    more_memory = "give workers more memory with `--memory`, or start fewer with `--workers`"
    diagnostic = failure_diagnostic(done, done.result, "the run", again, more_memory)
    return RunRecord(key=done.key, state=FAILED, diagnostics=[to_stored(diagnostic)], attempts=done.attempts)
