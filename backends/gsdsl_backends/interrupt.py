"""Runs a solver so that Ctrl-C and a monitor can stop it: it works in a solver thread, the caller's thread waits.

Solvers release the interpreter while they work, but a thread inside a solver cannot handle signals. The waiting thread
can: on the first Ctrl-C it asks the solver to stop with its best point, on the second it gives up waiting.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import TIME, StoppedEarly
from gsdsl_backends.protocol import Exchange, Monitor, Silent, SolverProgress
from gsdsl_backends.threads import SolverThread, run_in_new_thread

POLL_SECONDS = 0.05
PROGRESS_SECONDS = 0.1


class SolverOverran(StoppedEarly):
    """The solver did not end at its limit; it still runs in its thread, and what it works on must not be touched."""

    def __init__(self) -> None:
        super().__init__(TIME)


class Control:
    """The shared state of the waiting thread and the solver's callbacks.

    `exchanges`: the monitor takes and offers points. The callbacks give theirs to `improve`, and `take_offer`.
    """

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.stop_requested = False
        self.exchanges = False
        self._improved: Floats | None = None
        self._offer: Floats | None = None
        self._latest: SolverProgress | None = None
        self._reported = -PROGRESS_SECONDS

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def wants_progress(self) -> bool:
        """Whether the last report is old enough for another; callbacks are far more frequent than useful reports."""
        return self.seconds - self._reported >= PROGRESS_SECONDS

    def report(self, objective: float | None, bound: float | None, nodes: int = 0) -> None:
        """Called by the solver's callbacks; the waiting thread passes it on to the monitor."""
        self._reported = self.seconds
        self._latest = SolverProgress(self._reported, objective, bound, nodes)

    def take(self) -> SolverProgress | None:
        latest, self._latest = self._latest, None
        return latest

    def improve(self, values: Floats) -> None:
        """Called by the solver's callbacks with each better point; the waiting thread passes on the last one."""
        self._improved = values

    def take_offer(self) -> Floats | None:
        """Return a point that another solver found, for the callbacks; None without a new one."""
        offer, self._offer = self._offer, None
        return offer

    def exchange(self, monitor: Exchange) -> None:
        """Pass points on in both directions; called by the waiting thread."""
        values, self._improved = self._improved, None
        if values is not None:
            monitor.take_improvement(values)
        offer = monitor.next_offer()
        if offer is not None:
            self._offer = offer


def run_stoppable(
    work: Callable[[], None],
    control: Control,
    monitor: Monitor | None = None,
    interrupt: Callable[[], None] | None = None,
    thread: SolverThread | None = None,
    until: float | None = None,
) -> None:
    """Run `work` in a solver thread until it ends; whatever it raises is raised here.

    `thread` is the solver thread to use, a new one by default.

    `interrupt`, if given, is called again and again from this thread once a stop is wanted, for solvers that are told
    from outside; others look at `control.stop_requested` in their callbacks. The first Ctrl-C stops, the second raises
    KeyboardInterrupt and leaves the solver to its thread. So does SolverOverran, after `until` seconds of the control.
    """
    watcher: Monitor = monitor or Silent()
    control.exchanges = isinstance(watcher, Exchange)
    with CtrlC(control):
        job = run_in_new_thread(work) if thread is None else thread.run(work)
        try:
            while not job.done.wait(POLL_SECONDS):
                _poll(control, watcher, interrupt)
                if until is not None and control.seconds > until:
                    raise SolverOverran
        except (KeyboardInterrupt, SolverOverran):
            job.cancelled = True
            raise
        except Exception:  # the monitor failed: stop the solver before the session is used again
            control.stop_requested = True
            while not job.done.wait(POLL_SECONDS):
                _poll(control, Silent(), interrupt)
            raise
    latest = control.take()
    if latest is not None:
        watcher.progress(latest)
    if job.failure is not None:
        raise job.failure


def _poll(control: Control, monitor: Monitor, interrupt: Callable[[], None] | None) -> None:
    if not control.stop_requested:
        latest = control.take()
        if latest is not None:
            monitor.progress(latest)
        if isinstance(monitor, Exchange):
            control.exchange(monitor)
        control.stop_requested = control.stop_requested or monitor.stop_requested
    if control.stop_requested and interrupt is not None:
        interrupt()


class CtrlC:
    """Turns the first Ctrl-C into a request to stop, in the main thread and if Python's own handler is installed."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.installed = False
        self.pressed = False

    def __enter__(self) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)
            self.installed = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = self.control.stop_requested = True

    def __exit__(self, *error: object) -> None:
        if self.installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
