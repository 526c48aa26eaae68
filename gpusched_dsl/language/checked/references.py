"""Expressions that refer to something: constants, indices, declarations, elements."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.checked.base import IndexVar, TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(TypedExpr):
    """A number, or a truth value as 1.0 / 0.0."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StringLiteral(TypedExpr):
    """A string literal: an element of `type.root` (Element) or a plain text (TextType)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRef(TypedExpr):
    variable: IndexVar


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamRef(TypedExpr):
    """One subscript expression per index position of the declaration; none for a scalar.

    Subscripts may be decisions, also those of variables and lets: integers, or elements with a decided label.
    """

    name: str
    subscripts: tuple[TypedExpr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableRef(TypedExpr):
    name: str
    subscripts: tuple[TypedExpr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LetRef(TypedExpr):
    name: str
    subscripts: tuple[TypedExpr, ...] = ()


def has_decided_subscripts(expr: TypedExpr) -> bool:
    """Whether an expression is a reference with a decision among its subscripts."""
    return isinstance(expr, ParamRef | VariableRef | LetRef) and any(s.decision for s in expr.subscripts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback(TypedExpr):
    """`(x[k, h-1] else was[k])`."""

    reference: ParamRef | VariableRef | LetRef
    fallback: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift(TypedExpr):
    """The element `offset` places later (earlier when negative) in the ordered set `ordering`: `h - 1`, `next(h)`."""

    operand: TypedExpr
    offset: TypedExpr
    ordering: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementWithLabel(TypedExpr):
    """The element of an ordered set that has a number as its label: `price[start]` with an integer decision."""

    operand: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomRef(TypedExpr):
    """A reference to a `random`; only inside `Expected`."""

    name: str
    subscripts: tuple[TypedExpr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValue(TypedExpr):
    """A name that is not declared in the model but defined by its context.

    In an `expect`: an objective, a term, `status`, `bound`, `gap`; in an online block `now` or `remaining[j]`.
    """

    name: str
    subscripts: tuple[TypedExpr, ...] = ()
