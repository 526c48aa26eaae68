"""Bound propagation that remembers its reasons: which rows and bounds lead to a contradiction, and by which steps.

From `lower <= sum a_j x_j <= upper` follows a bound of each x_k from those of the others; columns that must be integer
round theirs. All rows are used at once, round after round.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.ir.activity import CERTAIN, Activity
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import INTEGRALITY

MOST_ROUNDS = 60
NEAR_INTEGER = INTEGRALITY  # tolerance of the bounds of integer columns
PROGRESS = 1e-3  # a bound must move by this share of its size to count as new


@dataclass(frozen=True, eq=False)
class Round:
    """The results of one round: bound `bounds[i]` became `values[i]`; j is the lower bound of column j, n + j the
    upper.

    `rows[i]` gave it; `from_upper[i]` says by which of its sides; `rounded[i]` whether integrality of the column
    was used.
    """

    bounds: Codes
    values: Floats
    rows: Codes
    from_upper: Bools
    rounded: Bools


@dataclass(frozen=True, eq=False)
class PropagationTrace:
    """Rounds of propagation that end in a contradiction.

    In row `row`, whose `upper` side (else lower) cannot be kept, or in `column`, whose bounds have crossed.
    """

    elements: Elements
    rounds: tuple[Round, ...]
    row: int | None
    upper: bool
    column: int | None

    def reasons(self) -> tuple[Bools, list[Bools]]:
        """Return the elements of the proof, and for each round its necessary bounds."""
        problem, elements = self.elements.problem, self.elements
        found = elements.none()
        needed = np.zeros(2 * problem.columns, dtype=np.bool_)
        if self.row is not None:
            found[self.row] = True
            _need_sides(problem, np.array([self.row]), np.array([self.upper]), needed, None)
        else:
            assert self.column is not None
            needed[[self.column, problem.columns + self.column]] = True
        used: list[Bools] = []
        for one in reversed(self.rounds):
            hit = needed[one.bounds]
            used.append(hit)
            bounds, rows = one.bounds[hit], one.rows[hit]
            needed[bounds] = False
            found[rows] = True
            integer = bounds[one.rounded[hit]] % problem.columns
            elements.of("integer", found)[integer] = True
            _need_sides(problem, rows, one.from_upper[hit], needed, bounds % problem.columns)
        below, above = needed[: problem.columns], needed[problem.columns :]
        elements.of("lower", found)[below] = True
        elements.of("upper", found)[above] = True
        fractional = (below & (problem.lower != np.rint(problem.lower))) | (
            above & (problem.upper != np.rint(problem.upper))
        )
        elements.of("integer", found)[fractional & problem.integer] = True
        return found & elements.present, used[::-1]


def _need_sides(problem: Problem, rows: Codes, upper: Bools, needed: Bools, without: Codes | None) -> None:
    """Mark the bounds that give the smallest (`upper`) or largest activity of rows, except for one column of each."""
    matrix = problem.matrix.take(rows)
    below = (matrix.values > 0) == upper[matrix.row_of]
    used = matrix.values != 0
    if without is not None:
        used &= matrix.columns != without[matrix.row_of]
    needed[(matrix.columns + np.where(below, 0, problem.columns))[used]] = True


def contradiction(elements: Elements, clock: Deadline | None = None) -> PropagationTrace | None:
    """The trace to a contradiction of rows and bounds, None when propagation finds none."""
    return _Propagation(elements, clock).run()


@dataclass(eq=False)
class _Propagation:
    elements: Elements
    clock: Deadline | None
    rounds: list[Round] = field(default_factory=list)

    def run(self) -> PropagationTrace | None:
        problem = self.elements.problem
        self.lower, self.upper = problem.lower.copy(), problem.upper.copy()
        self._round_declared()
        if (trace := self._find_crossing()) is not None:
            return trace
        for _ in range(MOST_ROUNDS):
            if self.clock is not None and self.clock.reason:
                return None
            activity = Activity.of(problem.matrix, self.lower, self.upper)
            if (broken := activity.most_violated_row(problem)) is not None:
                return PropagationTrace(self.elements, tuple(self.rounds), broken[0], broken[1], None)
            if not self._derive(activity):
                return None
            if (trace := self._find_crossing()) is not None:
                return trace
        return None

    def _round_declared(self) -> None:
        """Round the declared bounds of integer columns; this needs no row."""
        integer = self.elements.problem.integer
        self.lower = np.where(integer, np.ceil(self.lower - NEAR_INTEGER), self.lower)
        self.upper = np.where(integer, np.floor(self.upper + NEAR_INTEGER), self.upper)

    def _find_crossing(self) -> PropagationTrace | None:
        room = CERTAIN * np.maximum(1.0, np.abs(self.lower))
        with np.errstate(invalid="ignore"):
            over = self.lower - self.upper - room
        worst = int(np.argmax(over)) if len(over) else -1
        if worst < 0 or not over[worst] > 0:
            return None
        return PropagationTrace(self.elements, tuple(self.rounds), None, False, worst)

    def _derive(self, activity: Activity) -> bool:
        """One round: the tightest bound of each column that some row gives; whether any is new."""
        problem = self.elements.problem
        matrix, count = problem.matrix, problem.columns
        from_upper = activity.bounds_from(problem.row_upper, smallest=True)
        from_lower = activity.bounds_from(problem.row_lower, smallest=False)
        positive = matrix.values > 0
        above, above_is_upper = np.where(positive, from_upper, from_lower), positive
        below, below_is_upper = np.where(positive, from_lower, from_upper), ~positive
        new_upper, upper_entry = _tightest(above, matrix.columns, count, np.minimum, np.inf)
        new_lower, lower_entry = _tightest(below, matrix.columns, count, np.maximum, -np.inf)
        integer = problem.integer
        rounded_upper = np.where(integer, np.floor(new_upper + NEAR_INTEGER), new_upper)
        rounded_lower = np.where(integer, np.ceil(new_lower - NEAR_INTEGER), new_lower)
        better_upper = _has_moved(self.upper, rounded_upper, self.lower) & (rounded_upper < self.upper)
        better_lower = _has_moved(self.lower, rounded_lower, self.upper) & (rounded_lower > self.lower)
        at_lower, at_upper = np.flatnonzero(better_lower), np.flatnonzero(better_upper)
        if not len(at_lower) and not len(at_upper):
            return False
        entries = np.concatenate((lower_entry[at_lower], upper_entry[at_upper]))
        self.rounds.append(
            Round(
                np.concatenate((at_lower, count + at_upper)),
                np.concatenate((rounded_lower[at_lower], rounded_upper[at_upper])),
                matrix.row_of[entries].astype(np.int64),
                np.concatenate((below_is_upper[lower_entry[at_lower]], above_is_upper[upper_entry[at_upper]])),
                np.concatenate(
                    (
                        rounded_lower[at_lower] > new_lower[at_lower] + NEAR_INTEGER,
                        rounded_upper[at_upper] < new_upper[at_upper] - NEAR_INTEGER,
                    )
                ),
            )
        )
        self.lower[at_lower] = rounded_lower[at_lower]
        self.upper[at_upper] = rounded_upper[at_upper]
        return True


def _tightest(values: Floats, columns: Int32s, count: int, better: np.ufunc, worst: float) -> tuple[Floats, Codes]:
    """The best value offered for each column, and the entry that offers it (0 where none does)."""
    best = np.full(count, worst)
    better.at(best, columns, values)
    entry = np.zeros(count, dtype=np.int64)
    winners = np.flatnonzero((values == best[columns]) & np.isfinite(values))
    entry[columns[winners]] = winners
    return best, entry


def _has_moved(old: Floats, new: Floats, other: Floats) -> Bools:
    """Whether a bound has moved enough to go on with: first finite, or by a share of its size or of the range."""
    with np.errstate(invalid="ignore"):
        size = np.minimum(np.maximum(1.0, np.abs(old)), np.maximum(np.abs(other - old), NEAR_INTEGER))
        return np.isfinite(new) & (~np.isfinite(old) | (np.abs(new - old) > PROGRESS * size))
