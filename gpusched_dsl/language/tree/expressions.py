"""Expressions: values, names, operations, calls, conditionals."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.tree.node import Identifier, Node
from gpusched_dsl.language.tree.units import UnitNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Expr(Node):
    """Any expression, numeric, logical, symbolic or a set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Expr):
    value: float
    is_integer: bool
    unit: UnitNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Expr):
    """A quoted string; as an element label `"j1"` and, in scenario data, `j1` are the same."""

    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean(Expr):
    value: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Expr):
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscript(Expr):
    """`x[j, h-1]`."""

    name: Identifier
    subscripts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise(Expr):
    """`(x[k, h-1] else was[k])`: `fallback` where the subscript falls outside the declared index set."""

    reference: Subscript
    fallback: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryExpr(Expr):
    """`op` is one of `-`, `+`, `not`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Expr):
    """`op` is one of `+ - * / ^ and or => <=> in "not in" union inter diff cross`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Expr):
    """A chain: `a <= x <= b` has operands (a, x, b) and ops ("<=", "<="). Ops: `== != <= >= < >`."""

    operands: tuple[Expr, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional(Expr):
    """`if condition then a else b`."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArgument(Node):
    name: Identifier
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Expr):
    """`max(a, b)`, `count(Jobs)`, `exponential(mean = 40[epoch])`."""

    function: Identifier
    arguments: tuple[Expr, ...] = ()
    named: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation(Expr):
    """`E(body given condition)` or `P(...)`."""

    op: str
    body: Expr
    given: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleExpr(Expr):
    """`(v, g)`, two or more items."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayExpr(Expr):
    """`[4, 2, 3][h]`, `[[1, 2], [3, 4]]`: values in the order of index sets; only in a scenario."""

    items: tuple[Expr, ...]
    unit: UnitNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalExpr(Expr):
    """The value of an `interval`: `start s[j] length p[j] optional on x[j]`."""

    start: Expr
    length: Expr
    presence: Expr | None = None
