"""The parts of an expectation: random parts, lines `a W + b`, events; and rules that push expectations inwards."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, structs

from gpusched_dsl.language.checked import (
    Arithmetic,
    ComparisonChain,
    Constant,
    Expected,
    Fallback,
    Function,
    IfThenElse,
    Logic,
    Negate,
    Numeric,
    RandomRef,
    Reduction,
    TypedExpr,
)
from gpusched_dsl.language.checking.walk import Part, walk
from gpusched_dsl.language.source import Span

PLAIN = Numeric()


def is_random(part: Part) -> bool:
    """Whether a random quantity occurs outside of inner expectations."""
    return any(isinstance(p, RandomRef) for p in walk(part, around=(Expected,)))


# --- typed expressions made here -------------------------------------------------------------------------------------


def number(value: float, span: Span) -> TypedExpr:
    return Constant(span=span, type=PLAIN, value=value)


def combine(op: str, left: TypedExpr, right: TypedExpr, span: Span) -> TypedExpr:
    """Return `left op right`, without factors of 1 and terms of 0."""
    if isinstance(right, Constant) and right.value == (0.0 if op in "+-" else 1.0):
        return left
    if isinstance(left, Constant) and left.value == (0.0 if op == "+" else 1.0) and op in "+*":
        return right
    decision = left.decision or right.decision
    return Arithmetic(span=span, type=PLAIN, decision=decision, op=op, left=left, right=right)


def negate(expr: TypedExpr) -> TypedExpr:
    return Negate(span=expr.span, type=PLAIN, decision=expr.decision, operand=expr)


# --- lines ------------------------------------------------------------------------------------------------------------


class LinearForm(Struct, frozen=True):
    """`sum of coefficient * random + rest`; coefficients are data, the rest may have decisions, neither is random."""

    terms: tuple[tuple[TypedExpr, RandomRef], ...]
    rest: TypedExpr


def line_of(expr: TypedExpr) -> LinearForm | None:
    """An expression as a line in its random quantities, None when it is none."""
    if not is_random(expr):
        return LinearForm((), expr)
    match expr:
        case RandomRef():
            return LinearForm(((number(1.0, expr.span), expr),), number(0.0, expr.span))
        case Negate():
            inner = line_of(expr.operand)
            return None if inner is None else _map_terms(inner, negate)
        case Arithmetic(op="+" | "-"):
            left, right = line_of(expr.left), line_of(expr.right)
            return None if left is None or right is None else join(expr.op, left, right, expr.span)
        case Arithmetic(op="*"):
            factor, inner_expr = (expr.right, expr.left) if is_random(expr.left) else (expr.left, expr.right)
            inner = None if is_random(factor) or factor.decision else line_of(inner_expr)
            return None if inner is None else _map_terms(inner, lambda c: combine("*", c, factor, expr.span))
        case Arithmetic(op="/") if not is_random(expr.right) and not expr.right.decision:
            inner = line_of(expr.left)
            return None if inner is None else _map_terms(inner, lambda c: combine("/", c, expr.right, expr.span))
        case Function(name="min" | "max") if len(expr.arguments) == 1:
            return line_of(expr.arguments[0])
    return None


def join(op: str, left: LinearForm, right: LinearForm, span: Span) -> LinearForm:
    """The sum or difference of two lines."""
    other = right.terms if op == "+" else tuple((negate(c), ref) for c, ref in right.terms)
    return LinearForm((*left.terms, *other), combine(op, left.rest, right.rest, span))


def _map_terms(line: LinearForm, change: Callable[[TypedExpr], TypedExpr]) -> LinearForm:
    return LinearForm(tuple((change(c), ref) for c, ref in line.terms), change(line.rest))


# --- events -----------------------------------------------------------------------------------------------------------


class Literal(Struct, frozen=True):
    """`line op 0` with `op` one of `> >= < <= ==`."""

    line: LinearForm
    op: str


def literals_of(condition: TypedExpr) -> tuple[Literal, ...] | None:
    """Return a condition as a conjunction of literals, None for other forms."""
    if isinstance(condition, Logic) and condition.op == "and":
        parts = [literals_of(operand) for operand in condition.operands]
        found = [part for part in parts if part is not None]
        return tuple(literal for part in found for literal in part) if len(found) == len(parts) else None
    if not isinstance(condition, ComparisonChain) or "!=" in condition.ops:
        return None
    lines = [line_of(operand) if isinstance(operand.type, Numeric) else None for operand in condition.operands]
    literals = []
    for left, op, right in zip(lines, condition.ops, lines[1:], strict=False):
        if left is None or right is None:
            return None
        literals.append(Literal(join("-", left, right, condition.span), op))
    return tuple(literals)


# --- expectations pushed inwards --------------------------------------------------------------------------------------

_CLOSED = {"<": ">=", ">": "<="}
_OPPOSITE = {**_CLOSED, "<=": ">", ">=": "<", "==": "!=", "!=": "=="}


def push_inwards(expected: Expected) -> TypedExpr:
    """Return the same value with expectations of the smallest possible parts: those not linear in random quantities."""
    return _push(expected.body, expected)


def _push(body: TypedExpr, expected: Expected) -> TypedExpr:
    def inside(part: TypedExpr) -> TypedExpr:
        return _push(part, expected)

    if not is_random(body):
        return body
    span = body.span
    match body:
        case Negate():
            return structs.replace(body, operand=inside(body.operand))
        case Arithmetic(op="+" | "-"):
            return structs.replace(body, left=inside(body.left), right=inside(body.right))
        case Arithmetic(op="*") if not is_random(body.left) or not is_random(body.right):
            return structs.replace(body, left=inside(body.left), right=inside(body.right))
        case Arithmetic(op="/") if not is_random(body.right):
            return structs.replace(body, left=inside(body.left))
        case Reduction(op="sum" | "count") if not is_random(body.indexing):
            return structs.replace(body, op="sum", body=inside(body.body), type=PLAIN)
        case IfThenElse() if not is_random(body.condition):
            return structs.replace(body, then=inside(body.then), otherwise=inside(body.otherwise))
        case Fallback() if not is_random(body.reference):
            return structs.replace(body, fallback=inside(body.fallback))
        case Function(name="min" | "max") if len(body.arguments) == 1:
            return inside(body.arguments[0])
        case Logic():
            return _logic(body, expected)
        case ComparisonChain(ops=(op,)) if body.decision and op in _CLOSED:
            # No solver keeps a strict comparison of decisions; what is excluded is closed.
            return combine("-", number(1.0, span), inside(structs.replace(body, ops=(_CLOSED[op],))), span)
    return Expected(span=span, type=PLAIN, decision=body.decision, op=expected.op, body=body, given=expected.given)


def _logic(body: Logic, expected: Expected) -> TypedExpr:
    """Rewrite `not`, `or`, `=>` and `<=>` by `and`; deterministic parts are separated."""
    span = body.span
    one = number(1.0, span)

    def chance(*operands: TypedExpr) -> TypedExpr:
        part = operands[0] if len(operands) == 1 else structs.replace(body, op="and", operands=operands)
        return _push(part, expected)

    if body.op == "not":
        return combine("-", one, chance(body.operands[0]), span)
    if not body.decision:
        if body.op == "or":
            return combine("-", one, chance(*map(_opposite, body.operands)), span)
        if body.op == "=>":
            return combine("-", one, chance(body.operands[0], _opposite(body.operands[1])), span)
        if body.op == "<=>":
            return combine("+", chance(*body.operands), chance(*map(_opposite, body.operands)), span)
        fixed = next((o for o in body.operands if not is_random(o)), None)
        if fixed is not None:
            left = chance(*(o for o in body.operands if o is not fixed))
            return IfThenElse(span=span, type=PLAIN, condition=fixed, then=left, otherwise=number(0.0, span))
    return Expected(span=span, type=PLAIN, decision=body.decision, op="P", body=body, given=expected.given)


def _opposite(condition: TypedExpr) -> TypedExpr:
    if isinstance(condition, ComparisonChain) and len(condition.ops) == 1:
        return structs.replace(condition, ops=(_OPPOSITE[condition.ops[0]],))
    if isinstance(condition, Logic) and condition.op == "not":
        return condition.operands[0]
    return Logic(span=condition.span, type=condition.type, decision=condition.decision, op="not", operands=(condition,))
