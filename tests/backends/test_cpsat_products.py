"""Products of integers reach CP-SAT as they are: against enumeration, and beside what it does not take."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import gpusched_dsl as gs

# An operand is its text and its value at a point.
TERMS = {
    "x * y": lambda x, y, z: x * y,
    "x * x": lambda x, y, z: x * x,
    "(x - y) ^ 3": lambda x, y, z: (x - y) ** 3,
    "x * y * z": lambda x, y, z: x * y * z,
    "(2 * x - y + 1) * (z - 2)": lambda x, y, z: (2 * x - y + 1) * (z - 2),
    "(x / 2) * z": lambda x, y, z: x / 2 * z,
    "max(x, y) * z": lambda x, y, z: max(x, y) * z,
    "(x + 3) * (y - 1) * (z + x)": lambda x, y, z: (x + 3) * (y - 1) * (z + x),
}


def check(seed: int) -> str:
    """The status of a problem with three integers and two such terms, after a comparison with enumeration."""
    random = Random(seed)
    ends = [sorted(random.sample(range(-4, 6), 2)) for _ in range(3)]
    (goal, value), (row, side) = random.sample(sorted(TERMS.items()), 2)
    limit, kind = random.randint(-12, 30), random.choice(("<=", ">=", "=="))
    sense, condition = random.choice(("minimize", "maximize")), random.choice(("", "x >= 1 => "))
    names = "".join(f"var {n} integer >= {a} <= {b};" for n, (a, b) in zip("xyz", ends, strict=True))
    body = f"{sense} {goal} + x; constraint c: {condition}{row} {kind} {limit};"
    text = f"model M {{ {names} {body} }} scenario S for M {{}}"
    values = []
    for point in product(*(range(a, b + 1) for a, b in ends)):
        left = side(*point)
        holds = {"<=": left <= limit, ">=": left >= limit, "==": left == limit}[kind]
        if holds or (condition and point[0] < 1):
            values.append(value(*point) + point[0])
    result = gs.loads(text).solve(backend="cpsat", gap=0)
    if not values:
        assert result.status == "infeasible", text
        return "infeasible"
    assert result.status == "optimal", text
    assert result.objective == pytest.approx(min(values) if sense == "minimize" else max(values)), text
    assert result.bound == pytest.approx(result.objective), text
    return "optimal"


def test_random_products() -> None:
    found = [check(seed) for seed in range(24)]
    assert 14 < found.count("optimal") < 24


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 400, 100))
def test_many_random_products(start: int) -> None:
    for seed in range(start, start + 100):
        check(seed)


def test_products_of_nine_digits() -> None:
    """Three products of three digits each; with binaries for the digits CP-SAT had no proof within a minute."""
    text = """model Digits {
      set Places = 1..9;
      var x[Places] integer >= 1 <= 9;
      maximize (100 * x[1] + 10 * x[2] + x[3]) * (100 * x[4] + 10 * x[5] + x[6])
        - (100 * x[7] + 10 * x[8] + x[9]) * x[1];
      constraint different: all_different[i in Places] x[i];
    }
    scenario S for Digits { }"""
    result = gs.loads(text).solve(backend="cpsat", gap=0, time_limit=30)
    assert (result.status, result.objective) == ("optimal", 842516)


def test_products_that_do_not_fit_into_64_bits_are_refused() -> None:
    text = """model Large { var x integer >= 0 <= 3000000; var y integer >= 0 <= 3000000; var z integer >= 0 <= 3000000;
      maximize x; constraint c: x * y * z <= 7; } scenario S for Large { }"""
    with pytest.raises(gs.DiagnosticError, match="GSM3201"):
        gs.loads(text).solve(backend="cpsat")
