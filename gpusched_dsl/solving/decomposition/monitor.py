"""Answers for a running decomposition: the remaining time, whether to stop, and the receiver of progress."""

from __future__ import annotations

from dataclasses import dataclass

from gsdsl_backends.interrupt import Control
from gsdsl_backends.protocol import SolverProgress


@dataclass(frozen=True, slots=True)
class DecompositionClock:
    """The clock and the wish to stop.

    `sign` (1 or -1) turns what is minimised inside into the objective of the problem inside, `unit` divides the latter
    into the objective as the caller knows it.
    """

    control: Control
    limit: float | None
    sign: float = 1.0
    unit: float = 1.0

    @property
    def remaining_seconds(self) -> float | None:
        return None if self.limit is None else self.limit - self.control.seconds

    @property
    def stop_requested(self) -> bool:
        return self.control.stop_requested

    @property
    def over(self) -> bool:
        """Whether the solve must end now."""
        left = self.remaining_seconds
        return self.control.stop_requested or (left is not None and left <= 0)

    @property
    def reason(self) -> str:
        return "interrupt" if self.control.stop_requested else "time"

    def report(self, objective: float | None, bound: float | None) -> None:
        """Report progress, in terms of the minimised value."""
        if self.control.wants_progress and not self.control.stop_requested:
            scale = self.sign / self.unit
            self.control.report(
                None if objective is None else scale * objective, None if bound is None else scale * bound
            )


@dataclass(frozen=True, slots=True)
class BoundMonitor:
    """The monitor of an inner solve: stops it with the complete solve, and reports the better of the bounds."""

    watch: DecompositionClock
    objective: float | None
    bound: float | None

    def progress(self, progress: SolverProgress) -> None:
        sign = self.watch.sign
        seen = None if progress.objective is None else sign * progress.objective
        known = [v for v in (seen, self.objective) if v is not None]
        bounds = [v for v in (None if progress.bound is None else sign * progress.bound, self.bound) if v is not None]
        self.watch.report(min(known, default=None), max(bounds, default=None))

    @property
    def stop_requested(self) -> bool:
        return self.watch.stop_requested
