"""Alternative solutions and options of a job, against all solutions of small problems."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.workflows.method import SolverMethod

MODEL = """
model Place "jobs on nodes" {
  set Jobs;
  set Nodes;
  param needs[Jobs] integer >= 1;
  param gain[Jobs] in $ >= 0;
  param room[Nodes] integer >= 0;
  param price[Nodes] in $ >= 0;
  var on[Jobs, Nodes] binary;
  var used[Nodes] binary;
  placement on[j, n] { job j; node n; uses needs[j] of room[n]; }
  maximize profit in $: sum[j in Jobs, n in Nodes] gain[j] * on[j, n] - sum[n in Nodes] price[n] * used[n];
  constraint once[j in Jobs]: sum[n in Nodes] on[j, n] <= 1;
  constraint fits[n in Nodes]: sum[j in Jobs] needs[j] * on[j, n] <= room[n] * used[n];
}
"""
Case = tuple[list[int], list[int], list[int], list[int]]  # needs, gain, room, price


def draw(seed: int, jobs: int = 4, nodes: int = 3) -> Case:
    random = Random(seed)
    needs = [random.randint(1, 2) for _ in range(jobs)]
    gain = [random.randint(2, 4) for _ in range(jobs)]
    kinds = [(random.randint(2, 3), random.randint(0, 2)) for _ in range(2)]
    chosen = [random.choice(kinds) for _ in range(nodes)]
    return needs, gain, [room for room, _ in chosen], [price for _, price in chosen]


def text(case: Case) -> str:
    needs, gain, room, price = case
    jobs = " ".join(f"j{j} {n} {g}" for j, (n, g) in enumerate(zip(needs, gain, strict=True)))
    nodes = " ".join(f"n{n} {r} {p}" for n, (r, p) in enumerate(zip(room, price, strict=True)))
    return f"""{MODEL}
scenario S for Place {{
  Jobs = {{ {", ".join(f"j{j}" for j in range(len(needs)))} }};
  Nodes = {{ {", ".join(f"n{n}" for n in range(len(room)))} }};
  table Jobs: needs gain[$] = {jobs};
  table Nodes: room price[$] = {nodes};
}}
"""


def profits(case: Case) -> dict[tuple[int, ...], int]:
    """The best profit of every placement: for each job its node, or -1."""
    needs, gain, room, price = case
    found = {}
    for plan in itertools.product(range(-1, len(room)), repeat=len(needs)):
        load = [sum(n for n, at in zip(needs, plan, strict=True) if at == node) for node in range(len(room))]
        if all(a <= b for a, b in zip(load, room, strict=True)):
            paid = sum(p for p, a in zip(price, load, strict=True) if a)
            found[plan] = sum(g for g, at in zip(gain, plan, strict=True) if at >= 0) - paid
    return found


def canonical(case: Case, plan: tuple[int, ...]) -> tuple[int, ...]:
    """The least of all plans that differ from one in the names of equal jobs and equal nodes."""
    needs, gain, room, price = case
    nodes = [
        p
        for p in itertools.permutations(range(len(room)))
        if all((room[a], price[a]) == (room[b], price[b]) for a, b in enumerate(p))
    ]
    jobs = [
        p
        for p in itertools.permutations(range(len(needs)))
        if all((needs[a], gain[a]) == (needs[b], gain[b]) for a, b in enumerate(p))
    ]
    return min(tuple(-1 if plan[j] < 0 else p[plan[j]] for j in q) for p in nodes for q in jobs)


def plan_of(result: gs.Result, jobs: int) -> tuple[int, ...]:
    plan = [-1] * jobs
    for job, node in result["on"].select("Jobs", "Nodes").iter_rows():
        plan[int(job[1:])] = int(node[1:])
    return tuple(plan)


def load(folder: Path, text: str) -> gs.Model:
    (folder / "m.gsm").write_text(text)
    return gs.load(folder / "m.gsm")


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(12))
def test_all_solutions_are_found_once(seed: int, tmp_path: Path) -> None:
    case, within = draw(seed), 0.35
    known = profits(case)
    best = max(known.values())
    expected = {canonical(case, plan) for plan, value in known.items() if value >= best - within * abs(best) - 1e-9}
    model = load(tmp_path, text(case))
    found = model.solve(alternatives=len(expected) + 5, within=within, gap=0.0).alternatives
    assert found is not None
    plans = [plan_of(result, len(case[0])) for result in found.results]
    assert {canonical(case, plan) for plan in plans} == expected
    assert len(plans) == len(expected)
    assert [known[plan] for plan in plans] == pytest.approx(found.table["objective"].to_list())
    assert found.table["objective"].to_list() == sorted(found.table["objective"].to_list(), reverse=True)
    assert (found.complete, found.reason) == (True, "")


def test_the_best_ones_come_first_and_look_alike(tmp_path: Path) -> None:
    """Two jobs, three equal nodes: together, apart, or one waits; names of nodes make no difference."""
    case = ([1, 1], [5, 4], [2, 2, 2], [1, 1, 1])
    model = load(tmp_path, text(case))
    found = model.solve(alternatives=2, within=0.5, gap=0.0).alternatives
    assert found is not None
    assert found.table["objective"].to_list() == [8.0, 7.0]
    assert (found.complete, found.reason, found.distinct_by) == (False, "count", ("on",))
    assert found.table["differs"].to_list() == [0, 2]  # one job moves, and no node changes its name
    assert [(i.name, i.elements, i.classes) for i in found.interchangeable] == [("Nodes", 3, 1)]
    assert found.differences.height == 2
    assert "there may be more" in found.lines()[-1]


def test_equal_profits_within_nothing(tmp_path: Path) -> None:
    model = load(tmp_path, text(([1, 1], [5, 5], [1], [0])))
    found = model.solve(alternatives=5, within=0.0, gap=0.0).alternatives
    assert found is not None
    assert len(found.results) == 1  # the other one is this one with the names of the two equal jobs exchanged
    assert found.complete


GENERAL = """
model G {
  set Kinds;
  param worth[Kinds];
  var take[Kinds] integer >= 0 <= 3;
  var free integer >= -2;
  maximize f: sum[k in Kinds] worth[k] * take[k] + free;
  constraint room: sum[k in Kinds] take[k] + 2 * free <= 3;
}
scenario S for G { Kinds = { a, b }; table Kinds: worth = a 2 b 3; }
"""


def test_integers_differ_upwards_and_downwards(tmp_path: Path) -> None:
    model = load(tmp_path, GENERAL)
    points = [(a, b, f) for a in range(4) for b in range(4) for f in range(-2, 5) if a + b + 2 * f <= 3]
    value = {p: 2 * p[0] + 3 * p[1] + p[2] for p in points}
    best = max(value.values())
    expected = {p for p in points if value[p] >= best - 0.3 * best}
    found = model.solve(alternatives=40, within=0.3, gap=0.0).alternatives
    assert found is not None
    got = [tuple(int(v) for v in (r.value("take", "a"), r.value("take", "b"), r.value("free"))) for r in found.results]
    assert set(got) == expected
    assert len(got) == len(expected)
    by_one = model.solve(alternatives=40, within=0.3, gap=0.0, distinct_by=["free"]).alternatives
    assert by_one is not None
    assert sorted(r.value("free") for r in by_one.results) == sorted({float(p[2]) for p in expected})


@pytest.mark.parametrize("seed", [pytest.param(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(4, 10))])
def test_options_are_the_best_plans_with_them(seed: int, tmp_path: Path) -> None:
    case = draw(seed)
    known = profits(case)
    best = max(known.values())
    options = load(tmp_path, text(case)).solve(options_of="j1", gap=0.0).job_options
    assert options is not None
    assert options.complete
    _, _, room, price = case
    rows = options.table
    seen = set()
    for row in rows.iter_rows(named=True):
        node = -1 if row["option"] == "not placed" else int(row["option"].removesuffix("]").split("n")[-1])
        alike = [n for n in range(len(room)) if node >= 0 and (room[n], price[n]) == (room[node], price[node])]
        seen |= set(alike or [-1])
        assert row["alike"] == max(1, len(alike))
        values = [value for plan, value in known.items() if plan[1] == node]
        assert row["objective"] == (pytest.approx(max(values)) if values else None)
        assert row["change"] == (pytest.approx(max(values) - best) if values else None)
    assert seen == {-1, *range(len(room))}
    assert rows["is_best"].sum() == 1
    numbers = [v for v in rows["objective"].to_list() if v is not None]
    assert numbers == sorted(numbers, reverse=True)


def test_what_has_no_alternatives(tmp_path: Path) -> None:
    model = load(tmp_path, "model R { var x >= 0 <= 1; maximize f: x; }")
    for asked, words in (
        ({"alternatives": 2}, "no integer variables"), ({"options_of": "j"}, "no `placement`"),
        ({"alternatives": 2, "distinct_by": ["y"]}, "is not a variable"),
        ({"alternatives": 2, "distinct_by": ["x"]}, "is not an integer variable"),
    ):  # fmt: skip
        with pytest.raises(DiagnosticError) as caught:
            model.solve(**asked)  # type: ignore[arg-type]
        assert [d.code for d in caught.value.diagnostics] == ["GSM4024"]
        assert words in caught.value.diagnostics[0].message
    with pytest.raises(DiagnosticError) as caught:
        load(tmp_path, text(draw(0))).solve(options_of="j9")
    assert [d.code for d in caught.value.diagnostics] == ["GSM6021"]
    with pytest.raises(DiagnosticError) as caught:
        model.solve(alternatives=1)
    assert [d.code for d in caught.value.diagnostics] == ["GSM4011"]


def test_a_request_is_checked_before_the_solve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong name must not cost the solution of a long solve."""
    monkeypatch.setattr(SolverMethod, "solve", lambda *_: pytest.fail("solved"))
    model = load(tmp_path, text(draw(0)))
    for asked, code in (({"options_of": "j9"}, "GSM6021"), ({"alternatives": 2, "distinct_by": ["onn"]}, "GSM4024")):
        with pytest.raises(DiagnosticError) as caught:
            model.solve(**asked)  # type: ignore[arg-type]
        assert [d.code for d in caught.value.diagnostics] == [code]


ENDLESS = """
model Endless {
  var x integer;  var b binary;
  minimize f: b;
  constraint k: x + b >= 0;
}
"""


def test_a_failed_search_loses_nothing(tmp_path: Path) -> None:
    """HiGHS cannot exclude a value of an integer without an upper bound; another solver can."""
    model = load(tmp_path, ENDLESS)
    result = model.solve(alternatives=3, gap=0.0)
    assert result.alternatives is not None
    assert result.objective == 0
    assert (result.alternatives.complete, result.alternatives.reason) == (False, "error")
    [warning] = result.warnings
    assert (warning.code, warning.severity) == ("GSM3202", Severity.WARNING)
    assert "`x` has an upper bound" in warning.message
    found = model.solve(alternatives=3, gap=0.0, backend="scip").alternatives
    assert found is not None
    assert len({r.value("x") for r in found.results}) == 3


@pytest.mark.parametrize(("reason", "words"), [("time", "took all of the time"), ("interrupt", "was interrupted")])
def test_no_time_for_alternatives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str, words: str) -> None:
    """There is no table then, and a warning says so."""
    solve = SolverMethod.solve

    def stopped(*arguments: Any) -> Any:
        solved, warnings = solve(*arguments)
        return replace(solved, status=Status.LIMIT, reason=reason), warnings

    monkeypatch.setattr(SolverMethod, "solve", stopped)
    result = load(tmp_path, text(draw(0))).solve(alternatives=3, options_of="j0")
    assert result.objective is not None
    assert (result.alternatives, result.job_options) == (None, None)
    [warning] = [w for w in result.warnings if w.code == "GSM4024"]
    assert words in warning.message


def test_values_of_integers_are_shown(tmp_path: Path) -> None:
    """Differences name elements only for binaries; other values are printed."""
    found = (
        load(tmp_path, "model M { var x integer >= 0 <= 2; minimize f: 0 * x + 1; }").solve(alternatives=5).alternatives
    )
    assert found is not None
    first = found.results[0].value("x")
    others = [r.value("x") for r in found.results[1:]]
    assert found.lines()[:-1] == [f"  {n}: x {first:g} -> {v:g}" for n, v in enumerate(others, start=2)]


LATE = """
model Late {
  set Jobs;  set Nodes;
  param weight[Jobs];  param time[Jobs, Nodes];
  var on[Jobs, Nodes] binary;
  var late[Jobs] >= 0;
  minimize cost: sum[j in Jobs] weight[j] * late[j] + 0.3 * sum[j in Jobs, n in Nodes] on[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] on[j, n] <= 1;
  constraint alone[n in Nodes]: sum[j in Jobs] on[j, n] <= 1;
  constraint due[j in Jobs]: late[j] >= 4 - sum[n in Nodes] (4 - time[j, n]) * on[j, n];
}
scenario S for Late {
  table Jobs: weight = a 1.1 b 0.7 c 2;
  table time[Jobs, Nodes]: m n = a 1 1.5  b 0.25 2  c 1 1.75;
}
"""


def test_cpsat_finds_those_of_models_with_continuous_costs(tmp_path: Path) -> None:
    """The row that limits the costs has several continuous variables."""
    pytest.importorskip("ortools")
    model = load(tmp_path, LATE)
    found = {b: model.solve(alternatives=40, within=1.0, gap=0.0, backend=b).alternatives for b in ("highs", "cpsat")}
    highs, cpsat = found["highs"], found["cpsat"]
    assert highs is not None
    assert cpsat is not None
    assert highs.complete
    assert cpsat.complete
    assert len(highs.results) > 5
    assert cpsat.table["objective"].to_list() == pytest.approx(highs.table["objective"].to_list())


def test_an_infeasible_problem_has_none(tmp_path: Path) -> None:
    broken = MODEL.replace("<= 1;\n  constraint fits", ">= 1;\n  constraint fits")
    result = load(tmp_path, text(([2], [1], [1], [0])).replace(MODEL, broken)).solve(alternatives=3, options_of="j0")
    assert (result.status, result.alternatives, result.job_options) == ("infeasible", None, None)


def test_command_and_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.gsm"
    path.write_text(text(([1, 1], [5, 4], [2, 2, 2], [1, 1, 1])))
    more = ["--alternatives", "3", "--within", "50%", "--options-of", "j0", "--json", str(tmp_path / "o.json")]
    assert main(["solve", str(path), "--csv", str(tmp_path / "csv"), *more]) == 0
    shown = capsys.readouterr().out
    assert "3 solutions within 50 %" in shown
    assert "all options of j0" in shown
    document = json.loads((tmp_path / "o.json").read_text())
    assert [s["objective"] for s in document["alternatives"]["solutions"]] == [8.0, 7.0, 4.0]
    assert {o["option"] for o in document["job_options"]["options"]} >= {"not placed"}
    assert {"alternatives.csv", "alternative_values.csv", "job_options.csv"} <= {
        file.name for file in (tmp_path / "csv").iterdir()
    }
    assert main(["solve", str(path), "--within", "5%"]) == 2
    assert main(["solve", str(path), "--alternatives", "1"]) == 2
    assert main(["solve", str(path), "--alternatives", "3", "--relax"]) == 2


MANY = """
model Many {
  set Jobs = 1..COUNT;  set Nodes;
  var run[Jobs, Nodes] binary;
  maximize worth: sum[j in Jobs, n in Nodes] j * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint power: sum[j in Jobs, n in Nodes] run[j, n] <= 1;
  placement run[j, n] { job j;  node n;  uses 1 of 1;  lasts 1[h]; }
}
scenario S for Many { Nodes = { NODES }; }
"""


def many(count: int) -> gs.Model:
    return gs.loads(MANY.replace("COUNT", str(count)).replace("NODES", ", ".join(f"n{k}" for k in range(count))))


def test_options_of_a_job_that_is_a_number() -> None:
    options = many(3).solve(options_of="2").job_options
    assert options is not None
    assert sorted(options.table["objective"].to_list()) == [2, 3]  # on a node, all alike, or not placed


def test_a_solution_that_is_too_large_for_alternatives_is_not_lost() -> None:
    result = many(2000).solve(alternatives=2)
    assert result.objective == 2000
    assert result.alternatives is None
    assert [w.code for w in result.warnings] == ["GSM4024"]
