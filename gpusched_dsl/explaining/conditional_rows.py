"""Rows as the author stated them, where the problem that was solved has them in another form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.explaining.row_text import RowText
from gpusched_dsl.ir.names import entry_name


def texts_of_conditional_rows(reformulated: ReformulatedProblem | None) -> Mapping[int, str]:
    """Return the text of each row with a condition, by its number in the reformulated problem."""
    if reformulated is None or not len(reformulated.original.conditions.rows):
        return {}
    return _ConditionalRowTexts(reformulated)


class _ConditionalRowTexts(Mapping[int, str]):
    """Computes texts on demand."""

    def __init__(self, reformulated: ReformulatedProblem) -> None:
        self.original = reformulated.original
        conditions = reformulated.original.conditions
        rows = np.arange(self.original.rows) if reformulated.rows is None else reformulated.rows
        now = rows[conditions.rows]
        self.entry = {int(row): k for k, row in enumerate(now.tolist()) if row >= 0}

    def __getitem__(self, row: int) -> str:
        k = self.entry[row]
        conditions = self.original.conditions
        column, value = int(conditions.columns[k]), int(conditions.values[k])
        text = RowText.of(self.original, int(conditions.rows[k]))
        return f"{text} if {entry_name(self.original.column_family(column), column)} == {value}"

    def __iter__(self) -> Iterator[int]:
        return iter(self.entry)

    def __len__(self) -> int:
        return len(self.entry)
