"""`profile` and `admit` in the text of a policy: their order among other lines, inheritance, conditions, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from deciding_help import case_of

from gpusched_dsl.language.diagnostics.errors import DiagnosticError

MODEL = """
model Small {
  set Jobs;
  set Nodes;
  set Types;
  param type[Nodes] within Types;
  param gpus[Types] integer >= 1;
  param pace[Jobs] in h/epoch;
  param due[Jobs] in min;
  param price in $/min default 1[$/h];
  random length[j in Jobs] in epoch ~ uniform(0[epoch], 100[epoch]);
  var run[Jobs, Nodes, g in 1..4] binary;
  placement run[j, n, g] {
    job j;  node n;  node_type type[n];
    uses g of gpus[type[n]];
    lasts 100[epoch] * pace[j] / g;
  }
  constraint once[j in Jobs]: sum[n in Nodes, g in 1..4] run[j, n, g] <= 1;
  minimize total: sum[j in Jobs, n in Nodes, g in 1..4] run[j, n, g];
}
scenario S for Small {
  table Types: gpus = K80 4;
  table Nodes: type = n1 K80;
  table Jobs: pace[h/epoch] due[min] = a 1 3600   b 1 6600;
}
"""
PLAN = """
  profile plan[j in Jobs, t in Types] over g in 1..gpus[t] where g <= most {
    speed g / (1 + 0.1 * (g - 1)) / pace[j];
    rate g * price;
    work length[j];
    limit 100[epoch];
    time_left due[j];
  }
"""
REST = """
  order j in Jobs by due[j];
  choose t in Types, g in 1..4 where g <= gpus[t] by 1 - (plan_first[j, t, g] else 0), g;
  place best_fit, new_node, next_choice;
"""


def policy(body: str, name: str = "P", head: str = "for Small") -> str:
    return f"policy {name} {head} {{ {body} }}\n"


def test_units_and_order() -> None:
    """Minutes and hours meet; a `let` after the profile reads it, one that it reads may stand behind it."""
    text = MODEL + policy(PLAN + "let twice[j in Jobs, t in Types] in $ = 2 * plan_cost[j, t]; let most = 4;" + REST)
    case = case_of("P", "S", text)
    assert [stage.name for stage in case.policy.stages] == ["plan"]
    # SJ-7: 100 epochs at 1 h each within 110 h, at 1 $/h.
    assert case.entries("plan_cost")["b", "K80"] == pytest.approx(50.0)
    assert case.entries("plan_time")["b", "K80"] == pytest.approx(50.0 * 60)
    assert case.entries("plan_cost")["a", "K80"] > 50.0
    assert case.entries("plan_switch")["a", "K80"] < 60 * 60


def test_a_policy_that_extends_another() -> None:
    """A child's `let` holds for the profile it inherits, and its own profile takes the inherited one's place."""
    fewer = policy("let most = 2;", "Fewer", "extends P")
    other = policy(PLAN.replace("where g <= most", "where g == 3"), "Other", "extends P")
    text = MODEL + policy(PLAN + "let most = 4;" + REST) + fewer + other
    used = {
        name: [g for (j, _, g), first in case_of(name, "S", text).entries("plan_first").items() if first]
        for name in ("P", "Fewer", "Other")
    }
    assert used["Other"] == [3, 3]
    assert max(used["Fewer"]) <= 2
    leaves = case_of("Fewer", "S", text).entries("plan_leaves")
    assert np.isinf([time for (_, _, g), time in leaves.items() if g > 2]).all()


def test_pairs_and_choices_left_out() -> None:
    text = MODEL + policy(PLAN.replace("t in Types]", 't in Types where j != "b"]') + "let most = 4;" + REST)
    case = case_of("P", "S", text)
    assert case.entries("plan_status") == {("a", "K80"): 0, ("b", "K80"): 2}
    assert case.entries("plan_cost")["b", "K80"] == np.inf
    assert case.entries("plan_price")["b", "K80"] == 0


def test_a_circle_is_told() -> None:
    text = MODEL + policy(PLAN + "let most = 4 + 0 * max[j in Jobs, t in Types] plan_status[j, t];" + REST)
    with pytest.raises(DiagnosticError, match="GSM1407"):
        case_of("P", "S", text)


def test_names_that_are_taken() -> None:
    text = MODEL + policy(PLAN + "let most = 4; let plan_cost = 3;" + REST)
    with pytest.raises(DiagnosticError, match="GSM1103"):
        case_of("P", "S", text)


def test_wrong_units_are_told() -> None:
    text = MODEL + policy(PLAN.replace("limit 100[epoch]", "limit 100[h]") + "let most = 4;" + REST)
    with pytest.raises(DiagnosticError, match="GSM1302"):
        case_of("P", "S", text)


def test_a_cost_of_tardiness() -> None:
    """Job `a` is due after 60 h. The unit of the line is converted, a wrong one is refused."""
    lines = [PLAN, *(PLAN.replace("limit", f"tardiness {cost}; limit") for cost in ("0.5[$/h]", "1000 * price"))]
    certain, cheap, dear = (case_of("P", "S", MODEL + policy(text + "let most = 4;" + REST)).entries for text in lines)
    assert cheap("plan_cost")["a", "K80"] < dear("plan_cost")["a", "K80"]
    assert dear("plan_cost")["a", "K80"] <= certain("plan_cost")["a", "K80"]
    assert cheap("plan_status")["a", "K80"] == 1
    assert cheap("plan_late")["a", "K80"] > 0
    assert cheap("plan_price")["a", "K80"] <= 0.5 / 60
    assert cheap("plan_status")["b", "K80"] == 0
    fast = PLAN.replace("where g <= most", "where g >= 3").replace("limit", "tardiness 0.5[$/h]; limit")
    firsts = case_of("P", "S", MODEL + policy(fast + "let most = 4;" + REST)).entries("plan_first")
    assert {(j, g) for (j, _, g), first in firsts.items() if first} == {("a", 3), ("b", 3)}
    wrong = PLAN.replace("limit", "tardiness 5[$]; limit")
    with pytest.raises(DiagnosticError, match="GSM1302"):
        case_of("P", "S", MODEL + policy(wrong + "let most = 4;" + REST))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("g * price", "(g - 2) * price", "must not be negative"),
        ("speed g", "speed (g - 1)", "must be positive"),
        ("limit 100[epoch];", "limit 100[epoch]; done -1[epoch];", "must not be negative"),
        ("limit 100[epoch];", "limit 100[epoch]; tardiness -price;", "must not be negative"),
    ],
)
def test_numbers_that_cannot_be(old: str, new: str, told: str) -> None:
    text = MODEL + policy(PLAN.replace(old, new, 1) + "let most = 4;" + REST)
    with pytest.raises(DiagnosticError, match=f"GSM3017.*{told}"):
        case_of("P", "S", text)


ADMIT = """
  admit turn[j in Jobs, t in Types] over g in 1..gpus[t] {
    queue due[j] descending;
    uses g of gpus[t];
    run 3 * g;
    wait 10;
  }
  order j in Jobs where turn_runs[j] == 1 by turn_amount[j, "K80"];
  choose t in Types, g in 1..4 where (turn_taken[j, t, g] else 0) == 1 by g;
  place new_node, best_fit;
"""


def test_who_is_served() -> None:
    """Where all else is equal the recursion, gone back through, lets the last of the queue run first."""
    descending, ascending = policy(ADMIT), policy(ADMIT.replace(" descending", ""))
    for lines, gpus, served in ((descending, 1, {"a"}), (ascending, 1, {"b"}), (descending, 2, {"a", "b"})):
        case = case_of("P", "S", (MODEL + lines).replace("K80 4;", f"K80 {gpus};"))
        assert {j for (j,), runs in case.entries("turn_runs").items() if runs} == served
        assert set(case.entries("turn_amount").values()) <= {0.0, 1.0}
        assert set(case.plan()) == served


def test_amounts_are_whole() -> None:
    with pytest.raises(DiagnosticError, match=r"GSM3017.*integer"):
        case_of("P", "S", MODEL + policy(ADMIT.replace("uses g", "uses g / 2")))
