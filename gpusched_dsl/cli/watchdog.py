"""A process beside the command that ends it, whatever it does: after SIGTERM, long after its time limit, or for memory.

Python runs signal handlers between two instructions, so a long call of a library delays them without limit. The handler
in C does not wait: it writes the number of the signal into a pipe (`signal.set_wakeup_fd`), which the watchdog reads.
The watchdog asks first, so that the command can keep its best result and report the reason, and then kills. It ends
with the command.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.engines.own_process import ThisProcess
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    import argparse

    from gpusched_dsl.cli.output import Output

GIB = 1 << 30
PROGRAM_MEMORY = GIB  # bytes: for the program itself, its libraries, and what a solver needs beside the problem
SOLVER_TIME = 60.0  # seconds after twice the time limit: a solver in its presolve is given up before
POLICY_TIME = 600.0  # the same with a policy, whose first plan is always computed
STOP_SECONDS = 1.4  # from SIGTERM to the end of a command that responds

AskToStop = Callable[[int, FrameType | None], None]


class Watchdog:
    """Watches this process from its construction to `close`."""

    def __init__(self, output: Output, time: float | None = None, memory: int | None = None) -> None:
        """Start the process; raises OSError. `time`: seconds until the end; `memory`: most bytes. None: no limit."""
        self.output = output
        self.ask_to_stop: AskToStop | None = None  # of work that can keep a result
        self.late = Diagnostic(
            "GSM6030",
            "the command was ended: it did not stop by itself within 2 s of SIGTERM",
            help="SIGINT (Ctrl-C) gives it the time to keep the best result",
        )
        again = Diagnostic("GSM6030", "the command was ended by a second Ctrl-C")
        self.over_time = Diagnostic(
            "GSM6030",
            f"the command was ended: it still ran after {time or 0:g} s, long after its time limit",
            help="set a longer `--time-limit`, or solve a smaller instance",
        )
        self.over_memory = Diagnostic(
            "GSM6014",
            f"the command was ended: it used more than {(memory or 0) / GIB:.3g} GiB",
            help="use a smaller instance, or raise the limit with `--memory-limit`",
        )
        messages = [self._text(problem) for problem in (self.late, again, self.over_time, self.over_memory)]
        self._pipe = self._start([str(os.getpid()), str(time or 0), str(memory or 0), *messages])
        if sys.platform != "win32":
            signal.signal(signal.SIGALRM, self._at_time)
        if hasattr(signal, "SIGRTMIN"):
            signal.signal(signal.SIGRTMIN, self._at_memory)
        signal.set_wakeup_fd(self._pipe, warn_on_full_buffer=False)

    def _start(self, arguments: list[str]) -> int:
        """Start the process, in a group of its own, so that Ctrl-C does not end it; return the pipe to it."""
        if sys.platform == "win32":
            raise OSError("Windows has no such processes")  # `active_watchdog` asks for none there
        script = str(Path(__file__).with_name("watchdog_process.py"))
        read, write = os.pipe()
        try:
            os.set_blocking(write, False)
            os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", script, *arguments],
                {},
                file_actions=[(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_CLOSE, 1)],
                setpgroup=0,
                setsigmask=[signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE],
            )
        except OSError:
            os.close(write)
            raise
        finally:
            os.close(read)
        return write

    def begin(self, ask_to_stop: AskToStop) -> AskToStop:
        """Begin work that can keep a result; return the handler of its signals."""
        self.ask_to_stop = ask_to_stop
        return self._at_signal

    def _at_signal(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C and SIGTERM, which leaves little time."""
        from gpusched_dsl.cli.watchdog_process import ANSWER

        with suppress(OSError):
            os.write(self._pipe, bytes([ANSWER]))
        if number == signal.SIGTERM:
            self.end_soon(self.late, exits.INTERRUPTED)
        if self.ask_to_stop is not None:
            self.ask_to_stop(number, frame)

    def end_soon(self, reason: Diagnostic, code: int) -> None:
        """Report the reason and end this process in a moment, if it does not end by itself."""
        timer = threading.Timer(STOP_SECONDS, self._end, (reason, code))
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """Let the watchdog end."""
        signal.set_wakeup_fd(-1)
        os.close(self._pipe)

    def _at_time(self, number: int, frame: FrameType | None) -> None:
        """Let work that can keep a result end in a moment, anything else at once."""
        if self.ask_to_stop is None:
            self._end(self.over_time, exits.NO_SOLUTION_YET)
        else:
            self.end_soon(self.over_time, exits.NO_SOLUTION_YET)
            self.ask_to_stop(number, frame)

    def _at_memory(self, number: int, frame: FrameType | None) -> None:
        self._end(self.over_memory, exits.BAD_INPUT)

    def _end(self, reason: Diagnostic, code: int) -> None:
        """Report the reason and exit, although threads and solvers may still work."""
        with suppress(Exception):  # a print may just have been interrupted
            self.output.report([reason])
            self.output.finish()
        os._exit(code)

    def _text(self, reason: Diagnostic) -> str:
        from gpusched_dsl.language.diagnostics.render import render_json, render_text

        return render_json([reason]) if self.output.as_json else render_text([reason])


class _Process:
    """The watchdog of this process."""

    watchdog: Watchdog | None = None


def watch_options(options: argparse.Namespace, output: Output) -> None:
    """Start a watchdog at once if options limit the time or the memory of the complete command."""
    from gsdsl_backends.registry import solver_names

    limit, memory = getattr(options, "memory_limit", None), None
    time = getattr(options, "time_limit", None) if options.command == "solve" else None
    if limit is not None:
        memory = int(min(1.5 * limit * GIB, sys.maxsize / 2)) + PROGRAM_MEMORY
    if time is not None:
        plans = options.warm_start is not None or options.method not in solver_names()
        time = 2 * time + (POLICY_TIME if plans else SOLVER_TIME)
    if time is not None or memory is not None:
        active_watchdog(output, time, memory)


def active_watchdog(output: Output, time: float | None = None, memory: int | None = None) -> Watchdog | None:
    """Return the watchdog of this process, started if there is none; None where there cannot be one."""
    can_be = ThisProcess.is_command and os.name == "posix" and not getattr(sys, "frozen", False)
    if can_be and _Process.watchdog is None and threading.current_thread() is threading.main_thread():
        with suppress(OSError):  # no processes are left: the command works without
            _Process.watchdog = Watchdog(output, time, memory)
    return _Process.watchdog


def finish_work() -> None:
    """Work that can keep a result has ended."""
    if _Process.watchdog is not None:
        _Process.watchdog.ask_to_stop = None


def end_watchdog() -> None:
    """End the watchdog of this process, if there is one."""
    watchdog, _Process.watchdog = _Process.watchdog, None
    if watchdog is not None:
        watchdog.close()
