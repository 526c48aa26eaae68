"""Checked declarations of a model."""

from __future__ import annotations

from msgspec import Struct, field

from gpusched_dsl.language.checked.base import TypedExpr, TypedIndexing, TypedSet
from gpusched_dsl.language.checked.laws import TypedLaw
from gpusched_dsl.language.checked.types import Numeric, ValueType
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import Unit


class CheckedBound(Struct, frozen=True):
    """`op` is one of `<= >= < > ==`; `value` in the unit of the declaration, may use the declaration's indices."""

    op: str
    value: TypedExpr
    span: Span


class CheckedSet(Struct, frozen=True):
    """`root` is the nominal root of a one-dimensional set that has one (itself when it is the root), else None.

    An indexed set has an `indexing`, and is a set of tuples: its indices, then its elements.
    """

    name: str
    span: Span
    types: tuple[ValueType, ...]
    root: str | None
    ordered: bool = False
    identical: bool = False
    identical_by: str | None = None
    within: TypedSet | None = None
    value: TypedSet | None = None
    doc: str | None = None
    indexing: TypedIndexing = field(default_factory=TypedIndexing)

    @property
    def is_indexed(self) -> bool:
        return bool(self.indexing.iterators)

    @property
    def index_arity(self) -> int:
        """The number of components of an element that are indices of the set."""
        return len(self.indexing.variables)


class CheckedParam(Struct, frozen=True):
    """`type` is Numeric (in the declared unit), Element or TextType; `kind`: real, integer, binary, symbol, element.

    `circle`: the parameters whose values need each other at other indices, itself among them, in the order of the text.
    """

    name: str
    span: Span
    type: ValueType
    kind: str
    indexing: TypedIndexing
    bounds: tuple[CheckedBound, ...] = ()
    within: TypedSet | None = None
    default: TypedExpr | None = None
    value: TypedExpr | None = None
    doc: str | None = None
    circle: tuple[str, ...] = ()

    @property
    def recursive(self) -> bool:
        """Whether its value reads values of the parameter itself, perhaps through other parameters."""
        return bool(self.circle)


class CheckedLet(Struct, frozen=True):
    """A named expression: a `let`, or a `report`."""

    name: str
    span: Span
    type: ValueType
    indexing: TypedIndexing
    value: TypedExpr
    doc: str | None = None


class CheckedVariable(Struct, frozen=True):
    """`least` are the smallest values other than 0 of a semicontinuous variable, by the indices of its declaration."""

    name: str
    span: Span
    type: Numeric
    kind: str
    indexing: TypedIndexing
    bounds: tuple[CheckedBound, ...] = ()
    doc: str | None = None
    least: tuple[TypedExpr, ...] = ()


class CheckedRandom(Struct, frozen=True):
    """`law` is None when the scenario gives it."""

    name: str
    span: Span
    type: Numeric
    indexing: TypedIndexing
    law: TypedLaw | None = None
    doc: str | None = None


class CheckedTerm(Struct, frozen=True):
    """`name` is None for the only term of an unnamed objective; `value` in the unit of the objective."""

    name: str | None
    span: Span
    value: TypedExpr
    doc: str | None = None


class CheckedObjective(Struct, frozen=True):
    """Objectives are in the order of their priority."""

    name: str | None
    span: Span
    sense: str
    unit: Unit
    terms: tuple[CheckedTerm, ...]
    doc: str | None = None


class CheckedConstraint(Struct, frozen=True):
    """`body` is a Comparison (a chain is kept) or a Logic."""

    name: str
    span: Span
    indexing: TypedIndexing
    body: TypedExpr
    doc: str | None = None


class CheckedCheck(Struct, frozen=True):
    span: Span
    indexing: TypedIndexing
    condition: TypedExpr
    message: str | None
