"""`price_aware/month.gsm`: peak, energy, carbon and ramps of a month are those of the power of each slot."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from online_texts import driver

from gpusched_dsl.online.history import stretches_of
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.run_record import RunOutcome

CARBON = [0.3, 0.3, 0.1, 0.1, 0.4, 0.4, 0.2, 0.2, 0.3, 0.3, 0.1, 0.1, 0.4, 0.4, 0.2, 0.2]  # kg/kWh
TARIFF = [30, 30, 20, 20, 25, 25, 10, 10, 30, 30, 20, 20, 25, 25, 10, 10]  # $/MWh
UNITS = {
    "demand_price": "$/kW", "ramp_price": "$/kW", "energy_budget": "kWh",
    "carbon_budget": "kg",
}  # fmt: skip
MONTH = 8  # slots
NODE = 1.2  # kW of a node that trains

TEXT = """
import "gsdsl:price_aware/month.gsm";
online SlotBySlot for PriceAwareMonth extends MonthByHour {
  window h in Slots lookahead 8 commit 1;
  replan on every 1 slots;
}
scenario S for PriceAwareMonth extends TrainingOnly {
  slot = 15[min];  horizon = 16;
  table Types: idle_power[W] boot_cost[$] = a100 200 0;
  table Nodes: node_type = n1 a100  n2 a100  n3 a100;
  table Slots: tariff[$/MWh] actual[$/MWh] carbon[kg/kWh] = ROWS;
  table Batch: arrives due epochs[epoch] = a 0 15 4  b 0 15 4  c 2 15 3;
  table Fits: epoch_time[min/epoch] train_power[W] restart_cost[$] =
    a a100 15 1000 0  b a100 15 1000 0  c a100 15 1000 0;
  MORE
}
"""


def run(more: str, commit: int = 1, events: str = "") -> tuple[RunOutcome, list[dict[str, float]]]:
    """Return the run, and what each plan knows of the month."""
    found: list[dict[str, float]] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.past is not None
        found.append({name: float(k.values[0]) for name, k in loop.past.kept.items() if len(k.values) == 1})
        found[-1]["slot"] = loop.plan_time() / 0.25
        found[-1]["drawn"] = loop.world.ledger.totals.get("drawn", 0.0)

    rows = "  ".join(f"{h} {p} {p} {c}" for h, (p, c) in enumerate(zip(TARIFF, CARBON, strict=True)))
    text = TEXT.replace("ROWS", rows).replace("MORE", more)
    text = text.replace("commit 1", f"commit {commit}").replace("every 1 slots", f"{events}every {commit} slots")
    given: dict[str, Any] = {"on_plan": note}
    return driver(text, "SlotBySlot", "S", "highs", **given).run(), found


@pytest.mark.parametrize(
    "prices",
    [
        {"demand_price": 0.2},
        {"demand_price": 0.01, "ramp_price": 0.005},
        {"energy_budget": 1.3},
        {"carbon_budget": 0.2, "ramp_price": 0.02},
    ],
    ids="+".join,
)
def test_the_month_is_that_of_the_power_of_each_slot(prices: dict[str, float]) -> None:
    more = " ".join(f"{name} = {value}[{UNITS[name]}];" for name, value in prices.items())
    outcome, plans = run(f"month_slots = {MONTH}; {more}")
    totals = outcome.world.ledger.totals
    assert outcome.world.done == pytest.approx([4, 4, 3])
    drawn_before = [plan["drawn"] for plan in plans] + [totals["drawn"]]
    power = [(after - before) / 0.25 for before, after in pairwise(drawn_before)]
    top = used = emitted = last = peaks = rises = 0.0
    for slot, (plan, drawn) in enumerate(zip(plans, power, strict=True)):
        if slot % MONTH == 0:
            top = used = emitted = 0.0
        assert (plan["top"], plan["used"], plan["emitted"]) == pytest.approx((top, used, emitted), abs=1e-9), slot
        peaks += max(0.0, drawn - top)
        rises += abs(drawn - last)
        top, used, emitted, last = max(top, drawn), used + drawn / 4, emitted + CARBON[slot] * drawn / 4, drawn
    assert totals["peaks"] == pytest.approx(prices.get("demand_price", 0.0) * peaks, abs=1e-9)
    assert totals["rises"] == pytest.approx(prices.get("ramp_price", 0.0) * rises, abs=1e-9)
    assert totals["drawn"] >= 11 * NODE / 4 - 1e-9
    if prices.get("demand_price", 0.0) > 0.1:  # 11 slots of work, in two months of 8 slots: one node is enough
        assert peaks == pytest.approx(2 * NODE)
    if "energy_budget" in prices:  # four slots of work in each month, and what is left beyond the budget
        assert sum(power[:8]) / 4 <= 1.3


@pytest.mark.parametrize(("commit", "events"), [(3, ""), (4, "arrival, ")])
def test_a_month_begins_within_the_slots_of_a_plan(commit: int, events: str) -> None:
    """The power is that of the jobs in each slot; the slots of a plan belong to two months."""
    outcome, plans = run(f"month_slots = {MONTH}; demand_price = 0.2[$/kW]; ramp_price = 0.01[$/kW];", commit, events)
    ran, power = stretches_of(outcome.world), [0.0] * 16
    for start, end in zip(ran.start.tolist(), ran.end.tolist(), strict=True):
        for slot in range(round(start * 4), round(end * 4)):
            power[slot] += NODE
    assert sum(power) / 4 == pytest.approx(outcome.world.ledger.totals["drawn"])
    crossed = False
    for plan in plans:
        slot = round(plan["slot"])
        month = power[slot - slot % MONTH : slot]
        crossed |= 0 < len(month) < commit
        assert (plan["top"], plan["used"]) == pytest.approx((max(month, default=0.0), sum(month) / 4)), slot
    assert crossed
    assert outcome.world.ledger.totals["peaks"] == pytest.approx(0.2 * (max(power[:MONTH]) + max(power[MONTH:])))
