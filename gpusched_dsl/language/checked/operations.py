"""Expressions made of others: arithmetic, logic, functions, reductions, expectations, intervals of time."""

from __future__ import annotations

from gpusched_dsl.language.checked.base import TypedExpr, TypedIndexing, TypedSet
from gpusched_dsl.language.checked.laws import TypedList


class Negate(TypedExpr, frozen=True, kw_only=True):
    operand: TypedExpr


class Arithmetic(TypedExpr, frozen=True, kw_only=True):
    """`op` is one of `+ - * / ^`."""

    op: str
    left: TypedExpr
    right: TypedExpr


class ComparisonChain(TypedExpr, frozen=True, kw_only=True):
    """A chain of numbers, texts or elements, all already in the unit of the first operand. Ops: `== != <= >= < >`."""

    operands: tuple[TypedExpr, ...]
    ops: tuple[str, ...]


class Logic(TypedExpr, frozen=True, kw_only=True):
    """`op` is `and`, `or`, `not`, `=>` or `<=>`."""

    op: str
    operands: tuple[TypedExpr, ...]


class Membership(TypedExpr, frozen=True, kw_only=True):
    """`(v, g) in Configs`, `v not in Fast`."""

    element: tuple[TypedExpr, ...]
    domain: TypedSet
    negated: bool = False


class IfThenElse(TypedExpr, frozen=True, kw_only=True):
    """`if condition then a else b`."""

    condition: TypedExpr
    then: TypedExpr
    otherwise: TypedExpr


class Function(TypedExpr, frozen=True, kw_only=True):
    """`min max abs floor ceil round exp log sqrt all_different` of scalar arguments; `div` and `mod` of two.

    Functions of the clock (`weekday` ...) have one argument: data, a time in seconds.
    """

    name: str
    arguments: tuple[TypedExpr, ...]


class PiecewiseLinear(TypedExpr, frozen=True, kw_only=True):
    """A piecewise-linear function of `operand`: through `points` (pairs), or 0 at 0 with `slopes` between `points`.

    With slopes, points are single numbers, the breakpoints, and there is one slope more.
    """

    operand: TypedExpr
    points: TypedList
    slopes: TypedList | None = None


class SetFunction(TypedExpr, frozen=True, kw_only=True):
    """`count(S)`, `first(S)`, `last(S)`."""

    name: str
    domain: TypedSet


class Ordinal(TypedExpr, frozen=True, kw_only=True):
    """`ord(s)`, `ord(s, S)`: the position of an element in an ordered set, 1 for the first."""

    operand: TypedExpr
    domain: TypedSet


class Reduction(TypedExpr, frozen=True, kw_only=True):
    """`sum prod min max any all all_different count` over `indexing`; `argmin argmax` give the element of the only
    iterator. The body of `no_overlap` refers to an interval, that of `cumulative` is an `IntervalLoad`."""

    op: str
    indexing: TypedIndexing
    body: TypedExpr


class Executed(TypedExpr, frozen=True, kw_only=True):
    """`executed(body)`, of `carry` only: the integral of `body` over the time since the last plan.

    `body` is a rate, by the decisions in effect at each moment. With a window it is an amount for the slots executed
    since the last plan, which are then all slots of their set. With a `half_life` in the unit of the clock, each moment
    counts by how much of it is left at the plan.
    """

    body: TypedExpr
    half_life: TypedExpr | None = None


class Expected(TypedExpr, frozen=True, kw_only=True):
    """`E(body given condition)` or `P(condition given ...)`."""

    op: str
    body: TypedExpr
    given: TypedExpr | None = None


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
