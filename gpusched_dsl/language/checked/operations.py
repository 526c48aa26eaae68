"""Expressions made of others: arithmetic, logic, functions, reductions, expectations."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.checked.base import TypedExpr, TypedIndexing, TypedSet
from gpusched_dsl.language.checked.laws import TypedList


@dataclass(frozen=True, slots=True, kw_only=True)
class Negate(TypedExpr):
    operand: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic(TypedExpr):
    """`op` is one of `+ - * / ^`."""

    op: str
    left: TypedExpr
    right: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonChain(TypedExpr):
    """A chain of numbers, texts or elements, all already in the unit of the first operand. Ops: `== != <= >= < >`."""

    operands: tuple[TypedExpr, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Logic(TypedExpr):
    """`op` is `and`, `or`, `not`, `=>` or `<=>`."""

    op: str
    operands: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(TypedExpr):
    """`(v, g) in Configs`, `v not in Fast`."""

    element: tuple[TypedExpr, ...]
    domain: TypedSet
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IfThenElse(TypedExpr):
    """`if condition then a else b`."""

    condition: TypedExpr
    then: TypedExpr
    otherwise: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class Function(TypedExpr):
    """`min max abs floor ceil round exp log sqrt all_different` of scalar arguments; `div` and `mod` of two."""

    name: str
    arguments: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecewiseLinear(TypedExpr):
    """A piecewise-linear function of `operand`: through `points` (pairs), or 0 at 0 with `slopes` between `points`.

    With slopes, points are single numbers, the breakpoints, and there is one slope more.
    """

    operand: TypedExpr
    points: TypedList
    slopes: TypedList | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFunction(TypedExpr):
    """`count(S)`, `first(S)`, `last(S)`."""

    name: str
    domain: TypedSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordinal(TypedExpr):
    """`ord(s)`, `ord(s, S)`: the position of an element in an ordered set, 1 for the first."""

    operand: TypedExpr
    domain: TypedSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction(TypedExpr):
    """`sum prod min max any all all_different count` over `indexing`; `argmin argmax` give the element of the only
    iterator. The body of `no_overlap` refers to an interval, that of `cumulative` is an `IntervalLoad`."""

    op: str
    indexing: TypedIndexing
    body: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected(TypedExpr):
    """`E(body given condition)` or `P(condition given ...)`."""

    op: str
    body: TypedExpr
    given: TypedExpr | None = None
