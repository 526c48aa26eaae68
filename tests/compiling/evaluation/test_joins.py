"""However an index list is planned, it gives the rows of the plain product that fulfil the conditions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

A = ("a1", "a2", "a3")
B = ("b1", "b2")
SLOTS = (2, 3, 5, 8)
Row = dict[str, Any]


@dataclass(frozen=True)
class Data:
    triples: tuple[tuple[str, str, int], ...]
    pairs: tuple[tuple[str, str], ...]
    first: dict[str, int]
    last: dict[str, int]
    home: dict[str, str]


@st.composite
def datas(draw: st.DrawFn) -> Data:
    triples = draw(st.lists(st.tuples(st.sampled_from(A), st.sampled_from(B), st.integers(1, 3)), unique=True))
    pairs = draw(st.lists(st.tuples(st.sampled_from(A), st.sampled_from(A)), unique=True))
    ints = {a: draw(st.integers(0, 9)) for a in A}
    ends = {a: draw(st.integers(0, 9)) for a in A}
    return Data(tuple(triples), tuple(pairs), ints, ends, {a: draw(st.sampled_from(B)) for a in A})


# An index list: iterators by name and text, and for each name the values it runs over given the earlier ones.
ITERATORS: dict[str, tuple[str, tuple[str, ...], Callable[[Data, Row], list[tuple[Any, ...]]]]] = {
    "a": ("a in A", ("a",), lambda d, r: [(a,) for a in A]),
    "c": ("c in A", ("c",), lambda d, r: [(a,) for a in A]),
    "b": ("b in B", ("b",), lambda d, r: [(b,) for b in B]),
    "g": ("g in 1..4", ("g",), lambda d, r: [(g,) for g in range(1, 5)]),
    "h": ("h in Slots", ("h",), lambda d, r: [(h,) for h in SLOTS]),
    "xyz": ("(x, y, z) in Triples", ("x", "y", "z"), lambda d, r: list(d.triples)),
    "pq": ("(p, q) in Pairs", ("p", "q"), lambda d, r: list(d.pairs)),
    "k": ("k in 1..low[a]", ("k",), lambda d, r: [(k,) for k in range(1, d.first[r["a"]] + 1)]),
    "m": ("m in { n in A where n != a }", ("m",), lambda d, r: [(n,) for n in A if n != r["a"]]),
    "l": ('l in { a, "a2", a }', ("l",), lambda d, r: sorted({(r["a"],), ("a2",)})),
    "u": ("u in 1..low[a] union { 2, high[a] }", ("u",), lambda d, r: [
        (n,) for n in {*range(1, d.first[r["a"]] + 1), 2, d.last[r["a"]]}]),
    "s": ("s in low[a]..high[a] by 2 diff { 4 }", ("s",), lambda d, r: [
        (n,) for n in range(d.first[r["a"]], d.last[r["a"]] + 1, 2) if n != 4]),
    "vw": ("(v, w) in B cross 1..low[a]", ("v", "w"), lambda d, r: [
        (b, n) for b in B for n in range(1, d.first[r["a"]] + 1)]),
    "ij": ("(i, j) in { (c0, b0) : (c0, b0, g0) in Triples where c0 != a } inter A cross { home[a] }", ("i", "j"),
        lambda d, r: sorted({(i, j) for i, j, _ in d.triples if i != r["a"] and j == d.home[r["a"]]})),
    "o": ("o in After[a]", ("o",), lambda d, r: [(q,) for p, q in d.pairs if p == r["a"]]),
    "rt": ("(r, t) in With[home[a]]", ("r", "t"), lambda d, r: [
        (x, z) for x, y, z in d.triples if y == d.home[r["a"]]]),
    "e": ('e in After["a1"] union After[a]', ("e",), lambda d, r: [
        (n,) for n in {q for p, q in d.pairs if p in ("a1", r["a"])}]),
    "f": ("f in Near[a, 1]", ("f",), lambda d, r: [(c,) for c in A if d.first[c] < d.first[r["a"]] + 1]),
}  # fmt: skip
NEEDS = {n: {"a"} for n in ("k", "m", "l", "u", "s", "vw", "ij", "o", "rt", "e", "f")}
CONDITIONS: dict[str, tuple[set[str], Callable[[Data, Row], bool]]] = {
    "(a, b, g) in Triples": ({"a", "b", "g"}, lambda d, r: (r["a"], r["b"], r["g"]) in d.triples),
    "(a, b, 2) in Triples": ({"a", "b"}, lambda d, r: (r["a"], r["b"], 2) in d.triples),
    "(a, c) in Pairs": ({"a", "c"}, lambda d, r: (r["a"], r["c"]) in d.pairs),
    "(a, a) in Pairs": ({"a"}, lambda d, r: (r["a"], r["a"]) in d.pairs),
    "(a, c) not in Pairs": ({"a", "c"}, lambda d, r: (r["a"], r["c"]) not in d.pairs),
    "x == a": ({"x", "a"}, lambda d, r: r["x"] == r["a"]),
    "a == c": ({"a", "c"}, lambda d, r: r["a"] == r["c"]),
    "z == g": ({"z", "g"}, lambda d, r: r["z"] == r["g"]),
    "g == low[a] / 2": ({"g", "a"}, lambda d, r: r["g"] == d.first[r["a"]] / 2),
    "home[a] == home[c]": ({"a", "c"}, lambda d, r: d.home[r["a"]] == d.home[r["c"]]),
    "low[p] == high[q]": ({"p", "q"}, lambda d, r: d.first[r["p"]] == d.last[r["q"]]),
    "low[a] + high[a] == g": ({"a", "g"}, lambda d, r: d.first[r["a"]] + d.last[r["a"]] == r["g"]),
    "high[x] == z + low[a]": ({"x", "z", "a"}, lambda d, r: d.last[r["x"]] == r["z"] + d.first[r["a"]]),
    'home[c] == "b2"': ({"c"}, lambda d, r: d.home[r["c"]] == "b2"),
    "low[c] == 2 * low[x]": ({"c", "x"}, lambda d, r: d.first[r["c"]] == 2 * d.first[r["x"]]),
    "home[a] == b": ({"a", "b"}, lambda d, r: d.home[r["a"]] == r["b"]),
    "p == a and q != a": ({"p", "q", "a"}, lambda d, r: r["p"] == r["a"] and r["q"] != r["a"]),
    "h >= low[a]": ({"h", "a"}, lambda d, r: r["h"] >= d.first[r["a"]]),
    "low[a] <= h <= high[a]": ({"h", "a"}, lambda d, r: d.first[r["a"]] <= r["h"] <= d.last[r["a"]]),
    "g > 1 and g < high[a]": ({"g", "a"}, lambda d, r: 1 < r["g"] < d.last[r["a"]]),
    "i == c and j == b": ({"i", "j", "c", "b"}, lambda d, r: r["i"] == r["c"] and r["j"] == r["b"]),
    "v == home[c]": ({"v", "c"}, lambda d, r: r["v"] == d.home[r["c"]]),
    "(l, v) in { (c1, home[c1]) : c1 in A where c1 != l }": ({"l", "v"}, lambda d, r: False),
    "(a, b) in { (a, home[a]), (c, b) }": ({"a", "b", "c"}, lambda d, r: r["b"] == d.home[r["a"]] or r["a"] == r["c"]),
    "(a, b) in { c1 : c1 in A where c1 != c } cross { home[a] }": (
        {"a", "b", "c"},
        lambda d, r: r["a"] != r["c"] and r["b"] == d.home[r["a"]],
    ),
    "g in { h0 : h0 in 1..9 where h0 > high[a] } union { 1 } diff 3..low[a]": (
        {"g", "a"},
        lambda d, r: (r["g"] > d.last[r["a"]] or r["g"] == 1) and not 3 <= r["g"] <= d.first[r["a"]],
    ),
    "c in After[a]": ({"c", "a"}, lambda d, r: (r["a"], r["c"]) in d.pairs),
    "a not in After[c]": ({"c", "a"}, lambda d, r: (r["c"], r["a"]) not in d.pairs),
    "(a, g) in With[b]": ({"a", "b", "g"}, lambda d, r: (r["a"], r["b"], r["g"]) in d.triples),
    "count(After[a]) >= count(With[b] inter { (c, 2) })": (
        {"a", "b", "c"},
        lambda d, r: len([p for p, _ in d.pairs if p == r["a"]]) >= ((r["c"], r["b"], 2) in d.triples),
    ),
    "a in After[a] diff { c }": ({"a", "c"}, lambda d, r: (r["a"], r["a"]) in d.pairs and r["a"] != r["c"]),
    "o in Near[a, low[c] - 3]": ({"o", "a", "c"}, lambda d, r: d.first[r["o"]] < d.first[r["a"]] + d.first[r["c"]] - 3),
    "u in 2..9 by 3": ({"u"}, lambda d, r: r["u"] in (2, 5, 8)),
    "k <= g": ({"k", "g"}, lambda d, r: r["k"] <= r["g"]),
    'a == "a2" or b == "b1"': ({"a", "b"}, lambda d, r: r["a"] == "a2" or r["b"] == "b1"),
}


@st.composite
def queries(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    names = draw(st.lists(st.sampled_from(list(ITERATORS)), min_size=1, max_size=4, unique=True))
    names = [n for n in names if NEEDS.get(n, set()) <= set(names[: names.index(n)])] or ["a"]
    bound = {v for n in names for v in ITERATORS[n][1]}
    possible = [c for c, (needs, _) in CONDITIONS.items() if needs <= bound]
    conditions = draw(st.lists(st.sampled_from(possible), max_size=3, unique=True)) if possible else []
    return names, conditions


def model_text(data: Data, names: list[str], conditions: list[str]) -> str:
    variables = [v for n in names for v in ITERATORS[n][1]]
    element = f"({', '.join(variables)})" if len(variables) > 1 else variables[0]
    where = f" where {' and '.join(f'({c})' for c in conditions)}" if conditions else ""
    rows = ", ".join(f"({a}, {b}, {g})" for a, b, g in data.triples)
    pairs = ", ".join(f"({a}, {b})" for a, b in data.pairs)
    after = " ".join(f"{p} {{ {' '.join(q for other, q in data.pairs if other == p)} }}" for p in A)
    table = " ".join(f"{a} {data.first[a]} {data.last[a]} {data.home[a]}" for a in A)
    return f"""
model M {{
  set A; set B; set Slots ordered;
  set Triples within A cross B cross 1..3;
  set Pairs within A cross A;
  set After[A] within A;
  set With[b in B] within A cross 1..3 = {{ (a, g) : (a, b0, g) in Triples where b0 == b }};
  set Near[a in A, -3..9] within A;
  param low[A] integer; param high[A] integer; param home[A] within B;
  set Result = {{ {element} : {", ".join(ITERATORS[n][0] for n in names)}{where} }};
  var free >= 0; minimize free; constraint enough: free >= 1;
}}
scenario S for M {{
  A = {{ a1, a2, a3 }}; B = {{ b1, b2 }}; Slots = {{ 2, 3, 5, 8 }};
  Triples = {{ {rows} }}; Pairs = {{ {pairs} }};
  table A: low high home = {table};
  table A: After = {after};
  Near[i in A, k in -3..9] = {{ j in A where low[j] < low[i] + k }};
}}
"""


def brute_force(data: Data, names: list[str], conditions: list[str]) -> list[tuple[Any, ...]]:
    rows: list[Row] = [{}]
    for name in names:
        _, variables, values = ITERATORS[name]
        rows = [{**r, **dict(zip(variables, v, strict=True))} for r in rows for v in values(data, r)]
    rows = [r for r in rows if all(CONDITIONS[c][1](data, r) for c in conditions)]
    return [tuple(r.values()) for r in rows]


def planned(text: str) -> list[tuple[Any, ...]]:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(text, "test", diagnostics, None)
    scenario = check_scenario(workspace, "S", {}, diagnostics)
    diagnostics.raise_if_errors()
    assert scenario is not None
    instance = build_instance(scenario, folder=Path())
    return list(zip(*instance.store.sets["Result"].label_columns(), strict=True))


@settings(max_examples=60, deadline=None)
@given(datas(), queries())
def test_planned_index_lists_equal_brute_force(data: Data, query: tuple[list[str], list[str]]) -> None:
    names, conditions = query
    assert sorted(planned(model_text(data, names, conditions))) == sorted(brute_force(data, names, conditions))


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(datas(), queries())
def test_many_planned_index_lists_equal_brute_force(data: Data, query: tuple[list[str], list[str]]) -> None:
    names, conditions = query
    assert sorted(planned(model_text(data, names, conditions))) == sorted(brute_force(data, names, conditions))


def test_domains_keep_the_order_in_which_indices_are_listed() -> None:
    data = Data(
        tuple(itertools.product(reversed(A), reversed(B), (3, 1))), (), dict.fromkeys(A, 1), dict.fromkeys(A, 9),
        dict.fromkeys(A, "b1"),
    )  # fmt: skip
    text = model_text(data, ["a", "b", "g"], ["(a, b, g) in Triples"]).replace(
        "var free >= 0;", "var free >= 0; var y[a in A, b in B, g in 1..4 where (a, b, g) in Triples] >= 0;"
    )
    diagnostics = Diagnostics()
    scenario = check_scenario(workspace_from_text(text, "test", diagnostics, None), "S", {}, diagnostics)
    diagnostics.raise_if_errors()
    assert scenario is not None
    store = build_instance(scenario, folder=Path()).store
    declared = scenario.model.variables["y"]
    domain = Evaluator(scenario.model, store, MemoryLimits()).index_domain(declared.indexing, declared.span)
    assert list(zip(*domain.label_columns(), strict=True)) == list(itertools.product(A, B, (1, 3)))
    assert EMPTY_FRAME.size == 1
