"""Small problems written by hand, entry by entry, for the tests of passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusched_dsl.ir.definitions import (
    Affines,
    Conditions,
    Cumulative,
    Definition,
    Distinct,
    MinMax,
    NoOverlap,
    PartialExpectation,
    Piecewise,
    Power,
    Product,
    Reified,
    Unary,
)
from gpusched_dsl.ir.domains import Domain, IntervalDomain
from gpusched_dsl.ir.granularity import with_steps
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term

# A sum of coefficients times columns; the key None is the constant. An `int` is one column.
Affine = Mapping[int | None, float] | int
Entries = Sequence[Sequence[Affine]]
Row = tuple[float, Affine, float]


@dataclass
class Draft:
    """Collects columns, rows, definitions and an objective; declared columns come before results.

    Every `columns`, `rows` and definition makes one family, indexed 1, 2, ...
    """

    variables: list[Family] = field(default_factory=list)
    auxiliary: list[Family] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    constraints: list[Family] = field(default_factory=list)
    stored: list[Row] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    conditions: list[tuple[int, int, bool]] = field(default_factory=list)
    objectives: list[Objective] = field(default_factory=list)

    def columns(
        self, name: str, count: int = 1, lower: float = 0.0, upper: float = 1.0, integer: bool = True
    ) -> list[int]:
        """Declared columns; binary unless said otherwise."""
        assert not self.auxiliary, "declared columns come first"
        return self._columns(self.variables, name, count, lower, upper, integer)

    def _columns(
        self, families: list[Family], name: str, count: int, lower: float, upper: float, integer: bool
    ) -> list[int]:
        first = len(self.lower)
        families.append(Family(name, first, numbered(count)))
        self.lower += [lower] * count
        self.upper += [upper] * count
        self.integer += [integer] * count
        return list(range(first, first + count))

    # --- rows and objective ------------------------------------------------------------------------------------------

    def rows(self, name: str, rows: Sequence[Row], when: tuple[int, bool] | None = None) -> list[int]:
        """Rows `(lower, affine, upper)`, all under one condition if `when` gives a binary column and its value."""
        first = len(self.stored)
        self.constraints.append(Family(name, first, numbered(len(rows))))
        self.stored += rows
        numbers = list(range(first, first + len(rows)))
        if when is not None:
            self.conditions += [(n, *when) for n in numbers]
        return numbers

    def minimize(self, costs: Affine, sense: str = "minimize") -> None:
        columns, values, constant = parts(costs)
        term = Term(None, np.array(columns, dtype=np.int32), np.array(values, dtype=np.float64), constant)
        self.objectives.append(Objective(sense, (term,)))

    def maximize(self, costs: Affine) -> None:
        self.minimize(costs, "maximize")

    # --- definitions -------------------------------------------------------------------------------------------------

    def define(self, name: str, kind: type[Definition], entries: Entries, **data: Any) -> list[int]:
        """One block of definitions and the numbers of its results; `data` are the fields of the kind."""
        ends = (0.0, 1.0, True) if kind in (Reified, Distinct, NoOverlap, Cumulative) else (-np.inf, np.inf, False)
        results = self._columns(self.auxiliary, name, len(entries), *ends)
        starts = np.concatenate(([0], np.cumsum([len(e) for e in entries]))).astype(np.int64)
        made = kind(
            np.array(results, dtype=np.int32), starts, affines([a for e in entries for a in e]), name=name, **data
        )
        self.definitions.append(made)
        return results

    def product(self, name: str, entries: Entries) -> list[int]:
        return self.define(name, Product, entries)

    def largest(self, name: str, entries: Entries) -> list[int]:
        return self.define(name, MinMax, entries, largest=True)

    def smallest(self, name: str, entries: Entries) -> list[int]:
        return self.define(name, MinMax, entries, largest=False)

    def power(self, name: str, entries: Sequence[Affine], exponents: Sequence[float]) -> list[int]:
        return self.define(name, Power, [[a] for a in entries], exponents=np.array(exponents, dtype=np.float64))

    def unary(self, name: str, function: str, entries: Sequence[Affine]) -> list[int]:
        return self.define(name, Unary, [[a] for a in entries], function=function)

    def piecewise(self, name: str, entries: Sequence[Affine], which: Sequence[int], curves: Any) -> list[int]:
        return self.define(
            name, Piecewise, [[a] for a in entries], which=np.array(which, dtype=np.int64), curves=curves
        )

    def partial_expectation(self, name: str, entries: Sequence[Affine], which: Sequence[int], laws: Any) -> list[int]:
        return self.define(
            name, PartialExpectation, [[a] for a in entries], which=np.array(which, dtype=np.int64), laws=tuple(laws)
        )

    def holds(self, name: str, entries: Sequence[Row]) -> list[int]:
        lower, upper = (np.array([e[side] for e in entries], dtype=np.float64) for side in (0, 2))
        return self.define(name, Reified, [[e[1]] for e in entries], lower=lower, upper=upper)

    def distinct(self, name: str, entries: Entries) -> list[int]:
        return self.define(name, Distinct, entries)

    def no_overlap(self, name: str, entries: Entries) -> list[int]:
        """Entries of start, length and presence of every interval."""
        return self.define(name, NoOverlap, entries)

    def cumulative(self, name: str, entries: Entries) -> list[int]:
        """Entries of start, length, presence and demand of every interval, and behind them the capacity."""
        return self.define(name, Cumulative, entries)

    # --- the problem -------------------------------------------------------------------------------------------------

    def problem(self) -> Problem:
        below = affines([row[1] for row in self.stored])
        lower, upper = (np.array([row[side] for row in self.stored], dtype=np.float64) for side in (0, 2))
        conditions = sorted(self.conditions)
        return Problem(
            name="draft",
            variables=tuple(self.variables),
            lower=np.array(self.lower, dtype=np.float64),
            upper=np.array(self.upper, dtype=np.float64),
            integer=np.array(self.integer, dtype=np.bool_),
            constraints=tuple(self.constraints),
            matrix=below.matrix,
            row_lower=lower - below.constants,
            row_upper=upper - below.constants,
            objectives=tuple(self.objectives),
            auxiliary=tuple(self.auxiliary),
            definitions=with_steps(self.definitions, np.array(self.integer, dtype=np.bool_)),
            conditions=Conditions(
                np.array([c[0] for c in conditions], dtype=np.int64),
                np.array([c[1] for c in conditions], dtype=np.int32),
                np.array([c[2] for c in conditions], dtype=np.bool_),
            ),
        )


def numbered(count: int) -> Domain:
    return IntervalDomain(1, count)


def parts(affine: Affine) -> tuple[list[int], list[float], float]:
    """Columns in order, their coefficients (no zeros), and the constant."""
    if not isinstance(affine, Mapping):
        return [int(affine)], [1.0], 0.0
    pairs = sorted((int(c), float(v)) for c, v in affine.items() if c is not None and v != 0)
    return [c for c, _ in pairs], [v for _, v in pairs], float(affine.get(None, 0.0))


def affines(of: Sequence[Affine]) -> Affines:
    rows = [parts(a) for a in of]
    starts = np.concatenate(([0], np.cumsum([len(r[0]) for r in rows]))).astype(np.int64)
    columns = np.array([c for r in rows for c in r[0]], dtype=np.int32)
    values = np.array([v for r in rows for v in r[1]], dtype=np.float64)
    return Affines(Matrix(starts, columns, values), np.array([r[2] for r in rows], dtype=np.float64))
