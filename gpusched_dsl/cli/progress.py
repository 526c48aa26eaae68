"""Stops a solve, and shows its progress on a terminal."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from gpusched_dsl.cli.exits import INTERRUPTED
from gpusched_dsl.cli.terminal import harmless
from gpusched_dsl.cli.watchdog import active_watchdog, finish_work
from gpusched_dsl.ir.deadline import SOLVING
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.language.text.numbers import count_text, number_text, percent_text, seconds_text

if TYPE_CHECKING:
    from gpusched_dsl.cli.output import Output
    from gsdsl_backends.protocol import SolverProgress

REFRESHES_PER_SECOND = 8
SPINNER = 3  # characters before the line


def leave() -> NoReturn:
    """Exit at once, although a solver may still run in its thread: only the operating system can stop it."""
    with suppress(Exception):  # a print may just have been interrupted
        print("interrupted", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)


class ProgressMonitor:
    """The monitor of a solve: remembers the last progress and whether the user wants to stop."""

    def __init__(self, say: Callable[[str], None], time_limit: float | None = None, *, for_each: bool = False) -> None:
        """`time_limit` in seconds of the solve, or of each task."""
        self.time_limit, self._for_each = time_limit, for_each
        self.start_time = time.perf_counter()
        self.latest: SolverProgress | None = None
        self.stop_requested = False
        self.doing = ""
        self.building = ""  # the current stage of building, "" during a solve
        self._say = say

    def begin(self, doing: str) -> None:
        """Set the current stage; its time starts now."""
        self.doing, self.building, self.latest, self.start_time = doing, "", None, time.perf_counter()
        if not self._for_each:
            self.time_limit = None  # what follows the solve has limits of its own

    def stage(self, name: str) -> None:
        """Note that a stage of building or the solver starts."""
        self.building = "" if name == SOLVING else name

    def progress(self, progress: SolverProgress) -> None:
        self.latest, self.building = progress, ""

    def ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C and SIGTERM: the first stops the work, the second exits at once."""
        if self.stop_requested:
            leave()
        self.stop_requested = True
        self._say("stopping with the best solution so far; press Ctrl-C again to exit at once")

    def line(self) -> str:
        """`incumbent 12.3   bound 11.9   gap 3.2 %   14 s   120 nodes`, of a policy `best 12.3   120 plans   14 s`.

        While a problem is built: `grounding   3 s`. The prefix `doing` is the current one of several tasks.
        """
        seconds = time.perf_counter() - self.start_time
        before = f"{self.doing}   " if self.doing else ""
        left = self._seconds_left(seconds)
        return before + self._progress_text(seconds) + (f"   {left}" if left else "")

    def _seconds_left(self, seconds: float) -> str:
        """`at most 46.0 s left` if there is a time limit, else nothing."""
        if self.time_limit is None:
            return ""
        return f"at most {seconds_text(max(0.0, self.time_limit - seconds))} left"

    def _progress_text(self, seconds: float) -> str:
        if self.building:
            return f"{self.building}   {seconds_text(seconds)}"
        if self.latest is None:
            return seconds_text(seconds) if self.doing else f"solving   {seconds_text(seconds)}"
        latest = self.latest
        if latest.iterations:
            return "   ".join(
                [f"best {number_text(latest.objective)}", count_text(latest.iterations, "plan"), seconds_text(seconds)]
            )
        parts = [f"incumbent {number_text(latest.objective)}", f"bound {number_text(latest.bound)}"]
        if latest.objective is not None and latest.bound is not None:
            parts.append(f"gap {percent_text(relative_gap(latest.objective, latest.bound))}")
        parts.append(seconds_text(seconds))
        if latest.nodes:
            parts.append(count_text(latest.nodes, "node"))
        return "   ".join(parts)


def fit_line(text: str, width: int) -> str:
    """Shorten a line of progress to a width: first the speed is left out, then the end."""
    if len(text) > width:
        text = re.sub(r", [^ ,]+ per second", "", text)
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


@contextmanager
def watch_progress(output: Output, *, show: bool, watch: ProgressMonitor | None = None) -> Iterator[ProgressMonitor]:
    """Handle Ctrl-C for a solve; if `show`, also show its progress in one line, which is erased at the end."""
    watch = watch or ProgressMonitor(output.note)
    handlers = _install(watch, output)
    try:
        if show:
            with _live(output, watch):
                yield watch
        else:
            yield watch
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        finish_work()


def _install(watch: ProgressMonitor, output: Output) -> dict[signal.Signals, Any]:
    """Install handlers of Ctrl-C and SIGTERM unless others are installed; return the previous handlers."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: usual for number, usual in defaults.items() if signal.getsignal(number) is usual}
    if before:
        watchdog = active_watchdog(output)
        handler = watch.ask_to_stop if watchdog is None else watchdog.begin(watch.ask_to_stop)
        for number in before:
            signal.signal(number, handler)
    return before


@contextmanager
def _live(output: Output, watch: ProgressMonitor) -> Iterator[None]:
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    spinner, console = Spinner("dots"), output.error_console()

    class Line:
        def __rich__(self) -> Spinner:
            spinner.update(text=Text(harmless(fit_line(watch.line(), console.width - SPINNER)), no_wrap=True))
            return spinner

    with Live(Line(), console=console, refresh_per_second=REFRESHES_PER_SECOND, transient=True):
        yield
