"""Expressions: values with their units, names, operations, calls, conditionals."""

from __future__ import annotations

from gpusched_dsl.language.tree.node import Identifier, Node


class UnitFactor(Node, frozen=True, kw_only=True):
    """`h`, `h^2` (exponent 2), or the `h` of `$/h` (exponent -1). `1` as in `1/h` has no factor."""

    symbol: str
    exponent: int


class UnitNode(Node, frozen=True, kw_only=True):
    """A unit as written, such as `$/(GPU*h)`; no factors means the unit `1`."""

    factors: tuple[UnitFactor, ...]


class Expr(Node, frozen=True, kw_only=True):
    """Any expression, numeric, logical, symbolic or a set."""


class Number(Expr, frozen=True, kw_only=True):
    value: float
    is_integer: bool
    unit: UnitNode | None = None


class Text(Expr, frozen=True, kw_only=True):
    """A quoted string; as an element label `"j1"` and, in scenario data, `j1` are the same."""

    value: str


class Boolean(Expr, frozen=True, kw_only=True):
    value: bool


class Name(Expr, frozen=True, kw_only=True):
    text: str


class Subscript(Expr, frozen=True, kw_only=True):
    """`x[j, h-1]`."""

    name: Identifier
    subscripts: tuple[Expr, ...]


class Otherwise(Expr, frozen=True, kw_only=True):
    """`(x[k, h-1] else was[k])`: `fallback` where the subscript falls outside the declared index set."""

    reference: Subscript
    fallback: Expr


class UnaryExpr(Expr, frozen=True, kw_only=True):
    """`op` is one of `-`, `+`, `not`."""

    op: str
    operand: Expr


class Binary(Expr, frozen=True, kw_only=True):
    """`op` is one of `+ - * / ^ and or => <=> in "not in" union inter diff cross`."""

    op: str
    left: Expr
    right: Expr


class Compare(Expr, frozen=True, kw_only=True):
    """A chain: `a <= x <= b` has operands (a, x, b) and ops ("<=", "<="). Ops: `== != <= >= < >`."""

    operands: tuple[Expr, ...]
    ops: tuple[str, ...]


class Conditional(Expr, frozen=True, kw_only=True):
    """`if condition then a else b`."""

    condition: Expr
    then: Expr
    otherwise: Expr


class NamedArgument(Node, frozen=True, kw_only=True):
    name: Identifier
    value: Expr


class Call(Expr, frozen=True, kw_only=True):
    """`max(a, b)`, `count(Jobs)`, `exponential(mean = 40[epoch])`."""

    function: Identifier
    arguments: tuple[Expr, ...] = ()
    named: tuple[NamedArgument, ...] = ()


class Expectation(Expr, frozen=True, kw_only=True):
    """`E(body given condition)` or `P(...)`."""

    op: str
    body: Expr
    given: Expr | None = None


class TupleExpr(Expr, frozen=True, kw_only=True):
    """`(v, g)`, two or more items."""

    items: tuple[Expr, ...]


class ArrayExpr(Expr, frozen=True, kw_only=True):
    """`[4, 2, 3][h]`, `[[1, 2], [3, 4]]`: values in the order of index sets; only in a scenario."""

    items: tuple[Expr, ...]
    unit: UnitNode | None = None


class IntervalExpr(Expr, frozen=True, kw_only=True):
    """The value of an `interval`: `start s[j] length p[j] optional on x[j]`."""

    start: Expr
    length: Expr
    presence: Expr | None = None
