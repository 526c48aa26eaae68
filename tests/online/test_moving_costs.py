"""Prices of changes keep plans unchanged unless a change saves more."""

from __future__ import annotations

import pytest
from online_texts import CP_ON, run

MOVING = CP_ON.replace(
    'import "gsdsl:capacity_planning/online.gsm";',
    'import "gsdsl:capacity_planning/online_moving.gsm";\nimport "gsdsl:capacity_planning/policies.gsm";',
).replace("scenario CpOn for CapacityPlanning ", "scenario CpOn for CapacityPlanningMoving ")


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("cost", "changes", "total"),
    [
        # J1 on A, halted for J2 at 1, resumed at 3: as without the costs, but for the price of halting.
        (0.0, 1, 3.5),
        (0.1, 1, 3.6),
        # Dearer than any delay: J1 keeps A to its end at 4, J2 is late by 4 + 1.2 - 3.4 with both GPUs of B.
        (100000.0, 0, 3.7 + 2 * 1.8),
    ],
)
def test_halting_costs(cost: float, changes: int, total: float) -> None:
    text = MOVING.replace("period = 1[h];", f"period = 1[h]; moving_cost = {cost!r}[$];")
    outcome = run(text, "EveryEventMoving", method="highs", settings={"node_rule": "force"})
    world = outcome.world
    assert sum(int(world.counts[name].sum()) for name in ("halt", "migration", "resize")) == changes
    assert outcome.total == pytest.approx(total, abs=1e-9)


def test_what_is_planned_for_is_charged() -> None:
    text = MOVING.replace("period = 1[h];", "period = 1[h]; moving_cost = 0.1[$];")
    outcome = run(text, "EveryEventMoving", method="highs", settings={"node_rule": "force"})
    assert outcome.world.ledger.totals["halt"] == pytest.approx(0.1)
    assert outcome.world.ledger.jobs["halt"].tolist() == pytest.approx([0.1, 0.0, 0.0])
