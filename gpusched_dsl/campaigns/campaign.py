"""Runs a campaign: what its store lacks, on an engine, with every result stored as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import msgspec

from gpusched_dsl.campaigns.execute import PERFORM, to_stored
from gpusched_dsl.campaigns.inputs import MISSING
from gpusched_dsl.campaigns.lockfile import LOCKFILE, lock_text
from gpusched_dsl.campaigns.plan import CampaignPlan, PlannedRun
from gpusched_dsl.campaigns.results import RESULTS, CampaignResults, write_results
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.campaigns.tasks import FAILED, RunRecord, encode, read_record
from gpusched_dsl.data.sources.excel import missing_package
from gpusched_dsl.data.sources.tables import is_excel
from gpusched_dsl.engines.protocol import Done, Engine, Failure, Work, failure_diagnostic
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
    to_do: dict[str, PlannedRun] = field(default_factory=dict)  # by key
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, plan: CampaignPlan, records: Mapping[str, RunRecord], *, retry: bool = False, workers: int = 1
    ) -> CampaignProgress:
        """Return the progress before the runs without a record are executed, with `retry` also the failed ones."""
        progress = cls(len(plan.runs), workers=workers)
        for run in plan.runs:
            record = records.get(run.key)
            again = record is None or (retry and record.failed)
            progress.to_do |= {run.key: run} if again else {}
            if record is not None:
                progress._note(run, record, counts=not again)
        return progress

    def count(self, record: RunRecord) -> None:
        """Count a run that was executed."""
        self.executed += 1
        self._note(self.to_do.pop(record.key), record)

    def _note(self, run: PlannedRun, record: RunRecord, *, counts: bool = True) -> None:
        self.done += counts and not record.failed
        self.failed += counts and record.failed
        self.seconds.setdefault(run.run.label, []).append(record.seconds)

    @property
    def missing(self) -> int:
        return self.total - self.done - self.failed

    @property
    def mean_seconds(self) -> float | None:
        """Return the mean time of a stored run; None without any."""
        known = [value for values in self.seconds.values() for value in values]
        return sum(known) / len(known) if known else None

    @property
    def seconds_left(self) -> float | None:
        """Return an estimate from the mean times of stored runs of the same method, or of all; None without any."""
        usual = self.mean_seconds
        if usual is None:
            return None
        means = {method: sum(values) / len(values) for method, values in self.seconds.items()}
        methods = [run.run.label for run in self.to_do.values()]
        return sum(means.get(method, usual) for method in methods) / max(1, min(self.workers, len(methods) or 1))


def run_campaign(
    plan: CampaignPlan,
    store: Store,
    engine: Engine,
    *,
    retry: bool = False,
    stop: Callable[[], bool] | None = None,
    tell: Callable[[CampaignProgress], None] | None = None,
) -> CampaignResults:
    """Execute the runs of a plan that the store lacks, with `retry` also the failed ones; return all results.

    `tell` is called at the start and after every run, `stop` about five times a second: with True, the running runs
    are given up, and the others are in the store. Raises DiagnosticError if the store or the engine cannot be used;
    what was stored before stays. A package that runs need and that is not installed is such an error, before any run.
    """
    start = time.perf_counter()
    records = store.read_all(run.key for run in plan.runs)
    progress = CampaignProgress.of(plan, records, retry=retry, workers=engine.workers)
    _require_packages(progress.to_do.values())
    store.write(LOCKFILE, lock_text(plan.complete))
    told = tell or (lambda progress: None)
    told(progress)
    work = [Work(run.key, encode(run.task)) for run in progress.to_do.values()]
    for done in engine.run(PERFORM, work, stop or (lambda: False)) if work else ():
        record = record_of(done)
        store.put(record)
        records[record.key] = record
        progress.count(record)
        progress.workers = engine.workers
        told(progress)
    others = store.read_all(run.key for run in plan.complete.runs if run.key not in records)
    write_results(CampaignResults.of(plan.complete, {**records, **others}).all, store.folder / RESULTS)
    seconds, stopped = time.perf_counter() - start, progress.executed < len(work)
    return CampaignResults.of(
        plan, records, interrupted=stopped, folder=store.folder, executed=progress.executed, seconds=seconds,
        warnings=tuple(store.warnings),
    )  # fmt: skip


def _require_packages(runs: Collection[PlannedRun]) -> None:
    """Raise DiagnosticError if a solver of the runs cannot be loaded, or their Excel files cannot be read."""
    absent = {name for run in runs for name, version in run.pins.items() if version == MISSING}
    for name in solver_names():
        if f"version {name}" in absent:
            backend(name)
    if not is_installed("excel") and any(is_excel(name) for run in runs for name in run.task.data):
        raise DiagnosticError([missing_package()])


def record_of(done: Done) -> RunRecord:
    """Return the record of a result; that of a run whose worker died is a failure."""
    if not isinstance(done.result, Failure):
        return msgspec.structs.replace(read_record(done.result), attempts=done.attempts)
    again = "the run may crash a solver; `gsdsl campaign run --retry` starts it again"
    more_memory = "give workers more memory with `--memory`, or start fewer with `--workers`"
    diagnostic = failure_diagnostic(done, done.result, "the run", again, more_memory)
    return RunRecord(key=done.key, state=FAILED, diagnostics=[to_stored(diagnostic)], attempts=done.attempts)
