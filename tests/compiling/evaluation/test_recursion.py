"""Recursive parameters: each value once, in the order of what it reads; cycles are shown."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from every_way import solve_every_way

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

REST = "var x >= 0; minimize x;"


def store(body: str, data: str = "") -> ValueStore:
    found = Diagnostics()
    workspace = workspace_from_text(f"model M {{ {body} {REST} }} scenario S for M {{ {data} }}", "test", found)
    scenario = check_scenario(workspace, "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    return build_instance(scenario, folder=Path()).store


def values(body: str, data: str = "", name: str = "p") -> list[float]:
    return [float(v) for v in store(body, data).params[name].values]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("param p[s in S] = if ord(s) == 1 then 0 else p[prev(s)] + d[prev(s)];", [0, 3, 4]),
        ("param p[s in S] = (p[s - 1] else 0) + d[s];", [3, 4, 8]),
        ("param p[s in S] = if s == last(S) then d[s] else min(p[next(s)], d[s]) + 1;", [3, 2, 4]),
        ("param p[s in S] in h = sum[t in S where t < s] p[t] + 1[h];", [1, 2, 4]),
        ("param p[s in S] binary = s == first(S) or ((p[prev(s)] else 1) == 0 and d[s] > 0);", [1, 0, 1]),
        ("param p[s in S] binary = s > first(S) and p[prev(s)] == 0;", [0, 1, 0]),
        ("param p[s in S] binary = s > first(S) => p[prev(s)] == 0;", [1, 0, 1]),
        ("param p[s in S] = if (p[prev(s)] else 9) > 5 then d[s] else (p[s - 2] else 5) + d[s];", [3, 6, 4]),
        ("param p[s in S] within S = if ord(s) <= 2 then s else p[prev(s)];", [0, 1, 1]),
        ("param q[s in S] symbol = if d[s] == 3 then name[s] else q[prev(s)]; param name[S] symbol default \"n\";"
         "param p[s in S] = if q[s] == \"n\" then 1 else 0;", [1, 1, 1]),
        ("param p[n in 0..7] integer = if n <= 1 then n else p[n - 1] + p[n - 2];", [0, 1, 1, 2, 3, 5, 8, 13]),
        ("param p[i in 0..2, j in 0..2] = if i * j == 0 then 1 else p[i - 1, j] + p[i, j - 1];",
         [1, 1, 1, 1, 2, 3, 1, 3, 6]),
        ("param p[s in S where d[s] < 4] = (p[prev(s)] else 7) + 1;", [8, 9]),
    ],
)  # fmt: skip
def test_values(body: str, expected: list[float]) -> None:
    data = "S = { a, b, c }; table S: d = a 3 b 1 c 4;"
    assert values(f"set S ordered; param d[S]; {body}", data) == expected


def test_longest_paths_in_random_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs in any order of the text; no expression is evaluated more often than there are levels."""
    calls = []
    plain = Evaluator._Reduction
    monkeypatch.setattr(Evaluator, "_Reduction", lambda *a: calls.append(a[2].size) or plain(*a))
    for seed in range(5):
        draw = random.Random(seed)
        jobs = draw.sample(range(40), 40)
        before = {j: [i for i in range(j) if draw.random() < 0.1] for j in range(40)}
        lasts = {j: draw.randint(1, 9) for j in jobs}
        body = """set J; set Pred[J] within J; param l[J];
          param p[j in J] = if count(Pred[j]) == 0 then 0 else max[i in Pred[j]] (p[i] + l[i]);"""
        rows = " ".join(f"{j} {lasts[j]} {{{' '.join(map(str, before[j]))}}}" for j in jobs)
        start: dict[int, int] = {}
        depth: dict[int, int] = {}
        for j in range(40):
            start[j] = max((start[i] + lasts[i] for i in before[j]), default=0)
            depth[j] = max((depth[i] + 1 for i in before[j]), default=0)
        calls.clear()
        assert values(body, f"table J: l Pred = {rows};") == [start[j] for j in jobs]
        assert len(calls) == max(depth.values())
        assert sum(calls) == sum(d > 0 for d in depth.values())


def test_long_chains_are_fast() -> None:
    p = values("param p[n in 1..3000] = (p[n - 1] else 0) + n mod 7;")
    assert p[-1] == np.sum(np.arange(1, 3001) % 7)


def test_every_way(tmp_path: Path) -> None:
    """Earliest starts as bounds, beside interchangeable nodes, in units; a re-solve computes them anew."""
    text = """model M {
      set Jobs; set Nodes identical; set Pred[Jobs] within Jobs; param length[Jobs] in min;
      param start[j in Jobs] in h = if count(Pred[j]) == 0 then 0[h] else max[i in Pred[j]] (start[i] + length[i]);
      var on[Jobs, Nodes] binary; var begin[j in Jobs] in h >= start[j];
      minimize late in h: sum[j in Jobs] begin[j] + sum[j in Jobs, n in Nodes] 1[h] * on[j, n];
      constraint once[j in Jobs]: sum[n in Nodes] on[j, n] == 1;
      constraint few[n in Nodes]: sum[j in Jobs] start[j] * on[j, n] <= 4[h];
    } scenario S for M { Nodes = { m, n }; table Jobs: length[min] Pred = c 30 {a b} a 60 {b} b 90 {}; }"""
    solve_every_way(text, 3 + 2.5 + 1.5, tmp_path)
    model = gs.loads(text)
    model.solve()
    model.set("length", {"a": 60, "b": 30, "c": 1})
    assert model.resolve().objective == pytest.approx(3 + 1.5 + 0.5)


@pytest.mark.parametrize(
    ("data", "cycle"),
    [
        ("Pred[a] = { a };", "`p[a]` -> `p[a]`"),
        ("Pred[a] = { c }; Pred[b] = { a }; Pred[c] = { b }; Pred[d] = { c };", "`p[a]` -> `p[c]` -> `p[b]` -> `p[a]`"),
    ],
)
def test_cycles_are_shown(data: str, cycle: str) -> None:
    body = "set J; set Pred[J] within J; param p[j in J] = sum[i in Pred[j]] p[i] + 1;"
    with pytest.raises(DiagnosticError) as caught:
        values(body, f"J = {{ a, b, c, d }}; {data}")
    [found] = caught.value.diagnostics
    assert (found.code, found.notes) == ("GSM3018", (f"the cycle is {cycle}",))


@pytest.mark.parametrize(
    "body",
    [
        "param p[n in 1..3] integer = if n == 1 then 1 else p[p[n - 1]];",
        "param p[n in 1..3] = count[m in 1..3 where (p[m] else 0) > 0] (m > 1);",
        "param p[n in 1..3] integer = if n == 1 then 1 else sum[m in 1..p[n - 1]] 1;",
        "param p[n in 1..3] = q[n] + 1; param q[n in 1..3] = p[n] - 1;",
        "param p[n in 1..3] default p[n - 1];",
        "param p = p + 1;",
    ],
)
def test_values_that_decide_what_is_read_are_refused(body: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        values(body)
    assert {d.code for d in caught.value.diagnostics} == {"GSM1407"}
