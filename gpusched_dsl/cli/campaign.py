"""`gsdsl campaign`: runs a grid of experiments, and shows, exports and verifies its results."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType

from gpusched_dsl.campaigns.campaign import CampaignProgress, run_campaign
from gpusched_dsl.campaigns.lockfile import verify
from gpusched_dsl.campaigns.plan import CampaignPlan, PlannedRun, columns_of, make_plan
from gpusched_dsl.campaigns.results import MISSING, CampaignResults
from gpusched_dsl.campaigns.store import HEADER, Store
from gpusched_dsl.campaigns.tasks import FAILED
from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.documents import STDOUT, check_figures, check_targets, write_forms
from gpusched_dsl.cli.instance import permissions, read_workspace
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor, leave, watch_progress
from gpusched_dsl.cli.tables import show_grid
from gpusched_dsl.compiling.evaluation.limits import GIB
from gpusched_dsl.engines.choose import choose_engine
from gpusched_dsl.engines.local import cores
from gpusched_dsl.language.text.numbers import count_text, seconds_text


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
    for name in ("json", "html", "figures"):
        if getattr(options, name) is not None and (options.action not in ("run", "show") or options.dry_run):
            raise CommandLineError(
                "GSM6002", f"`--{name}` is only for `campaign show` and for `campaign run` itself", None
            )
    check_targets(json=options.json, html=options.html)
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
    if STDOUT in (options.json, options.html):
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
    output.report(done.warnings)
    counts = {"done": 0, **done.counts}
    executed = f"{count_text(done.executed, 'run')} executed in {seconds_text(done.seconds)}"
    output.say(f"{plan.name}: {_counts_text(counts)} of {count_text(len(done.rows), 'run')}; {executed}")
    for line in done.footer():
        output.say(line)
    output.note(f"results in {folder}")
    if done.interrupted:
        output.note("interrupted: the same command continues")
        return exits.INTERRUPTED
    write_forms(done, options, output)
    return exits.BAD_INPUT if FAILED in counts else exits.OK


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items())


def _dry_run(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    """Show how many runs there are and are missing, and the time that they take by that of stored runs."""
    records = _read_store(plan, folder, output).records
    progress = CampaignProgress.of(plan, records, retry=options.retry, workers=options.workers or cores())
    left, missing = progress.seconds_left, list(progress.to_do.values())
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
        mean = "" if current.mean_seconds is None else f"{seconds_text(current.mean_seconds)} per run, "
        parts.append(f"{mean}{count_text(current.workers, 'worker')}")
        return "   ".join([self.name, *parts, seconds_text(time.perf_counter() - current.started)])

    def _seconds_left(self, seconds: float) -> str:
        left = None if self.current is None else self.current.seconds_left
        return "" if left is None else f"about {seconds_text(left)} left"


# --- stored results --------------------------------------------------------------------------------------------------


def _read_store(plan: CampaignPlan, folder: Path, output: Output) -> CampaignResults:
    """Return the stored results of a plan; none if there is no store yet."""
    return _stored(plan, folder, output) if (folder / HEADER).exists() else CampaignResults.of(plan, {})


def _stored(plan: CampaignPlan, folder: Path, output: Output) -> CampaignResults:
    results = CampaignResults.read(plan, folder)
    output.report(results.warnings)
    return results


def _status(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    """Show how many runs are done, failed and missing, and the reasons of failures."""
    results = _read_store(plan, folder, output)
    left = CampaignProgress.of(plan, results.records, workers=cores()).seconds_left
    line = f"{plan.name}: {count_text(len(results.rows), 'run')}, {_counts_text(results.counts)}"
    line += f"; {seconds_text(results.spent)} of computing"
    if MISSING in results.counts and left is not None:
        line += f", about {seconds_text(left)} left"
    for each in (line, *results.footer()):
        output.say(each)
    return exits.OK


def _show(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    results = _stored(plan, folder, output)
    if STDOUT in (options.json, options.html):
        output.only_diagnostics()
    output.say(results.title)
    output.say()
    left_out = show_grid(results.grid(), output)
    if left_out:
        output.note(f"the terminal is too narrow for {', '.join(left_out)}: `campaign export` writes all columns")
    lines = results.footer()
    for line in ["", *lines] if lines else []:
        output.say(line)
    write_forms(results, options, output)
    return exits.OK


def _export(plan: CampaignPlan, folder: Path, options: argparse.Namespace, output: Output) -> int:
    results = _stored(plan, folder, output)
    target = results.export(options.out or f"{plan.name}.parquet", all=options.all)
    missing = results.counts.get(MISSING, 0)
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
