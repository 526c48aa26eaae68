"""Random formulas over quantities with units: whatever units are declared, the quantity is the same."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

Dimension = tuple[int, int, int, int]  # powers of time, energy, money and data
UNITS: dict[str, tuple[Dimension, float]] = {
    "s": ((1, 0, 0, 0), 1), "min": ((1, 0, 0, 0), 60), "h": ((1, 0, 0, 0), 3600), "d": ((1, 0, 0, 0), 86400),
    "J": ((0, 1, 0, 0), 1), "Wh": ((0, 1, 0, 0), 3600), "kWh": ((0, 1, 0, 0), 3.6e6), "MWh": ((0, 1, 0, 0), 3.6e9),
    "W": ((-1, 1, 0, 0), 1), "kW": ((-1, 1, 0, 0), 1e3), "MW": ((-1, 1, 0, 0), 1e6),
    "$": ((0, 0, 1, 0), 1), "MB": ((0, 0, 0, 1), 1e6), "GB": ((0, 0, 0, 1), 1e9), "GiB": ((0, 0, 0, 1), 2**30),
    "%": ((0, 0, 0, 0), 0.01),
}  # fmt: skip
NONE: Dimension = (0, 0, 0, 0)


def times(left: Dimension, right: Dimension, power: int = 1) -> Dimension:
    a, b, c, d = (x + power * y for x, y in zip(left, right, strict=True))
    return (a, b, c, d)


class Formulas:
    """Formulas as texts with their dimension and their value in base units."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.declared: list[str] = []

    def unit_of(self, dimension: Dimension) -> tuple[str, float]:
        """A way to write a unit of a dimension, and its size."""
        names: list[str] = []
        scale = 1.0
        for axis, base in enumerate((("s", "min", "h", "d"), ("J", "Wh", "kWh", "MWh"), ("$",), ("MB", "GB", "GiB"))):
            power = dimension[axis]
            if power:
                name = self.random.choice(base)
                names.append(name if power == 1 else f"{name}^{power}")
                scale *= UNITS[name][1] ** power
        return "*".join(names), scale

    def quantity(self, dimension: Dimension | None = None) -> tuple[str, Dimension, float]:
        """A parameter of a simple unit, or one of a given dimension, with a default."""
        value = self.random.choice((0.5, 1, 2, 3, 7.25, 40))
        if dimension is None:
            unit = self.random.choice(list(UNITS))
            found, scale = UNITS[unit]
        else:
            unit, scale = self.unit_of(dimension)
            found = dimension
        if self.random.random() < 0.3 and unit:
            return f"{value:g}[{unit}]", found, value * scale
        name = f"q{len(self.declared)}"
        stated = f" in {unit} default {value:g}" if unit else f" default {value:g}"
        self.declared.append(f"param {name}{stated};")
        return name, found, value * scale

    def formula(self, depth: int) -> tuple[str, Dimension, float]:
        if depth <= 0:
            return self.quantity()
        left, dimension, value = self.formula(depth - 1)
        match self.random.randint(0, 7):
            case 0 | 1:
                right, other, second = self.formula(depth - 1)
                return f"({left} * {right})", times(dimension, other), value * second
            case 2:
                right, other, second = self.formula(depth - 1)
                return f"({left} / {right})", times(dimension, other, -1), value / second
            case 3 | 4:
                right, _, second = self.quantity(dimension)
                return f"({left} + {right})", dimension, value + second
            case 5:
                right, _, second = self.quantity(dimension)
                return f"max({left}, {right}, 0)", dimension, max(value, second)
            case 6:
                right, _, second = self.quantity(dimension)
                return (
                    f"(if {left} <= {right} then {left} else 2 * {right})",
                    dimension,
                    (value if value <= second else 2 * second),
                )
        return f"({left})^2", times(dimension, dimension), value * value


def check(random: Random) -> None:
    formulas = Formulas(random)
    text, dimension, value = formulas.formula(3)
    if max(map(abs, dimension)) > 8 or not 1e-60 < abs(value) < 1e60:
        return
    unit, scale = formulas.unit_of(dimension)
    stated = f" in {unit}" if unit else ""
    wrong, _ = formulas.unit_of(times(dimension, (1, 0, 1, 0)))
    body = "\n".join(formulas.declared)
    model = f"""
      model M {{
        {body}
        param result{stated} = {text};
        var x{stated} >= 0 <= 2 * ({text});
        maximize goal{stated}: x;
        constraint at_most: x <= {text};
      }}
      scenario S for M {{ }}
    """
    assert math.isclose(float(gs.loads(model).ground().row_upper[0]) * scale, value, rel_tol=1e-9), model
    result = gs.loads(model).solve()
    if 1e-6 < value / scale < 1e6:
        assert result.objective is not None
        assert math.isclose(result.objective * scale, value, rel_tol=1e-6), model
        assert math.isclose(float(result.table("result", zeros=True)["value"][0]) * scale, value, rel_tol=1e-9), model
    with pytest.raises(DiagnosticError, match="GSM130"):
        gs.loads(model.replace(f"param result{stated}", f"param result in {wrong}")).ground()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_random_formulas_with_units(random: Random) -> None:
    check(random)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.randoms(use_true_random=False))
def test_many_random_formulas_with_units(random: Random) -> None:
    check(random)
