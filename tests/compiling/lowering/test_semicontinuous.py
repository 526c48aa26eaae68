"""Semicontinuous variables are 0 or within their bounds: the optimum of enumerating which are 0."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from every_way import solve_every_way

import gpusched_dsl as gs
from gpusched_dsl.cli import main


def best(low: list[float], high: list[float], gain: list[float], most: float) -> float:
    """The largest gain of amounts that are 0 or within their bounds, together at most `most`: greedy by choice."""
    found = -float("inf")
    for chosen in itertools.product((False, True), repeat=len(low)):
        used = [k for k, c in enumerate(chosen) if c]
        room = most - sum(low[k] for k in used)
        if room < 0:
            continue
        value = sum(gain[k] * low[k] for k in used)
        for k in sorted(used, key=lambda k: -gain[k]):
            more = min(room, high[k] - low[k]) if gain[k] > 0 else 0.0
            value, room = value + gain[k] * more, room - more
        found = max(found, value)
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("backend", ["highs", "scip", "cvxpy"])
def test_optimum_of_enumeration(seed: int, backend: str) -> None:
    draw = random.Random(seed)
    low, gain = [draw.randint(1, 4) for _ in range(4)], [draw.randint(-2, 5) for _ in range(4)]
    high = [v + draw.randint(0, 3) for v in low]
    rows = " ".join(f"{k} {v[0]} {v[1]} {v[2]}" for k, v in enumerate(zip(low, high, gain, strict=True)))
    most = draw.randint(5, 9) + 0.5
    kind = draw.choice(("", "integer "))
    text = f"""model M {{ set K; param low[K]; param high[K]; param gain[K]; param some[K] default 0;
      var x[k in K] {kind}semicontinuous >= low[k] >= some[k] <= high[k];
      maximize total: sum[k in K] gain[k] * x[k];
      constraint most: sum[k in K] x[k] <= {int(most) if kind else most}; }}
      scenario S for M {{ table K: low high gain = {rows}; }}"""
    expected = best([*map(float, low)], [*map(float, high)], [*map(float, gain)], int(most) if kind else most)
    assert gs.loads(text).solve(backend=backend).objective == pytest.approx(expected)


def test_every_way(tmp_path: Path) -> None:
    """With units, interchangeable nodes, blocks, sets of tuples, products, conditions and the word as a name."""
    text = """model M {
      set Nodes identical; set Jobs; set Can within Jobs cross 1..2; param least[Jobs] in h;
      var share[(j, k) in Can, Nodes] in h semicontinuous >= least[j] <= 5;
      var racks[Nodes] integer semicontinuous >= 3 <= 7; var on[Nodes] binary; var semicontinuous binary;
      minimize total: sum[n in Nodes] (racks[n] + 5 * on[n]) + 9 * semicontinuous
        + sum[(j, k) in Can, n in Nodes] k * share[j, k, n] / 1[h];
      constraint need[j in Jobs]: sum[k in 1..2, n in Nodes] share[j, k, n] == 6[h];
      constraint room[n in Nodes]: sum[j in Jobs, k in 1..2] share[j, k, n] <= 2[h] * racks[n];
      constraint started[n in Nodes]: racks[n] >= 1 => on[n] == 1;
      constraint both[n in Nodes]: on[n] * (share["a", 1, n] + share["b", 1, n]) <= 6[h];
      decompose by Nodes;
    } scenario S for M { Nodes = { m, n }; table Jobs: least[h] = a 2 b 3; Can = { (a, 1), (a, 2), (b, 1) }; }"""
    results = solve_every_way(text, 2 * (3 + 5) + 12, tmp_path, backends=("highs", "scip"))
    for result in results:
        for job, _, _, value in result.table("share").rows():
            assert abs(value) <= 1e-6 or value >= {"a": 2, "b": 3}[job] - 1e-6


def test_conflicts_name_the_variable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """model M { var load semicontinuous >= 3 <= 5; minimize load;
      constraint some: load >= 1; constraint few: load <= 2; } scenario S for M {}"""
    (tmp_path / "m.gsm").write_text(text)
    assert main(["explain", str(tmp_path / "m.gsm")]) == 3
    assert "load.semicontinuous" in capsys.readouterr().out
