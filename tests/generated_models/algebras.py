"""Numbers with which a model is evaluated: exact, a grid of points at once, within a tolerance, piece by piece.

Numbers have `+ - *`; everything else that a model does with numbers and conditions is asked of the algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from exact_lp import Row

# `another` is a second argument; domains are those of the generator.
SMOOTH: dict[str, Callable[..., Any]] = {
    "norm": lambda one, another: np.sqrt(one * one + another * another),
    "entropy": lambda one: one * np.log(one),
    "perspective": lambda one, another: one * np.exp(another / one),
    "ratio": lambda one, another: another * another / one,
    "delay": lambda one, another: another / (one - another),
}


class Dead(Exception):
    """A constraint cannot be satisfied on this piece."""


class Unsupported(Exception):
    """More pieces than are enumerated, or a condition whose negation is not closed."""


class Exact:
    """Fractions and truth values."""

    def constant(self, value: Fraction) -> Any:
        return value

    def floor(self, value: Any) -> Any:
        fixed = _constant(value)
        assert fixed is not None
        return Fraction(fixed // 1)

    def smooth(self, op: str, values: Sequence[Any]) -> Any:
        """A value of `SMOOTH`, to the precision of doubles."""
        fixed = [_constant(v) for v in values]
        return Fraction(float(SMOOTH[op](*(float(f) for f in fixed if f is not None))))

    def largest(self, values: Sequence[Any]) -> Any:
        return max(values)

    def compare(self, op: str, left: Any, right: Any) -> Any:
        return _compared(op, left - right, 0)

    def both(self, left: Any, right: Any) -> Any:
        return left and right

    def either(self, left: Any, right: Any) -> Any:
        return left or right

    def negated(self, value: Any) -> Any:
        return not value

    def alike(self, left: Any, right: Any) -> Any:
        return left == right

    def choose(self, condition: Any, then: Any, other: Any) -> Any:
        return then if condition else other


class Grid(Exact):
    """Arrays of doubles, one entry for each point; constants are doubles. Data differ by far more than `EPSILON`."""

    EPSILON = 1e-7

    def constant(self, value: Fraction) -> Any:
        return value.numerator / value.denominator

    def floor(self, value: Any) -> Any:
        return np.floor(value + self.EPSILON)

    def smooth(self, op: str, values: Sequence[Any]) -> Any:
        with np.errstate(all="ignore"):  # a subscript may leave the domain at points that are no solutions
            return SMOOTH[op](*values)

    def largest(self, values: Sequence[Any]) -> Any:
        found = values[0]
        for value in values[1:]:
            found = np.maximum(found, value)
        return found

    def compare(self, op: str, left: Any, right: Any) -> Any:
        return _compared(op, left - right, self.EPSILON)

    def both(self, left: Any, right: Any) -> Any:
        return np.logical_and(left, right)

    def either(self, left: Any, right: Any) -> Any:
        return np.logical_or(left, right)

    def negated(self, value: Any) -> Any:
        return np.logical_not(value)

    def alike(self, left: Any, right: Any) -> Any:
        return np.equal(left, right)

    def choose(self, condition: Any, then: Any, other: Any) -> Any:
        return np.where(condition, then, other)


def _compared(op: str, difference: Any, epsilon: float) -> Any:
    match op:
        case "<=":
            return difference <= epsilon
        case ">=":
            return difference >= -epsilon
        case "<":
            return difference < -epsilon
        case ">":
            return difference > epsilon
        case "==":
            return abs(difference) <= epsilon
    return abs(difference) > epsilon


# --- within a tolerance ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """A number between two ends; `size` is the largest number that went into it, 0 where it is exact."""

    low: Fraction
    high: Fraction
    size: Fraction = Fraction(0)

    def __add__(self, other: Any) -> Range:
        o = as_range(other)
        return Range(self.low + o.low, self.high + o.high, max(self.size, o.size))

    __radd__ = __add__

    def __neg__(self) -> Range:
        return Range(-self.high, -self.low, self.size)

    def __sub__(self, other: Any) -> Range:
        return self + -as_range(other)

    def __rsub__(self, other: Any) -> Range:
        return as_range(other) + -self

    def __mul__(self, other: Any) -> Range:
        o = as_range(other)
        ends = [a * b for a in (self.low, self.high) for b in (o.low, o.high)]
        reach = max(abs(e) for e in ends)
        return Range(min(ends), max(ends), max(self.size, o.size, reach) if self.size or o.size else Fraction(0))

    __rmul__ = __mul__

    def __truediv__(self, other: int) -> Range:
        return Range(self.low / other, self.high / other, self.size / other)


def as_range(value: Any) -> Range:
    return value if isinstance(value, Range) else Range(Fraction(value), Fraction(value))


@dataclass(frozen=True)
class Maybe:
    certain: bool
    possible: bool


def as_maybe(value: Any) -> Maybe:
    return value if isinstance(value, Maybe) else Maybe(bool(value), bool(value))


class Tolerant(Exact):
    """Ranges: what depends on continuous values is compared within a tolerance, the rest exactly."""

    def __init__(self, tolerance: Fraction) -> None:
        self.tolerance = tolerance

    def floor(self, value: Any) -> Any:
        found = as_range(value)
        return Range(Fraction(found.low // 1), Fraction(found.high // 1), found.size)

    def smooth(self, op: str, values: Sequence[Any]) -> Any:
        ranges = [as_range(v) for v in values]
        assert all(r.low == r.high for r in ranges)
        found = super().smooth(op, [r.low for r in ranges])
        return Range(found, found, max(abs(found), Fraction(1)))

    def largest(self, values: Sequence[Any]) -> Any:
        ranges = [as_range(v) for v in values]
        return Range(max(r.low for r in ranges), max(r.high for r in ranges), max(r.size for r in ranges))

    def compare(self, op: str, left: Any, right: Any) -> Any:
        difference = as_range(left) - as_range(right)
        slack = self.tolerance * max(1, difference.size) if difference.size else Fraction(0)
        match op:
            case "<=" | "<":
                found = Maybe(difference.high <= -slack, difference.low <= slack)
                strict = Maybe(difference.high < -slack, difference.low < slack)
            case ">=" | ">":
                found = Maybe(difference.low >= slack, difference.high >= -slack)
                strict = Maybe(difference.low > slack, difference.high > -slack)
            case _:
                zero = difference.low <= slack and difference.high >= -slack
                equal = Maybe(difference.low == difference.high == 0 and not slack, zero)
                return equal if op == "==" else self.negated(equal)
        return strict if op in ("<", ">") and not slack else found

    def both(self, left: Any, right: Any) -> Any:
        a, b = as_maybe(left), as_maybe(right)
        return Maybe(a.certain and b.certain, a.possible and b.possible)

    def either(self, left: Any, right: Any) -> Any:
        a, b = as_maybe(left), as_maybe(right)
        return Maybe(a.certain or b.certain, a.possible or b.possible)

    def negated(self, value: Any) -> Any:
        a = as_maybe(value)
        return Maybe(not a.possible, not a.certain)

    def alike(self, left: Any, right: Any) -> Any:
        return self.either(self.both(left, right), self.both(self.negated(left), self.negated(right)))

    def choose(self, condition: Any, then: Any, other: Any) -> Any:
        c = as_maybe(condition)
        if c.certain or not c.possible:
            return then if c.certain else other
        a, b = as_range(then), as_range(other)
        return Range(min(a.low, b.low), max(a.high, b.high), max(a.size, b.size, Fraction(1)))


# --- piece by piece --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Affine:
    """A constant plus coefficients of continuous columns."""

    constant: Fraction
    terms: tuple[Fraction, ...]

    def __add__(self, other: Any) -> Affine:
        if not isinstance(other, Affine):
            return Affine(self.constant + other, self.terms)
        terms = tuple(a + b for a, b in zip(self.terms, other.terms, strict=True))
        return Affine(self.constant + other.constant, terms)

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Any) -> Affine:
        return self + -other

    def __rsub__(self, other: Any) -> Affine:
        return -self + other

    def __mul__(self, other: Any) -> Affine:
        if isinstance(other, Affine):
            if any(other.terms):
                if any(self.terms):
                    raise Unsupported("a product of continuous columns")
                return other * self.constant
            other = other.constant
        return Affine(self.constant * other, tuple(a * other for a in self.terms))

    __rmul__ = __mul__

    def __truediv__(self, other: int) -> Affine:
        return self * Fraction(1, other)


@dataclass
class Pieces(Exact):
    """Affine numbers over one piece, which a script of choices picks; `rows` describe the piece.

    A condition that is false on a piece adds no row: with conditions that only help when they are true that is exact.
    """

    script: list[int]
    rows: list[Row] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def pick(self, count: int) -> int:
        """One of `count` alternatives."""
        at = len(self.counts)
        self.counts.append(count)
        if at == len(self.script):
            self.script.append(0)
        return self.script[at]

    def largest(self, values: Sequence[Any]) -> Any:
        fixed = [_constant(v) for v in values]
        if all(f is not None for f in fixed):
            return max(f for f in fixed if f is not None)
        chosen = values[self.pick(len(values))]
        for value in values:
            if value is not chosen:
                self.require(">=", chosen, value)
        return chosen

    def compare(self, op: str, left: Any, right: Any) -> Any:
        fixed = _constant(left - right)
        if fixed is not None:
            return _compared(op, fixed, 0)
        if self.pick(2):
            return False
        self.require(op, left, right)
        return True

    def require(self, op: str, left: Any, right: Any) -> None:
        """Add a row; raises Dead where it can never be satisfied."""
        difference = left - right
        fixed = _constant(difference)
        if fixed is not None:
            if not _compared(op, fixed, 0):
                raise Dead
            return
        if op not in ("<=", ">=", "=="):
            raise Unsupported("a strict comparison of continuous columns")
        wanted = -difference if op == "<=" else difference
        self.rows.append(Row(wanted.terms, wanted.constant, op == "=="))


def _constant(value: Any) -> Fraction | None:
    if isinstance(value, Affine):
        return None if any(value.terms) else value.constant
    return Fraction(value)
