"""`gsdsl run`: runs a scenario over time with one or several methods, prints and writes the results."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import UsageError
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_document
from gpusched_dsl.cli.instance import run_config
from gpusched_dsl.cli.kernels import announce_compiling
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor, leave, watch_progress
from gpusched_dsl.cli.solver_options import own_options
from gpusched_dsl.cli.tables import show_comparison
from gpusched_dsl.data.sources.writing import check_writable
from gpusched_dsl.ir.contradiction import CODE
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.text.numbers import count_text, number_text, seconds_text, with_unit
from gpusched_dsl.language.workspace import Workspace, load_workspace

DISAGREES = "GSM9003"  # a replay that is not the run event by event

if TYPE_CHECKING:
    from gpusched_dsl.online.loops.base import SimulationLoop
    from gpusched_dsl.online.progress import ProgressReader
    from gpusched_dsl.online.run_config import RunConfig
    from gpusched_dsl.reporting.runs.comparison import RunComparison
    from gpusched_dsl.reporting.runs.result import RunResult

FINISHED = ("finished", "horizon")


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.workflows.run import run_method, run_methods

    if options.live is not None:
        from gpusched_dsl.cli.live import run as live

        return live(options, output)
    if options.start is not None or options.tell_from is not None:
        raise UsageError("GSM6002", "`--start` and `--tell-from` are only for live runs", "add `--live SOURCE`")
    methods = options.methods or (options.method,)
    _check(options, methods)
    found = Diagnostics()
    workspace = load_workspace(Path(options.file), found, allow_outside=options.allow_outside)
    found.raise_if_errors()
    output.report(found)
    config = replace(
        run_config(options),
        threads=options.threads,
        gap=options.gap,
        solver_options=own_options(options.solver_option),
        replay=options.replay,
        bound=options.bound,
        verify=options.verify,
    )
    _announce(workspace, config, methods, output)
    if STDOUT in (options.json, options.csv, options.html):
        output.only_findings()
    watch = RunProgressMonitor(output.note)
    if len(methods) == 1:
        with watch_progress(output, show=output.shows_progress, watch=watch):
            config = replace(config, method=methods[0])
            result = run_method(workspace, config, stop=watch.asked_to_stop, tell=watch.hear, note=output.note)
        return _tell_one(result, options, output)
    with watch_progress(output, show=output.shows_progress, watch=watch):
        compared = run_methods(workspace, methods, config, stop=watch.asked_to_stop, tell=watch.hear, begin=watch.begin)
    return _tell_several(compared, options, output)


def _check(options: argparse.Namespace, methods: tuple[str, ...]) -> None:
    """Reject contradictory options and unwritable files before a long run."""
    several = len(methods) > 1
    if options.journal is not None and several:
        raise UsageError(
            "GSM6002",
            "`--journal` records one run, but there are several methods",
            "run each method separately, with its own journal",
        )
    if options.replay and options.journal is None:
        raise UsageError("GSM6002", "`--replay` needs the journal to compare with", "add `--journal DB`")
    outs = [out for out in (options.json, options.csv, options.html) if out == STDOUT]
    if len(outs) > 1:
        raise UsageError("GSM6002", "several documents cannot all go to standard output", "give the others files")
    if options.csv == STDOUT and not several:
        raise UsageError("GSM6002", "`--csv` writes several tables of one run", "name a folder: `--csv DIR`")
    check_targets(options.json, options.html, options.csv if several else None)
    if options.csv is not None and not several:
        check_writable(Path(options.csv), folder=True)


def _announce(workspace: Workspace, config: RunConfig, methods: tuple[str, ...], output: Output) -> None:
    """Announce the compilation of kernels if a method is a policy; unknown names end the command."""
    from gpusched_dsl.compiling.build import check_solvable, choose_scenario
    from gpusched_dsl.workflows.method import choose_method

    scenario, _ = check_solvable(workspace, choose_scenario(workspace, config.scenario), dict(config.settings))
    chosen = [choose_method(workspace, name, scenario.model) for name in methods]
    if any(method.is_policy for method in chosen):
        announce_compiling(output)


# --- what came of it -------------------------------------------------------------------------------------------------


def _tell_one(result: RunResult, options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.reporting.runs.summary import summary_lines, title

    output.say(title(result))
    output.say()
    for line in summary_lines(result):
        output.say(line)
    output.report(result.warnings)
    if options.json is not None:
        write_document(result.json_text(), options.json, output)
    if options.csv is not None:
        files = result.to_csv(options.csv)
        output.note(f"wrote {count_text(len(files), 'file')} into {options.csv}")
    if options.html is not None:
        from gpusched_dsl.reporting.runs.page import page

        write_document(page([result]), options.html, output)
    return exit_code([result])


def _tell_several(found: RunComparison, options: argparse.Namespace, output: Output) -> int:
    _show(found, output)
    output.report(finding for row in found.rows for finding in row.diagnostics)
    told = found.contradictions
    own = (warning for result in found.results for warning in result.warnings if warning.code != CODE)
    output.report((*own, *told))
    if options.json is not None:
        write_document(found.json_text(), options.json, output)
    if options.csv is not None:
        write_document(found.csv_text(), options.csv, output)
    if options.html is not None:
        from gpusched_dsl.reporting.runs.page import page

        write_document(page(found.results, found.grid(), found.footer()), options.html, output)
    if found.contradictions:
        return exits.INTERNAL
    return exits.INTERRUPTED if found.interrupted else exit_code(list(found.results))


def exit_code(results: list[RunResult]) -> int:
    """70 where a total is below its bound, 1 after an error, 130 after Ctrl-C, 5 where a run did not end, else 0."""
    ends = {result.ended for result in results}
    if any(w.code in (CODE, DISAGREES) for result in results for w in result.warnings):
        return exits.INTERNAL
    if "error" in ends:
        return exits.BAD_INPUT
    if "interrupt" in ends:
        return exits.INTERRUPTED
    return exits.OK if ends <= set(FINISHED) else exits.NO_SOLUTION_YET


def _show(found: RunComparison, output: Output) -> None:
    """Print the methods, the table and the lines below it."""
    first = found.results[0]
    online, scenario = first.outcome.online, first.run_info.scenario
    output.say(f"{online.base.name}, online block {online.name}{f', scenario {scenario}' if scenario else ''}")
    output.say()
    show_comparison(found, output)
    output.say()
    for line in found.footer():
        output.say(line)


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

    def hear(self, driver: SimulationLoop) -> None:
        """Note that the run begins, or has computed a plan."""
        from gpusched_dsl.online.progress import ProgressReader

        if self.reader is None or self.reader.driver is not driver:
            self.reader = ProgressReader(driver)

    def ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        if self.stop_requested:
            leave()
        self.stop_requested = True
        if self.reader is None:  # there is nothing to keep of a run that has not begun
            raise KeyboardInterrupt
        self._say("stopping without the current plan; press Ctrl-C again to exit at once")

    def asked_to_stop(self) -> bool:
        return self.stop_requested

    def _told(self, seconds: float) -> str:
        """`12.5 h   40 done, 3 present, 57 future   12.3 $   210 plans, 42 per second   5.0 s`."""
        if self.reader is None:
            return f"reading the data   {seconds_text(seconds)}"
        at = self.reader.read()
        speed = f", {at.plans / at.seconds:.3g} per second" if at.seconds > 0 and at.plans else ""
        parts = [
            with_unit(f"{at.now:.5g}", at.unit),
            f"{at.done:,} done, {at.there:,} present, {at.to_come:,} future",
            with_unit(number_text(round(at.total, 4)), at.money),
            f"{count_text(at.plans, 'plan')}{speed}",
            seconds_text(at.seconds),
        ]
        return "   ".join(parts)
