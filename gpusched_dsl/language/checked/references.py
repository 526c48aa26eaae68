"""Expressions that refer to something: constants, indices, declarations, elements."""

from __future__ import annotations

from gpusched_dsl.language.checked.base import IndexVar, TypedExpr


class Constant(TypedExpr, frozen=True, kw_only=True):
    """A number, or a truth value as 1.0 / 0.0."""

    value: float


class StringLiteral(TypedExpr, frozen=True, kw_only=True):
    """A string literal: an element of `type.root` (Element) or a plain text (TextType)."""

    text: str


class IndexRef(TypedExpr, frozen=True, kw_only=True):
    variable: IndexVar


class ParamRef(TypedExpr, frozen=True, kw_only=True):
    """One subscript expression per index position of the declaration; none for a scalar.

    Subscripts may be decisions, also those of variables and lets: integers, or elements with a decided label.
    """

    name: str
    subscripts: tuple[TypedExpr, ...] = ()


class VariableRef(TypedExpr, frozen=True, kw_only=True):
    name: str
    subscripts: tuple[TypedExpr, ...] = ()


class LetRef(TypedExpr, frozen=True, kw_only=True):
    name: str
    subscripts: tuple[TypedExpr, ...] = ()


def has_decided_subscripts(expr: TypedExpr) -> bool:
    """Whether an expression is a reference with a decision among its subscripts."""
    return isinstance(expr, ParamRef | VariableRef | LetRef) and any(s.decision for s in expr.subscripts)


class Fallback(TypedExpr, frozen=True, kw_only=True):
    """`(x[k, h-1] else was[k])`."""

    reference: ParamRef | VariableRef | LetRef
    fallback: TypedExpr


class Shift(TypedExpr, frozen=True, kw_only=True):
    """The element `offset` places later (earlier when negative) in the ordered set `ordering`: `h - 1`, `next(h)`."""

    operand: TypedExpr
    offset: TypedExpr
    ordering: str


class ElementWithLabel(TypedExpr, frozen=True, kw_only=True):
    """The element of an ordered set that has a number as its label: `price[start]` with an integer decision."""

    operand: TypedExpr


class RandomRef(TypedExpr, frozen=True, kw_only=True):
    """A reference to a `random`; only inside `Expected`."""

    name: str
    subscripts: tuple[TypedExpr, ...] = ()


class KnownValue(TypedExpr, frozen=True, kw_only=True):
    """A name that is not declared in the model but defined by its context.

    In an `expect`: an objective, a term, `status`, `bound`, `gap`; in an online block `now` or `remaining[j]`.
    """

    name: str
    subscripts: tuple[TypedExpr, ...] = ()
