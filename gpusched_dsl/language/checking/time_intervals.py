"""Intervals, and the conditions on them: `no_overlap` and `cumulative`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    IntervalLoad,
    IntervalType,
    LetRef,
    Logical,
    Reduction,
    TimeInterval,
    TypedExpr,
)
from gpusched_dsl.language.checking.conversion import fit, unit_in
from gpusched_dsl.language.checking.kinds import describe
from gpusched_dsl.language.checking.references import declaration_labels
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.diagnostics.diagnostic import Label

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def check_interval(checker: Checker, expr: tree.IntervalExpr, scope: Scope) -> TypedExpr | None:
    """`start s[j] length p[j] optional on x[j]`, in the unit of its start."""
    start, length = checker.number(expr.start, scope), checker.number(expr.length, scope)
    presence = None if expr.presence is None else checker.condition(expr.presence, scope)
    if start is None or length is None or (presence is None and expr.presence is not None):
        return None
    unit = unit_in(start)
    fitted = fit(checker, length, unit, because=Label(start.span, f"the start is in `{unit}`"))
    if fitted is None:
        return None
    decision = start.decision or fitted.decision or (presence is not None and presence.decision)
    return TimeInterval(
        span=expr.span, type=IntervalType(unit), decision=decision, start=start, length=fitted, presence=presence
    )


def check_intervals(checker: Checker, expr: tree.Aggregate, scope: Scope) -> TypedExpr | None:
    """`no_overlap[j in Jobs] task[j]`, `cumulative[j in Jobs] (task[j], gpus[j]) <= capacity`."""
    indexing, inner = checker.indexing(expr.indexing, scope)
    if expr.op == "no_overlap":
        assert expr.body is not None
        body = _interval(checker, expr.body, inner)
    else:
        body = _load(checker, expr, scope, inner)
    if indexing is None or body is None:
        return None
    return Reduction(span=expr.span, type=Logical(), decision=body.decision, op=expr.op, indexing=indexing, body=body)


def _interval(checker: Checker, expr: tree.Expr, scope: Scope) -> TypedExpr | None:
    """A reference to an interval."""
    typed = checker.check(expr, scope)
    if typed is None:
        return None
    if not isinstance(typed, LetRef) or not isinstance(typed.type, IntervalType):
        checker.error(
            "GSM1222",
            f"an interval is needed, `{typed.span.text}` is {describe(typed.type)}",
            typed.span,
            "not an interval",
            secondary=declaration_labels(checker, typed),
            help="declare one: `interval task[j in Jobs] start begin[j] length duration[j];`",
        )
        return None
    known = [checker.data_only(s, "a subscript of an interval") for s in typed.subscripts]
    return typed if all(known) else None


def _load(checker: Checker, expr: tree.Aggregate, scope: Scope, inner: Scope) -> TypedExpr | None:
    """An interval, its demand, and the capacity, which does not know the indices."""
    assert isinstance(expr.body, tree.TupleExpr)
    assert expr.limit is not None
    if len(expr.body.items) != 2:
        checker.error(
            "GSM1222",
            f"`cumulative` takes an interval and its demand, {len(expr.body.items)} expressions given",
            expr.body.span,
            f"{len(expr.body.items)} expressions",
            help="write `cumulative[j in Jobs] (task[j], gpus[j]) <= capacity`",
        )
        return None
    interval = _interval(checker, expr.body.items[0], inner)
    demand, capacity = checker.number(expr.body.items[1], inner), checker.number(expr.limit, scope)
    if interval is None or demand is None or capacity is None:
        return None
    unit = unit_in(demand)
    fitted = fit(checker, capacity, unit, because=Label(demand.span, f"the demand is in `{unit}`"))
    if fitted is None:
        return None
    decision = interval.decision or demand.decision or fitted.decision
    return IntervalLoad(
        span=expr.body.span, type=interval.type, decision=decision, interval=interval, demand=demand, capacity=fitted
    )
