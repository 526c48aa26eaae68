"""`price_aware/month.gsm`: peak, energy, carbon and ramps of a month are those of the power of each slot."""

from __future__ import annotations

from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
import pytest
from online_texts import driver

import gpusched_dsl as gs
from gpusched_dsl.ir.arrays import Floats
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


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "prices",
    [
        {"demand_price": 0.2},
        {"demand_price": 0.01, "ramp_price": 0.005},
        {"energy_budget": 1.3},
        {"energy_budget": 1.8},
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
    if "energy_budget" in prices:  # no month is beyond its budget while the other has some left
        beyond = sum(max(sum(month) / 4 - prices["energy_budget"], 0.0) for month in (power[:MONTH], power[MONTH:]))
        assert beyond == pytest.approx(max(11 * NODE / 4 - 2 * prices["energy_budget"], 0.0), abs=1e-9)


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


WORK = {"a": 4, "b": 3}  # slots


def subsets(slots: int, most: int) -> Floats:
    """Return all sets of at most so many slots, as rows of zeros and ones."""
    chosen = chain.from_iterable(combinations(range(slots), size) for size in range(most + 1))
    return np.array([[float(h in set(row)) for h in range(slots)] for row in chosen])


def least_cost(case: dict[str, float], tariff: list[float], horizon: int) -> float:
    """Return the least cost of all plans; the later slots have the rest of the work in equal parts."""
    slots, length = len(tariff), 8
    plans = [subsets(slots, most) for most in WORK.values()]
    if horizon == slots:
        plans = [rows[rows.sum(axis=1) == most] for rows, most in zip(plans, WORK.values(), strict=True)]
    running = (plans[0][:, None, :] + plans[1][None, :, :]).reshape(-1, slots)
    power = NODE * running
    left = NODE * (sum(WORK.values()) - running.sum(axis=1))  # kW * slots
    usual = sorted(tariff)[(slots - 1) // 4]
    cost = (power @ np.array(tariff) + usual * left) / 4 / 1000
    level = left / max(horizon - slots, 1)
    for month in range(2):
        first, last = case["next_month"] + (month - 1) * length, case["next_month"] + month * length
        inside = [h for h in range(slots) if (h >= first or month == 0) and h < last]
        later = [h for h in range(slots, horizon) if (h >= first or month == 0) and h < last]
        top, used = (case["top"], case["used"]) if month == 0 else (0.0, 0.0)
        peak = np.maximum(power[:, inside].max(axis=1, initial=0.0), level if later else 0.0)
        cost += case["demand_price"] * np.maximum(peak - top, 0.0)
        energy = used + (power[:, inside].sum(axis=1) + level * len(later)) / 4
        cost += 10 * np.maximum(energy - case["energy_budget"], 0.0)
    return float(cost.min())


@pytest.mark.parametrize("horizon", [8, 20])
@pytest.mark.parametrize("seed", range(8))
def test_each_month_of_a_window_has_its_own_peak_and_budget(seed: int, horizon: int) -> None:
    """The optimum equals that of all plans; the first case is a peak of this month that the next one does not have."""
    random = np.random.default_rng(seed)
    tariff = [round(float(price), 1) for price in random.uniform(5, 50, 8)]
    case = {
        "next_month": float(random.integers(1, 11)) if seed else 4.0,
        "top": float(random.choice([0.0, NODE, 2 * NODE])) if seed else 2 * NODE,
        "demand_price": float(random.choice([0.001, 0.02, 0.2])),
        "used": float(random.choice([0.0, 0.6])),
        "energy_budget": float(random.choice([0.9, 1.5, 1000.0])),
    }
    units = {"top": "[kW]", "demand_price": "[$/kW]", "used": "[kWh]", "energy_budget": "[kWh]"}
    rows = "  ".join(f"{h} {price} {price}" for h, price in enumerate(tariff))
    batch = "  ".join(f"{name} 0 {horizon - 1} {work}" for name, work in WORK.items())
    text = f"""
import "gsdsl:price_aware/month.gsm";
scenario S for PriceAwareMonth extends TrainingOnly {{
  slot = 15[min];  horizon = {horizon};  month_slots = 8;
  table Types: idle_power[W] boot_cost[$] = a100 200 0;
  table Nodes: node_type = n1 a100  n2 a100;
  table Slots: tariff[$/MWh] actual[$/MWh] = {rows};
  table Batch: arrives due epochs[epoch] = {batch};
  table Fits: epoch_time[min/epoch] train_power[W] restart_cost[$] = a a100 15 1000 0  b a100 15 1000 0;
  {" ".join(f"{name} = {value:g}{units.get(name, '')};" for name, value in case.items())}
}}
"""
    result = gs.loads(text, "month.gsm").solve("S", gap=0)
    assert result.objective == pytest.approx(least_cost(case, tariff, horizon), abs=1e-6)
