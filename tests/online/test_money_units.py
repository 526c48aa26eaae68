"""A rate and an amount are told apart by their dimension, whatever the unit of the objective."""

from __future__ import annotations

import pytest
from online_texts import run

# One job of ten hours at 3 $/h, due after 9 h, with 5 $/h of tardiness.
RENT = """
model Rent {
  set Jobs;  set Nodes;
  param price[Nodes] in $/h;  param length[Jobs] in h > 0;  param remaining[Jobs] default 1;
  param submitted[Jobs] in h;  param due_in[Jobs] in h default 9[h];
  var run[Jobs, Nodes] binary;
  minimize OBJECTIVE;
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] == 1;
  placement run[j, n] { job j;  node n;  lasts length[j] * remaining[j];  costs COSTS;  due due_in[j];  weight 5[$/h]; }
}
policy First for Rent { order j in Jobs by submitted[j]; place best_fit, new_node, wait; }
online Loop for Rent {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  carry due_in[j] = due_in[j] - now;
  on start costs 2[$];
  CHARGE
}
scenario S for Rent { table Nodes: price[$/h] = n 3;  table Jobs: length[h] submitted[h] = a 10 0; }
"""
OBJECTIVES = [
    "rate in $/h: sum[j in Jobs, n in Nodes] price[n] * run[j, n]",
    "rate in $/min: sum[j in Jobs, n in Nodes] price[n] * run[j, n]",
    "cost in $: sum[j in Jobs, n in Nodes] price[n] * length[j] * run[j, n]",
    "wait in h: sum[j in Jobs, n in Nodes] length[j] * run[j, n]",
    "wait in min: sum[j in Jobs, n in Nodes] length[j] * run[j, n]",
    "places: sum[j in Jobs, n in Nodes] run[j, n]",
    "pace in 1/min: sum[j in Jobs, n in Nodes] run[j, n] / length[j]",
]
COSTS = [
    "price[n]",
    "price[n] in $/min",
    "price[n] * length[j] * remaining[j]",
    "0.05[$/min] * length[j] * remaining[j]",
]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("method", ["highs", "First"])
def test_a_job_of_ten_hours_at_three_dollars_an_hour(objective: str, costs: str, method: str) -> None:
    text = RENT.replace("OBJECTIVE", objective).replace("COSTS", costs).replace("CHARGE", "")
    outcome = run(text, "Loop", "S", method)
    assert outcome.money == "$"
    assert outcome.world.ledger.totals == pytest.approx({"execution": 30.0, "tardiness": 5.0, "start": 2.0})
    assert outcome.total == pytest.approx(37.0)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_stated_rate_is_charged_for_its_time(objective: str) -> None:
    charge = "charge rent in $/h = sum[j in Jobs, n in Nodes] price[n] * run[j, n];"
    text = RENT.replace("OBJECTIVE", objective).replace("COSTS", "price[n]").replace("CHARGE", charge)
    outcome = run(text, "Loop", "S", "highs")
    assert not outcome.quantities
    assert outcome.world.ledger.totals["rent"] == pytest.approx(30.0)
    assert outcome.total == pytest.approx(37.0)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("roles", "costs"),
    [
        ("node_price price[n] in $/min;  uses 1 of 1;", {"execution": 30.0}),
        ("due due_in[j];  weight (5[$/h]) in $/min;", {"tardiness": 5.0}),
    ],
)
def test_money_of_every_role_is_of_the_placement(objective: str, roles: str, costs: dict[str, float]) -> None:
    text = RENT.replace("costs COSTS;  due due_in[j];  weight 5[$/h];", roles).replace("  on start costs 2[$];\n", "")
    charge = "charge nodes;" if "node_price" in roles else ""
    outcome = run(text.replace("OBJECTIVE", objective).replace("CHARGE", charge), "Loop", "S", "highs")
    totals = {name: value for name, value in outcome.world.ledger.totals.items() if value}
    assert totals == pytest.approx(costs)
    assert outcome.money == "$"


@pytest.mark.parametrize("objective", OBJECTIVES[3:])
def test_charges_are_money_where_nothing_else_is(objective: str) -> None:
    """A total in hours would list the dollars beside it."""
    text = RENT.replace("costs COSTS;  due due_in[j];  weight 5[$/h];", "").replace("  on start costs 2[$];\n", "")
    charge = "charge rent in $/h = sum[j in Jobs, n in Nodes] price[n] * run[j, n];"
    outcome = run(text.replace("OBJECTIVE", objective).replace("CHARGE", charge), "Loop", "S", "highs")
    assert (outcome.total, outcome.money, outcome.quantities) == (pytest.approx(30.0), "$", {})
