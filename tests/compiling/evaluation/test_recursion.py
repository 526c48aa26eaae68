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
from gpusched_dsl.language.diagnostics.diagnostic import apply_edits
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


# --- parameters that need each other ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("param p[t in 1..4] = if t == 1 then 1 else q[t - 1] + 1; param q[t in 1..4] = 2 * (p[t - 1] else 1);",
         {"p": [1, 3, 3, 7], "q": [2, 2, 6, 6]}),
        ("param p[t in 1..3] = q[t] + 1; param q[t in 1..3] = (p[t - 1] else 0);", {"p": [1, 2, 3], "q": [0, 1, 2]}),
        ("param q[t in 0..2] in h = (r[t - 1] else 60[min]); param r[t in 0..2] in min = q[t] + 30[min];"
         "param p[t in 0..2] in h = q[t] + (p[t - 1] else 0[h]);", {"p": [1, 2.5, 4.5], "r": [90, 120, 150]}),
        ("param a[t in 1..3] = (c[t - 1] else 1); param b[t in 1..3] = 2 * a[t]; param c[t in 1..3] = b[t] + 1;",
         {"a": [1, 3, 7], "b": [2, 6, 14], "c": [3, 7, 15]}),
        ("param up[t in 1..4] binary = if t == 1 then true else down[t - 1] == 1;"
         "param down[t in 1..4] binary = up[t] == 0;", {"up": [1, 0, 1, 0], "down": [0, 1, 0, 1]}),
        ("param a[t in 1..3] = if t > 1 then sum[i in I] b[t - 1, i] else 1; param b[t in 1..3, i in I] = i * a[t];"
         "set I = 1..2;", {"a": [1, 3, 9], "b": [1, 2, 3, 6, 9, 18]}),
        ("param n[t in 1..3] symbol = if (k[t - 1] else 1) == 1 then \"odd\" else \"even\";"
         "param k[t in 1..3] integer = if n[t] == \"odd\" then 2 else 1;", {"k": [2, 1, 2]}),
        ("set Odd = { t in 1..4 where t mod 2 == 1 }; param a[t in Odd] = (b[t - 1] else 5);"
         "param b[t in 1..4 where t mod 2 == 0] = a[t - 1] + 1;", {"a": [5, 6], "b": [6, 7]}),
        # The indices are the same, but conditions end the circle.
        ("param a[t in 1..2] = if t == 1 then b[t] else 1; param b[t in 1..2] = if t == 1 then 7 else a[t] + 1;",
         {"a": [7, 1], "b": [7, 2]}),
        # One reads the other without a step, and needs something that is declared last.
        ("param a[t in T] = d + b[t]; param b[t in T] = (a[prev(t)] else e); set T ordered = 1..3; param e = 2 * d;"
         "param d = 1;", {"a": [3, 4, 5], "b": [2, 3, 4]}),
    ],
)  # fmt: skip
def test_parameters_that_need_each_other(body: str, expected: dict[str, list[float]]) -> None:
    made = store(body)
    assert {name: made.params[name].values.tolist() for name in expected} == expected
    statements = [s.strip() + ";" for s in body.replace("\n", " ").split(";") if s.strip()]
    backwards = store(" ".join(reversed(statements)))
    assert {name: backwards.params[name].values.tolist() for name in expected} == expected


def test_random_circles_of_parameters() -> None:
    """Up to four parameters that read each other at this step (in one order) or at earlier ones, against plain code."""
    for seed in range(40):
        draw = random.Random(seed)
        names = draw.sample(["a", "b", "c", "d"], draw.randint(2, 4))
        reads = {
            name: [
                (other, back)
                for place, other in enumerate(names)
                for back in range(3)
                if draw.random() < 0.5 and (back or place < at)
            ]
            for at, name in enumerate(names)
        }
        plain: dict[tuple[str, int], int] = {}
        for step in range(1, 7):
            for at, name in enumerate(names):
                plain[name, step] = at + sum(plain.get((o, step - back), 10) for o, back in reads[name])
        lines = []
        for at, name in enumerate(names):
            terms = [f"({o}[t{f' - {back}' if back else ''}] else 10)" for o, back in reads[name]]
            lines.append(f"param {name}[t in 1..6] = {' + '.join([str(at), *terms])};")
        draw.shuffle(lines)
        made = store(" ".join(lines))
        for name in names:
            assert made.params[name].values.tolist() == [plain[name, step] for step in range(1, 7)], (seed, lines)


def test_a_circle_of_entries_of_two_parameters_is_shown_once() -> None:
    body = "set J; param from[J] within J; param a[j in J] = b[from[j]] + 1; param b[j in J] = 2 * a[j];"
    with pytest.raises(DiagnosticError) as caught:
        store(
            f"{body} param c[j in J] = a[j] + b[j];", 'J = { x, y, z }; from[j in J] = if j == "x" then "x" else "y";'
        )
    [found] = caught.value.diagnostics
    assert found.code == "GSM3018"
    assert found.notes == ("the cycle is `a[x]` -> `b[x]` -> `a[x]`",)


def test_a_later_wrong_member_of_a_circle_is_reported() -> None:
    with pytest.raises(DiagnosticError) as caught:
        store("param a[t in 1..3] = (b[t - 1] else 1); param b[t in 1..3] >= 0 <= 5 = 3 * a[t];")
    assert [d.code for d in caught.value.diagnostics] == ["GSM2109"]


@pytest.mark.parametrize(
    "body",
    [
        "param p[n in 1..3] = q[n] + 1; param q[n in 1..3] = p[n] - 1;",
        "param p[n in 1..3] = (q[n - 1] else 1) + r[n]; param q[n in 1..3] = p[n]; param r[n in 1..3] = q[n] + 1;",
        "param p[n in 1..3] <= q[n] = 1; param q[n in 1..3] = p[n];",
        "param p[n in 1..3] = (q[n - 1] else 1); param q[n in 1..3] >= p[n] = (p[n - 1] else 2);",
        "param p[n in 1..3] integer = (q[n - 1] else 1); param q[n in 1..3] integer = 1 + p[p[n]];",
        "param p[n in 1..3] = (q[n - 1] else 1); param q[n in 1..3] = count[m in 1..3 where p[m] > 0] (m > 1);",
        "param p[n in 1..3] = (w[n - 1] else 1); let w[n in 1..3] = p[n];",
        "param p[n in S] = (q[n - 1] else 1); param q[n in 1..3] = n * p[n]; set S = { n in 1..3 where q[n] > 0 };",
        "param p = q[1]; param q[n in 1..3] = p;",
    ],
)  # fmt: skip
def test_circles_that_no_data_can_open_are_refused(body: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        store(body)
    assert {d.code for d in caught.value.diagnostics} == {"GSM1407"}


@pytest.mark.parametrize(
    ("body", "help_"),
    [
        ("param p[t in 1..3] = if t == 1 then 1[h] else p[t - 1] * 1[h];", "add `in h`"),
        ("param p[t in 1..3] = 2 * (q[t - 1] else 1); param q[t in 1..3] = 3[h] * p[t];", "add `in h`"),
        ("param p[t in 1..3] = 2 * (q[t - 1] else 1); param q[t in 1..3] = if p[t] > 3 then \"x\" else \"y\";",
         "add `symbol`"),
    ],
)  # fmt: skip
def test_a_recursive_value_states_its_unit(body: str, help_: str) -> None:
    """Else it would be read as a number without a unit, and be one with a unit."""
    with pytest.raises(DiagnosticError) as caught:
        store(body)
    assert "GSM1470" in {d.code for d in caught.value.diagnostics}
    assert any(help_ in str(d.help) for d in caught.value.diagnostics)
    text = f"model M {{ {body} {REST} }} scenario S for M {{ }}"
    gs.loads(apply_edits(text, [e for d in caught.value.diagnostics if d.code == "GSM1470" for e in d.edits]))


def test_circles_of_parameters_in_every_way(tmp_path: Path) -> None:
    """Queue lengths and their prices by steps, beside interchangeable nodes; a re-solve computes both anew."""
    text = """model M {
      set Steps ordered; set Nodes identical; param come[Steps];
      param queue[t in Steps] = (queue[prev(t)] else 0) + come[t] - (served[prev(t)] else 0);
      param served[t in Steps] = min(queue[t], 2);
      var on[Steps, Nodes] binary;
      minimize cost: sum[t in Steps, n in Nodes] on[t, n];
      constraint enough[t in Steps]: sum[n in Nodes] 2 * on[t, n] >= queue[t];
    } scenario S for M { Nodes = { m, n, o }; Steps = 1..3; come[t in Steps] = 3; }"""
    solve_every_way(text, 2 + 2 + 3, tmp_path)
    model = gs.loads(text)
    model.solve()
    model.set("come", {1: 0, 2: 1, 3: 3})
    assert model.resolve().objective == pytest.approx(0 + 1 + 2)
