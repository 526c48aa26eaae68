"""`gsdsl drive`: watches a real cluster and plans for it, changes it with `--act`, reports what plans would save."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.crash import crash_diagnostic
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_document
from gpusched_dsl.cli.instance import read_workspace
from gpusched_dsl.cli.kernels import announce_compiling
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.tables import show_with_note
from gpusched_dsl.cli.trace import diagnostic_of
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.extras import require_extra
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.policies.library import is_policy

if TYPE_CHECKING:
    from gpusched_dsl.language.workspace import Workspace
    from gsdsl_clusters.drivers.metrics import DriveMetrics
    from gsdsl_clusters.drivers.protocol import Action, DrivenCluster
    from gsdsl_clusters.drivers.settings import DriveSettings


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.data.sources.secret_files import secret_warnings
    from gsdsl_clusters.drivers.settings import SECRETS, read_settings

    _check(options)
    if options.init is not None:
        return _init(options, output)
    settings, cluster = read_settings(Path(options.file))
    output.report(secret_warnings(*(settings.cluster_settings.get(name) for name in SECRETS)))
    workspace = read_workspace(settings.model, options.allow_outside, output)
    if options.check:
        return _show_observation(workspace, settings, cluster, output)
    if is_policy(workspace, settings.method):
        announce_compiling(output)
    if options.report:
        return _report(workspace, settings, options, output)
    return _drive(workspace, settings, cluster, options, output)


def _check(options: argparse.Namespace) -> None:
    """Reject contradictory options and unwritable files."""
    chosen = [name for name in ("init", "act", "check", "report") if getattr(options, name)]
    if len(chosen) > 1:
        message = f"`--{chosen[0]}` and `--{chosen[1]}` exclude each other"
        raise CommandLineError("GSM6002", message, "choose one of them")
    for name in ("html", "json", "methods"):
        if getattr(options, name) and not options.report:
            raise CommandLineError("GSM6002", f"`--{name}` belongs to the report", "add `--report`")
    for name in ("rounds", "metrics"):
        if getattr(options, name) is not None and (options.check or options.report or options.init):
            raise CommandLineError("GSM6002", f"`--{name}` is only for a run", "remove it")
    check_targets(json=options.json, html=options.html)


def _init(options: argparse.Namespace, output: Output) -> int:
    """Write a model of the live cluster."""
    from gpusched_dsl.data.sources.files import FileLimits, Unreadable
    from gsdsl_clusters.commands.inspect import check_model_folder, write_model
    from gsdsl_clusters.inspecting.readers.kubernetes_documents import read_kubeconfig
    from gsdsl_clusters.inspecting.reading import LIVE_SLURM, read_snapshot

    check_model_folder(options.file)
    try:
        if options.init == "slurm":
            snapshot = read_snapshot(LIVE_SLURM, FileLimits(allow_outside=True))
        else:
            snapshot = read_kubeconfig(None)
    except Unreadable as error:
        raise DiagnosticError([diagnostic_of(fault) for fault in error.faults]) from None
    write_model(snapshot, options.file, options.init, output)
    return exits.OK


# --- runs ------------------------------------------------------------------------------------------------------------


def _drive(
    workspace: Workspace, settings: DriveSettings, cluster: DrivenCluster, options: argparse.Namespace, output: Output
) -> int:
    from gsdsl_clusters.drivers.drive import DriveOptions, drive
    from gsdsl_clusters.drivers.report import check_report_methods

    check_report_methods(workspace, settings)
    acts = options.act
    mode = "changes the cluster" if acts else "watches only (add `--act` to change the cluster)"
    output.note(f"{settings.method} plans for {settings.driver} and {mode}; records are in {settings.folder}")

    def show(action: Action) -> None:
        would = "" if acts else "would "
        where = f" on {', '.join(action.allocation)}" if action.allocation else ""
        if counted := metrics:
            counted.count_action(action, acts=acts)
        output.note(f"{would}{action.kind.value.replace('_', ' ')} job {action.job}{where}   ({action.reason})")

    with (
        _stop_on_signals() as stop,
        _daily_reports(settings, options, output) as on_observation,
        _served_metrics(settings, options, output) as metrics,
    ):
        summary = drive(
            workspace,
            settings,
            cluster,
            DriveOptions(
                acts,
                options.rounds,
                stop.is_set,
                wait=stop.wait,
                on_action=show,
                on_observation=on_observation,
                on_state=(lambda observation, plan, now: None) if metrics is None else metrics.observe,
            ),
            on_record=(lambda record: None) if metrics is None else metrics.count_record,
            report=lambda diagnostic: output.report([diagnostic], counted=False),
            defect=lambda failure: crash_diagnostic(failure, sys.argv),
        )
    made = "made" if acts else "would have been made"
    output.say(
        f"{count_text(summary.rounds, 'observation')}, {count_text(summary.events, 'event')}, "
        f"{count_text(summary.plans, 'plan')}; {count_text(summary.changes, 'change')} {made}"
    )
    if summary.left_out:
        output.say(f"left out: {count_text(len(summary.left_out), 'job')}")
    if summary.broken:
        done = "not carried out" if settings.guard.obeys_model else made
        output.say(f"violate the model: {count_text(summary.broken, 'plan')} ({done})")
        return exits.INFEASIBLE
    return exits.OK


@contextmanager
def _daily_reports(
    settings: DriveSettings, options: argparse.Namespace, output: Output
) -> Iterator[Callable[[float], None]]:
    """What is called with the time of each observation, to write a report after each day if the file says so."""
    from gsdsl_clusters.drivers.daily import REPORTS, DailyReports, report_command

    if not settings.report.daily:
        yield lambda now: None
        return

    def tell(written: bool, message: str) -> None:
        if written:
            output.note(message)
        else:
            output.report([Diagnostic("GSM5411", message, severity=Severity.WARNING)], counted=False)

    command = report_command(settings.path, outside=options.allow_outside)
    with closing(DailyReports(settings.folder / REPORTS, command, tell)) as reports:
        yield reports.observed


@contextmanager
def _served_metrics(
    settings: DriveSettings, options: argparse.Namespace, output: Output
) -> Iterator[DriveMetrics | None]:
    """The metrics of a run, served for Prometheus while it lasts; None without `--metrics`."""
    if options.metrics is None:
        yield None
        return
    require_extra("serve", "metrics need", "GSM5501", modules=("prometheus_client",))
    from gsdsl_clusters.drivers.metrics import DriveMetrics

    metrics = DriveMetrics(settings.online or settings.driver, settings.folder, acts=options.act)
    with metrics.serve(*options.metrics) as port:
        output.note(f"metrics at http://{options.metrics[0]}:{port}/metrics")
        yield metrics


@contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set; a second Ctrl-C interrupts at once."""
    stop = threading.Event()

    def ask(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- checks and reports ----------------------------------------------------------------------------------------------


def _show_observation(workspace: Workspace, settings: DriveSettings, cluster: DrivenCluster, output: Output) -> int:
    """Observe once and print the nodes, and the jobs with their data or the reason why they are left out."""
    from gsdsl_clusters.drivers.inspection import inspect
    from gsdsl_clusters.drivers.report import check_report_methods

    check_report_methods(workspace, settings)
    found = inspect(workspace, settings, cluster)
    for line in found.node_lines():
        output.say_wrapped(line)
    output.say()
    if found.jobs:
        show_with_note(found.grid(), output, indent="")
    else:
        output.say("no jobs")
    output.report(found.warnings)
    return exits.OK


def _report(workspace: Workspace, settings: DriveSettings, options: argparse.Namespace, output: Output) -> int:
    """Compare what the cluster did with the methods, over everything that was recorded."""
    from gsdsl_clusters.drivers.report import shadow_comparison
    from gsdsl_clusters.drivers.report_figures import FIGURES, write_figures

    if STDOUT in (options.html, options.json):
        output.only_diagnostics()
    found = shadow_comparison(workspace, settings, options.methods or settings.report.methods)
    show_with_note(found.grid(), output)
    output.say()
    for line in found.footer():
        output.say_wrapped(line)
    output.report(diagnostic for row in found.rows for diagnostic in row.diagnostics)
    try:
        write_figures(settings.folder / FIGURES, found.measures())
    except OSError as failure:
        output.note(f"no metrics about this report: `{settings.folder / FIGURES}`: {failure.strerror}")
    if options.json is not None:
        write_document(found.json_text(), options.json, output)
    if options.html is not None:
        write_document(found.html_text(), options.html, output)
    return exits.OK if len(found.results) > 1 else exits.BAD_INPUT
