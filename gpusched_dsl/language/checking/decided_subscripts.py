"""Decisions as subscripts: `cost[x]` with an integer variable x over an integer range or an ordered set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedParam,
    Element,
    ElementWithLabel,
    Logical,
    Numeric,
    TypedExpr,
)
from gpusched_dsl.language.checking.kinds import INTEGER_TYPE, as_element, describe, numeric_type
from gpusched_dsl.language.checking.symbols import SubscriptSlot, Valued
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.units import DIMENSIONLESS

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def decided_subscript(checker: Checker, declared: Valued, typed: TypedExpr, slot: SubscriptSlot) -> TypedExpr | None:
    """Return a decision as a subscript of a number, or None after a report that it cannot be one."""
    kind = numeric_type(typed)
    if kind is None:  # an element that is chosen by a decision: only where the values of variables are known
        known = checker.data_only(typed, f"a subscript of `{declared.name}`")
        return as_element(typed, slot.type) if known else None
    if isinstance(declared, CheckedParam | CheckedLet) and not isinstance(declared.type, Numeric | Logical):
        checker.error(
            "GSM1211",
            f"`{declared.name}` is {describe(declared.type)}, so its subscripts must be data",
            typed.span,
            "known only after the solve",
            secondary=[Label(declared.span, f"`{declared.name}` is declared here")],
            help="a decision can select numbers only",
        )
        return None
    if kind.unit != DIMENSIONLESS:
        checker.error(
            "GSM1203",
            f"a subscript of `{declared.name}` must be an integer, `{typed.span.text}` is {describe(kind)}",
            typed.span,
            describe(kind),
            secondary=[Label(slot.domain.span, f"`{declared.name}` is indexed by this")],
        )
        return None
    if not checker.require_integer(typed):
        return None
    if slot.type == INTEGER_TYPE:
        return typed
    assert isinstance(slot.type, Element)
    root = checker.symbols.sets.get(slot.type.root)
    if root is None or not root.ordered:
        checker.error(
            "GSM1211",
            f"a decision cannot select an element of `{slot.type.root}`",
            typed.span,
            "a number",
            secondary=[Label(slot.domain.span, f"`{declared.name}` is indexed by this")],
            help=f"declare `set {slot.type.root} ordered` and use integer labels, or index by integers",
        )
        return None
    return ElementWithLabel(span=typed.span, type=slot.type, decision=True, operand=typed)
