"""`+ - * / ^ div mod` on numbers with units, and shifts of elements of ordered sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    Arithmetic,
    Constant,
    Element,
    Function,
    IndexRef,
    NamedSet,
    Negate,
    Numeric,
    SetFunction,
    Shift,
    TypedExpr,
)
from gpusched_dsl.language.checking.conversion import agree, require_plain, unit_sources
from gpusched_dsl.language.checking.kinds import describe, is_plain_whole, numeric_type
from gpusched_dsl.language.checking.references import declaration_labels
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, MAX_EXPONENT, Unit

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def check_binary(checker: Checker, expr: tree.Binary, scope: Scope) -> TypedExpr | None:
    left, right = checker.check(expr.left, scope), checker.check(expr.right, scope)
    if left is None or right is None:
        return None
    if expr.op in "+-" and isinstance(left.type, Element):
        return _shift(checker, expr.span, left, right, scope, backwards=expr.op == "-")
    if expr.op == "+" and isinstance(right.type, Element):
        return _shift(checker, expr.span, right, left, scope, backwards=False)
    sound = checker.is_number(left)
    if not (checker.is_number(right) and sound):
        return None
    match expr.op:
        case "+" | "-":
            return _sum(checker, expr, left, right)
        case "*" | "/":
            return _product(expr, left, right)
        case "div" | "mod":
            return _integer_division(checker, expr, left, right)
        case _:
            return _power(checker, expr, left, right)


def _make(span: Span, op: str, left: TypedExpr, right: TypedExpr, kind: Numeric) -> Arithmetic:
    return Arithmetic(span=span, type=kind, decision=left.decision or right.decision, op=op, left=left, right=right)


def _sum(checker: Checker, expr: tree.Binary, left: TypedExpr, right: TypedExpr) -> TypedExpr | None:
    pair = agree(checker, [left, right])
    if pair is None:
        return None
    one, other = numeric_type(pair[0]), numeric_type(pair[1])
    assert one is not None
    assert other is not None
    return _make(expr.span, expr.op, pair[0], pair[1], Numeric(one.integer and other.integer, one.unit))


def _product(expr: tree.Binary, left: TypedExpr, right: TypedExpr) -> TypedExpr:
    one, other = numeric_type(left), numeric_type(right)
    assert one is not None
    assert other is not None
    if expr.op == "/":
        return _make(expr.span, "/", left, right, Numeric(False, one.unit / other.unit))
    return _make(expr.span, "*", left, right, Numeric(one.integer and other.integer, one.unit * other.unit))


def _integer_division(checker: Checker, expr: tree.Binary, left: TypedExpr, right: TypedExpr) -> TypedExpr | None:
    """`a div b` rounds down, `a mod b` is the remainder, 0 to b - 1: integers, b positive data in the unit of a."""
    pair = agree(checker, [left, right])
    if pair is None or not checker.data_only(pair[1], f"the divisor of `{expr.op}`"):
        return None
    sound = checker.require_integer(pair[0])
    if not (checker.require_integer(pair[1]) and sound):
        return None
    divisor = pair[1]
    if isinstance(divisor, Constant) and divisor.value <= 0:
        checker.error(
            "GSM3003",
            f"the divisor of `{expr.op}` must be positive",
            divisor.span,
            f"is {divisor.value:g}",
        )
        return None
    kind = numeric_type(pair[0])
    assert kind is not None
    unit = kind.unit if expr.op == "mod" else DIMENSIONLESS
    return Function(
        span=expr.span, type=Numeric(True, unit), decision=left.decision, name=expr.op, arguments=(pair[0], divisor)
    )


def _power(checker: Checker, expr: tree.Binary, left: TypedExpr, right: TypedExpr) -> TypedExpr | None:
    exponent = require_plain(checker, right, "an exponent")
    base = numeric_type(left)
    if exponent is None or base is None:
        return None
    if base.unit.is_dimensionless:
        whole = base.integer and isinstance(exponent, Constant) and is_plain_whole(exponent) and exponent.value >= 0
        pure = require_plain(checker, left, "a base")
        return None if pure is None else _make(expr.span, "^", pure, exponent, Numeric(whole, DIMENSIONLESS))
    if not isinstance(exponent, Constant) or not is_plain_whole(exponent) or _exceeds(base.unit, exponent.value):
        checker.error(
            "GSM1306",
            f"a number in `{base.unit}` can only be raised to an integer literal",
            exponent.span,
            "its value is not known here" if not isinstance(exponent, Constant) else "the result has no unit",
            secondary=[Label(left.span, f"this is in `{base.unit}`"), *unit_sources(checker, left)],
            help=f"divide by `1[{base.unit}]` to get a plain number",
        )
        return None
    unit = base.unit ** int(exponent.value)
    return _make(expr.span, "^", left, exponent, Numeric(base.integer and exponent.value >= 0, unit))


def _exceeds(unit: Unit, exponent: float) -> bool:
    """Whether a power would have exponents that no quantity has, and scales too long to compute with."""
    return abs(exponent) * max(abs(e) for _, e in (*unit.dimension, *unit.factors)) > MAX_EXPONENT


# --- shifts ----------------------------------------------------------------------------------------------------------


def ordered_set_of(checker: Checker, element: TypedExpr, scope: Scope) -> str | None:
    """The ordered set in which an element has neighbours: the one it runs over if that is ordered, else its root."""
    sets = checker.symbols.sets
    match element:
        case Shift(ordering=ordering):
            return ordering
        case IndexRef(variable=variable):
            binding = scope.bindings.get(variable.name)
            domain = binding.domain if binding is not None else None
        case SetFunction(domain=inner):
            domain = inner
        case _:
            domain = None
    if isinstance(domain, NamedSet) and domain.name in sets and sets[domain.name].ordered:
        return domain.name
    root = element.type.root if isinstance(element.type, Element) else ""
    return root if root in sets and sets[root].ordered else None


def _shift(
    checker: Checker, span: Span, element: TypedExpr, offset: TypedExpr, scope: Scope, *, backwards: bool
) -> TypedExpr | None:
    if isinstance(offset.type, Element):
        checker.error(
            "GSM1204",
            f"`{offset.span.text}` is {describe(offset.type)}, not a number",
            offset.span,
            "elements cannot be added or subtracted",
            secondary=declaration_labels(checker, offset),
            help="add an integer to shift an element of an ordered set",
        )
        return None
    if not checker.is_number(offset) or not checker.data_only(offset, "a shift"):
        return None
    places = require_plain(checker, offset, "a shift")
    if places is None or not checker.require_integer(places):
        return None
    if backwards and isinstance(places, Constant):
        places = structs.replace(places, value=-places.value)
    elif backwards:
        places = Negate(span=places.span, type=places.type, operand=places)
    return shift(checker, span, element, places, scope)


def shift(checker: Checker, span: Span, element: TypedExpr, offset: TypedExpr, scope: Scope) -> TypedExpr | None:
    """The element `offset` places later in its ordered set."""
    ordering = ordered_set_of(checker, element, scope)
    if ordering is None:
        root = element.type.root if isinstance(element.type, Element) else ""
        declared = checker.symbols.span_of(root)
        checker.error(
            "GSM1209",
            f"the elements of `{root}` have no order, so `{span.text}` has no meaning",
            span,
            f"`{element.span.text}` has no neighbours",
            secondary=[Label(declared, f"`{root}` is declared without `ordered`")] if declared is not None else [],
            help=f"declare `set {root} ordered`",
        )
        return None
    return Shift(span=span, type=element.type, operand=element, offset=offset, ordering=ordering)
