"""A budget of work for aggregation in entries of arrays: counted, not timed, so a model always ends the same way."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.compiling.symmetry.generic import Obstacle
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.language.source import Span

# A million entries take about 10 ms of CPU time. Small problems may take about a third of a second, large ones more, as
# their solution without aggregation does too.
LEAST = 30_000_000
A_COLUMN = 1_000  # for every column of the problem of all elements
MOST = 300_000_000
STEP = 2_000  # entries that one step of a Python loop counts for, however small its arrays are


@dataclass
class Work:
    """`most` entries may be looked at; `done` were."""

    root: str
    most: int
    done: int = 0

    @staticmethod
    def of(root: str, columns: int) -> Work:
        """The budget for the elements of the set `root`, whose problem has so many columns."""
        return Work(root, min(LEAST + A_COLUMN * columns, MOST))

    def spend(self, entries: int, span: Span | None = None) -> None:
        """Count some entries; raises Obstacle where they are more than are left, and Stopped as `checkpoint` does."""
        checkpoint()
        self.done += entries
        if self.done > self.most:
            what = f"to list what one element of `{self.root}` can be used for takes more work than it is worth"
            raise Obstacle(what, span)
