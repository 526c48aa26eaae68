"""The time for repairing a point: up to the time limit, or a little longer.

A point that a solver found at its limit may have to be moved to be clean, or the search was for nothing. That gets a
fixed time and one by the size of the problem; after Ctrl-C the fixed one alone.
"""

from __future__ import annotations

import time

from gpusched_dsl.ir.deadline import INTERRUPT
from gpusched_dsl.ir.problem import Problem

FIXED_SECONDS = 0.3
SECONDS_PER_NONZERO = 2e-6  # about what reading all rows a few times takes


class Allowance:
    """The time for repairing points of `problem`, from now on.

    `left` seconds remain until the deadline (None: no limit). `reason` is that of the answer whose point is repaired.
    All attempts together get the time of the allowance.
    """

    def __init__(self, left: float | None, problem: Problem, reason: str = "") -> None:
        beyond = FIXED_SECONDS + SECONDS_PER_NONZERO * problem.size.nonzeros
        seconds = None if left is None else max(left, beyond)
        if reason == INTERRUPT:
            seconds = FIXED_SECONDS
        self._until = None if seconds is None else time.perf_counter() + seconds

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds that remain, at least 0; None without a limit."""
        return None if self._until is None else max(0.0, self._until - time.perf_counter())

    @property
    def over(self) -> bool:
        """Whether nothing remains."""
        return self.remaining_seconds == 0.0
