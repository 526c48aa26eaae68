"""Constant expressions of campaigns: numbers with units, words and truth values, without a model."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, Unit, convertible, factor, unit_of

MAX_VALUES = 1_000_000
MAX_POWER = 1_000


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit."""

    number: Fraction
    unit: Unit = DIMENSIONLESS

    @property
    def text(self) -> str:
        number = str(self.number.numerator) if self.number.denominator == 1 else repr(float(self.number))
        return number if self.unit == DIMENSIONLESS else f"{number}[{self.unit}]"

    def number_in(self, unit: Unit) -> Fraction:
        return self.number * factor(self.unit, unit)


@dataclass(frozen=True, slots=True)
class Word:
    """A name, such as the choice of an option, or a text in quotes."""

    content: str
    quoted: bool = field(default=False, compare=False)

    @property
    def text(self) -> str:
        return '"' + self.content.replace("\\", "\\\\").replace('"', '\\"') + '"' if self.quoted else self.content


Value: TypeAlias = Quantity | Word | bool


class NotConstant(Exception):
    """The expression at `span` has no value without a model; `args[0]` is the reason."""

    def __init__(self, span: Span, reason: str) -> None:
        super().__init__(reason)
        self.span = span


def value_text(value: Value) -> str:
    """Return the value as it is written in a scenario."""
    return plain_text(value) if isinstance(value, bool) else value.text


def plain_text(value: object) -> str:
    """Return a plain value as text, with `true` and `false` as they are written."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def plain_value(value: Value) -> bool | int | float | str:
    """Return the value without its unit."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Word):
        return value.content
    return int(value.number) if value.number.denominator == 1 else float(value.number)


def option_value(value: Value) -> bool | float | str | None:
    """Return the value of a method's option: times in seconds; None for another unit."""
    if not isinstance(value, Quantity):
        return plain_value(value)
    if convertible(value.unit, UNITS["s"]):
        return float(value.number_in(UNITS["s"]))
    return float(value.number_in(DIMENSIONLESS)) if value.unit.is_dimensionless else None


def literal(value: Value, span: Span) -> tree.Expr:
    """Return a value as an expression at a place."""
    if isinstance(value, bool):
        return tree.Boolean(span=span, value=value)
    if isinstance(value, Word):
        return tree.Text(span=span, value=value.content) if value.quoted else tree.Name(span=span, text=value.content)
    factors = tuple(tree.UnitFactor(span=span, symbol=s, exponent=e) for s, e in value.unit.factors)
    unit = None if value.unit == DIMENSIONLESS else tree.UnitNode(span=span, factors=factors)
    size = abs(value.number)
    number = tree.Number(span=span, value=float(size), is_integer=size.denominator == 1, unit=unit)
    return tree.UnaryExpr(span=span, op="-", operand=number) if value.number < 0 else number


def evaluate(expr: tree.Expr, names: Mapping[str, Value]) -> Value:
    """Return the value of an expression; other names than `names` are words. Raises NotConstant."""
    match expr:
        case tree.Boolean(value=truth):
            return truth
        case tree.Text(value=text):
            return Word(text, quoted=True)
        case tree.Name(text=name):
            return names.get(name, Word(name))
        case tree.Number():
            return _number(expr)
        case tree.UnaryExpr(op="not", operand=operand):
            return not condition_value(operand, names)
        case tree.UnaryExpr(op=op, operand=operand):
            found = _quantity(operand, names)
            return Quantity(-found.number if op == "-" else found.number, found.unit)
        case tree.Binary(op="and" | "or" | "=>" | "<=>" as op):
            return _logic(op, condition_value(expr.left, names), condition_value(expr.right, names))
        case tree.Binary(op="in" | "not in" as op):
            inside = evaluate(expr.left, names) in [row[0] for row in elements(expr.right, 1, names)]
            return inside == (op == "in")
        case tree.Binary(op="+" | "-" | "*" | "/" | "^" | "div" | "mod"):
            return _arithmetic(expr, _quantity(expr.left, names), _quantity(expr.right, names))
        case tree.Compare():
            values = [evaluate(operand, names) for operand in expr.operands]
            pairs = zip(expr.ops, values, values[1:], strict=False)
            return all(_compare(expr, op, left, right) for op, left, right in pairs)
        case tree.Conditional():
            return evaluate(expr.then if condition_value(expr.condition, names) else expr.otherwise, names)
        case tree.Call(function=function, arguments=arguments, named=()) if function.text in _FUNCTIONS:
            return _call(expr, [_quantity(argument, names) for argument in arguments])
    raise NotConstant(expr.span, "not a constant")


def elements(expr: tree.Expr, width: int, names: Mapping[str, Value]) -> list[tuple[Value, ...]]:
    """Return the elements of a set, tuples of `width` values, in order and without repeats removed."""
    match expr:
        case tree.SetLiteral(items=items):
            return [_row(item, width, names) for item in items]
        case tree.Range():
            return [(value,) for value in _range(expr, names)]
        case tree.Binary(op="union", left=left, right=right):
            first = elements(left, width, names)
            return first + [row for row in elements(right, width, names) if row not in first]
        case tree.Binary(op="diff" | "inter" as op, left=left, right=right):
            others = elements(right, width, names)
            return [row for row in elements(left, width, names) if (row in others) == (op == "inter")]
    raise NotConstant(expr.span, "not a set of constants, such as `{ 1, 2 }` or `1..5`")


def _row(item: tree.Expr, width: int, names: Mapping[str, Value]) -> tuple[Value, ...]:
    parts: Sequence[tree.Expr] = item.items if isinstance(item, tree.TupleExpr) else (item,)
    if len(parts) != width:
        raise NotConstant(item.span, f"{len(parts)} values, {width} expected")
    return tuple(evaluate(part, names) for part in parts)


def _range(expr: tree.Range, names: Mapping[str, Value]) -> list[Value]:
    low, high = (_integer(bound, names) for bound in (expr.low, expr.high))
    step = 1 if expr.step is None else _integer(expr.step, names)
    if step == 0:
        raise NotConstant(expr.span, "the step is 0")
    if abs(high - low) // abs(step) >= MAX_VALUES:
        raise NotConstant(expr.span, f"more than {MAX_VALUES:,} values")
    return [Quantity(Fraction(number)) for number in range(low, high + (1 if step > 0 else -1), step)]


def _integer(expr: tree.Expr, names: Mapping[str, Value]) -> int:
    found = _quantity(expr, names)
    if found.unit != DIMENSIONLESS or found.number.denominator != 1:
        raise NotConstant(expr.span, "not an integer")
    return int(found.number)


def _number(expr: tree.Number) -> Quantity:
    number = Fraction(repr(expr.value))
    if expr.unit is None:
        return Quantity(number)
    found = Diagnostics()
    unit = unit_of(expr.unit, found)
    if unit is None:
        raise NotConstant(expr.unit.span, "unknown unit")
    return Quantity(number, unit)


def _quantity(expr: tree.Expr, names: Mapping[str, Value]) -> Quantity:
    found = evaluate(expr, names)
    if isinstance(found, Quantity):
        return found
    raise NotConstant(expr.span, "not a number")


def condition_value(expr: tree.Expr, names: Mapping[str, Value]) -> bool:
    """Return the value of a condition; raise NotConstant."""
    found = evaluate(expr, names)
    if isinstance(found, bool):
        return found
    raise NotConstant(expr.span, "neither true nor false")


def _logic(op: str, left: bool, right: bool) -> bool:
    if op == "and":
        return left and right
    return (left or right) if op == "or" else (not left or right) if op == "=>" else left == right


_COMPARISONS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip


def _compare(expr: tree.Expr, op: str, left: Value, right: Value) -> bool:
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        if not convertible(left.unit, right.unit):
            raise NotConstant(expr.span, f"units do not agree: `{left.unit}` and `{right.unit}`")
        return _COMPARISONS[op](left.number, right.number_in(left.unit))
    if type(left) is not type(right) or op not in ("==", "!="):
        raise NotConstant(expr.span, f"`{value_text(left)}` and `{value_text(right)}` cannot be compared")
    return (left == right) == (op == "==")


def _arithmetic(expr: tree.Binary, left: Quantity, right: Quantity) -> Quantity:
    op, a, b = expr.op, left.number, right.number
    if op in ("*", "/"):
        if op == "/" and b == 0:
            raise NotConstant(expr.span, "division by zero")
        return Quantity(a * b, left.unit * right.unit) if op == "*" else Quantity(a / b, left.unit / right.unit)
    if op == "^":
        if right.unit != DIMENSIONLESS or b.denominator != 1 or abs(b) > MAX_POWER or (a == 0 and b < 0):
            raise NotConstant(expr.span, "not a power with a small integer exponent")
        return Quantity(a ** int(b), left.unit ** int(b))
    if not convertible(left.unit, right.unit):
        raise NotConstant(expr.span, f"units do not agree: `{left.unit}` and `{right.unit}`")
    b = right.number_in(left.unit)
    if op in ("+", "-"):
        return Quantity(a + b if op == "+" else a - b, left.unit)
    if b == 0:
        raise NotConstant(expr.span, "division by zero")
    return Quantity(Fraction(a // b)) if op == "div" else Quantity(a % b, left.unit)


def _call(expr: tree.Call, values: list[Quantity]) -> Quantity:
    name = expr.function.text
    if name in ("min", "max") and values:
        unit = values[0].unit
        if any(not convertible(value.unit, unit) for value in values):
            raise NotConstant(expr.span, "units do not agree")
        return Quantity((min if name == "min" else max)(value.number_in(unit) for value in values), unit)
    if len(values) != 1:
        raise NotConstant(expr.span, f"`{name}` has one argument")
    try:
        return _FUNCTIONS[name](values[0])
    except (ValueError, OverflowError) as error:
        raise NotConstant(expr.span, str(error)) from error


def _real(function: Callable[[float], float]) -> Callable[[Quantity], Quantity]:
    def apply(value: Quantity) -> Quantity:
        if not value.unit.is_dimensionless:
            raise ValueError("the argument has a unit")
        return Quantity(Fraction(repr(function(float(value.number_in(DIMENSIONLESS))))))

    return apply


def _rounding(function: Callable[[Fraction], int]) -> Callable[[Quantity], Quantity]:
    def apply(value: Quantity) -> Quantity:
        unit = DIMENSIONLESS if value.unit.is_dimensionless else value.unit  # 90 min / 1 h is 1.5
        return Quantity(Fraction(function(value.number_in(unit))), unit)

    return apply


_FUNCTIONS: Mapping[str, Callable[[Quantity], Quantity]] = {
    "min": lambda value: value,
    "max": lambda value: value,
    "abs": lambda value: Quantity(abs(value.number), value.unit),
    "floor": _rounding(math.floor),
    "ceil": _rounding(math.ceil),
    "round": _rounding(lambda number: math.floor(number + Fraction(1, 2))),
    "sqrt": _real(math.sqrt),
    "exp": _real(math.exp),
    "log": _real(math.log),
}
