"""`gsdsl watch`: checks and solves a file again after each save, and shows what has changed in the objective."""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.instance import open_scenario, permissions
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import leave
from gpusched_dsl.cli.terminal import harmless
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.source_files import is_library_name, library_place
from gpusched_dsl.language.workspace import Workspace, load_workspace
from gpusched_dsl.reporting.objective_changes import ValueChange, objective_changes
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.workflows.check import check_all
from gpusched_dsl.workflows.method import choose_method
from gpusched_dsl.workflows.solve import SolveConfig, outcome_text, solve_scenario
from gpusched_dsl.workflows.watched_files import WatchedFiles

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gsdsl_backends.protocol import SolverProgress

REFRESHES_PER_SECOND = 4
NOTHING_TO_SOLVE = ("GSM6005", "GSM6006")


@dataclass(frozen=True)
class WatchRound:
    """One check and solve: what was found, and the change of the objective; `headline` is the outcome in a line."""

    headline: str
    found: tuple[Diagnostic, ...] = ()
    changes: tuple[ValueChange, ...] = ()
    result: Result | None = None

    @property
    def failed(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self.found)


class SolveMonitor:
    """The monitor of a solve: it stops when a file changes, or when the user presses Ctrl-C."""

    def __init__(self, files: WatchedFiles) -> None:
        self.files = files
        self.interrupted = False
        self.latest: SolverProgress | None = None

    def progress(self, progress: SolverProgress) -> None:
        self.latest = progress

    @property
    def stop_requested(self) -> bool:
        return self.interrupted or self.files.changed

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C and SIGTERM: the first ends the watch, the second exits at once."""
        if self.interrupted:
            leave()
        self.interrupted = True


def run(options: argparse.Namespace, output: Output) -> int:
    path = _path_of(options.file)
    files = WatchedFiles([path, *map(Path, options.set_file)])
    monitor = SolveMonitor(files)
    before: Result | None = None
    code = exits.OK
    with _signals(monitor), _view(output, path) as view:
        while not monitor.interrupted:
            view.begin()
            done = _round(options, output, monitor, before)
            if done.result is not None:
                before = done.result
            if not monitor.interrupted and not files.changed:
                view.show(done)
            changed = files.wait(lambda: monitor.interrupted)
            view.show_changed_files(changed)
    return code


def _path_of(name: str) -> Path:
    """The file to watch; a shipped model by its name."""
    if not is_library_name(name):
        return Path(name)
    found = Diagnostics()
    place = library_place(name, found)
    found.raise_if_errors()
    assert place is not None
    return place.path


def _round(options: argparse.Namespace, output: Output, monitor: SolveMonitor, before: Result | None) -> WatchRound:
    """Check the file, and solve its scenario if it has no errors."""
    found = Diagnostics()
    workspace = load_workspace(Path(options.file), found, allow_outside=options.allow_outside)
    monitor.files.add(s.path for s in workspace.sources if s.path is not None)
    if not found.has_errors:
        check_all(workspace, found, permissions(options))
    if found.has_errors:
        return WatchRound("errors", tuple(found))
    if options.check_only:
        return WatchRound("ok", tuple(found))
    try:
        return _solve(options, output, monitor, before, workspace, found)
    except DiagnosticError as error:
        found.extend(error.diagnostics)
        if all(d.code in NOTHING_TO_SOLVE for d in error.diagnostics):
            return WatchRound("ok; no scenario is chosen to solve", tuple(found))
        return WatchRound("errors", tuple(found))


def _solve(
    options: argparse.Namespace,
    output: Output,
    monitor: SolveMonitor,
    before: Result | None,
    workspace: Workspace,
    found: Diagnostics,
) -> WatchRound:
    from gsdsl_backends.isolation.backend import guard

    selected = open_scenario(options, Output(quiet=True))
    method = choose_method(workspace, options.method, selected.scenario.model, load=guard)
    result = solve_scenario(SolveConfig.of(selected, method, vars(options)), monitor=monitor).result
    found.extend(result.warnings)
    monitor.files.add(_inputs(result, workspace))
    changes = tuple(objective_changes(before, result)) if result.has_point else ()
    result.solved.close()
    title = selected.scenario.name
    return WatchRound(f"{title}: {outcome_text(result)}", tuple(found), changes, result if result.has_point else None)


def _inputs(result: Result, workspace: Workspace) -> Iterator[Path]:
    """The files that a result was computed from."""
    for name in result.inputs_sha256:
        for path in (Path(name), *(base / name for base in [workspace.base] if base is not None)):
            if path.is_file():
                yield path
                break


@contextmanager
def _signals(monitor: SolveMonitor) -> Iterator[None]:
    """Handle Ctrl-C during the watch, unless handlers of others are installed."""
    usual: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    before = {n: signal.signal(n, monitor.interrupt) for n, own in usual.items() if signal.getsignal(n) is own}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- views -----------------------------------------------------------------------------------------------------------


class LineView:
    """Writes each round as lines, if the output is no terminal."""

    def __init__(self, output: Output, path: Path) -> None:
        self.output, self.path = output, path

    def begin(self) -> None:
        pass

    def show(self, done: WatchRound) -> None:
        self.output.say(f"{_clock()}  {self.path.name}: {done.headline}")
        for name, value, change in _rows(done.changes):
            self.output.say(f"  {name}  {value}  {change}".rstrip())
        self.output.flush()
        if done.found:
            Output(diagnostics="text", color=self.output.color, quiet=self.output.quiet).report(done.found)

    def show_changed_files(self, paths: Iterable[Path]) -> None:
        pass


class TerminalView:
    """Shows the last round in one place of a terminal."""

    def __init__(self, output: Output, path: Path) -> None:
        from rich.live import Live

        self.output, self.path = output, path
        self.done: WatchRound | None = None
        self.at = ""
        self.working_since: float | None = None
        self.saved: list[str] = []
        self.live = Live(get_renderable=self._render, console=output.console(), refresh_per_second=REFRESHES_PER_SECOND)

    def begin(self) -> None:
        self.working_since = time.monotonic()

    def show(self, done: WatchRound) -> None:
        self.done, self.at, self.working_since = done, _clock(), None
        self.live.refresh()

    def show_changed_files(self, paths: Iterable[Path]) -> None:
        self.saved = [path.name for path in paths]

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        parts: list[RenderableType] = [Text(harmless(self._state()), style="dim")]
        if self.done is not None:
            style = "bold red" if self.done.failed else "bold green"
            parts.append(Text(harmless(f"{self.at}  {self.done.headline}"), style=style))
            if self.done.changes:
                table = Table(box=None, pad_edge=False)
                for title, justify in (("objective", "left"), ("value", "right"), ("change", "right")):
                    table.add_column(title, justify=justify)  # type: ignore[arg-type]
                for (name, value, change), each in zip(_rows(self.done.changes), self.done.changes, strict=True):
                    table.add_row(Text(harmless(name)), Text(value), Text(change, style=_style(each)))
                parts.append(table)
            if self.done.found:
                from gpusched_dsl.language.diagnostics.render import render_text

                colored = self.output.has_colors(self.output.console().file)  # type: ignore[arg-type]
                parts.append(Text.from_ansi(harmless(render_text(self.done.found, color=colored)).rstrip("\n")))
        return Group(*parts)

    def _state(self) -> str:
        if self.working_since is not None:
            after = f" after a change of {', '.join(self.saved)}" if self.saved else ""
            return f"{self.path.name}: checking and solving{after}, {time.monotonic() - self.working_since:.0f} s"
        return f"{self.path.name}: waits for changes; Ctrl-C ends the watch"


def _style(change: ValueChange) -> str:
    return "" if not change.difference else "yellow"


def _rows(changes: Iterable[ValueChange]) -> list[tuple[str, str, str]]:
    """Name, value and change, with terms below their objective."""
    return [(c.name if c.is_objective else f"  {c.name}", c.text, c.change_text) for c in changes]


@contextmanager
def _view(output: Output, path: Path) -> Iterator[LineView | TerminalView]:
    if not output.is_terminal:
        yield LineView(output, path)
        return
    view = TerminalView(output, path)
    with view.live:
        yield view


def _clock() -> str:
    return time.strftime("%H:%M:%S")
