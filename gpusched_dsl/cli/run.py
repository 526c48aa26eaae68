"""`gsdsl run`: runs a scenario over time with one or several methods, prints and writes the results."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.documents import (
    STDOUT,
    check_figures,
    check_reports,
    check_targets,
    report_trials,
    write_forms,
)
from gpusched_dsl.cli.instance import refuse_options, run_config
from gpusched_dsl.cli.kernels import announce_compiling
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor, leave, watch_progress
from gpusched_dsl.cli.tables import show_with_note
from gpusched_dsl.data.sources.writing import check_writable
from gpusched_dsl.ir.contradiction import CODE
from gpusched_dsl.ir.log import log_phase
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.text.numbers import count_text, number_text, seconds_text, with_unit
from gpusched_dsl.language.workspace import Workspace, load_workspace

LATE = "33"  # yellow
DISAGREES = "GSM9003"  # a replay that differs from the simulation by events

if TYPE_CHECKING:
    from gpusched_dsl.online.loops.base import SimulationLoop
    from gpusched_dsl.online.progress import ProgressReader
    from gpusched_dsl.online.run_config import RunConfig
    from gpusched_dsl.reporting.report import Report
    from gpusched_dsl.reporting.runs.comparison import RunTrials
    from gpusched_dsl.reporting.runs.result import RunResult

FINISHED = ("finished", "horizon")
ENOUGH_JOBS = 5  # finished ones from which the rest of the time is estimated


def run(options: argparse.Namespace, output: Output) -> int:
    if options.live is not None:
        from gpusched_dsl.cli.live import run as live

        return live(options, output)
    if options.tell_from is not None:
        raise CommandLineError("GSM6002", "`--tell-from` is only for live runs", "add `--live SOURCE`")
    from gpusched_dsl.workflows.run import run_method, run_methods, run_seeds

    methods = options.methods or (options.method,)
    _check(options, methods)
    diagnostics = Diagnostics()
    with log_phase("text and checks"):
        workspace = load_workspace(Path(options.file), diagnostics, allow_outside=options.allow_outside)
    diagnostics.raise_if_errors()
    output.report(diagnostics)
    config = run_config(options)
    _announce(workspace, config, methods, output)
    if STDOUT in (options.json, options.csv, options.html):
        output.only_diagnostics()
    watch = RunProgressMonitor(output.note)
    with watch_progress(output, show=output.shows_progress, watch=watch), log_phase("the run"):
        stop, tell, begin = watch.wants_to_stop, watch.observe, watch.begin
        if options.seeds is None and len(methods) == 1:
            result = run_method(workspace, replace(config, method=methods[0]), stop=stop, tell=tell, note=output.note)
        elif options.seeds is None:
            comparison: RunTrials = run_methods(workspace, methods, config, stop=stop, tell=tell, begin=begin)
        else:
            comparison = run_seeds(workspace, methods, config, options.seeds, stop=stop, tell=tell, begin=begin)
    if options.seeds is None and len(methods) == 1:
        return _report_run(result, options, output)
    return _report_comparison(comparison, options, output)


def _check(options: argparse.Namespace, methods: tuple[str, ...]) -> None:
    """Reject contradictory options and unwritable files before a long run."""
    several = len(methods) > 1 or options.seeds is not None
    refuse_options("run", {**vars(options), "methods": len(methods) > 1, "seed": options.seed or None})
    if options.csv == STDOUT and not several:
        raise CommandLineError("GSM6002", "`--csv` writes several tables of one run", "name a folder: `--csv DIR`")
    check_targets(json=options.json, csv=options.csv if several else None, html=options.html)
    check_figures(options.figures)
    if options.csv is not None and not several:
        check_writable(Path(options.csv), folder=True)
    if options.report:
        check_reports(options.report, _kind_of_report(options, methods))


def _kind_of_report(options: argparse.Namespace, methods: tuple[str, ...]) -> type[Report]:
    from gpusched_dsl.reporting.runs.comparison import RunComparison
    from gpusched_dsl.reporting.runs.result import RunResult
    from gpusched_dsl.reporting.runs.seeds import SeedComparison

    if options.seeds is not None:
        return SeedComparison
    return RunResult if len(methods) == 1 else RunComparison


def _announce(workspace: Workspace, config: RunConfig, methods: tuple[str, ...], output: Output) -> None:
    """Announce the compilation of kernels if a method is a policy; unknown names end the command."""
    from gpusched_dsl.compiling.build import check_solvable
    from gpusched_dsl.online.open import run_scenario
    from gpusched_dsl.online.run_config import is_program
    from gpusched_dsl.workflows.method import choose_method

    name = run_scenario(workspace, config.scenario, config.online)
    scenario, _ = check_solvable(workspace, name, dict(config.settings))
    chosen_methods = [choose_method(workspace, name, scenario.model) for name in methods if not is_program(name)]
    if any(method.is_policy for method in chosen_methods):
        announce_compiling(output)


# --- output ----------------------------------------------------------------------------------------------------------


def _report_run(result: RunResult, options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.reporting.runs.groups import LEGEND, group_footer, group_grid
    from gpusched_dsl.reporting.runs.summary import MOST_GROUPS, summary_lines, title

    output.say_wrapped(title(result))
    output.say()
    for line in summary_lines(result):
        is_late = line.startswith("tardiness") and result.metrics["jobs_late"]
        output.say_wrapped(output.style(line, LATE) if is_late or line.startswith("broken") else line)
    for attribute in result.attributes:
        table = result.by(attribute)
        output.say()
        show_with_note(group_grid(table, result.unit, MOST_GROUPS), output, indent="")
        for line in group_footer(table, MOST_GROUPS):
            output.say_wrapped(line)
    if result.attributes:
        output.say("\n" + "\n".join(LEGEND))
    output.report(result.warnings)
    write_forms(result, options, output)
    return exit_code([result])


def _report_comparison(comparison: RunTrials, options: argparse.Namespace, output: Output) -> int:
    first = comparison.results[0]
    online, scenario = first.outcome.online, first.run_info.scenario
    output.say(f"{online.base.name}, online block {online.name}{f', scenario {scenario}' if scenario else ''}")
    output.say()
    report_trials(comparison, options, output)
    if comparison.contradictions:
        return exits.INTERNAL
    return exits.INTERRUPTED if comparison.interrupted else exit_code(list(comparison.results))


def exit_code(results: list[RunResult]) -> int:
    """Return 70 if a total is below its bound, 1 after an error, 130 after Ctrl-C, 3 if a plan violates the model, 5 if
    a run did not end, else 0.
    """
    ends = {result.ended for result in results}
    if any(w.code in (CODE, DISAGREES) for result in results for w in result.warnings):
        return exits.INTERNAL
    if "error" in ends:
        return exits.BAD_INPUT
    if "interrupt" in ends:
        return exits.INTERRUPTED
    if any(result.is_broken for result in results):
        return exits.INFEASIBLE
    return exits.OK if ends <= set(FINISHED) else exits.NO_SOLUTION_YET


# --- progress --------------------------------------------------------------------------------------------------------


class RunProgressMonitor(ProgressMonitor):
    """Shows the progress of a run; the first Ctrl-C ends the run without the current plan, the second exits."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(say)
        self.reader: ProgressReader | None = None

    def begin(self, doing: str) -> None:
        """Set the current method."""
        super().begin(doing)
        self.reader = None

    def observe(self, loop: SimulationLoop) -> None:
        """Note that the run begins, or has computed a plan."""
        from gpusched_dsl.online.progress import ProgressReader

        if self.reader is None or self.reader.loop is not loop:
            self.reader = ProgressReader(loop)

    def ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        if self.stop_requested:
            leave()
        self.stop_requested = True
        if self.reader is None:  # there is no result before the first plan
            raise KeyboardInterrupt
        self._say("stopping without the current plan; press Ctrl-C again to exit at once")

    def wants_to_stop(self) -> bool:
        return self.stop_requested

    def _seconds_left(self, seconds: float) -> str:
        """`about 20.0 s left`, if the finished jobs say enough about the others."""
        if self.reader is None:
            return ""
        current = self.reader.read()
        others = current.there + current.to_come
        if current.done < ENOUGH_JOBS or current.seconds < 1.0 or not others:
            return ""
        return f"about {seconds_text(current.seconds * others / current.done)} left"

    def _progress_text(self, seconds: float) -> str:
        """`12.5 h   40 done, 3 present, 57 future   12.3 $   210 plans, 42 per second   5.0 s`."""
        if self.reader is None:
            return f"reading the data   {seconds_text(seconds)}"
        current = self.reader.read()
        speed = f", {current.plans / current.seconds:.3g} per second" if current.seconds > 0 and current.plans else ""
        parts = [
            with_unit(f"{current.now:.5g}", current.unit),
            f"{current.done:,} done, {current.there:,} present, {current.to_come:,} future",
            with_unit(number_text(round(current.total, 4)), current.money),
            f"{count_text(current.plans, 'plan')}{speed}",
            seconds_text(current.seconds),
        ]
        return "   ".join(parts)
