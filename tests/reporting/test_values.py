"""Values, reports and duals on the terminal, in JSON and in CSV."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from found_codes import raises_code, shows
from json_schemas import complaints, published

import gpusched_dsl as gs
from gpusched_dsl.cli import main

KNAPSACK = """
model K {
  set Items;
  param value[Items] in $;  param weight[Items] in kg;  param room in kg;
  var take[Items] binary;  var spare in kg >= 0;
  let load in kg = sum[i in Items] weight[i] * take[i];
  report filled in % = load / room "of the room";
  report worth[i in Items] in $/kg = if take[i] > 0.5 then value[i] / weight[i] else 0;
  maximize gain in $: sum[i in Items] value[i] * take[i];
  constraint cap: load + spare == room;
}
scenario S for K { room = 10.5[kg]; table Items: value[$] weight[kg] = a 5 4  b 6 5  c 7 6; }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "k.gsm"
    path.write_text(KNAPSACK, encoding="utf-8")
    return path


def test_solution_is_printed_without_a_placement(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", str(file)]) == 0
    out = capsys.readouterr().out
    assert "filled  95.238095 %" in out
    assert "worth [$/kg]: 3 values" in out
    assert "take: 2 nonzero values" in out
    assert "spare  0.5 kg" in out
    assert "weight" not in out


def test_show_prints_what_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", str(file), "--show", "weight,load"]) == 0
    out = capsys.readouterr().out
    assert "weight [kg]: 3 nonzero values" in out
    assert "load  10 kg" in out
    assert "take:" not in out
    assert main(["solve", str(file), "--show", "tak"]) == 2
    assert "did you mean `take`?" in capsys.readouterr().err


def test_relaxation_and_duals_are_written_everywhere(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    json_file, folder = file.with_suffix(".json"), file.parent / "out"
    command = ["solve", str(file), "--relax", "--duals", "--json", str(json_file), "--csv", str(folder)]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "optimal; relaxed" in out
    assert "valid from" in out
    found = json.loads(json_file.read_text(encoding="utf-8"))
    assert list(complaints(found, published("result.schema.json"))) == []
    assert found["relaxed"] is True
    (row,) = found["duals"]["constraints"]["cap"]
    assert row["dual"] == pytest.approx(7 / 6)
    assert (row["valid_from"], row["valid_to"]) == (pytest.approx(9), pytest.approx(15))
    assert found["reports"]["filled"] == {"unit": "%", "values": [{"index": [], "value": pytest.approx(100)}]}
    assert {p.name for p in folder.iterdir()} == {
        "take.csv", "spare.csv", "filled.csv", "worth.csv", "duals_cap.csv", "reduced_costs_take.csv",
        "reduced_costs_spare.csv",
    }  # fmt: skip


def test_policies_have_no_relaxation(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["solve", "models/capacity_planning/scenarios/three_jobs.gsm", "--backend", "Greedy", "--relax"]
    assert main(command) == 1
    assert shows(capsys.readouterr().err, "GSM6002", "Greedy")


def test_a_report_is_not_a_value() -> None:
    text = KNAPSACK.replace("constraint cap:", "constraint more: filled >= 50[%];\n  constraint cap:")
    with raises_code("GSM1106", "filled", at="filled"):
        gs.loads(text).solve()


def test_a_plan_without_duals_is_not_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With two objectives there are no duals; the plan is shown all the same, and why it has none."""
    text = """
    model Two { var x >= 0 <= 9; minimize first: x; then maximize second: x; constraint c: x >= 2; }
    scenario S for Two { }
    """
    file = tmp_path / "two.gsm"
    file.write_text(text)
    assert main(["solve", str(file), "--duals"]) == 0
    shown = capsys.readouterr()
    assert "first   2" in shown.out
    assert shows(shown.err, "GSM6010", severity="warning")
    assert [w.code for w in gs.loads(text).solve(duals=True).warnings] == ["GSM6010"]
