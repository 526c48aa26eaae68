"""Types of values: their names in diagnostics, and which values are numbers, conditions and labels."""

from __future__ import annotations

from msgspec import structs

from gpusched_dsl.language.checked import (
    Constant,
    Element,
    Fallback,
    IfThenElse,
    IntervalType,
    LetRef,
    Logical,
    Numeric,
    ParamRef,
    StringLiteral,
    TextType,
    TypedExpr,
    ValueType,
    VariableRef,
)
from gpusched_dsl.language.checking.symbols import Symbols
from gpusched_dsl.language.units import DIMENSIONLESS

INTEGER_TYPE = Numeric(integer=True)
PLAIN = Numeric()


def describe(kind: ValueType) -> str:
    """`a number in h`, `an element of Jobs`, with backticks around the author's words."""
    match kind:
        case Element(root=root):
            return f"an element of `{root}`"
        case Numeric(unit=unit) if unit != DIMENSIONLESS:
            return f"a number in `{unit}`"
        case Numeric(integer=True):
            return "an integer"
        case Numeric():
            return "a number"
        case Logical():
            return "a condition"
        case TextType():
            return "a text"
        case IntervalType():
            return "an interval"


def describe_all(kinds: tuple[ValueType, ...]) -> str:
    if len(kinds) == 1:
        return describe(kinds[0])
    return "(" + ", ".join(describe(k) for k in kinds) + ")"


def numeric_type(expr: TypedExpr) -> Numeric | None:
    """The type of an expression as a number: a condition counts 0 or 1; None for elements and texts."""
    if isinstance(expr.type, Logical):
        return INTEGER_TYPE
    return expr.type if isinstance(expr.type, Numeric) else None


def is_plain_whole(expr: TypedExpr) -> bool:
    """Whether an expression is an integer without a unit."""
    return isinstance(expr.type, Numeric) and expr.type.integer and expr.type.unit == DIMENSIONLESS


def is_zero(expr: TypedExpr) -> bool:
    """Whether it is the bare number 0, which fits any unit."""
    return isinstance(expr, Constant) and expr.value == 0 and is_plain_whole(expr)


def is_truth(expr: TypedExpr, symbols: Symbols) -> bool:
    """Whether it is valid as a condition: a condition, or a number that is always 0 or 1 such as a binary variable."""
    if isinstance(expr.type, Logical):
        return True
    match expr:
        case ParamRef(name=name) | VariableRef(name=name):
            return getattr(symbols.values.get(name), "kind", "") == "binary"
        case LetRef(name=name):
            declared = symbols.values.get(name)
            return is_truth(getattr(declared, "value", expr), symbols) if declared is not None else False
        case Fallback(reference=one, fallback=other) | IfThenElse(then=one, otherwise=other):
            return is_truth(one, symbols) and is_truth(other, symbols)
        case Constant(value=value):
            return value in (0, 1) and is_plain_whole(expr)
        case _:
            return False


def same_kind(one: ValueType, other: ValueType) -> bool:
    """Whether values of both types can be in one set: units do not matter, roots do."""
    if isinstance(one, Element) and isinstance(other, Element):
        return one.root == other.root
    return type(one) is type(other)


def as_element(expr: TypedExpr, kind: ValueType) -> TypedExpr | None:
    """An expression as a value of an index position of type `kind`, or None when it cannot be one.

    A text becomes a label of the set, an integer written out too; an integer position takes whole plain numbers.
    """
    if not isinstance(kind, Element):
        return expr if is_plain_whole(expr) else None
    match expr:
        case StringLiteral(type=TextType()):
            return structs.replace(expr, type=kind)
        case Constant(value=value) if is_plain_whole(expr):
            return StringLiteral(span=expr.span, type=kind, text=str(int(value)))
        case IfThenElse(then=then, otherwise=otherwise) if not isinstance(expr.type, Element):
            one, other = as_element(then, kind), as_element(otherwise, kind)
            return None if one is None or other is None else structs.replace(expr, type=kind, then=one, otherwise=other)
        case _:
            return expr if expr.type == kind else None
