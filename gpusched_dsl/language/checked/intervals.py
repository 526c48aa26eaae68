"""Intervals of time, and what conditions on them read."""

from __future__ import annotations

from gpusched_dsl.language.checked.base import TypedExpr


class TimeInterval(TypedExpr, frozen=True, kw_only=True):
    """`start s[j] length p[j] optional on x[j]`; without `presence` always present. The value of a `let`."""

    start: TypedExpr
    length: TypedExpr
    presence: TypedExpr | None = None


class IntervalLoad(TypedExpr, frozen=True, kw_only=True):
    """The body of a reduction `cumulative`: a reference to an interval, its demand, and the capacity for all of them.

    The capacity does not depend on the indices of the reduction, and is in the unit of the demand.
    """

    interval: TypedExpr
    demand: TypedExpr
    capacity: TypedExpr


def interval_of(body: TypedExpr) -> TypedExpr:
    """The interval in the body of `no_overlap` or `cumulative`."""
    return body.interval if isinstance(body, IntervalLoad) else body
