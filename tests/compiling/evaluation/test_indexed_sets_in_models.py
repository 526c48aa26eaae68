"""Indexed sets beside other mechanisms: the same optimum in every way, and as enumeration finds it."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from every_way import solve_every_way
from online_texts import MACHINES

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

MODEL = """model M {
  set Jobs ordered; set Types; set Nodes identical by node_type;
  set Can[Jobs] within Types; set Pred[Jobs] within Jobs; set Levels[t in Types] = 1..speed[t];
  set On[t in Types] = { n in Nodes where node_type[n] == type_name[t] };
  param node_type[Nodes] symbol; param type_name[Types] symbol; param speed[Types] integer; param length[Jobs] in min;
  param least[j in Jobs] in h = min[t in Can[j]] length[j] / speed[t];
  param best[j in Jobs] within Types = argmin[t in Can[j]] cost[t] / speed[t]; param cost[Types] in $/h;
  var run[j in Jobs, t in Types, n in On[t] where t in Can[j]] binary;
  var level[j in Jobs, t in Can[j], Levels[t]] binary;
  var alone[Nodes] binary;
  let of[j in Jobs, t in Types] = sum[n in On[t]] run[j, t, n];
  let price[j in Jobs, t in Types, k in 1..speed[t]] = cost[t] * length[j] / k + 0.1[$] * k;
  minimize total in $: sum[j in Jobs, t in Can[j], k in Levels[t]] price[j, t, k] * level[j, t, k]
    + 1[$] * sum[n in Nodes] alone[n];
  constraint once[j in Jobs]: sum[t in Can[j]] of[j, t] == 1;
  constraint one_level[j in Jobs, t in Can[j]]: sum[k in Levels[t]] level[j, t, k] == of[j, t];
  constraint after[j in Jobs, p in Pred[j], t in Types]: of[j, t] <= of[p, t] or t not in Can[p];
  constraint few[n in Nodes]: sum[j in Jobs, t in Types where n in On[t]] run[j, t, n] <= 2 - alone[n];
  constraint used[t in Types]: any[n in On[t]] all[j in Jobs where t in Can[j]] run[j, t, n] == 0;
  constraint both[j in Jobs where card(Pred[j]) > 1]: sum[t in Can[j], n in On[t]] run[j, t, n] * alone[n] <= 0;
  decompose by Nodes;
}
scenario S for M {
  table Types: type_name speed cost[$/h] = fast f 3 6 slow s 1 1;
  table Nodes: node_type = n1 f n2 f n3 s n4 s n5 s;
  table Jobs: length[min] Can Pred = DATA;
}"""


def table(seed: int) -> list[tuple[str, int, list[str], list[str]]]:
    draw = random.Random(seed)
    jobs = "abcd"
    can = [draw.choice((["fast"], ["slow"], ["fast", "slow"], ["slow", "fast"])) for _ in jobs]
    return [
        (j, draw.choice((30, 60, 120)), can[k], [p for p in jobs[:k] if draw.random() < 0.4])
        for k, j in enumerate(jobs)
    ]


def enumerated(data: list[tuple[str, int, list[str], list[str]]]) -> float:
    """The smallest cost over all choices of types: each type keeps a node free, and each node has two jobs at most."""
    number = {j: k for k, (j, *_) in enumerate(data)}
    best = float("inf")
    for chosen in itertools.product(*(can for _, _, can, _ in data)):
        if chosen.count("fast") > 2 or chosen.count("slow") > 4:
            continue
        follows = all(
            chosen[number[p]] == t or t not in data[number[p]][2]
            for (_, _, _, pred), t in zip(data, chosen, strict=True)
            for p in pred
        )
        if follows:
            cost = 0.0
            for (_, length, _, _), t in zip(data, chosen, strict=True):
                rate, levels = (6, (1, 2, 3)) if t == "fast" else (1, (1,))
                cost += min(rate * length / 60 / k + 0.1 * k for k in levels)
            best = min(best, cost)
    return best


def text(seed: int) -> str:
    rows = [f"{j} {d} {{{' '.join(can)}}} {{{' '.join(pred)}}}" for j, d, can, pred in table(seed)]
    return MODEL.replace("DATA", "  ".join(rows))


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(4))
def test_every_way(seed: int, tmp_path: Path) -> None:
    best = enumerated(table(seed))
    if best == float("inf"):
        assert gs.loads(text(seed)).solve().status.value == "infeasible"
        return
    solve_every_way(text(seed).replace("  decompose by Nodes;\n", ""), best, tmp_path, backends=("highs", "scip"))


def test_values_from_python_are_solved_again_and_inherited() -> None:
    own = """model More extends M { drop both; override constraint few[n in Nodes]:
      sum[j in Jobs, t in Types where n in On[t]] run[j, t, n] <= 4; }
      scenario T for More { table Types: type_name speed cost[$/h] = fast f 3 6 slow s 1 1;
        table Nodes: node_type = n1 f n2 f n3 s; Jobs = { a, b }; length = 60[min]; Can[j in Jobs] = Types;
        Pred[j in Jobs] = { p in Jobs where p < j }; }"""
    model = gs.loads(text(0) + own)
    assert model.solve("T").objective == pytest.approx(2 * (2 + 0.3))  # the only slow node must be free
    model.set("Can", {"a": ["slow"], "b": ["fast"]})
    assert model.resolve().status.value == "infeasible"
    model.set("Can", {"a": ["fast"], "b": ["fast"]})
    assert model.resolve().objective == pytest.approx(2 * (2 + 0.3))
    model.set("Pred", [("b", "a")])
    model.set("Can", {"a": ["fast"], "b": ["slow", "fast"]})
    assert model.resolve().objective == pytest.approx(2 * (2 + 0.3))
    model.set("Pred", {"b": ["z"]})
    with pytest.raises(DiagnosticError, match="GSM2103"):
        model.resolve()


def test_a_set_that_tells_identical_elements_apart_is_found() -> None:
    body = """model M { set Jobs; set Nodes identical; set Can[Jobs] within Nodes; var x[j in Jobs, n in Can[j]] binary;
      maximize total: sum[j in Jobs, n in Can[j]] x[j, n]; constraint c[n in Nodes]: sum[j in Jobs] x[j, n] <= 1; }
      scenario S for M { Jobs = { a, b }; Nodes = { m, n }; Can[a] = { m, n }; Can[b] = {}; }
      scenario T extends S { Can[b] = { m }; }"""
    assert gs.loads(body).solve("S").objective == 2
    with pytest.raises(DiagnosticError, match="GSM3013"):
        gs.loads(body).solve("T")


def test_policies_why_and_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A placement whose nodes an indexed set allows: solver and policy, `why`, and a test block that reads the sets."""
    allowed = "set Nodes; set Can[Jobs] within Nodes;"
    model = MACHINES.replace("set Nodes identical;", allowed).replace(
        "  placement", "  constraint can[j in Jobs, n in Nodes where n not in Can[j]]: run[j, n] <= 0;\n  placement"
    )
    data = """scenario S for Machines { Nodes = { n1, n2 };
      table Jobs: submitted[h] length[h] Can = a 0 3 {n1 n2} b 0 1 {n2} c 1 1 {}; }
      test Allowed { solve S with highs, scip; expect count[j in Jobs, n in Can[j]] (run[j, n] > 0.5) == 2;
        expect run["b", "n2"] == 1; expect sum[n in Nodes] run["c", n] == 0; }"""
    path = tmp_path / "machines.gsm"
    path.write_text(model + data)
    assert main(["test", str(path)]) == 0
    assert main(["solve", str(path), "--scenario", "S", "--backend", "FIFO"]) in (0, 3)
    capsys.readouterr()
    assert main(["why", str(path), "--scenario", "S", "--method", "highs", "--job", "c", "--at", "2h"]) == 0
    assert "can" in capsys.readouterr().out
