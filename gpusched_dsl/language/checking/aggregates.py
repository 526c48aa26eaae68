"""`sum prod min max norm any all all_different sos1 sos2 no_overlap cumulative count argmin argmax` over indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    Constant,
    Element,
    Logical,
    Numeric,
    Reduction,
    TypedExpr,
    TypedIndexing,
    ValueType,
)
from gpusched_dsl.language.checking.conversion import require_plain, unit_in
from gpusched_dsl.language.checking.kinds import INTEGER_TYPE, numeric_type
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.units import DIMENSIONLESS

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def check_aggregate(checker: Checker, expr: tree.Aggregate, scope: Scope) -> TypedExpr | None:
    if expr.op in ("no_overlap", "cumulative"):
        from gpusched_dsl.language.checking.time_intervals import check_intervals

        return check_intervals(checker, expr, scope)
    indexing, inner = checker.indexing(expr.indexing, scope)
    body = _body(checker, expr, inner)
    if indexing is None or body is None:
        return None
    if expr.op in ("sos1", "sos2"):
        from gpusched_dsl.language.checking.ordered_sets import check_ordered_set

        return check_ordered_set(checker, expr, indexing, body, scope)
    if expr.op in ("argmin", "argmax"):
        return _extreme_element(checker, expr, indexing, body)
    if expr.op == "norm":
        from gpusched_dsl.language.checking.euclidean_norm import norm

        return norm(expr.span, [body], indexing)
    kind: ValueType
    match expr.op:
        case "any" | "all" | "all_different":
            kind = Logical()
        case "count":
            kind = INTEGER_TYPE
        case "prod":
            factor = require_plain(checker, body, "a factor of `prod`")
            if factor is None:
                return None
            body = factor
            kind = Numeric(_is_integer(body), DIMENSIONLESS)
        case _:
            kind = Numeric(_is_integer(body), unit_in(body))
    return Reduction(span=expr.span, type=kind, decision=body.decision, op=expr.op, indexing=indexing, body=body)


def _is_integer(typed: TypedExpr) -> bool:
    kind = numeric_type(typed)
    return kind is not None and kind.integer


def _body(checker: Checker, expr: tree.Aggregate, inner: Scope) -> TypedExpr | None:
    if expr.body is None:
        if expr.op == "count":
            return Constant(span=expr.span, type=Logical(), value=1.0)
        checker.error("GSM1212", f"the body of `{expr.op}` is missing", expr.span, "no expression after the indices")
        return None
    if expr.op in ("any", "all", "count"):
        return checker.condition(expr.body, inner)
    if expr.op == "all_different":  # of numbers and of elements
        typed = checker.check(expr.body, inner)
        return typed if typed is not None and isinstance(typed.type, Element) else _number(checker, typed)
    return checker.number(expr.body, inner)


def _number(checker: Checker, typed: TypedExpr | None) -> TypedExpr | None:
    return typed if typed is not None and checker.is_number(typed) else None


def _extreme_element(
    checker: Checker, expr: tree.Aggregate, indexing: TypedIndexing, body: TypedExpr
) -> TypedExpr | None:
    """`argmin[v in Types] price[v]`: the element itself."""
    if len(indexing.variables) != 1:
        checker.error(
            "GSM1212",
            f"`{expr.op}` has one index, {len(indexing.variables)} given",
            expr.indexing.span,
            f"{len(indexing.variables)} indices",
            help="its value is one element",
        )
        return None
    if not checker.data_only(body, f"`{expr.op}`"):
        return None
    kind = indexing.variables[0].type
    return Reduction(span=expr.span, type=kind, op=expr.op, indexing=indexing, body=body)
