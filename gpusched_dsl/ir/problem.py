"""The grounded problem: column arrays, CSR rows, objectives; provenance as arrays, never as objects per entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.domains import Domain, Scalar
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import count_text

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Definition


__all__ = ["Family", "Matrix", "Objective", "Problem", "Size", "Term", "families_named"]


class Family(Struct, frozen=True, eq=False):
    """The columns or rows of one declaration: `first .. first + size - 1`, in the order of `domain`.

    `part` counts the row families of one chained constraint (`a <= x <= b` with two moving ends); 0 otherwise.
    `keeps`: its row keeps an earlier objective at the optimum that was proved with a gap of 0.
    """

    name: str
    first: int
    domain: Domain
    span: Span | None = None
    unit: str = ""
    part: int = 0
    doc: str | None = None
    keeps: bool = False

    @property
    def size(self) -> int:
        return self.domain.size

    @property
    def stop(self) -> int:
        return self.first + self.size

    @property
    def slice(self) -> slice:
        return slice(self.first, self.stop)

    def index_of(self, number: int) -> tuple[Scalar, ...]:
        """The index tuple of column or row `number` of the problem."""
        return self.domain.tuple_at(number - self.first)


class Size(Struct, frozen=True):
    """The size of a problem; `integer` counts the integer columns."""

    columns: int
    integer: int
    rows: int
    nonzeros: int


CANCELLED = 16 * float(np.finfo(float).eps)  # of the sizes of all parts of a sum: so much may be rounding


class Term(Struct, frozen=True, eq=False):
    """A named part of an objective: `constant + sum(coefficients * point[columns])`; columns are distinct."""

    name: str | None
    columns: Int32s
    coefficients: Floats
    constant: float = 0.0
    span: Span | None = None

    def value(self, point: Floats) -> float:
        """The value at a point; 0 where parts cancel but for rounding, as in `sum[j in Jobs] w[j] * (1 - x[j])`."""
        return self.value_and_magnitude(point)[0]

    def value_and_magnitude(self, point: Floats) -> tuple[float, float]:
        """The value at a point, and the sum of the sizes of its parts."""
        # Not as an inner product: for long ones BLAS wakes its threads, which costs a thousand times the sum.
        parts = self.coefficients * point[self.columns]
        value = float(self.constant + parts.sum())
        magnitude = float(abs(self.constant) + np.abs(parts).sum())
        return (0.0 if abs(value) <= CANCELLED * magnitude < np.inf else value), magnitude


_KEPT_COSTS = 1 << 18  # columns up to which an objective keeps its costs: many stages ask for them


class Objective(Struct, frozen=True, eq=False, dict=True):
    """`sense` is `minimize` or `maximize`; `unit` is how its value is printed."""

    sense: str
    terms: tuple[Term, ...]
    name: str | None = None
    unit: str = ""
    span: Span | None = None

    def costs(self, columns: int) -> Floats:
        """The coefficient of every column, all terms together; not to be written to."""
        known: Floats | None = self.__dict__.get("_costs")
        if known is not None and len(known) == columns:
            return known
        costs = np.zeros(columns)
        for term in self.terms:
            costs[term.columns] += term.coefficients
        costs.flags.writeable = False
        if columns <= _KEPT_COSTS:
            self.__dict__["_costs"] = costs
        return costs

    @property
    def offset(self) -> float:
        return float(sum(t.constant for t in self.terms))

    def value(self, point: Floats) -> float:
        return float(sum(t.value(point) for t in self.terms))


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Minimise or maximise the objectives in order of priority over the points within bounds and rows.

    `lower`, `upper`: column bounds (infinities allowed); `integer`: which columns must be integer;
    `row_lower <= matrix @ point <= row_upper`. `objectives` may be empty (any feasible point will do).
    `variables` are the declared families, `auxiliary` those that the compiler added behind them; together they cover
    the columns, and `constraints` the rows, in order and without gaps. `definitions` give auxiliary columns their
    nonlinear meaning; rows in `conditions` must hold only where a binary column has a value.
    `decompose` names the root set whose elements number blocks (`ir/blocks.py`), where the author says that there are
    any. A name goes through all passes: families keep their index domains whatever becomes of single columns and rows.
    """

    name: str
    variables: tuple[Family, ...]
    lower: Floats
    upper: Floats
    integer: Bools
    constraints: tuple[Family, ...]
    matrix: Matrix
    row_lower: Floats
    row_upper: Floats
    objectives: tuple[Objective, ...] = field(default=())
    auxiliary: tuple[Family, ...] = field(default=())
    definitions: tuple[Definition, ...] = field(default=())
    conditions: Conditions = field(default_factory=Conditions.none)
    decompose: str | None = None

    def __repr__(self) -> str:
        return f"<Problem {self.name}: {count_text(self.columns, 'column')}, {count_text(self.rows, 'row')}>"

    @property
    def column_families(self) -> tuple[Family, ...]:
        return self.variables + self.auxiliary

    @property
    def is_linear(self) -> bool:
        """Whether rows, bounds and integrality are all there is."""
        return not self.definitions and not len(self.conditions.rows)

    @property
    def columns(self) -> int:
        return len(self.lower)

    @property
    def rows(self) -> int:
        return len(self.row_lower)

    @property
    def size(self) -> Size:
        return Size(self.columns, int(self.integer.sum()), self.rows, self.matrix.nonzeros)

    @cached_property
    def is_mip(self) -> bool:
        return bool(self.integer.any())

    def variable(self, name: str) -> Family:
        """The family of a variable; raises KeyError."""
        return families_named(self.variables, name)[0]

    def constraint(self, name: str) -> tuple[Family, ...]:
        """The row families of a constraint (one, or one per part of a chain); raises KeyError."""
        return families_named(self.constraints, name)

    def column_family(self, column: int) -> Family:
        return _family_of(self.column_families, column)

    def row_family(self, row: int) -> Family:
        return _family_of(self.constraints, row)


def families_named(families: tuple[Family, ...], name: str) -> tuple[Family, ...]:
    found = tuple(f for f in families if f.name == name)
    if not found:
        raise KeyError(name)
    return found


def _family_of(families: tuple[Family, ...], number: int) -> Family:
    for family in families:
        if family.first <= number < family.stop:
            return family
    raise IndexError(number)
