"""The work of the simulations for one plan, counted instead of timed.

Seconds of a clock make plans depend on the machine and its load. So simulations count what they do, in seconds that it
takes on a reference machine (2 GHz, compiled kernels), and end when these are spent: the same on all machines.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.ir.deadline import TIME, StoppedEarly

OF_PLAN, OF_JOB = 2e-4, 1.5e-5  # seconds of one simulated plan by formulas, and of each job of the future
OF_FROZEN_JOB = 2.5e-7  # seconds of each present job in a simulated plan of compiled code


@dataclass(eq=False)
class Effort:
    """Seconds of the reference machine: the most, and those spent so far."""

    most: float = float("inf")
    spent: float = 0.0

    def add(self, seconds: float) -> None:
        """Count work before it is done. Raises StoppedEarly where that would be too much."""
        if self.spent + seconds > self.most:
            raise StoppedEarly(TIME)
        self.spent += seconds

    @property
    def rest(self) -> float:
        return self.most - self.spent
