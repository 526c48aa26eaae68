"""A budget of work in entries of arrays: counted, not timed, so a model always ends the same way."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.ir.deadline import checkpoint

STEP = 2_000  # entries that one step of a Python loop counts for, however small its arrays are


class TooMuchWork(Exception):
    """A budget is used up: the work is abandoned, and the problem does not change."""


@dataclass
class WorkBudget:
    """At most `most` entries may be examined; `done` were. A million take about 10 ms of CPU time."""

    most: int
    done: int = 0

    def spend(self, entries: int) -> None:
        """Count entries, before their examination if the number is known.

        Raises TooMuchWork where they are more than are left, and StoppedEarly as `checkpoint` does.
        """
        checkpoint()
        self.done += entries
        if self.done > self.most:
            raise TooMuchWork
