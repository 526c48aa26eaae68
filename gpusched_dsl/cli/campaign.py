"""`gsdsl campaign`: runs a grid of experiments, and shows, exports and verifies its results."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from gpusched_dsl.campaigns.campaign import (
    CampaignProgress,
    CampaignRun,
    missing_runs,
    progress_of,
    run_campaign,
)
from gpusched_dsl.campaigns.lockfile import verify
from gpusched_dsl.campaigns.plan import CampaignPlan, PlannedRun, columns_of, make_plan
from gpusched_dsl.campaigns.results import results_table, write_results
from gpusched_dsl.campaigns.store import HEADER, Store
from gpusched_dsl.campaigns.summary import failure_lines, shortfall_lines, status_lines, summary_grid
from gpusched_dsl.campaigns.tasks import RunRecord
from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.documents import STDOUT, check_figures, check_targets, write_document, write_figures
from gpusched_dsl.cli.instance import permissions, read_workspace
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor, leave, watch_progress
from gpusched_dsl.cli.tables import show_grid
from gpusched_dsl.compiling.evaluation.limits import GIB
from gpusched_dsl.engines.choose import choose_engine
from gpusched_dsl.engines.local import cores
from gpusched_dsl.interface.campaigns import CampaignResults
from gpusched_dsl.language.text.counting import count_text
from gpusched_dsl.language.text.numbers import seconds_text


def run(options: argparse.Namespace, output: Output) -> int:
    _check(options)
    workspace = read_workspace(Path(options.file), options.allow_outside, output)
    plan = make_plan(workspace, options.name, permissions(options), str(options.file))
    output.report(plan.warnings)
    folder = Path(options.store or f"{plan.name}.results")
    part = plan.only(_only(options))
    action: Callable[[CampaignPlan, Path, argparse.Namespace, Output], int] = {
        "run": _dry_run if options.dry_run else _run,
        "status": _status,
        "show": _show,
        "export": _export,
    }.get(options.action, _verify)
    return action(plan if options.action == "verify" else part, folder, options, output)


def _check(options: argparse.Namespace) -> None:
    for name in ("retry", "dry_run", "workers", "memory"):
        if getattr(options, name) and options.action != "run":
            raise CommandLineError("GSM6002", f"`--{name.replace('_', '-')}` is only for `campaign run`", None)
    for name in ("html", "figures"):
        if getattr(options, name) is not None and (options.action not in ("run", "show") or options.dry_run):
            raise CommandLineError(
                "GSM6002", f"`--{name}` is only for `campaign show` and for `campaign run` itself", None
            )
    check_targets(options.html)
    check_figures(options.figures)
    for name in ("out", "all"):
        if getattr(options, name) and options.action != "export":
            raise CommandLineError("GSM6002", f"`--{name}` is only for `campaign export`", None)
    if options.only and options.action == "verify":
        raise CommandLineError("GSM6002", "`campaign verify` compares the complete campaign", "leave out `--only`")


def _only(options: argparse.Namespace) -> dict[str, list[str]]:
    selected: dict[str, list[str]] = {}
    for text in options.only:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise CommandLineError("GSM6003", f"`--only {text}` does not select runs", "write `--only method=highs`")
        selected.setdefault(name.strip(), []).append(value.strip())
    return selected


# --- run -------------------------------------------------------------------------------------------------------------


def _run(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    memory = None if options.memory is None else int(options.memory * GIB)
    if options.html == STDOUT:
        output.only_diagnostics()
    monitor = CampaignMonitor(output.note, plan.name)
    with (
        choose_engine(options.engine, options.workers, memory) as engine,
        Store(folder, plan.name) as store,
        watch_progress(output, show=output.shows_progress, watch=monitor),
    ):
        done = run_campaign(
            plan, store, engine, retry=options.retry, stop=lambda: monitor.stop_requested, tell=monitor.observe
        )
    code = _report_run(done, folder, output)
    if not done.interrupted:
        _write_page(CampaignResults(done.plan, done.records, folder), options, output)
    return code


def _report_run(done: CampaignRun, folder: Path, output: Output) -> int:
    output.report(done.warnings)
    states = [done.records.get(run.key) for run in done.plan.runs]
    failed = sum(record is not None and record.failed for record in states)
    finished = sum(record is not None and not record.failed for record in states)
    parts = [f"{finished} done"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{states.count(None)} missing"] if None in states else []
    executed = f"{count_text(done.executed, 'run')} executed in {seconds_text(done.seconds)}"
    output.say(f"{done.plan.name}: {', '.join(parts)} of {count_text(len(states), 'run')}; {executed}")
    for line in failure_lines(done.plan, done.records) + shortfall_lines(done.plan, done.records):
        output.say(line)
    output.note(f"results in {folder}")
    if done.interrupted:
        output.note("interrupted: the same command continues")
        return exits.INTERRUPTED
    return exits.BAD_INPUT if failed else exits.OK


def _dry_run(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    """Show how many runs there are and are missing, and the time that they take by that of stored runs."""
    records = _read_store(plan, folder, output)
    missing = missing_runs(plan, records, retry=options.retry)
    left = progress_of(plan, records, missing, options.workers or cores()).seconds_left
    output.say(f"{plan.name}: {count_text(len(plan.runs), 'run')}, {len(missing)} to execute")
    if missing:
        estimate = f"no run is stored yet, so there is no estimate{_some_runs(missing)}"
        output.say(f"  {estimate if left is None else f'about {seconds_text(left)}'}")
    return exits.OK


def _some_runs(runs: Sequence[PlannedRun]) -> str:
    """`: execute some, as with --only seed=1`, by a column with several values; nothing if there is none."""
    columns = [columns_of(run.run) for run in runs]
    for name in ("seed", *columns[0]):
        values = dict.fromkeys(filter(None, (each[name] for each in columns)))
        if len(values) > 1:
            return f": execute some, as with `--only {shlex.quote(f'{name}={next(iter(values))}')}`"
    return ""


class CampaignMonitor(ProgressMonitor):
    """Shows the progress of a campaign; the first Ctrl-C ends it, with all finished runs stored."""

    def __init__(self, say: Callable[[str], None], name: str) -> None:
        super().__init__(say)
        self.name = name
        self.current: CampaignProgress | None = None

    def observe(self, progress: CampaignProgress) -> None:
        self.current = progress

    def ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        if self.stop_requested:
            leave()
        self.stop_requested = True
        self._say("stopping: finished runs are stored, the others are given up")

    def _progress_text(self, seconds: float) -> str:
        """`Small   37 of 900 done, 2 failed   12 s per run, 2 workers   1 min`."""
        current = self.current
        if current is None:
            return f"{self.name}   reading the store"
        parts = [f"{current.done} of {current.total} done" + (f", {current.failed} failed" if current.failed else "")]
        times = [value for values in current.seconds.values() for value in values]
        mean = f"{seconds_text(sum(times) / len(times))} per run, " if times else ""
        parts.append(f"{mean}{count_text(current.workers, 'worker')}")
        return "   ".join([self.name, *parts, seconds_text(time.perf_counter() - current.started)])

    def _seconds_left(self, seconds: float) -> str:
        left = None if self.current is None else self.current.seconds_left
        return "" if left is None else f"about {seconds_text(left)} left"


# --- stored results --------------------------------------------------------------------------------------------------


def _read_store(plan: CampaignPlan, folder: Path, output: Output) -> dict[str, RunRecord]:
    """Return the stored records of a plan; none if there is no store yet."""
    if not (folder / HEADER).exists():
        return {}
    store = Store(folder, plan.name, read_only=True)
    records = store.read_all(run.key for run in plan.runs)
    output.report(store.warnings)
    return records


def _status(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    records = _read_store(plan, folder, output)
    left = progress_of(plan, records, missing_runs(plan, records), cores()).seconds_left
    for line in status_lines(plan, records, left):
        output.say(line)
    return exits.OK


def _show(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    store = Store(folder, plan.name, read_only=True)
    records = store.read_all(run.key for run in plan.runs)
    output.report(store.warnings)
    if options.html == STDOUT:
        output.only_diagnostics()
    output.say(plan.name if plan.campaign.doc is None else f"{plan.name}: {plan.campaign.doc}")
    output.say()
    left_out = show_grid(summary_grid(plan, records), output)
    if left_out:
        output.note(f"the terminal is too narrow for {', '.join(left_out)}: `campaign export` writes all columns")
    lines = failure_lines(plan, records) + shortfall_lines(plan, records)
    for line in ["", *lines] if lines else []:
        output.say(line)
    _write_page(CampaignResults(plan, records, folder), options, output)
    return exits.OK


def _write_page(results: CampaignResults, options: argparse.Namespace, output: Output) -> None:
    if options.html is not None:
        write_document(results.html_text(), options.html, output)
    if options.figures is not None:
        write_figures({"": results.figures()}, options.figures, output)


def _export(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    store = Store(folder, plan.name, read_only=True)
    records = store.read_all(run.key for run in plan.runs)
    output.report(store.warnings)
    target = Path(options.out or f"{plan.name}.parquet")
    write_results(results_table(plan, records, all_measures=options.all), target)
    missing = len(missing_runs(plan, records))
    behind = f"; {count_text(missing, 'run')} missing" if missing else ""
    output.note(f"wrote {target}: {count_text(len(plan.runs), 'row')}{behind}")
    return exits.OK


def _verify(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    found = verify(plan, Store(folder, plan.name, read_only=True))
    output.report(found.diagnostics(folder))
    parts = [f"{count_text(found.current, 'result')} of the present inputs"]
    parts += [count_text(found.failed, "failed run")] if found.failed else []
    parts += [f"{count_text(found.missing, 'run')} missing"] if found.missing else []
    parts += [f"{count_text(found.outdated, 'result')} of other inputs"] if found.outdated else []
    output.say(f"{plan.name}: {', '.join(parts)}")
    return exits.OK if found.holds else exits.BAD_INPUT
