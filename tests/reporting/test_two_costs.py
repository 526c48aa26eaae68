"""Costs that the objective and the placement state in two ways are told once a solve."""

from __future__ import annotations

from pathlib import Path

import pytest
from found_codes import message_values

import gpusched_dsl as gs

MODEL = """
model T {
  set Jobs;  set Nodes;
  param hours[Jobs] in h > 0;
  param due[Jobs] in h >= 0;
  param price[Nodes] in $/h >= 0;
  param weight in $/h default 2;
  param slow >= 1 default SLOW;
  let lasts[j in Jobs] in h = slow * hours[j];
  let late[j in Jobs] in h = max(0, lasts[j] - due[j]);
  var run[j in Jobs, n in Nodes] binary;
  minimize total in $ {
    rent: sum[j in Jobs, n in Nodes] price[n] * RENTED[j] * run[j, n];
    tardiness: sum[j in Jobs, n in Nodes] weight * LATE[j] * run[j, n];
    other: sum[j in Jobs, n in Nodes] 100[$] * run[j, n];
  }
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] == 1;
  placement run[j, n] {
    job j;  node n;  uses 1 of 4;  lasts lasts[j];  costs price[n];  due due[j];  weight weight;
  }
}
scenario S for T { table Jobs: hours[h] due[h] = a 4 2  b 2 9;  Nodes = { n1 };  price = [2][$/h]; }
"""


def warnings(folder: Path, rented: str, late: str, slow: float = 1.125) -> list[str]:
    path = folder / "t.gsm"
    path.write_text(MODEL.replace("SLOW", str(slow)).replace("RENTED", rented).replace("LATE", late))
    return [w.message for w in gs.load(path).solve().warnings if w.code == "GSM4037"]


def test_a_cost_that_both_state_differently(tmp_path: Path) -> None:
    assert warnings(tmp_path, "hours", "late") == [
        "`rent` of the objective says 12 $, `costs` of the placement 13.5 $: they differ by 11.1 %"
    ]


def test_tardiness_that_both_state_differently(tmp_path: Path) -> None:
    (tmp_path / "t.gsm").write_text("")
    early = MODEL.replace("max(0, lasts[j] - due[j])", "max(0, hours[j] - due[j])")
    (tmp_path / "t.gsm").write_text(early.replace("SLOW", "1.125").replace("RENTED", "lasts").replace("LATE", "late"))
    [told] = [w for w in gs.load(tmp_path / "t.gsm").solve().warnings if w.code == "GSM4037"]
    assert {"tardiness", "4", "weight", "5"} <= set(message_values(told.message))
    assert told.primary is not None
    assert told.primary.text == "tardiness"
    assert [label.place.text for label in told.secondary] == ["weight"]


@pytest.mark.parametrize("slow", [1.0, 1.125])
def test_costs_that_agree_are_no_finding(tmp_path: Path, slow: float) -> None:
    assert warnings(tmp_path, "lasts", "late", slow) == []


def test_other_quantities_are_no_finding(tmp_path: Path) -> None:
    """An objective of something else than what the placement states: energy, say, or a penalty."""
    assert warnings(tmp_path, "3 * lasts", "4 * late") == []
