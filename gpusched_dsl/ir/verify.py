"""Our own check of a point against the rows, bounds and integrality of a problem, and the objective recomputed.

No solver's word is taken for a point: everything here is computed from the arrays of the `Problem`. Columns that are
defined as functions of others are computed from those; rows under a condition count where it holds.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.domains import Scalar
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem
from gpusched_dsl.ir.tolerances import FEASIBILITY, INTEGRALITY

WORST_SHOWN = 5


class Tolerances(Struct, frozen=True):
    """`feasibility` bounds the scaled violation of rows and bounds, `integrality` the distance to an integer."""

    feasibility: float = FEASIBILITY
    integrality: float = INTEGRALITY


class Violation(Struct, frozen=True, eq=False):
    """One violated row (`row`), bound (`bound`), integrality (`integer`), or a value that is NaN (`value`).

    `number` is the row or column of the problem, `index` its tuple in `family`; `absolute` is how far `value` lies
    outside `lower .. upper` (or from an integer), `relative` the same divided by the magnitude it is judged by.
    """

    kind: str
    number: int
    family: Family
    value: float
    lower: float
    upper: float
    absolute: float
    relative: float

    @property
    def index(self) -> tuple[Scalar, ...]:
        return self.family.index_of(self.number)

    @property
    def name(self) -> str:
        from gpusched_dsl.ir.names import entry_name

        return entry_name(self.family, self.number)

    def __str__(self) -> str:
        if self.kind == "value":
            return f"`{self.name}` is {self.value}"
        if self.kind == "integer":
            return f"`{self.name}` is {self.value!r}, which is not an integer"
        side, limit = ("below", self.lower) if self.value < self.lower else ("above", self.upper)
        return f"`{self.name}` is {self.value!r}, which is {side} {limit!r}"


class TermValue(Struct, frozen=True):
    """The value of a named part of an objective; `name` is None for a part without one."""

    name: str | None
    value: float


class ObjectiveValue(Struct, frozen=True):
    """An objective at the point. `magnitude` is the sum of the sizes of its parts: rounding errors are small to it."""

    value: float
    magnitude: float
    terms: tuple[TermValue, ...]


class Verification(Struct, frozen=True, eq=False):
    """The result of the verification: largest violations (0 if none), and the worst offenders beyond the tolerances.

    `row` and `bound` are absolute; `row_relative` is divided by the magnitude of the row, the largest of 1, its broken
    side and its terms in absolute value; `bound_relative` by the largest of 1 and the bound.
    """

    feasible: bool
    row: float
    row_relative: float
    bound: float
    bound_relative: float
    integrality: float
    worst: tuple[Violation, ...]
    objectives: tuple[ObjectiveValue, ...]


def verify(
    problem: Problem, point: Floats, tolerances: Tolerances | None = None, *, trust_comparisons: bool = False
) -> Verification:
    """Check `point` (one value per column) against `problem`; raises ValueError when its length is wrong.

    What the point says of result columns is not read: they have the values that their definitions give. A result need
    not have one where no row that must hold reads it: what a condition rules out is not worked out.
    `trust_comparisons`: a comparison that is true in the point counts as true if it holds within the feasibility
    tolerance, as a row would.
    """
    if point.shape != (problem.columns,):
        raise ValueError(f"a point of shape {point.shape} for {problem.columns} columns")
    allowed = tolerances or Tolerances()
    point = complete(problem.definitions, point, allowed.feasibility if trust_comparisons else None)
    finite = np.isfinite(point)
    if not finite.all():
        if (~finite & ~_idle_results(problem, point)).any():
            return _nan_verification(problem, point, ~finite)
        point = np.where(finite, point, np.clip(0.0, problem.lower, problem.upper))

    bounds = _Excess.of(point, problem.lower, problem.upper, np.ones(problem.columns))
    activity = problem.matrix.activity(point)
    rows = _Excess.of(activity, problem.row_lower, problem.row_upper, _largest_terms(problem.matrix, point))
    if len(problem.conditions.rows):
        rows = rows.select(problem.conditions.active(problem.rows, point))
    integer_columns = np.flatnonzero(problem.integer)
    fraction = np.abs(point[integer_columns] - np.rint(point[integer_columns]))

    worst = [
        *(_violation("row", problem.row_family(i), i, activity, rows, problem.row_lower, problem.row_upper)
          for i in rows.places_beyond(allowed.feasibility)),
        *(_violation("bound", problem.column_family(j), j, point, bounds, problem.lower, problem.upper)
          for j in bounds.places_beyond(allowed.feasibility)),
        *(_integrality_violation(problem, int(integer_columns[k]), point, float(fraction[k]))
          for k in _largest(fraction, allowed.integrality)),
    ]  # fmt: skip
    worst.sort(key=lambda v: -v.relative)
    return Verification(
        feasible=not worst,
        row=rows.largest_absolute,
        row_relative=rows.largest_relative,
        bound=bounds.largest_absolute,
        bound_relative=bounds.largest_relative,
        integrality=float(fraction.max(initial=0.0)),
        worst=tuple(worst[:WORST_SHOWN]),
        objectives=tuple(objective_value(o, point) for o in problem.objectives),
    )


def _idle_results(problem: Problem, point: Floats) -> Bools:
    """Return the result columns that no objective, no condition, and no row that applies at the point reads."""
    idle = np.zeros(problem.columns, dtype=np.bool_)
    for definition in problem.definitions:
        idle[definition.results] = True
    required = problem.conditions.active(problem.rows, point)
    idle[problem.matrix.columns[required[problem.matrix.row_of]]] = False
    idle[problem.conditions.columns] = False
    for objective in problem.objectives:
        for term in objective.terms:
            idle[term.columns] = False
    return idle


def objective_value(objective: Objective, point: Floats) -> ObjectiveValue:
    """An objective recomputed term by term."""
    values = [t.value_and_magnitude(point) for t in objective.terms]
    terms = tuple(TermValue(t.name, value) for t, (value, _) in zip(objective.terms, values, strict=True))
    return ObjectiveValue(float(sum(t.value for t in terms)), sum(size for _, size in values), terms)


class _Excess(Struct, frozen=True, eq=False):
    """The distance of values outside their sides, absolute and divided by their magnitudes."""

    absolute: Floats
    relative: Floats

    @staticmethod
    def of(values: Floats, lower: Floats, upper: Floats, magnitude: Floats) -> _Excess:
        below, above = lower - values, values - upper
        absolute = np.maximum(np.maximum(below, above), 0.0)
        if not absolute.any():
            return _Excess(absolute, absolute)
        side = np.where(below > above, np.abs(lower), np.abs(upper))
        scale = np.maximum(1.0, magnitude)
        with np.errstate(invalid="ignore"):  # an infinite side that is broken is infinitely far: inf / inf
            relative = np.where(
                np.isinf(absolute), np.inf, absolute / np.where(absolute > 0, np.maximum(scale, side), 1)
            )
        return _Excess(absolute, relative)

    def select(self, counted: Bools) -> _Excess:
        return _Excess(np.where(counted, self.absolute, 0.0), np.where(counted, self.relative, 0.0))

    def places_beyond(self, tolerance: float) -> list[int]:
        return _largest(self.relative, tolerance)

    @property
    def largest_absolute(self) -> float:
        return float(self.absolute.max(initial=0.0))

    @property
    def largest_relative(self) -> float:
        return float(self.relative.max(initial=0.0))


def _largest_terms(matrix: Matrix, point: Floats) -> Floats:
    """The largest |coefficient * value| of each row, 0 for a row without entries."""
    result = np.zeros(matrix.rows)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if len(filled):
        terms = np.abs(matrix.values * point[matrix.columns])
        result[filled] = np.maximum.reduceat(terms, matrix.starts[filled])
    return result


def _largest(amounts: Floats, tolerance: float) -> list[int]:
    """The places of the few largest amounts above the tolerance, largest first."""
    places = np.flatnonzero(amounts > tolerance)
    if len(places) > WORST_SHOWN:
        places = places[np.argpartition(-amounts[places], WORST_SHOWN)[:WORST_SHOWN]]
    ordered: list[int] = places[np.argsort(-amounts[places], kind="stable")].tolist()
    return ordered


def _violation(
    kind: str, family: Family, number: int, values: Floats, excess: _Excess, lower: Floats, upper: Floats
) -> Violation:
    return Violation(
        kind, number, family, float(values[number]), float(lower[number]), float(upper[number]),
        float(excess.absolute[number]), float(excess.relative[number]),
    )  # fmt: skip


def _integrality_violation(problem: Problem, column: int, point: Floats, fraction: float) -> Violation:
    lower, upper = float(problem.lower[column]), float(problem.upper[column])
    family = problem.column_family(column)
    return Violation("integer", column, family, float(point[column]), lower, upper, fraction, fraction)


def _nan_verification(problem: Problem, point: Floats, broken: Bools) -> Verification:
    places: list[int] = np.flatnonzero(broken)[:WORST_SHOWN].tolist()
    worst = tuple(
        Violation("value", j, problem.column_family(j), float(point[j]), float(problem.lower[j]),
                  float(problem.upper[j]), np.inf, np.inf)
        for j in places
    )  # fmt: skip
    nothing = tuple(ObjectiveValue(np.nan, np.inf, ()) for _ in problem.objectives)
    return Verification(False, np.inf, np.inf, np.inf, np.inf, np.inf, worst, nothing)
