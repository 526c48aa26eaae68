"""Dimensions and units: exponent vectors over base dimensions and an exact scale. Checked at compile time, then erased.

Base dimensions are time, energy (so that W = J/s), data, mass, one per currency and one per kind of counted thing;
nothing converts between two currencies or between epochs and requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from math import isqrt

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics

Exponents = tuple[tuple[str, int], ...]

MAX_EXPONENT = 99  # of a unit that is written or comes out of a power
CURRENCIES = ("USD", "EUR", "GBP")
COUNTED = ("epoch", "iteration", "sample", "token", "request", "job", "task")  # things that come at rates


def _merge(parts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Exponents added up per name, in order of first appearance, zeros left out."""
    total: dict[str, int] = {}
    for name, exponent in parts:
        total[name] = total.get(name, 0) + exponent
    return {name: exponent for name, exponent in total.items() if exponent}


def _sort(exponents: Mapping[str, int]) -> Exponents:
    return tuple(sorted(exponents.items()))


@dataclass(frozen=True, slots=True)
class Unit:
    """A dimension with a scale; two units are equal when a number means the same in both.

    `dimension` is a sorted tuple of (base dimension, exponent) without zeros, such as (("USD", 1), ("time", -1));
    `scale` is the exact number of base units in one of this unit; `factors` are the symbols it is printed with.
    """

    dimension: Exponents
    scale: Fraction
    factors: Exponents = field(default=(), compare=False)

    @property
    def text(self) -> str:
        """How to print it: `$/(GPU*h)`, `W*min/request`, `1/h`, `1`."""
        above = [_power(s, e) for s, e in self.factors if e > 0]
        below = [_power(s, -e) for s, e in self.factors if e < 0]
        top = "*".join(above) or "1"
        if not below:
            return top
        return f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({'*'.join(below)})"

    def __str__(self) -> str:
        return self.text

    def __mul__(self, other: Unit) -> Unit:
        dimension = _sort(_merge((*self.dimension, *other.dimension)))
        factors = tuple(_merge((*self.factors, *other.factors)).items())
        scale = self.scale * other.scale
        return Unit(dimension, scale, factors) if dimension or scale != 1 else DIMENSIONLESS

    def __truediv__(self, other: Unit) -> Unit:
        return self * other**-1

    def __pow__(self, exponent: int) -> Unit:
        if exponent == 0:
            return DIMENSIONLESS
        dimension = tuple((name, e * exponent) for name, e in self.dimension)
        factors = tuple((symbol, e * exponent) for symbol, e in self.factors)
        return Unit(dimension, self.scale**exponent, factors)

    def root(self) -> Unit | None:
        """Return the unit with this square, or None if an exponent is odd or the scale is not a square."""
        root = Fraction(isqrt(self.scale.numerator), isqrt(self.scale.denominator))
        if root * root != self.scale or any(e % 2 for _, e in (*self.dimension, *self.factors)):
            return None
        halves = tuple((name, e // 2) for name, e in self.dimension)
        return Unit(halves, root, tuple((symbol, e // 2) for symbol, e in self.factors))

    @property
    def base(self) -> Unit:
        """The unit of the same dimension with scale 1."""
        return Unit(self.dimension, Fraction(1), tuple((BASE_SYMBOLS[name], e) for name, e in self.dimension))

    @property
    def is_dimensionless(self) -> bool:
        return not self.dimension


def _power(symbol: str, exponent: int) -> str:
    return symbol if exponent == 1 else f"{symbol}^{exponent}"


DIMENSIONLESS = Unit((), Fraction(1))


def convertible(source: Unit, target: Unit) -> bool:
    return source.dimension == target.dimension


def factor(source: Unit, target: Unit) -> Fraction:
    """Return the factor from `source` to `target`; the dimensions agree, up to counted items."""
    return source.scale / target.scale


def number_factor(source: Unit, target: Unit) -> float:
    """The same as a float; 1 if the units are not convertible, since the file then has no units."""
    return float(factor(source, target)) if convertible(source, target) else 1.0


def is_reciprocal_rate(unit: Unit) -> bool:
    """Whether it is time per counted thing, such as `min/request`: the reciprocal of a rate."""
    return len(unit.dimension) == 2 and any(unit.dimension == _sort({"time": 1, thing: -1}) for thing in COUNTED)


def reads_as_duration(one: Unit, other: Unit) -> bool:
    """Whether one of them is time and the other is time per counted thing."""
    plain = (("time", 1),)
    return (one.dimension == plain and is_reciprocal_rate(other)) or (
        other.dimension == plain and is_reciprocal_rate(one)
    )


def has_dimension(unit: Unit, **exponents: int) -> bool:
    """Whether the dimension is exactly this one; `money` is any single currency."""
    actual = {("money" if name in CURRENCIES else name): e for name, e in unit.dimension}
    return len(actual) == len(unit.dimension) and actual == exponents


# --- the table -------------------------------------------------------------------------------------------------------


def _table() -> dict[str, Unit]:
    units: dict[str, Unit] = {}

    def define(symbol: str, scale: int | Fraction, **dimension: int) -> None:
        units[symbol] = Unit(_sort(dimension), Fraction(scale), ((symbol, 1),))

    for symbol, seconds in {"s": 1, "min": 60, "h": 3600, "d": 86400, "day": 86400, "week": 604800}.items():
        define(symbol, seconds, time=1)
    for symbol, fraction in {"ms": 10**3, "us": 10**6, "µs": 10**6, "μs": 10**6, "ns": 10**9}.items():
        define(symbol, Fraction(1, fraction), time=1)
    define("Hz", 1, time=-1)
    for prefix, scale in {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}.items():
        define(f"{prefix}J", scale, energy=1)
        define(f"{prefix}W", scale, energy=1, time=-1)
        define(f"{prefix}Wh", 3600 * scale, energy=1)
        define(f"{prefix}B", scale, data=1)
        define(f"{prefix}bit", Fraction(scale, 8), data=1)
    define("mW", Fraction(1, 1000), energy=1, time=-1)
    define("PB", 10**15, data=1)
    for power, prefix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), start=1):
        define(f"{prefix}B", 1024**power, data=1)
    for symbol, grams in {"g": 1, "kg": 1000, "t": 10**6}.items():
        define(symbol, grams, mass=1)
    for symbol, currency in zip("$€£", CURRENCIES, strict=True):
        define(symbol, 1, **{currency: 1})
        define(currency, 1, **{currency: 1})
    for thing in (*COUNTED, "node"):
        define(thing, 1, **{thing: 1})
    for symbol in ("gpu", "GPU"):
        define(symbol, 1, gpu=1)
    define("%", Fraction(1, 100))
    return units


UNITS: Mapping[str, Unit] = _table()
BASE_SYMBOLS: Mapping[str, str] = {
    **{thing: thing for thing in (*COUNTED, "node", "gpu")},
    "time": "s",
    "energy": "J",
    "data": "B",
    "mass": "g",
    "USD": "$",
    "EUR": "€",
    "GBP": "£",
}


def unit_of(node: tree.UnitNode, diagnostics: Diagnostics) -> Unit | None:
    """The unit an author wrote, or None with a diagnostic for each unknown symbol."""
    result: Unit | None = DIMENSIONLESS
    for part in node.factors:
        known = UNITS.get(part.symbol)
        if known is None:
            diagnostics.error(
                "GSM1301",
                f"unknown unit `{part.symbol}`",
                part.span,
                "no unit of this name",
                help=_suggest_unit(part.symbol) or did_you_mean(part.symbol, UNITS) or _KNOWN_UNITS,
            )
            result = None
        elif result is not None:
            result = result * known**part.exponent
    return result


_SPELT_OUT = {
    "second": "s", "sec": "s", "minute": "min", "hour": "h", "hr": "h", "dollar": "$", "euro": "€", "pound": "£",
    "watt": "W", "kilowatt": "kW", "joule": "J", "byte": "B", "percent": "%", "gram": "g",
}  # fmt: skip


def _suggest_unit(symbol: str) -> str | None:
    """Return a help line for a unit with its full name."""
    near = get_close_matches(symbol.lower().removesuffix("s"), _SPELT_OUT, n=1, cutoff=0.75)
    return f"did you mean `{_SPELT_OUT[near[0]]}`?" if near else None


_KNOWN_UNITS = (
    "the units are s, min, h, d, week; W, kW, J, Wh, kWh, MWh; $, EUR, GBP; B, kB, MB, GB, GiB; gpu, job, "
    "epoch, request, iteration, sample, token, task and node, combined with `*`, `/` and `^`"
)

_UNIT_TOKEN = re.compile(r"\s*(?:(?P<symbol>[^\W\d_]+|[$€£%])(?:\^(?P<exponent>-?\d+))?|(?P<one>1)|(?P<mark>[*/()]))")


def parse_unit_text(text: str) -> Unit:
    """The unit written as `$/(GPU*h)`, for texts that are not part of a model; raises ValueError."""
    unit, sign, inside, at = DIMENSIONLESS, 1, False, 0
    while at < len(text.rstrip()):
        match = _UNIT_TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"not a unit: {text!r}")
        at = match.end()
        symbol, mark = match["symbol"], match["mark"]
        if symbol:
            if symbol not in UNITS:
                raise ValueError(f"unknown unit {symbol!r} in {text!r}")
            unit = unit * UNITS[symbol] ** (sign * int(match["exponent"] or 1))
        elif mark == "/":
            sign = -1
        elif mark in ("(", ")"):
            inside = mark == "("
        elif mark == "*" and not inside:
            sign = 1
    return unit
