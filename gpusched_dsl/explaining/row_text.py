"""A row with its numbers, names and unit: `2 take[a] + 3 take[b] <= 7 GB`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.explaining.reach import Reach
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.text.numbers import with_unit

MOST_TERMS = 6  # of a row; of longer ones the first terms of each variable are shown
OF_EACH = 2  # terms of each variable then
COMPILER_MARK = "."  # in the names that the compiler makes, and in none that an author can write
LONGEST_TERM = 60
LARGEST_INTEGER = 2.0**53  # beyond it floats skip integers


def short(value: float) -> str:
    """A number in at most six digits."""
    text = f"{value + 0.0:.6g}"
    return "0" if text == "-0" else text


def origin_suffix(family: Family) -> str:
    """Return ` (for `on[i] * on[j]`)`, a suffix for names of parts that the compiler added for a term."""
    if family.span is None or COMPILER_MARK not in family.name:
        return ""
    term = " ".join(family.span.text.split())
    return f" (for `{term if len(term) <= LONGEST_TERM else term[: LONGEST_TERM - 3] + '...'}`)"


@dataclass(frozen=True, eq=False)
class Side:
    """Terms on one side of a comparison."""

    columns: Codes
    values: Floats


@dataclass(frozen=True, eq=False)
class RowText:
    """A row as it is shown: `left` terms, `right` terms or a number, and how they compare.

    Terms stand on the side where their coefficient is positive when the sides of the row are 0; a row with negative
    coefficients alone is negated (`is_negated`).
    """

    problem: Problem
    left: Side
    right: Side | None
    lower: float
    upper: float
    unit: str
    is_negated: bool = False

    @staticmethod
    def of(problem: Problem, row: int) -> RowText:
        matrix = problem.matrix
        entries = slice(int(matrix.starts[row]), int(matrix.starts[row + 1]))
        columns, values = matrix.columns[entries].astype(np.int64), matrix.values[entries]
        columns, values = columns[values != 0], values[values != 0]
        lower, upper = float(problem.row_lower[row]), float(problem.row_upper[row])
        unit = problem.row_family(row).unit
        negated = bool(len(values)) and bool((values < 0).all())
        if negated:
            values, lower, upper = -values, -upper, -lower
        negative = values < 0
        if negative.any() and all(side == 0 or not np.isfinite(side) for side in (lower, upper)):
            left, right = Side(columns[~negative], values[~negative]), Side(columns[negative], -values[negative])
            return RowText(problem, left, right, lower, upper, unit)
        return RowText(problem, Side(columns, values), None, lower, upper, unit, negated)

    def __str__(self) -> str:
        left = terms_text(self.problem, self.left)
        if self.right is not None:
            right = terms_text(self.problem, self.right)
            return f"{left} {'==' if self.lower == self.upper else '<=' if self.upper == 0 else '>='} {right}"
        lower, upper = (with_unit(short(v), self.unit) for v in (self.lower, self.upper))
        if self.lower == self.upper:
            return f"{left} == {upper}"
        if np.isneginf(self.lower):
            return f"{left} <= {upper}"
        return f"{left} >= {lower}" if np.isposinf(self.upper) else f"{lower} <= {left} <= {upper}"

    def remark(self, lower: Floats, upper: Floats) -> str:
        """Return why the row alone cannot be satisfied within the bounds of its columns, else an empty text."""
        if not len(self.left.columns) and self.right is None:
            return "it has no variable"
        low, high = _range(self.left, lower, upper)
        other_low, other_high = (self.lower, self.upper) if self.right is None else _range(self.right, lower, upper)
        if self.right is not None:
            if self.lower == -np.inf:
                other_low = -np.inf
            if self.upper == np.inf:
                other_high = np.inf
        side = "the left side" if self.right is not None else "it"
        right = " and the right side at most " if self.right is not None else ""
        if low > other_high:
            end = f"{right}{self._number(other_high)}" if right else ""
            return f"{side} is at least {self._number(low)}{end}"
        if high < other_low:
            end = f"{right.replace('most', 'least')}{self._number(other_low)}" if right else ""
            return f"{side} is at most {self._number(high)}{end}"
        return self._multiples()

    def _multiples(self) -> str:
        """Return the consequence of integrality if all coefficients are multiples of one number."""
        values = self.left.values
        if self.right is not None or not self.problem.integer[self.left.columns].all():
            return ""
        if np.any(values != np.rint(values)) or np.abs(values).max() > LARGEST_INTEGER:
            return ""
        step = int(np.gcd.reduce(np.abs(values).astype(np.int64)))
        hit = np.floor(self.upper / step) >= np.ceil(self.lower / step)
        return "" if hit else f"for integer variables it is a multiple of {self._number(step)}"

    def implication(self, reach: Reach) -> str:
        """Return the implication of the rest of a conflict for the row."""
        if self.right is not None:
            verb = "exceeds" if reach.at_least else "stays below"
            return f"given the others, the left side {verb} the right side by at least {self._number(abs(reach.value))}"
        at_least = reach.at_least != self.is_negated
        value = self._number(-reach.value if self.is_negated else reach.value)
        return f"given the others, it is at {'least' if at_least else 'most'} {value}"

    def _number(self, value: float) -> str:
        return with_unit(short(value), self.unit)


def _range(side: Side, lower: Floats, upper: Floats) -> tuple[float, float]:
    """Return the smallest and largest sum of terms with coefficients of any sign."""
    low, high = lower[side.columns], upper[side.columns]
    positive = side.values > 0
    with np.errstate(invalid="ignore"):
        small = np.where(positive, low, high) * side.values
        large = np.where(positive, high, low) * side.values
    return float(small.sum()), float(large.sum())


def terms_text(problem: Problem, side: Side, most: int = MOST_TERMS) -> str:
    """Return `2 take[a] + 3 take[b] - fee`; of many terms the first of each variable, and the number of the others."""
    if not len(side.columns):
        return "0"
    if len(side.columns) <= most:
        return _join_terms(
            [_term(problem, c, v) for c, v in zip(side.columns.tolist(), side.values.tolist(), strict=True)]
        )
    stops = np.array([f.stop for f in problem.column_families])
    families = np.searchsorted(stops, side.columns, side="right")
    parts: list[str] = []
    for number in dict.fromkeys(families.tolist()):
        own = np.flatnonzero(families == number)
        shown = own if len(own) <= OF_EACH + 1 else own[:OF_EACH]
        parts += [_term(problem, int(side.columns[k]), float(side.values[k])) for k in shown]
        if len(shown) < len(own):
            rest = own[OF_EACH:]
            parts.append(
                f"+ ... ({len(rest):,} more of {problem.column_families[number].name}{_factor_range(side.values, own)})"
            )
    return _join_terms(parts)


def _factor_range(values: Floats, own: Codes) -> str:
    """The range of the coefficients, where they are not all the same."""
    low, high = float(values[own].min()), float(values[own].max())
    return "" if low == high else f", factors {short(low)} to {short(high)}"


def _term(problem: Problem, column: int, value: float) -> str:
    """With its sign in front."""
    name = _shown(problem, problem.column_family(column), column)
    size = "" if abs(value) == 1 else f"{short(abs(value))} "
    return f"{'-' if value < 0 else '+'} {size}{name}"


def _shown(problem: Problem, family: Family, column: int) -> str:
    """The name of a column; of a single nonlinear term its text."""
    if not problem.definitions or family.size > 1 or family.span is None or COMPILER_MARK not in family.name:
        return entry_name(family, column)
    text = " ".join(family.span.text.split())
    if len(text) > LONGEST_TERM:
        return entry_name(family, column)
    return f"({text})" if " " in text else text


def _join_terms(parts: list[str]) -> str:
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:] if text.startswith("- ") else text


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
