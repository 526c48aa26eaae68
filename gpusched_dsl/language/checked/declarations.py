"""Checked declarations of a model."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusched_dsl.language.checked.base import TypedExpr, TypedIndexing, TypedSet
from gpusched_dsl.language.checked.laws import TypedLaw
from gpusched_dsl.language.checked.types import Numeric, ValueType
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import Unit


@dataclass(frozen=True, slots=True)
class CheckedBound:
    """`op` is one of `<= >= < > ==`; `value` in the unit of the declaration, may use the declaration's indices."""

    op: str
    value: TypedExpr
    span: Span


@dataclass(frozen=True, slots=True)
class CheckedSet:
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


@dataclass(frozen=True, slots=True)
class CheckedParam:
    """`type` is Numeric (in the declared unit), Element or TextType; `kind`: real, integer, binary, symbol, element.

    `recursive`: its value reads the parameter itself at other indices.
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
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class CheckedLet:
    """A named expression: a `let`, or a `report`."""

    name: str
    span: Span
    type: ValueType
    indexing: TypedIndexing
    value: TypedExpr
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedVariable:
    name: str
    span: Span
    type: Numeric
    kind: str
    indexing: TypedIndexing
    bounds: tuple[CheckedBound, ...] = ()
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedRandom:
    """`law` is None when the scenario gives it."""

    name: str
    span: Span
    type: Numeric
    indexing: TypedIndexing
    law: TypedLaw | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedTerm:
    """`name` is None for the only term of an unnamed objective; `value` in the unit of the objective."""

    name: str | None
    span: Span
    value: TypedExpr
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedObjective:
    """Objectives are in the order of their priority."""

    name: str | None
    span: Span
    sense: str
    unit: Unit
    terms: tuple[CheckedTerm, ...]
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedConstraint:
    """`body` is a Comparison (a chain is kept) or a Logic."""

    name: str
    span: Span
    indexing: TypedIndexing
    body: TypedExpr
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedCheck:
    span: Span
    indexing: TypedIndexing
    condition: TypedExpr
    message: str | None
