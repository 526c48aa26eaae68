"""Formulas and arrays of a scenario give the values that a loop over their keys computes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.data.sources.python_values import pieces_of
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.updates import with_jobs

MODEL = """
model M {
  set Jobs; set Nodes; set Slots = 1..3; set Late within Jobs;
  set Fits within Jobs cross Nodes;
  param length[Jobs] in h default 0.5[h];
  param deadline[Jobs] in h default 1[h];
  param cost[Jobs, Nodes, Slots] default 0;
  param load[j in Jobs, n in Nodes where (j, n) in Fits] default 0;
  param home[Jobs] within Nodes default "n1";
  param hot[Jobs] binary default 0;
  param name[Jobs] symbol default "none";
  param k integer default 2;
  var x >= 0; minimize x;
}
scenario Base for M {
  Jobs = { a, b, c }; Nodes = { n1, n2 }; Late = { b }; Fits = { (a, n1), (c, n2) };
}
"""


def instance(given: str, name: str = "S", more: str = "") -> Instance:
    found = Diagnostics()
    text = f"{MODEL} scenario S extends Base {{ {given} }} {more}"
    scenario = check_scenario(workspace_from_text(text, "test", found), name, {}, found)
    found.raise_if_errors()
    assert scenario is not None
    return build_instance(scenario, folder=Path())


def values(of: str, given: str, **more: str) -> list[Any]:
    made = instance(given, **more).store.params[of].values.tolist()
    assert isinstance(made, list)
    return made


@pytest.mark.parametrize(
    ("of", "given", "expected"),
    [
        ("deadline", "length = [4, .5, 1e1][h]; deadline[j in Jobs] = 2 * length[j];", [8, 1, 20]),
        ("deadline", "deadline[j in Jobs where j in Late or hot[j]] = 30[min]; hot[c] = 1;", [1, 0.5, 0.5]),
        ("deadline", "deadline[j in Late] = 3[h]; deadline[c] = 4[h]; deadline[a] = k * 1[h];", [2, 3, 4]),
        ("deadline", "deadline = 9[h]; deadline[j in { c, a }] = 3[h];", [3, 9, 3]),
        ("deadline", "table Jobs: deadline[min] = a 60 b 60 c .; deadline[j in { c }] = 5[h];", [1, 1, 5]),
        ("deadline", "deadline[a] = 7[h]; deadline[j in Jobs] = 3[h];", [7, 3, 3]),
        ("length", "length = [4[h], 30[min], 2 * deadline[\"a\"]];", [4, 0.5, 2]),
        ("load", "load[(j, n) in Fits] = if n == \"n1\" then 4 else 5;", [4, 5]),
        ("home", "home[b] = n2; home[c] = n2; home[a] = n1;", [0, 1, 1]),
        ("home", "home = [n1, \"n2\", n1]; ", [0, 1, 0]),
        ("home", "home[j in Jobs where hot[j]] = n2; hot = [0, 1, 1];", [0, 1, 1]),
        ("home", "home[j in Jobs] = if j in Late then \"n2\" else \"n1\";", [0, 1, 0]),
        ("hot", "hot[j in Jobs] = j not in Late;", [1, 0, 1]),
        ("name", "name[j in Jobs] = if hot[j] then \"x\" else \"y\"; hot[a] = 1;", ["x", "y", "y"]),
        ("name", "name = [u, v, \"w\"];", ["u", "v", "w"]),
        (
            "cost",
            "cost = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]], [[0, 0, 0], [0, 0, -k]]];",
            [*range(1, 13), 0, 0, 0, 0, 0, -2],
        ),
        ("cost", 'cost[a, m in Nodes, s in Slots] = s; cost["b", n2, 2] = 7;', [1, 2, 3] * 2 + [0] * 4 + [7] + [0] * 7),
    ],
)  # fmt: skip
def test_values(of: str, given: str, expected: list[float | str]) -> None:
    found = values(of, given)
    assert found == (expected if isinstance(expected[0], str) else pytest.approx(expected))


def test_random_formulas_with_conditions() -> None:
    draw = random.Random(5)
    for _ in range(5):
        a, b, limit = draw.randint(1, 4), draw.randint(1, 4), draw.randint(1, 9)
        given = f'cost[j in Jobs, m in Nodes, s in Slots where {a} * s + (m == "n2") > {limit}] = {b} * s;'
        found = values("cost", given)
        expected = [b * s if a * s + (m == "n2") > limit else 0 for _ in "abc" for m in ("n1", "n2") for s in (1, 2, 3)]
        assert found == expected


def test_later_scenarios_patch_and_replace() -> None:
    later = "scenario T extends S { deadline[j in Late] = 6[h]; deadline[c] = 8[h]; }"
    assert values("deadline", "deadline = [1, 2, 3][h];", name="T", more=later) == [1, 6, 8]
    later = "scenario T extends S { deadline[j in Jobs] = 6[h]; }"
    made = instance("deadline[b] = 5[h];", name="T", more=later)
    assert made.store.params["deadline"].values.tolist() == [6, 6, 6]


def test_values_of_new_jobs_follow_formulas_for_all_jobs() -> None:
    base = Base(instance("deadline[j in Jobs] = 4 * length[j]; hot[b] = 1; length[j in { a }] = 2[h];"), MemoryLimits())
    model = base.model
    replaced = {name: pieces_of(model, name, value) for name, value in
                {"Jobs": ["d"], "length": {"d": 3.0}, "Late": [], "Fits": []}.items()}  # fmt: skip
    joined, count = with_jobs(base, "Jobs", replaced)
    assert count == 4
    assert joined.store.params["deadline"].values.tolist() == [8, 2, 2, 12]
    assert joined.store.params["hot"].values.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("given", "code", "at"),
    [
        ("length = [4, 2][h];", "GSM2116", "length = [4, 2][h];"),
        ("cost = [[[1, 2], [4, 5]], [[7, 8], [0, 1]], [[0, 0], [0, 0]]];", "GSM2116", "cost ="),
        ("load = [[1, 2], [3, 4], [5, 6]];", "GSM2116", "load ="),
        ("load = [1, 2];", "GSM1507", "[1, 2]"),
        ("cost = [[1, 2], [3]];", "GSM1509", "[3]"),
        ("cost = [[1, 2], 3];", "GSM1509", "3"),
        ("cost = [[1][h], [3]];", "GSM1307", "h"),
        ("length = [4, 2, 3];", "GSM1303", "]"),
        ("k = [4];", "GSM1507", "[4]"),
        ("length[j in Jobs] = [4, 2, 3][h];", "GSM1507", "[4, 2, 3][h]"),
        ("Late = [a, b];", "GSM1510", "[a, b]"),
        ("length = 1[h]; length = [1, 2, 3][h];", "GSM1506", "length = [1, 2, 3][h];"),
        ("hot = [1, 0, 2];", "GSM2114", "2"),
        ("home = [n1, n3, n2];", "GSM3006", "n3"),
        ("deadline[j] = 2 * length[j];", "GSM1101", "j"),
        ("deadline[j in Nodes] = 2[h];", "GSM1508", "j in Nodes"),
        ("deadline[j in Jobs, n1] = 2[h];", "GSM1507", "[j in Jobs, n1]"),
        ("deadline[j in Jobs] = deadline[j];", "GSM1517", "deadline[j in Jobs] = deadline[j];"),
        ("deadline[j in Jobs] = 1[h]; deadline[j in Late] = 2[h];", "GSM2102", "deadline[j in Late] = 2[h];"),
        ("load[j in Jobs, m in Nodes] = 1;", "GSM2103", "load[j in Jobs, m in Nodes] = 1;"),
        ("deadline[j in Jobs] = length[j] / hot[j];", "GSM3003", "hot[j]"),
        ("hot[j in Jobs] = 2;", "GSM2114", "hot[j in Jobs] = 2;"),
        ("k[j in Jobs] = 2;", "GSM1507", "[j in Jobs]"),
        ("Late[j in Jobs] = { a };", "GSM1507", "j in Jobs"),
    ],
)
def test_faults(given: str, code: str, at: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        instance(given)
    [found] = caught.value.diagnostics
    assert isinstance(found.primary, Span)
    assert (found.code, found.primary.text[: len(at)]) == (code, at)
