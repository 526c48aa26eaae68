"""The budget of a search: its time, and requests to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable

from gsdsl_backends.protocol import Monitor, Silent, SolverProgress, StopMonitor

MOST_SECONDS = 60.0  # of a search, without a time limit


class HeuristicBudget:
    """Seconds that count down from the creation, and a request to stop, which is kept once seen.

    It is also the `Monitor` that solvers get for parts of the search: it passes a stop on, but not their progress,
    which is that of other problems. `stopping` is a second source of stops besides the monitor (a caught Ctrl-C).
    """

    def __init__(
        self, seconds: float, monitor: Monitor | None = None, stopping: Callable[[], bool] | None = None
    ) -> None:
        self._began = time.perf_counter()
        self._seconds = seconds
        self._monitor: Monitor = monitor or Silent()
        self._stopping = stopping
        self._stopped = False

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._began

    @property
    def remaining_seconds(self) -> float:
        """Seconds that remain, never less than 0."""
        return max(0.0, self._seconds - self.seconds)

    @property
    def stop_requested(self) -> bool:
        self._stopped = (
            self._stopped or self._monitor.stop_requested or (self._stopping is not None and self._stopping())
        )
        return self._stopped

    @property
    def over(self) -> bool:
        return self.remaining_seconds <= 0.0 or self.stop_requested

    def progress(self, progress: SolverProgress) -> None:
        """Ignore the progress of a solver in a part of the search."""

    def report(self, objective: float | None, bound: float | None) -> None:
        """Report to the monitor of the search itself."""
        self._monitor.progress(SolverProgress(self.seconds, objective, bound))

    def longer(self, factor: float) -> HeuristicBudget:
        """Return a budget of this many times the seconds, from the same beginning."""
        rest = max(0.0, self._seconds * factor - self.seconds)
        return HeuristicBudget(rest, self._monitor, lambda: self.stop_requested)

    def share(self, part: float) -> HeuristicBudget:
        """Return a budget for a part of the remaining time."""
        return HeuristicBudget(self.remaining_seconds * part, StopMonitor(lambda: self.stop_requested))
