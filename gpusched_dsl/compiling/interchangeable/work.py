"""The budget of work of aggregation, which refuses a set where it is used up."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.compiling import work_budget as work
from gpusched_dsl.compiling.interchangeable.generic import OutOfBudget
from gpusched_dsl.compiling.work_budget import STEP, TooMuchWork
from gpusched_dsl.language.source import Span

__all__ = ["BLAS", "STEP", "ElementWork"]

# Small problems may take about a third of a second, large ones more, as their solution without aggregation does too.
LEAST = 30_000_000
A_COLUMN = 1_000  # for every column of the problem of all elements
MOST = 300_000_000
BLAS = 50  # entries of a matrix product that take as long as one that is looked at


@dataclass
class ElementWork(work.WorkBudget):
    """The budget for listing the possible uses of one element of the set `root`."""

    root: str = ""

    @staticmethod
    def of(root: str, columns: int) -> ElementWork:
        """Return the budget for the elements of the set `root`, by the number of columns of their problem."""
        return ElementWork(min(LEAST + A_COLUMN * columns, MOST), root=root)

    def spend(self, entries: int, span: Span | None = None) -> None:
        """Count some entries; raises OutOfBudget where too few are left, and StoppedEarly as `checkpoint` does."""
        try:
            super().spend(entries)
        except TooMuchWork:
            what = f"the list of possible uses of one element of `{self.root}` takes too much work"
            raise OutOfBudget(what, span) from None
