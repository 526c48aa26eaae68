"""Indexed sets: however a scenario gives them, `Pred[j]` has the same elements, and models solve as with tuples."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import workspace_from_text

MODEL = """
model M {
  set Jobs ordered; set Nodes;
  set Pred[Jobs] within Jobs;
  set Before[j in Jobs] within Jobs diff { j } = { i in Jobs where i < j };
  set Fit[j in Jobs] within Nodes cross 1..2;
  param d[Jobs] default 1;
  param lag[j in Jobs, p in Pred[j]] default 0;
  param of[j in Jobs] = count(Pred[j]);
  param ends[j in Jobs where count(Pred[j]) > 0] within Jobs = last(Pred[j]);
  param alone default count(Pred["a"]);
  var x >= 0; minimize x;
}
scenario Base for M { Jobs = { a, b, c, d }; Nodes = { n1, n2 }; Fit = {}; }
"""
EXPECTED = [("b", "a"), ("d", "c"), ("d", "a")]


def store(given: str, more: str = "", name: str = "S", folder: Path | None = None) -> ValueStore:
    found = Diagnostics()
    text = format_text(f"{MODEL} scenario S extends Base {{ {given} }} {more}")
    scenario = check_scenario(workspace_from_text(text, "test", found, folder), name, {}, found)
    found.raise_if_errors()
    assert scenario is not None
    return build_instance(scenario, folder=folder or Path()).store


def tuples(made: ValueStore, name: str = "Pred") -> list[tuple[object, ...]]:
    return list(zip(*made.sets[name].label_columns(), strict=True))


@pytest.mark.parametrize(
    "given",
    [
        "Pred[b] = { a }; Pred[d] = { c, a };",
        "Pred = { (b, a), (d, c), (d, a) };",
        "table Jobs: Pred d = a {} 1 b {a} 2 c . 3 d { c a } 4;",
        "table Jobs: d Pred = b 2 {a} d 4 {c, a};",
        'Pred[j in { b, d }] = { "a" }; Pred["d"] = { c, a };',
        'Pred[j in Jobs] = { i in Jobs where j == "b" and i == "a" }; Pred[d] = { "c" } union { a };',
        'data "pred.csv" { Pred[job] = before; }',
        'data "pred.csv" { Pred = (job, before); }',
    ],
)
def test_every_form_gives_the_same_elements(given: str, tmp_path: Path) -> None:
    (tmp_path / "pred.csv").write_text("job,before\nb,a\nd,c\nd,a\n")
    made = store(given, folder=tmp_path)
    assert tuples(made) == EXPECTED
    assert made.params["of"].values.tolist() == [0, 1, 0, 2]
    assert made.params["ends"].values.tolist() == [0, 2]
    assert made.params["alone"].values.tolist() == [0]
    assert tuples(made, "Before") == [(j, i) for j in "abcd" for i in "abcd" if i < j]


def test_later_scenarios_replace_single_indices_or_everything() -> None:
    given = "Pred[b] = { a }; Pred[d] = { c, a };"
    assert tuples(store(given, "scenario T extends S { Pred[d] = { b }; Pred[c] = {}; }", "T")) == [
        ("b", "a"),
        ("d", "b"),
    ]
    assert tuples(store(given, "scenario T extends S { Pred = { (c, b) }; Pred[a] = { c }; }", "T")) == [
        ("c", "b"), ("a", "c"),
    ]  # fmt: skip
    later = "scenario T extends S { Pred[j in Jobs] = { i in Jobs where i > j }; }"
    assert len(tuples(store(given, later, "T"))) == 6
    assert tuples(store("Pred = {}; Fit[a] = { (n1, 1), (n2, 2) }; Fit[j in { b }] = { (n2, 1) };"), "Fit") == [
        ("b", "n2", 1), ("a", "n1", 1), ("a", "n2", 2),
    ]  # fmt: skip
    assert store("Pred[b] = { a }; table Pred: lag = b a 3;").params["lag"].values.tolist() == [3]


def test_values_from_python() -> None:
    model = gs.loads(
        MODEL.replace("minimize x;", "minimize cost: x; constraint n: x >= sum[j in Jobs, p in Pred[j]] d[p];")
    )
    for value in ({"b": ["a"], "d": ["c", "a"]}, [("b", "a"), ("d", "c"), ("d", "a")]):
        model.set("Pred", value)
        model.set("d", {"a": 10, "b": 20, "c": 30, "d": 40})
        assert model.solve("Base").objective == pytest.approx(50)
    with pytest.raises(DiagnosticError) as caught:
        model.set("Pred", {"b": "a"})
    assert [d.code for d in caught.value.diagnostics] == ["GSM6012"]


@pytest.mark.parametrize(
    ("given", "code", "at"),
    [
        ("Pred[b] = { a, e };", "GSM3006", "e"),
        ("Pred[e] = { a };", "GSM3006", "e"),
        ("Pred[b] = { a, a };", "GSM2110", "{ a, a }"),
        ("Pred[b] = { a }; Pred[b] = { c };", "GSM1506", "Pred[b] = { c };"),
        ("Pred[j in Jobs] = { a }; Pred[i in { b }] = { c };", "GSM1506", "Pred[i in Jobs inter"),
        ("Pred[b] = a;", "GSM1510", "a"),
        ("Pred[b] = [a];", "GSM1510", "[a]"),
        ("Pred[b] = { n in Nodes where true };", "GSM1203", "n"),
        ("Pred[b, c] = { a };", "GSM1507", "b, c"),
        ("Pred[j] = { i in Jobs where i < j };", "GSM1101", "j"),
        ("Pred[j] = { j };", "GSM3006", "j"),
        ("Pred[b] = { b }; Pred[e] = { e };", "GSM3006", "e"),
        ("Pred = {}; Fit[a] = { (n1, 3) };", "GSM2112", "{ (n1, 3) }"),
        ("Pred = {}; table Jobs: Fit = a {};", "GSM1510", "Fit"),
        ("table Jobs: Pred = a b;", "GSM1510", "b"),
        ("Pred = {}; table Jobs: d = a { b };", "GSM1510", "{ b }"),
        ("table Jobs: Pred = a { b e };", "GSM2103", "e"),
        ("table Jobs: Pred = a { b b };", "GSM2110", "b"),
        ("", "GSM2115", "Pred"),
        ("Before[b] = { a };", "GSM1505", "Before"),
    ],
)
def test_faults(given: str, code: str, at: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        store(given)
    found = caught.value.diagnostics[0]
    assert isinstance(found.primary, Span)
    assert found.code == code
    assert found.primary.text.startswith(at) or code == "GSM1506"


PAIRS = """
model {name} {{
  set Jobs; set Nodes{identical}; set Slots = 0..5;
  {sets}
  param d[Jobs] integer;
  var x[j in Jobs, n in Nodes, t in Slots where {fits}] binary;
  var load >= 0 <= 20;
  let at[j in Jobs] = sum[n in Nodes, t in Slots] t * x[j, n, t];
  minimize cost: sum[j in Jobs] (at[j] + d[j]) + 0.1 * load;
  constraint once[j in Jobs]: sum[n in Nodes, t in Slots] x[j, n, t] == 1;
  constraint prec[{prec}]: at[j] >= at[p] + d[p];
  constraint busy[n in Nodes, t in Slots]:
    sum[j in Jobs, s in Slots where s <= t and t < s + d[j]] x[j, n, s] <= 1;
  constraint most[n in Nodes]: load >= sum[j in Jobs, t in Slots] d[j] * x[j, n, t];
}}
"""


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_models_solve_as_with_tuples(seed: int) -> None:
    draw = random.Random(seed)
    jobs = "abcd"
    pred = {j: [p for p in jobs if p < j and draw.random() < 0.5] for j in jobs}
    late = {j: draw.randint(0, 2) for j in jobs}
    free = {j: [t for t in range(6) if t >= late[j]] for j in jobs}
    data = f"Jobs = {{ {', '.join(jobs)} }}; Nodes = {{ n1, n2, n3 }}; "
    data += "table Jobs: d = " + " ".join(f"{j} {draw.randint(1, 2)}" for j in jobs) + "; "
    indexed = (
        data
        + "table Jobs: Pred May = "
        + " ".join(f"{j} {{ {' '.join(pred[j])} }} {{ {' '.join(map(str, free[j]))} }}" for j in jobs)
    )
    pairs = ", ".join(f"({j}, {p})" for j in jobs for p in pred[j])
    may = ", ".join(f"({j}, {t})" for j in jobs for t in free[j])
    objectives = set()
    for identical in ("", " identical"):
        a = PAIRS.format(
            name="A", identical=identical, sets="set Pred[Jobs] within Jobs; set May[j in Jobs] within Slots;",
            fits="t in May[j]", prec="j in Jobs, p in Pred[j]",
        )  # fmt: skip
        b = PAIRS.format(
            name="B", identical=identical, sets="set Pairs within Jobs cross Jobs; set May within Jobs cross Slots;",
            fits="(j, t) in May", prec="(j, p) in Pairs",
        )  # fmt: skip
        flat = f"{data} Pairs = {{ {pairs} }}; May = {{ {may} }};"
        model = gs.loads(f"{a}{b}scenario I for A {{ {indexed}; }} scenario T for B {{ {flat} }}")
        for scenario, backend in (("I", "highs"), ("T", "highs"), ("I", "scip")):
            objectives.add(round(model.solve(scenario, backend, gap=0).objective or 0, 6))
    assert len(objectives) == 1
