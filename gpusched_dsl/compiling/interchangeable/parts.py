"""The replacements of the columns of interchangeable elements: the parts of an aggregated problem.

The columns of one element fall into components that no row of that element connects. Every component of every class is
replaced by an `AggregatedComponent`, independently of the others: elements may be permuted within each component
separately, because all that the other rows and the objectives see of a class is its sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.source import Span

Sparse: TypeAlias = Any  # scipy.sparse.csr_matrix, which has no type annotations


@dataclass(frozen=True, eq=False)
class Component:
    """Columns of the representative of class `kind` (numbers in the quotient's problem), and the rows they are in.

    `rows` are rows of that element; their other columns are shared ones. Both ascend.
    """

    kind: int
    columns: Codes
    rows: Codes


@dataclass(frozen=True, eq=False)
class Spread:
    """Values of single elements: column `columns[i]` of the quotient has `values[i]` for element `elements[i]`.

    What is not listed is 0. Every pair occurs once at most.
    """

    columns: Codes
    elements: Codes
    values: Floats


@dataclass(frozen=True, eq=False)
class NewColumns:
    """A family of columns of the aggregated problem."""

    name: str
    domain: Domain
    lower: Floats
    upper: Floats
    integer: Bools
    span: Span | None = None
    unit: str = ""
    doc: str | None = None

    @property
    def size(self) -> int:
        return self.domain.size


@dataclass(frozen=True, eq=False)
class NewRows:
    """A family of rows: `lower <= own @ (columns of the part) + shared @ (columns of the quotient) <= upper`.

    `shared` has entries in shared columns of the quotient's problem only, None for none.
    """

    name: str
    domain: Domain
    own: Sparse
    lower: Floats
    upper: Floats
    shared: Sparse | None = None
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class PatternPool:
    """All columns of a part that has some of them only, since few matter: they are chosen by their reduced costs.

    Both functions take the reduced costs of the columns of the component (as sums over the class) and the dual values
    of the part's rows, family by family. `price` returns the least reduced cost of all columns, and the part
    with the cheapest missing columns, None if none of these has a reduced cost below minus `precision`.
    `component_within` returns the part with all columns of a reduced cost up to a limit, and those that it has.
    """

    price: Callable[[Floats, tuple[Floats, ...], float], tuple[float, AggregatedComponent | None]]
    component_within: Callable[[Floats, tuple[Floats, ...], float], AggregatedComponent]


def refuse_map(*_: object) -> NoReturn:
    """The maps of a component that was stored."""
    raise RuntimeError("a stored component maps no points")


@dataclass(frozen=True, eq=False)
class AggregatedComponent:
    """The replacement of one component.

    `sums` (columns of the component x columns of the part): the sum over the class of a column of the component, as the
    rest of the problem sees it. `disaggregate(values, shared)` returns the values of single elements for integer values
    of the part's columns and the values of all columns of the quotient's problem (those of shared ones are used). They
    satisfy the rows of every element and add up to `sums @ values`. `aggregate(spread)` is the inverse: it returns
    values of the part's columns for values of single elements, None if these violate their rows.
    With a `pool` the part has a few of its columns only; others are added while solving.
    `effect` describes the replacement in words, `proof` why it is exact. Pickled, it has no maps and no pool.
    """

    component: Component
    columns: tuple[NewColumns, ...]
    rows: tuple[NewRows, ...]
    sums: Sparse
    disaggregate: Callable[[Floats, Floats], Spread]
    aggregate: Callable[[Spread], Floats | None]
    effect: str
    proof: str
    pool: PatternPool | None = None

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"disaggregate": refuse_map, "aggregate": refuse_map, "pool": None}

    @property
    def size(self) -> int:
        return sum(c.size for c in self.columns)


Treatment = Callable[[Quotient, Component], AggregatedComponent]
"""Makes the part of a component; raises `Obstacle` where it is not known to be exact."""
