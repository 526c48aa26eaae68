"""Backends in processes of their own: a solver that crashes ends its process, not the caller's.

A run, a comparison or a file of tests has more to lose than one solve, and a segmentation fault or an abort in native
code cannot be caught. So the solver works in another process (`process.py`), which lasts from solve to solve and
keeps its sessions; problems and answers go through a pipe. A process that ended is replaced by the next `open`.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache, cached_property
from multiprocessing.connection import Pipe
from typing import TYPE_CHECKING, Any

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.interrupt import POLL_SECONDS, Control, CtrlC
from gsdsl_backends.protocol import Backend, Capabilities, Exchange, Monitor, Session, Silent, SolveOptions
from gsdsl_backends.registry import backend, is_concurrent

if TYPE_CHECKING:
    from gpusched_dsl.ir.changes import Changes


CRASHED = "GSM4017"
# Backends of which no crash is known, and those that have a process of their own.
STEADY, APART = frozenset({"highs"}), frozenset({"cpsat"})
SHOWN = 200  # characters of the last words of a process
END_SECONDS = 5.0

# The process has the paths of this one; it gets the name of the backend, and the numbers of its end of the pipe
# and of one on which nothing is ever sent: it closes with this process, however this process ends.
PROGRAM = """import sys
sys.path[:] = {path!r}
from gsdsl_backends.isolation.process import main
main({name!r}, {factory!r}, {fd}, {life})"""
KILLED = 9  # the signal; `signal` names it only where there is one


def is_supported() -> bool:
    """Whether this platform can hand a pipe to another process in the way that is used here."""
    return sys.platform != "win32"


def guard(name: str, everything: bool = False) -> Backend:
    """The backend of that name in a process of its own, which begins to start; in this one where there is no way.

    Backends in `STEADY` stay in this process, where small problems are solved twice as fast, unless `everything` is
    to be guarded; those in `APART` are guarded in any case.
    Raises DiagnosticError (GSM4001, GSM4002) as `registry.backend` does, and GSM4017 where its process ends at once:
    at the first question to a process of its own.
    """
    if not is_supported() or name in APART or is_concurrent(name) or (name in STEADY and not everything):
        return backend(name)
    return isolate(name)


@cache
def isolate(name: str) -> IsolatedBackend:
    """The one `IsolatedBackend` of that name in this process: runs share its processes."""
    return IsolatedBackend(name)


class IsolatedBackend:
    """A backend with its sessions in separate processes.

    `factory` names the class that the processes serve, as `module:class`; empty: that of the registry.
    """

    def __init__(self, name: str, factory: str = "") -> None:
        self.name, self.factory = name, factory
        self._processes: list[SolverProcess] = []
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._process()  # it starts while the caller does something else
        atexit.register(self.close)

    @cached_property
    def _hello(self) -> tuple[Capabilities, dict[str, str]]:
        found: tuple[Capabilities, dict[str, str]] = self._process().ask("hello")
        return found

    @cached_property
    def capabilities(self) -> Capabilities:
        """Raises DiagnosticError (GSM4001, GSM4002, GSM4017) where the process does not have the backend."""
        return self._hello[0]

    def versions(self) -> dict[str, str]:
        return dict(self._hello[1])

    def open(self, problem: Problem) -> Session:
        return IsolatedSession(self._process(), problem)

    def close(self) -> None:
        """End the processes."""
        if self._owner == os.getpid():
            for process in self._processes:
                process.kill()

    def _process(self) -> SolverProcess:
        """One that works on nothing now; a new one where there is none."""
        if self._owner != os.getpid():  # forked: the pipes belong to the parent
            self._owner, self._processes, self._lock = os.getpid(), [], threading.Lock()
        with self._lock:
            self._processes = [process for process in self._processes if process.alive]
            for process in self._processes:
                if not process.busy:
                    return process
            self._processes.append(SolverProcess(self.name, self.factory))
            return self._processes[-1]


class SolverProcess:
    """Another process with one backend, and the pipe to it. Its messages are pairs of a kind and a content."""

    def __init__(self, name: str, factory: str = "") -> None:
        self.name = name
        self.numbers = itertools.count()
        self._lock = threading.RLock()
        self._error_output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._pipe, other = Pipe()
        life, self._life = Pipe(duplex=False)
        with other, life:
            program = PROGRAM.format(path=sys.path, name=name, factory=factory, fd=other.fileno(), life=life.fileno())
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", program],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._error_output,
                pass_fds=(other.fileno(), life.fileno()), start_new_session=True,  # Ctrl-C is for this process alone
            )  # fmt: skip

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    @property
    def busy(self) -> bool:
        free = self._lock.acquire(blocking=False)
        if free:
            self._lock.release()
        return not free

    def ask(self, kind: str, *content: Any, control: Control | None = None, monitor: Monitor | None = None) -> Any:
        """Send a request and wait for its result; raise the backend's exceptions, and DiagnosticError (GSM4017).

        With `control` the wait can be stopped, by `monitor` or by Ctrl-C; a second Ctrl-C ends the process.
        """
        with self._lock:
            try:
                self._pipe.send_bytes(pickle.dumps((kind, *content), pickle.HIGHEST_PROTOCOL))
                if control is None:
                    return self._receive()[1]
                with CtrlC(control):
                    return self._wait(control, monitor or Silent())
            except (EOFError, OSError) as gone:
                raise DiagnosticError([self._crash()]) from gone
            except KeyboardInterrupt:
                self.kill()
                raise

    def _wait(self, control: Control, monitor: Monitor) -> Any:
        from gsdsl_backends.isolation.outbox import Outbox

        if sys.platform == "win32" or not isinstance(monitor, Exchange):
            return self._receive_result(self._pipe.send_bytes, control, monitor)
        outbox = Outbox(self._pipe)  # both sides may send long points at the same time
        try:
            return self._receive_result(outbox.send, control, monitor)
        finally:
            outbox.close()

    def _receive_result(self, send: Callable[[bytes], None], control: Control, monitor: Monitor) -> Any:
        stopped, watcher = False, monitor
        failure: Exception | None = None
        while True:
            while not self._pipe.poll(POLL_SECONDS):
                try:
                    control.stop_requested = control.stop_requested or watcher.stop_requested
                    if isinstance(watcher, Exchange) and (offer := watcher.next_offer()) is not None:
                        send(pickle.dumps(("offer", offer), pickle.HIGHEST_PROTOCOL))
                except Exception as failed:
                    control.stop_requested, watcher, failure = True, Silent(), failed
                if control.stop_requested and not stopped:
                    stopped = True
                    send(pickle.dumps(("stop",)))
            kind, content = self._receive()
            if kind == "done":
                if failure is not None:
                    raise failure
                return content
            try:
                if kind == "improved" and isinstance(watcher, Exchange):
                    watcher.take_improvement(content)
                elif kind == "progress" and not control.stop_requested:
                    watcher.progress(content)
            except Exception as failed:
                control.stop_requested, watcher, failure = True, Silent(), failed

    def _receive(self) -> tuple[str, Any]:
        kind, content = pickle.loads(self._pipe.recv_bytes())
        if kind == "refused":
            raise DiagnosticError(content)
        if kind == "raised":
            raise content
        return kind, content

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(END_SECONDS)
        self._pipe.close()
        self._life.close()

    def _crash(self) -> Diagnostic:
        try:
            code = self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            code = -KILLED
        self._error_output.seek(0)
        output = self._error_output.read().decode(errors="replace")
        words = [line.strip() for line in output.splitlines() if line.strip()]
        notes = (f"its last output: {words[-1][:SHOWN]}",) if words else ()
        return Diagnostic(
            CRASHED,
            f"the solver `{self.name}` crashed: its process ended with {_describe_exit(code)}",
            notes=notes,
            help="this is a defect of the solver or of its package; try another backend, or other solver options",
        )


class IsolatedSession:
    """A session in another process."""

    def __init__(self, process: SolverProcess, problem: Problem) -> None:
        self._process, self._number = process, next(process.numbers)
        process.ask("open", self._number, problem)

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        """As the backend's; raises DiagnosticError (GSM4017) where the solver crashes."""
        control = Control()
        answer: SolverResult = self._process.ask(
            "solve", self._number, options, start, monitor is not None, isinstance(monitor, Exchange),
            control=control, monitor=monitor,
        )  # fmt: skip
        return answer

    def update(self, problem: Problem) -> None:
        self._process.ask("update", self._number, problem)

    def carry(self, problem: Problem, changes: Changes) -> None:
        """The process matches the columns and rows of its own problem and of the new one by their names, as here."""
        self._process.ask("carry", self._number, problem)

    def kill(self) -> None:
        """End the process, with all of its sessions."""
        self._process.kill()

    def close(self) -> None:
        if self._process.alive:
            with contextlib.suppress(DiagnosticError):
                self._process.ask("close", self._number)


def is_crash(error: DiagnosticError) -> bool:
    """Whether the error reports a crash of a solver."""
    return any(diagnostic.code == CRASHED for diagnostic in error.diagnostics)


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"the exit code {code}"
    try:
        return f"the signal {signal.Signals(-code).name}"
    except ValueError:
        return f"the signal {-code}"
