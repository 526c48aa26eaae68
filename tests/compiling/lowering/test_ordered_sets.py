"""Special ordered sets: at most one value, or two neighbours, are not 0; the optimum of enumerating which."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from every_way import solve_every_way

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def best(supports: list[tuple[int, ...]], gain: list[int], high: list[int], most: float) -> float:
    """The largest gain of amounts from 0 to `high` of one support, together at most `most`."""
    found = 0.0
    for support in supports:
        value, room = 0.0, most
        for k in sorted(support, key=lambda k: -gain[k]):
            amount = min(room, high[k]) if gain[k] > 0 else 0.0
            value, room = value + gain[k] * amount, room - amount
        found = max(found, value)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("backend", ["highs", "scip", "cvxpy"])
def test_optimum_of_enumeration(seed: int, backend: str) -> None:
    draw = random.Random(seed)
    size = 5
    order = draw.sample(range(size), size)  # of the elements in the text
    gain, high = [draw.randint(-1, 6) for _ in range(size)], [draw.randint(1, 4) for _ in range(size)]
    rows = " ".join(f"e{k} {gain[k]} {high[k]}" for k in order)
    most = draw.randint(3, 7) - 0.5
    text = f"""model M {{ set K ordered; set Own within K ordered; param gain[K]; param high[K];
      var x[k in K] >= 0 <= high[k]; var y[k in K] integer >= -high[k] <= 0; var z[k in Own] >= 0 <= high[k];
      maximize total: sum[k in K] gain[k] * (x[k] - y[k]) + sum[k in Own] gain[k] * z[k];
      constraint pair: sos2[k in K] x[k];
      constraint one: sos1[k in K where gain[k] != 3] y[k];
      constraint own: sos2[k in Own] (z[k] + 0);
      constraint most: sum[k in K] x[k] <= {most};
      constraint few: -sum[k in K] y[k] <= {int(most)};
      constraint some: sum[k in Own] z[k] <= {most}; }}
      scenario S for M {{ Own = {{ e4, e0, e2 }}; table K: gain high = {rows}; }}"""
    pairs = [(order[i], order[i + 1]) for i in range(size - 1)]
    free = [k for k in range(size) if gain[k] == 3]
    ones = [(k, *free) for k in range(size)] + [(*free,)]
    expected = best(pairs, gain, high, most) + best(ones, gain, high, int(most))
    expected += best([(4, 0), (0, 2)], gain, high, most)
    assert gs.loads(text).solve(backend=backend).objective == pytest.approx(expected)


def test_every_way(tmp_path: Path) -> None:
    """A curve by weights of breakpoints, of interchangeable nodes, with units, blocks and alternatives."""
    text = """model M {
      set Nodes identical; set Points ordered; set Jobs; param load[Points]; param power[Points] in kW;
      var weight[Nodes, Points] >= 0 <= 1; var share[Jobs, Nodes] >= 0 <= 4; var quiet binary;
      minimize total in kW: sum[n in Nodes, k in Points] power[k] * weight[n, k] + 1[kW] * quiet;
      constraint curve[n in Nodes]: sos2[k in Points] weight[n, k];
      constraint all_[n in Nodes]: sum[k in Points] weight[n, k] == 1;
      constraint carried[n in Nodes]: sum[j in Jobs] share[j, n] == sum[k in Points] load[k] * weight[n, k];
      constraint single[n in Nodes]: sos1[j in Jobs] share[j, n];
      constraint need[j in Jobs]: sum[n in Nodes] share[j, n] >= 3;
      constraint either: quiet == 1 or sos1[n in Nodes] share["a", n];
      decompose by Nodes;
    } scenario S for M { Nodes = { m, n, o }; Jobs = { a, b };
      table Points: load power[kW] = zero 0 1 one 2 8 two 3 9 full 4 12; }"""
    solve_every_way(text, 9 + 9 + 1, tmp_path, backends=("highs", "scip"))


def test_values_without_bounds_are_refused() -> None:
    text = """model M { var x[1..3] >= 0; var y[1..3] >= 0 <= 1; maximize total: sum[k in 1..3] (y[k] - x[k]);
      constraint c: sos1[k in 1..3] x[k]; constraint d: sos2[k in 1..3] y[k]; } scenario S for M {}"""
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(text).solve()
    assert {d.code for d in caught.value.diagnostics} == {"GSM3202"}
    assert gs.loads(text.replace("var x[1..3] >= 0;", "var x[1..3] >= 0 <= 9;")).solve().objective == pytest.approx(2)
