"""Special ordered sets: `sos1[k in Modes] x[k]`, at most one is not 0; `sos2[k in Points] w[k]`, one or two neighbours.

They are conditions over conditions, so that everything that treats those treats them:

    sos1:   count[k in Modes] (x[k] == 0) >= count[k in Modes] - 1
    sos2:   any[k in Points] all[l in Points where ord(l) < ord(k) or ord(l) > ord(k) + 1] w[l] == 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    Arithmetic,
    ComparisonChain,
    Constant,
    IndexRef,
    IndexVar,
    Logic,
    Logical,
    Ordinal,
    Reduction,
    TypedExpr,
    TypedIndexing,
)
from gpusched_dsl.language.checking.kinds import INTEGER_TYPE
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def check_ordered_set(
    checker: Checker, expr: tree.Aggregate, indexing: TypedIndexing, body: TypedExpr, scope: Scope
) -> TypedExpr | None:
    from gpusched_dsl.language.checking.ordinals import is_ordered

    if expr.op == "sos1":
        truth = Constant(span=expr.span, type=Logical(), value=1.0)
        zeros = _over("count", expr.span, indexing, _is_zero(body))
        others = _sum("-", expr.span, _over("count", expr.span, indexing, truth), 1.0)
        return _compare(expr.span, zeros, ">=", others)
    iterators = indexing.iterators
    if len(iterators) != 1 or len(indexing.variables) != 1 or indexing.conditions:
        checker.error(
            "GSM1212",
            "`sos2` has one index over an ordered set, without a condition",
            expr.indexing.span,
            "neighbours are not known",
            help="the order of the set says which elements are neighbours: `sos2[k in Points] weight[k]`",
        )
        return None
    if not is_ordered(checker, iterators[0].domain, "sos2"):
        return None
    first, _ = checker.indexing(expr.indexing, scope)
    assert first is not None
    own, begin = (_place(i, i.variables[0], expr.span) for i in (indexing, first))
    sides = _compare(expr.span, own, "<", begin), _compare(expr.span, own, ">", _sum("+", expr.span, begin, 1.0))
    apart = Logic(span=expr.span, type=Logical(), op="or", operands=sides)
    rest = _over("all", expr.span, structs.replace(indexing, conditions=(apart,)), _is_zero(body))
    return _over("any", expr.span, first, rest)


def _place(indexing: TypedIndexing, variable: IndexVar, span: Span) -> TypedExpr:
    index = IndexRef(span=span, type=variable.type, variable=variable)
    return Ordinal(span=span, type=INTEGER_TYPE, operand=index, domain=indexing.iterators[0].domain)


def _is_zero(body: TypedExpr) -> TypedExpr:
    zero = Constant(span=body.span, type=body.type, value=0.0)
    sides = tuple(_compare(body.span, body, op, zero) for op in ("<=", ">="))
    return Logic(span=body.span, type=Logical(), decision=body.decision, op="and", operands=sides)


def _compare(span: Span, left: TypedExpr, op: str, right: TypedExpr) -> TypedExpr:
    decision = left.decision or right.decision
    return ComparisonChain(span=span, type=Logical(), decision=decision, operands=(left, right), ops=(op,))


def _over(op: str, span: Span, indexing: TypedIndexing, body: TypedExpr) -> TypedExpr:
    kind = INTEGER_TYPE if op == "count" else Logical()
    return Reduction(span=span, type=kind, decision=body.decision, op=op, indexing=indexing, body=body)


def _sum(op: str, span: Span, left: TypedExpr, number: float) -> TypedExpr:
    right = Constant(span=span, type=INTEGER_TYPE, value=number)
    return Arithmetic(span=span, type=INTEGER_TYPE, op=op, left=left, right=right)
