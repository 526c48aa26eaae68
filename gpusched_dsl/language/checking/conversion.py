"""Where two values meet: conversion factors are put in, disagreements are reported with the origin of each unit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import structs

from gpusched_dsl.language.checked import (
    Arithmetic,
    Constant,
    Element,
    LetRef,
    Logical,
    Numeric,
    ParamRef,
    RandomRef,
    TextType,
    TypedExpr,
    ValueType,
    VariableRef,
)
from gpusched_dsl.language.checking.kinds import as_element, describe, is_zero, numeric_type
from gpusched_dsl.language.checking.walk import walk
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, convertible, factor, reads_as_duration

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def unit_in(expr: TypedExpr) -> Unit:
    """The unit of a number (of a condition: none)."""
    return expr.type.unit if isinstance(expr.type, Numeric) else DIMENSIONLESS


def say(unit: Unit) -> str:
    return "a plain number" if unit == DIMENSIONLESS else f"`{unit}`"


def _too_far(checker: Checker, expr: TypedExpr, target: Unit) -> bool:
    """Whether the factor to `target`, or the number converted, is beyond floating point; reports it."""
    ratio = factor(unit_in(expr), target)
    try:
        sound = float(ratio) != 0
        if isinstance(expr, Constant):
            float(Fraction(expr.value) * ratio)
    except OverflowError:
        sound = False
    if not sound:
        checker.error(
            "GSM1302",
            f"{say(unit_in(expr))} and {say(target)} are too far apart to convert",
            expr.span,
            f"this is in {say(unit_in(expr))}",
            secondary=unit_sources(checker, expr),
            help="use units of similar size",
        )
    return not sound


def rescale(expr: TypedExpr, target: Unit) -> TypedExpr:
    """The same quantity as a number in `target`."""
    ratio = factor(unit_in(expr), target)
    kind = numeric_type(expr)
    assert kind is not None
    if isinstance(expr, Constant):
        value = Fraction(expr.value) * ratio
        return structs.replace(expr, type=Numeric(value.denominator == 1, target), value=float(value))
    if ratio == 1:
        return expr
    whole = kind.integer and ratio.denominator == 1
    number = Constant(span=expr.span, type=Numeric(ratio.denominator == 1, target / kind.unit), value=float(ratio))
    return Arithmetic(
        span=expr.span, type=Numeric(whole, target), decision=expr.decision, op="*", left=expr, right=number
    )


def unit_sources(checker: Checker, expr: TypedExpr, limit: int = 2) -> list[Label]:
    """Return the sources of the units in an expression: the declarations of its quantities."""
    found: dict[str, Label] = {}
    for part in walk(expr):
        if not isinstance(part, (ParamRef, VariableRef, LetRef, RandomRef)) or unit_in(part) == DIMENSIONLESS:
            continue
        declared = checker.symbols.span_of(part.name)
        if declared is not None and len(found) < limit:
            found.setdefault(part.name, Label(declared, f"`{part.name}` is declared in `{unit_in(part)}`"))
    return list(found.values())


def fit(
    checker: Checker,
    expr: TypedExpr,
    target: Unit,
    *,
    because: Label | None = None,
    context: Sequence[Label] = (),
) -> TypedExpr | None:
    """Return a number converted to `target`, or None after a diagnostic with the reason.

    `because` names the place that asks for `target`; `context` are further places to show with a disagreement.
    """
    unit = unit_in(expr)
    if is_zero(expr):
        return structs.replace(expr, type=Numeric(True, target))
    if convertible(unit, target):
        return None if _too_far(checker, expr, target) else rescale(expr, target)
    if reads_as_duration(unit, target):
        _warn_duration(checker, expr, unit, target, because)
        return rescale(expr, target)
    secondary = [because] if because is not None else []
    if isinstance(expr, Constant) and unit == DIMENSIONLESS:
        checker.error(
            "GSM1303",
            f"the number `{expr.span.text}` needs a unit: {say(target)} is expected here",
            expr.span,
            "a plain number",
            secondary=[*secondary, *context],
            help=f"write `{expr.span.text}[{target}]`",
        )
        return None
    checker.error(
        "GSM1302",
        f"units do not agree: {say(unit)} where {say(target)} is needed",
        expr.span,
        f"this is {'' if unit == DIMENSIONLESS else 'in '}{say(unit)}",
        secondary=[*secondary, *unit_sources(checker, expr), *context],
        help=_advice(unit, target),
    )
    return None


def _advice(unit: Unit, target: Unit) -> str | None:
    if unit == DIMENSIONLESS:
        return f"multiply by a quantity in `{target}`, such as `1[{target}]`"
    if target == DIMENSIONLESS:
        return f"divide by a quantity in `{unit}`, such as `1[{unit}]`, to get a plain number"
    missing = target / unit
    return f"the missing factor has the unit `{missing}`" if len(missing.dimension) == 1 else None


def _warn_duration(checker: Checker, expr: TypedExpr, unit: Unit, target: Unit, because: Label | None) -> None:
    thing = next(name for name, exponent in (*unit.dimension, *target.dimension) if exponent < 0)
    checker.error(
        "GSM1304",
        f"`{unit}` is used as `{target}`: the reciprocal of a rate is read as a duration",
        expr.span,
        f"this is in `{unit}`",
        secondary=[*([because] if because is not None else []), *unit_sources(checker, expr)],
        help=f"multiply the time per {thing} by `1[{thing}]` to state this explicitly and silence this warning",
        severity=Severity.WARNING,
    )


def agree(checker: Checker, exprs: Sequence[TypedExpr]) -> list[TypedExpr] | None:
    """Return numbers in one unit: that of the first number that has one.

    None, with a diagnostic for each that does not agree, when they cannot meet.
    """
    lead = next((c for c in exprs if not is_zero(c)), exprs[0])
    target = unit_in(lead)
    plain_number = isinstance(lead, Constant) and target == DIMENSIONLESS
    if plain_number:  # `1 + x` where x has a unit: it is the bare number that is wrong
        other = next((c for c in exprs if unit_in(c).dimension), None)
        if other is not None:
            lead, target = other, unit_in(other)
    because = Label(lead.span, f"this is {'' if target == DIMENSIONLESS else 'in '}{say(target)}")
    context = unit_sources(checker, lead)
    fitted = [c if c is lead else fit(checker, c, target, because=because, context=context) for c in exprs]
    return [c for c in fitted if c is not None] if all(c is not None for c in fitted) else None


def alternatives(checker: Checker, one: TypedExpr, other: TypedExpr) -> tuple[TypedExpr, TypedExpr, ValueType] | None:
    """Return alternative values with their common type: branches of `if`, a reference and its `else`."""
    first, second = numeric_type(one), numeric_type(other)
    if isinstance(one.type, Logical) and isinstance(other.type, Logical):
        return one, other, Logical()
    if first is not None and second is not None:
        pair = agree(checker, [one, other])
        if pair is None:
            return None
        left, right = numeric_type(pair[0]), numeric_type(pair[1])
        assert left is not None
        assert right is not None
        return pair[0], pair[1], Numeric(left.integer and right.integer, left.unit)
    if isinstance(one.type, Element) and (fitted := as_element(other, one.type)) is not None:
        return one, fitted, one.type
    if isinstance(other.type, Element) and (fitted := as_element(one, other.type)) is not None:
        return fitted, other, other.type
    if isinstance(one.type, TextType) and isinstance(other.type, TextType):
        return one, other, one.type
    checker.error(
        "GSM1214",
        f"one alternative is {describe(one.type)}, the other {describe(other.type)}",
        other.span,
        describe(other.type),
        secondary=[Label(one.span, describe(one.type))],
        help="both must have the same type",
    )
    return None


def require_plain(checker: Checker, expr: TypedExpr, what: str) -> TypedExpr | None:
    """Return a dimensionless number as a plain number; `what` must be one (`the exponent`, `the argument of exp`)."""
    unit = unit_in(expr)
    if not unit.is_dimensionless:
        checker.error(
            "GSM1305",
            f"{what} must be a plain number, this is in `{unit}`",
            expr.span,
            f"in `{unit}`",
            secondary=unit_sources(checker, expr),
            help=f"divide by a quantity of the same dimension, such as `1[{unit}]`",
        )
        return None
    if not isinstance(expr.type, Numeric):
        return expr
    return None if _too_far(checker, expr, DIMENSIONLESS) else rescale(expr, DIMENSIONLESS)


def ratio_as_number(checker: Checker, expr: TypedExpr | None) -> TypedExpr | None:
    """Convert a quantity without a declared unit: minutes per hour or percent become a plain number, others stay."""
    if expr is None or not isinstance(expr.type, Numeric) or not expr.type.unit.is_dimensionless:
        return expr
    return require_plain(checker, expr, "a ratio")


def because_declared(name: str, span: Span, unit: Unit) -> Label:
    return Label(span, f"`{name}` is declared {'without a unit' if unit == DIMENSIONLESS else f'in `{unit}`'}")
