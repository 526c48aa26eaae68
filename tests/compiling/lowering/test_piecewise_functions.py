"""Piecewise-linear functions of the language: by breakpoints and slopes, and by points; exact in every place."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.formatting.formatter import format_text

MODEL = """
model M {{
  set J{identical}; set Steps ordered; set Inner = {{ k in Steps where k != last(Steps) }};
  param limit[J, Steps]; param rate[J, Steps]; param a; param w[J];
  var x[J] integer >= -4 <= 4; var p >= -100 <= 100;
  {sense} total: sum[j in J] (piecewise(x[j], breakpoints = {{ limit[j, k] : k in Inner }},
    slopes = {{ rate[j, k] : k in Steps }}) + w[j] * x[j]) + a * p;
  constraint shape: p == piecewise(sum[j in J] x[j], points = {{ (-2, 1), (0, 0), (3, 4.5) }});
  constraint room: sum[j in J] piecewise(x[j] - 1, breakpoints = {{ 0, 2 }}, slopes = {{ -1, 0.5, 3 }}) <= 4;
  {more}
}}
scenario S for M {{ J = {{ u, v }}; Steps = 1..3; {data} }}
"""


def through_origin(at: float, breakpoints: list[float], slopes: list[float]) -> float:
    """The integral of the slopes from 0 to `at`."""
    low, high = min(0.0, at), max(0.0, at)
    edges = [low, *(b for b in breakpoints if low < b < high), high]
    rise = sum(
        slopes[sum(b <= (left + right) / 2 for b in breakpoints)] * (right - left)
        for left, right in itertools.pairwise(edges)
    )
    return rise if at >= 0 else -rise


def best(sense: str, limit: np.ndarray, rate: np.ndarray, w: np.ndarray, a: float) -> float:
    values = []
    for x in itertools.product(range(-4, 5), repeat=2):
        if sum(through_origin(v - 1, [0, 2], [-1, 0.5, 3]) for v in x) > 4 + 1e-9:
            continue
        total = sum(through_origin(v, limit[j].tolist(), rate[j].tolist()) + w[j] * v for j, v in enumerate(x))
        s = sum(x)
        values.append(total + a * (-0.5 * s if s <= 0 else 1.5 * s))
    return min(values) if sense == "minimize" else max(values)


@pytest.mark.parametrize("seed", [1, *(pytest.param(s, marks=pytest.mark.slow) for s in (0, *range(2, 12)))])
def test_optima_by_enumeration(seed: int) -> None:
    draw = np.random.default_rng(seed)
    alike = bool(seed % 2)
    limit = np.sort(draw.choice(np.arange(-3, 4), 2, replace=False))
    limits = np.stack([limit, limit if alike else limit + draw.integers(-1, 2)]).astype(float)
    rates = draw.integers(-3, 4, (2, 3)).astype(float)
    w = draw.integers(-2, 3, 2).astype(float)
    if alike:
        rates[1], w[1] = rates[0], w[0]
    a = float(draw.integers(-2, 3))
    rows = " ".join(
        f"{j} {k + 1} {limits[i, k] if k < 2 else 9} {rates[i, k]}" for i, j in enumerate("uv") for k in range(3)
    )
    data = f"a = {a}; table J: w = u {w[0]} v {w[1]}; table J, Steps: limit rate = {rows};"
    sense = "minimize" if draw.random() < 0.5 else "maximize"
    wanted = best(sense, limits, rates, w, a)
    variants = [("", ""), (" identical", "")] if alike else [("", ""), ("", "decompose by J;")]
    for identical, more in variants:
        model = gs.loads(MODEL.format(identical=identical, sense=sense, more=more, data=data))
        for backend, without in (("highs", ()), ("scip", ()), ("highs", ("all",))):
            found = model.solve("S", backend, gap=0, without=without)
            assert found.objective == pytest.approx(wanted, abs=1e-6), (backend, identical, without)


def evaluate(formula: str, more: str = "", data: str = "") -> float:
    text = f"model M {{ {more} param y = {formula}; var z >= y; minimize z; }} scenario S for M {{ {data} }}"
    assert format_text(format_text(text)) == format_text(text)
    return float(gs.loads(text).solve().objective or 0)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("piecewise(7, breakpoints = { 2, 5 }, slopes = { 1, 2, 4 })", 2 + 6 + 8),
        ("piecewise(-3, breakpoints = { 2, 5 }, slopes = { 1, 2, 4 })", -3),
        ("piecewise(-3, breakpoints = { -2, -1 }, slopes = { 1, 2, 4 })", -4 - 2 - 1),
        ("piecewise(3, breakpoints = {}, slopes = { 2 })", 6),
        ("piecewise(4, points = { (0, 1), (2, 3), (3, 0) })", -3),
        ("piecewise(-1, points = { (0, 1), (2, 3), (3, 0) })", 0),
        ("piecewise(90[min], breakpoints = { 1[h] }, slopes = { 2[$/h], 0.1[$/min] }) / 1[$]", 5),
        ("piecewise(2, breakpoints = { b[k] : k in K where (k, 1) in L }, slopes = { 1, 3, 5, 7 })", 1.5 + 1.5),
    ],
)
def test_values(formula: str, value: float) -> None:
    declared = "set K = 1..3; param b[k in K] = k + 0.5; set L = { (3, 1), (1, 1), (2, 1) };"
    assert evaluate(formula, declared) == pytest.approx(value)


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("piecewise(7, breakpoints = { 2, 5 }, slopes = { 1, 2 })", "GSM1212"),
        ("piecewise(7, { 2 }, { 1, 2 })", "GSM1212"),
        ("piecewise(7, breaks = { 2 }, slopes = { 1, 2 })", "GSM1212"),
        ("piecewise(7)", "GSM1212"),
        ("piecewise(7, points = { 1, 2 })", "GSM1212"),
        ("piecewise(7, points = K)", "GSM1212"),
        ("piecewise(7[h], breakpoints = { 2 }, slopes = { 1, 2 })", "GSM1303"),
        ("piecewise(7, points = { (1, 2) })", "GSM3019"),
        ("piecewise(7, breakpoints = { 5, 2 }, slopes = { 1, 2, 3 })", "GSM3019"),
        ("piecewise(7, breakpoints = { k : k in K }, slopes = { k : k in K })", "GSM3019"),
        ("piecewise(7, breakpoints = { 1 - k : k in K }, slopes = { 1, 2, 3, 4 })", "GSM3019"),
    ],
)
def test_faults(formula: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        evaluate(formula, "set K = 1..3;")
    assert caught.value.diagnostics[0].code == code


def test_lists_of_decisions_are_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        gs.loads("model M { var z >= 0; minimize piecewise(z, breakpoints = { z }, slopes = { 1, 2 }); }").solve()
    assert caught.value.diagnostics[0].code == "GSM1211"


def test_expected_values() -> None:
    text = """model M { random w ~ discrete({ (1, 0.5), (4, 0.5) }); var z >= 0;
      minimize E(piecewise(w, breakpoints = { 2 }, slopes = { 1, 3 })) + z; } scenario S for M {}"""
    assert gs.loads(text).solve().objective == pytest.approx(0.5 * 1 + 0.5 * 8)


RISING = "breakpoints = { 2, 4 }, slopes = { 1, 3, 2 }"  # 0, 2, 8, 10 at 0, 2, 4, 5


@pytest.mark.parametrize(
    ("body", "optimum"),
    [
        ("minimize E(piecewise(w + z, {f})) - 2 * z;", 4.0),
        ("minimize E(piecewise(z, breakpoints = {{ w }}, slopes = {{ 1, 2 }})) - 1.6 * z;", -0.9),
        ("constraint c: b => piecewise(z, {f}) <= 3; maximize z + 3 * b;", 3 + 7 / 3),
        ("maximize (if b == 1 then piecewise(z, {f}) else 4) - z;", 5.0),
        ("maximize b * piecewise(z, {f}) - 1.5 * z;", 2.5),
        ("constraint c: piecewise(z, {f}) == 5; minimize z;", 3.0),
        ("maximize piecewise(piecewise(z, {f}), {f}) - 3 * z;", 5.0),
    ],
)
def test_other_terms_around_it(body: str, optimum: float) -> None:
    declared = "random w ~ discrete({ (1, 0.5), (4, 0.5) }); var z >= 0 <= 5; var b binary;"
    text = f"model M {{ {declared} {body.format(f=RISING)} }} scenario S for M {{}}"
    assert gs.loads(text).solve(gap=0).objective == pytest.approx(optimum, abs=1e-6)
