"""The steps from the rows and bounds of a conflict to a contradiction, if bound propagation shows it."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.explaining.conflict import Conflict
from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.explaining.propagation import PropagationTrace, Round, contradiction
from gpusched_dsl.explaining.row_text import short
from gpusched_dsl.ir.activity import Activity
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.text.numbers import with_unit

MOST_STEPS = 12
OF_EACH = 3  # bounds that one row gives at once


def steps_of(conflict: Conflict) -> list[str]:
    """Sentences such as `stock[v1] leaves hosts[n1,v1] <= 0`; empty where propagation does not get to the end.

    A conflict of one row needs no steps: its bounds say all.
    """
    part = Elements(conflict.problem).part(conflict.mask)
    if len(part.rows) < 2:
        return []
    trace = contradiction(Elements(part.problem))
    if trace is None or not trace.rounds:
        return []
    names = _StepNames(conflict.problem, part.problem, part.rows, part.columns.astype(np.int64))
    _, used = trace.reasons()
    lines = [line for one, hit in zip(trace.rounds, used, strict=True) for line in names.round(one, hit)]
    return [] if len(lines) >= MOST_STEPS else [*lines, names.end(trace)]


class _StepNames:
    """Names rows and columns of a part as in the complete problem."""

    def __init__(self, complete: Problem, part: Problem, rows: np.ndarray, columns: np.ndarray) -> None:
        self.complete, self.part, self.rows, self.columns = complete, part, rows, columns
        self.lower, self.upper = part.lower.copy(), part.upper.copy()

    def round(self, one: Round, hit: np.ndarray) -> list[str]:
        """A sentence for every row that gives bounds which are needed later."""
        count = self.part.columns
        lines = []
        for row in np.unique(one.rows[hit]):
            bounds = np.flatnonzero(hit & (one.rows == row))
            shown = [self._bound(int(one.bounds[k]), float(one.values[k])) for k in bounds[:OF_EACH]]
            more = f" and {len(bounds) - OF_EACH} more" if len(bounds) > OF_EACH else ""
            suffix = " for integers" if one.rounded[bounds].any() else ""
            lines.append(f"{self._row(int(row))} implies {', '.join(shown)}{more}{suffix}")
        below = one.bounds < count
        self.lower[one.bounds[below]] = one.values[below]
        self.upper[one.bounds[~below] - count] = one.values[~below]
        return lines

    def end(self, trace: PropagationTrace) -> str:
        if trace.column is not None:
            low, high = (short(float(b[trace.column])) for b in (self.lower, self.upper))
            return f"{self._column(trace.column)} must be at least {low} and at most {high}"
        assert trace.row is not None
        activity = Activity.of(self.part.matrix, self.lower, self.upper)
        reached = activity.smallest_values if trace.upper else activity.largest_values
        side = (self.part.row_upper if trace.upper else self.part.row_lower)[trace.row]
        unit = self.complete.row_family(int(self.rows[trace.row])).unit
        allowed, value = (with_unit(short(float(v)), unit) for v in (side, reached[trace.row]))
        word, limit = ("at least", "at most") if trace.upper else ("at most", "at least")
        return f"{self._row(trace.row)} sums to {word} {value}, but must be {limit} {allowed}"

    def _bound(self, bound: int, value: float) -> str:
        at, column = divmod(bound, self.part.columns)
        unit = self.complete.column_family(int(self.columns[column])).unit
        return f"{self._column(column)} {'<=' if at else '>='} {with_unit(short(value), unit)}"

    def _row(self, row: int) -> str:
        number = int(self.rows[row])
        return entry_name(self.complete.row_family(number), number)

    def _column(self, column: int) -> str:
        number = int(self.columns[column])
        return entry_name(self.complete.column_family(number), number)
