"""Runs over time read slices of sets of tuples as they read conditions."""

from __future__ import annotations

import pytest
from online_texts import MACHINES, ROLLING, run

MODEL = MACHINES.replace("set Nodes identical;", "set Nodes; set Can within Jobs cross Nodes cross 1..2;")
DATA = """
scenario S for Machines {
  Nodes = { n1, n2 };  Can = { (a, n1, 1), (a, n2, 1), (b, n2, 2), (c, n1, 2), (c, n2, 1), (d, n1, 1), (e, n2, 1) };
  table Jobs: submitted[h] length[h] = a 0 3  b 0 1  c 1 1  d 1 2  e 5 1;
}
"""
SLICES = """
  constraint can[j in Jobs]: sum[(j, n, g) in Can] g * run[j, n] >= sum[n in Nodes] run[j, n];
  constraint alike[n in Nodes]: sum[(j, n, 2) in Can] run[j, n] <= count[(j, n, _) in Can];
"""
WHERE = """
  constraint can[j in Jobs]:
    sum[n in Nodes, g in 1..2 where (j, n, g) in Can] g * run[j, n] >= sum[n in Nodes] run[j, n];
  constraint alike[n in Nodes]:
    sum[j in Jobs where (j, n, 2) in Can] run[j, n] <= count[j in Jobs, g in 1..2 where (j, n, g) in Can];
"""


@pytest.mark.parametrize("method", ["highs", "FIFO"])
def test_a_run_is_that_of_conditions(method: str) -> None:
    slices, where = (
        run(MODEL.replace("  placement", f"{rows}  placement") + DATA, "Events", "S", method)
        for rows in (SLICES, WHERE)
    )
    assert slices.world.end.tolist() == where.world.end.tolist()
    assert slices.total == pytest.approx(where.total)
    assert [step.time for step in slices.steps] == [step.time for step in where.steps]
    assert slices.ended == where.ended


@pytest.mark.parametrize("block", ["Rolling", pytest.param("SlotBySlot", marks=pytest.mark.slow)])
def test_windows_slice_sets_of_slots(block: str) -> None:
    charge = "k in Nodes, h in Slots where (b, k, h) in Runs"
    assert charge in ROLLING
    more = """
    model Sliced extends PriceAware {
      constraint extra[b in Batch, (b, k, h) in Runs]: train[b, k, h] <= sum[(b, k2, h) in Runs] on[k2, h];
      constraint later[h in Slots]: sum[(b, k, h) in Runs] train[b, k, h] <= count[(_, _, h) in Runs];
    }
    """
    model = ROLLING.replace("online Rolling for PriceAware", f"{more} online Rolling for Sliced")
    model = model.replace("for PriceAware extends", "for Sliced extends").replace(
        charge, "(b, k, h) in Runs where h in Slots"
    )
    outcome = run(model + "scenario ValleysSliced for Sliced extends ValleysByNode {}", block, "ValleysSliced", "highs")
    assert outcome.total == pytest.approx(0.0234, abs=1e-7)
    assert outcome.world.ledger.jobs["restarts"].sum() == pytest.approx(0.003)
