"""Comparisons, `and or not => <=>`, membership."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    ComparisonChain,
    Constant,
    Element,
    IndexedSetRef,
    IntervalType,
    Logic,
    Logical,
    Membership,
    TextType,
    TypedExpr,
)
from gpusched_dsl.language.checking.conversion import agree
from gpusched_dsl.language.checking.kinds import as_element, describe, is_plain_whole, numeric_type
from gpusched_dsl.language.checking.references import declaration_labels
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.checking.sets import check_components, fit_components
from gpusched_dsl.language.checking.walk import indices_in
from gpusched_dsl.language.diagnostics.diagnostic import Label

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


_ORDER = ("<=", ">=", "<", ">")


def check_logic(checker: Checker, expr: tree.Binary, scope: Scope) -> TypedExpr | None:
    """Check `and`, `or`, `=>`, `<=>`. The part after `and` or `=>` is read where the first part is true."""
    left = checker.condition(expr.left, scope)
    inner = scope.guard(indices_in(left)) if left is not None and expr.op in ("and", "=>") else scope
    right = checker.condition(expr.right, inner)
    if left is None or right is None:
        return None
    operands: tuple[TypedExpr, ...] = (left, right)
    if expr.op in ("and", "or") and isinstance(left, Logic) and left.op == expr.op:
        operands = (*left.operands, right)
    decision = left.decision or right.decision
    return Logic(span=expr.span, type=Logical(), decision=decision, op=expr.op, operands=operands)


def check_not(checker: Checker, expr: tree.UnaryExpr, scope: Scope) -> TypedExpr | None:
    operand = checker.condition(expr.operand, scope)
    if operand is None:
        return None
    return Logic(span=expr.span, type=Logical(), decision=operand.decision, op="not", operands=(operand,))


def check_membership(checker: Checker, expr: tree.Binary, scope: Scope) -> TypedExpr | None:
    element = check_components(checker, expr.left, scope)
    types = tuple(c.type for c in element) if element is not None else None
    unknown = types is None or any(isinstance(t, TextType) for t in types)
    domain = checker.set_of(expr.right, scope, None if unknown else types)
    if element is None or domain is None:
        return None
    owner = Label(domain.span, "a set of other elements")
    fitted = fit_components(checker, expr.left, element, domain.types, owner)
    if fitted is None:
        return None
    if isinstance(domain, IndexedSetRef):
        from gpusched_dsl.language.checking.indexed_sets import membership

        return membership(domain, fitted, expr.span, negated=expr.op == "not in")
    return Membership(span=expr.span, type=Logical(), element=fitted, domain=domain, negated=expr.op == "not in")


def check_comparison(checker: Checker, expr: tree.Compare, scope: Scope) -> TypedExpr | None:
    checked = [checker.check(operand, scope) for operand in expr.operands]
    operands = [c for c in checked if c is not None]
    if len(operands) < len(checked) or not _one_way(checker, expr):
        return None
    if any(isinstance(c.type, IntervalType) and not checker.is_number(c) for c in operands):
        return None
    if any(isinstance(c.type, Element) for c in operands):
        fitted = _elements(checker, expr, operands)
    elif any(isinstance(c.type, TextType) for c in operands):
        fitted = _texts(checker, expr, operands)
    else:
        fitted = agree(checker, operands)
    if fitted is None:
        return None
    decision = any(c.decision for c in fitted)
    return ComparisonChain(span=expr.span, type=Logical(), decision=decision, operands=tuple(fitted), ops=expr.ops)


def _one_way(checker: Checker, expr: tree.Compare) -> bool:
    rising = [op for op in expr.ops if op in ("<=", "<")]
    falling = [op for op in expr.ops if op in (">=", ">")]
    if (rising and falling) or (len(expr.ops) > 1 and "!=" in expr.ops):
        checker.error(
            "GSM1217",
            "a chain of comparisons must have one direction",
            expr.span,
            " and ".join(f"`{op}`" for op in dict.fromkeys(expr.ops)) + " in one chain",
            help="write `a <= x <= b`, or join two comparisons with `and`",
        )
        return False
    return True


def _elements(checker: Checker, expr: tree.Compare, operands: list[TypedExpr]) -> list[TypedExpr] | None:
    """Compare elements of one set; elements of an ordered set also with integers, and by `<=`."""
    lead = next(c for c in operands if isinstance(c.type, Element))
    kind = lead.type
    assert isinstance(kind, Element)
    declared = checker.symbols.sets.get(kind.root)
    ordered = declared is not None and declared.ordered
    fitted: list[TypedExpr] = []
    for typed in operands:
        part = as_element(typed, kind) if not is_plain_whole(typed) else typed if ordered else as_element(typed, kind)
        if part is None:
            number = numeric_type(typed) is not None
            checker.error(
                "GSM1206" if number else "GSM1203",
                f"`{lead.span.text}` is {describe(kind)}, `{typed.span.text}` is {describe(typed.type)}: "
                "they cannot be compared",
                typed.span,
                describe(typed.type),
                secondary=[*declaration_labels(checker, lead), *declaration_labels(checker, typed)],
                help="only elements of an `ordered` set can be compared with integers" if number else None,
            )
        else:
            fitted.append(part)
    if len(fitted) < len(operands):
        return None
    if not ordered and any(op in _ORDER for op in expr.ops):
        op = next(op for op in expr.ops if op in _ORDER)
        checker.error(
            "GSM1209",
            f"the elements of `{kind.root}` have no order, so `{op}` has no meaning",
            expr.span,
            "compared by order",
            secondary=[Label(declared.span, f"`{kind.root}` is declared without `ordered`")] if declared else [],
            help=f"declare `set {kind.root} ordered`, or compare with `==` or `!=`",
        )
        return None
    return fitted


def _texts(checker: Checker, expr: tree.Compare, operands: list[TypedExpr]) -> list[TypedExpr] | None:
    """Texts: equal or not."""
    other = next((c for c in operands if not isinstance(c.type, TextType)), None)
    text = next(c for c in operands if isinstance(c.type, TextType))
    if other is not None:
        checker.error(
            "GSM1206",
            f"`{other.span.text}` is {describe(other.type)}, `{text.span.text}` is a text: they cannot be compared",
            text.span,
            "a text",
            secondary=[*declaration_labels(checker, other), *declaration_labels(checker, text)],
            help=f'quote a text: `"{other.span.text}"`' if isinstance(other, Constant) else None,
        )
        return None
    if any(op in _ORDER for op in expr.ops):
        checker.error(
            "GSM1206", "texts can only be compared for equality", expr.span, "compared by order", help="use `==`"
        )
        return None
    return operands
