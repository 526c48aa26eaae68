"""Runs complete the plans of policies: what charges and `carry` read is never a variable without a value."""

from __future__ import annotations

from pathlib import Path

import pytest
from found_codes import message_values
from online_texts import MACHINES, ROLLING, driver

import gpusched_dsl as gs

# A lamp at each machine in use, and a fan for each two lamps: the policies of the model do not know them.
LAMPS = MACHINES.replace(
    "placement run[j, n]",
    """var lamp[Nodes] binary;
  var fans integer >= 0 <= 10;
  constraint light[n in Nodes]: sum[j in Jobs] run[j, n] <= lamp[n];
  constraint air: sum[n in Nodes] lamp[n] <= 2 * fans;
  placement run[j, n]""",
).replace(
    "maximize busy in $: sum[j in Jobs, n in Nodes] (1[$*h] / (1[h] + left[j])) * run[j, n];",
    "minimize cost in $: sum[n in Nodes] 1[$] * lamp[n] + 1[$] * fans;",
)
LAMPS += """
online Lit for Machines extends Events {
  charge light[n in Nodes] in $/h = 3[$/h] * lamp[n];
  charge air in $/h = 5[$/h] * fans;
}
scenario Three for Machines {
  Nodes = { n1, n2, n3 };
  table Jobs:  submitted[h]  length[h] =
    a          0             4
    b          1             2
    c          2             3;
}
"""


def money(text: str, method: str, **given: object) -> dict[str, float]:
    outcome = driver(text, "Lit", "Three", method, **given).run()  # type: ignore[arg-type]
    assert outcome.ended == "finished"
    return dict(outcome.world.ledger.totals)


@pytest.mark.parametrize("method", ["FIFO", "SRPT"])
def test_charges_of_open_variables_are_those_of_the_completed_plans(method: str) -> None:
    found = money(LAMPS, method)
    # a from 0 to 4, b from 1 to 3, c from 2 to 5 h: 9 h of lamps; one fan, and two while all three jobs run (2 to 3 h).
    assert found["light"] == pytest.approx(27.0)
    assert found["air"] == pytest.approx(5.0 * 6)
    assert money(LAMPS, method, fast=False) == found


def test_the_solver_itself_charges_no_less() -> None:
    waiting = "minimize cost in $: 100[$] * (3 - sum[j in Jobs, n in Nodes] run[j, n]) +"
    least = money(LAMPS.replace("minimize cost in $:", waiting), "highs")
    assert least["light"] == pytest.approx(27.0)
    assert least["air"] == pytest.approx(30.0)


def test_recorded_values_are_read_again(tmp_path: Path) -> None:
    (tmp_path / "lamps.gsm").write_text(LAMPS)
    model, stops = gs.load(tmp_path / "lamps.gsm"), iter([False] * 4 + [True] * 100)
    options = {"online": "Lit", "scenario": "Three", "method": "SRPT", "journal": tmp_path / "run.db"}
    assert model.run(**options, stop=lambda: next(stops)).ended == "interrupt"
    whole = model.run(online="Lit", scenario="Three", method="SRPT")
    assert model.run(**options).total == whole.total
    assert whole.costs["light"] == pytest.approx(27.0)


def test_rows_that_a_policy_violates_by_itself_do_not_hinder(tmp_path: Path) -> None:
    (tmp_path / "lamps.gsm").write_text(
        LAMPS.replace("constraint once", "constraint many: sum[j in Jobs, n in Nodes] run[j, n] >= 4;  constraint once")
    )
    result = gs.load(tmp_path / "lamps.gsm").run(online="Lit", scenario="Three", method="SRPT")
    assert [warning.code for warning in result.warnings] == ["GSM7008"]
    assert result.costs["light"] == pytest.approx(27.0)


def test_a_plan_that_no_values_complete_is_told_once(tmp_path: Path) -> None:
    # A fan needs two jobs and always runs, which jobs that are not there cannot change.
    demand = "constraint used: 2 * fans <= sum[j in Jobs, n in Nodes] run[j, n];  constraint once"
    text = LAMPS.replace("fans integer >= 0 <= 10", "fans integer >= 1 <= 10").replace("constraint once", demand)
    text = text.replace("constraint air: sum[n in Nodes] lamp[n] <= 2 * fans;", "")
    (tmp_path / "lamps.gsm").write_text(text)
    model = gs.load(tmp_path / "lamps.gsm")
    result = model.run(online="Lit", scenario="Three", method="SRPT", verify="none")
    [told] = [warning for warning in result.warnings if warning.code == "GSM7018"]
    assert {"fans", "lamp", "SRPT", "0"} <= set(message_values(told.message))
    assert result.ended == "finished"
    assert result.costs["light"] == pytest.approx(27.0 - 6.0)  # the two hours with one job


def test_controllers_share_the_completion(tmp_path: Path) -> None:
    (tmp_path / "lamps.gsm").write_text(LAMPS)
    result = gs.load(tmp_path / "lamps.gsm").run(online="Lit", scenario="Three", method="SRPT", controllers=3)
    assert result.costs["light"] == pytest.approx(27.0)
    assert result.costs["air"] == pytest.approx(30.0)


@pytest.mark.quick(3)
@pytest.mark.parametrize("policy", ["FIFO", "EPRONS", "PAMBT", "ValleyGreedy", "ValleyGreedyBySlot"])
@pytest.mark.parametrize("scenario", ["ExclusionLowLoadByNode", "LatencyBoundByNode", "MigrationAndLoadByNode"])
def test_a_window_of_all_slots_costs_what_the_solve_costs(tmp_path: Path, policy: str, scenario: str) -> None:
    text = """
import "gsdsl:price_aware/policies.gsm";
online Once for PriceAware extends Rolling { window h in Slots lookahead 100 commit 100; replan on every 100 slots; }
"""
    (tmp_path / "once.gsm").write_text(ROLLING + text)
    model = gs.load(tmp_path / "once.gsm")
    solved = model.solve(scenario, backend=policy)
    ran = model.run(online="Once", scenario=scenario, method=policy)
    if solved.status == "broken":
        assert {"GSM7008", "GSM7018"} & {warning.code for warning in ran.warnings}
        return
    terms = {term.name: term.value for objective in solved.objectives for term in objective.terms}
    for name in ("energy", "restarts", "switching"):
        assert ran.costs[name] == pytest.approx(terms[name], rel=1e-6, abs=1e-9), name


# One switch without an index, beside a variable with one: the switch is off while two jobs run.
SWITCH = (
    MACHINES.replace(
        "placement run[j, n]",
        """var asleep binary;
  var calm[Nodes] binary;
  constraint awake: sum[j in Jobs, n in Nodes] run[j, n] <= 1 + 2 * (1 - asleep);
  constraint never[n in Nodes]: calm[n] == 1;
  placement run[j, n]""",
    ).replace(
        "maximize busy in $: sum[j in Jobs, n in Nodes] (1[$*h] / (1[h] + left[j])) * run[j, n];",
        "maximize busy in $: sum[j in Jobs, n in Nodes] 9[$] * run[j, n] + 1[$] * asleep;",
    )
    + """
online Asleep for Machines extends Events {
  carry slept = asleep;
  charge rest in $/h = 4[$/h] * asleep;
  charge woken in $/h = 1[$/h] * (1 - slept);
}
scenario Two for Machines {
  Nodes = { n1, n2, n3 };
  table Jobs:  submitted[h]  length[h] =
    a          0             2
    b          0             3;
}
"""
)


@pytest.mark.parametrize("method", ["SRPT", "highs"])
def test_a_variable_without_an_index_may_be_0(method: str) -> None:
    text = SWITCH.replace("param rent in $/h default 1;", "param rent in $/h default 1;  param slept default 0;")
    outcome = driver(text, "Asleep", "Two", method).run()
    assert outcome.world.ledger.totals["rest"] == pytest.approx(4.0)  # from 2 to 3 h
    assert outcome.world.ledger.totals["woken"] == pytest.approx(3.0)
