"""Windows driven by the loop: nothing is lost or charged twice at their edges, and the actual price is paid."""

from __future__ import annotations

import pytest
from online_texts import driver, run

from gpusched_dsl.online.history import RunHistory
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.online.simulation.world import DONE
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.reporting.runs.metrics import metrics_of

TEXT = """
import "gsdsl:price_aware/tests/rolling.gsm";
online EverySlot for PriceAwareRolling extends HourByHour {
  window h in Slots lookahead 6 commit 1;
  replan on every 1 slots;
}
online TwoSlots for PriceAwareRolling extends HourByHour {
  window h in Slots lookahead 6 commit 2;
  replan on every 2 slots;
}
online Short for PriceAwareRolling extends EverySlot { window h in Slots lookahead 3 commit 1; }
scenario ValleysRolling extends ValleysAtOnce { horizon = 6; }
scenario ExclusionRolling extends ExclusionAtOnce { horizon = 6; }
scenario GapDearRolling for PriceAwareRolling extends GapDearBoots { horizon = 6; }
scenario GapOnRolling extends GapOnBeforeAtOnce { horizon = 6; }
scenario MigrationRolling extends MigrationAtOnce { horizon = 4; }
scenario TooManyRolling extends TooManyJobsAtOnce { horizon = 4; }
scenario TooMuchRolling extends TooMuchLoad { horizon = 6; }
# Cheap now, it is said, and dear later; it was the other way round.
scenario Deceived extends ValleysRolling {
  table Slots:  tariff[$/MWh]  actual[$/MWh] =
    0           10             30
    1           10             10
    2           10             40
    3           50             12
    4           50             45
    5           50             14;
}
"""


def totals(outcome: RunOutcome, *names: str) -> list[float]:
    return [outcome.world.ledger.totals[name] for name in names]


@pytest.mark.quick(1)
@pytest.mark.parametrize(("block", "later"), [("EverySlot", "whole"), ("TwoSlots", "relaxed")])
@pytest.mark.parametrize(
    ("scenario", "optimum"),
    [("ValleysRolling", 0.0234), ("ExclusionRolling", 0.064654), ("MigrationRolling", 0.0608)],
)
def test_windows_that_see_all_find_the_optimum(scenario: str, optimum: float, block: str, later: str) -> None:
    settings = {"later_slots": later} | ({"whole_slots": "2"} if later == "relaxed" else {})
    outcome = run(TEXT, block, scenario, "highs", settings=settings)
    assert outcome.total == pytest.approx(optimum, abs=1e-7)
    assert (outcome.world.status == DONE).all()
    assert outcome.ended == "horizon"


@pytest.mark.slow
def test_a_job_that_is_halted_over_an_edge_starts_again_and_its_node_boots_again() -> None:
    outcome = run(TEXT, "EverySlot", "ValleysRolling", "highs")
    assert totals(outcome, "energy", "restarts", "switching") == pytest.approx([0.0144, 0.003, 0.006], abs=1e-9)
    assert totals(outcome, "drawn") == pytest.approx([1.2])
    assert outcome.world.ledger.jobs["restarts"].sum() == pytest.approx(0.003)


@pytest.mark.slow
def test_a_job_that_goes_on_over_an_edge_does_not_start_again() -> None:
    """Plans of one slot each; both jobs run for two slots. What comes in slot 4 is not known in slot 2."""
    outcome = run(TEXT, "EverySlot", "GapDearRolling", "highs")
    assert totals(outcome, "energy", "restarts", "switching") == pytest.approx([0.032, 0.002, 0.02], abs=1e-9)
    on = run(TEXT, "EverySlot", "GapOnRolling", "highs")
    assert totals(on, "energy", "restarts", "switching") == pytest.approx([0.032, 0.002, 0.01], abs=1e-9)


@pytest.mark.slow
def test_what_is_planned_by_a_forecast_is_paid_at_the_actual_price() -> None:
    outcome = run(TEXT, "EverySlot", "Deceived", "highs")
    assert totals(outcome, "energy", "restarts", "switching") == pytest.approx([0.0004 * 80, 0.001, 0.002], abs=1e-9)


@pytest.mark.slow
def test_what_is_rejected_stays_so_and_what_is_shed_is_told() -> None:
    outcome = run(TEXT, "EverySlot", "TooManyRolling", "highs")
    jobs = outcome.base.labels("Batch", outcome.base.all_codes("Batch"))
    done = dict(zip(jobs, outcome.world.status == DONE, strict=True))
    assert done == {"T1": True, "T2": True, "T3": False}
    assert outcome.total == pytest.approx(0.04515, abs=1e-7)
    shed = run(TEXT, "EverySlot", "TooMuchRolling", "highs")
    assert totals(shed, "unserved") == pytest.approx([480 * 60])


@pytest.mark.slow
def test_short_windows_have_plans_that_end_all_work_in_time() -> None:
    for scenario in ("ValleysRolling", "ExclusionRolling", "MigrationRolling"):
        outcome = run(TEXT, "Short", scenario, "highs")
        assert (outcome.world.status == DONE).all(), scenario
        assert all(step.status == "optimal" for step in outcome.steps)
        assert totals(outcome, "lateness", "unserved") == [0, 0]


class Silent:
    """Finds the first plan, and then none."""

    name = "silent"

    def __init__(self, first: object) -> None:
        self.first = first

    def plan(self, request: PlanningRequest) -> Plan | None:
        return None if request.number else self.first.plan(request)


def test_without_a_new_plan_the_last_one_goes_on_and_is_charged() -> None:
    loop = driver(TEXT, "EverySlot", "ValleysRolling", "highs")
    loop.planner = Silent(loop.planner)
    outcome = loop.run()
    assert [step.method for step in outcome.steps] == ["highs"] + 5 * ["as before"]
    assert totals(outcome, "energy", "restarts", "switching") == pytest.approx([0.0144, 0.003, 0.006], abs=1e-9)
    assert (outcome.world.status == DONE).all()


LATE = (
    TEXT
    + """
scenario LateRolling for PriceAwareRolling extends Deadline { horizon = 6;  mode = soft; }
scenario SlowRolling for PriceAwareRolling extends LatencyBound { horizon = 4;  mode = soft; }
"""
)


def test_lateness_is_measured() -> None:
    """O5: the job ends after slot 4, two slots of an hour after its due date."""
    outcome = run(LATE, "EverySlot", "LateRolling", "highs")
    assert outcome.total == pytest.approx(0.0128, abs=1e-7)
    metrics = metrics_of(RunHistory(outcome), "highs")
    assert metrics["jobs_late"] == 1
    assert metrics["late_share"] == 1.0
    assert metrics["tardiness_max"] == pytest.approx(2.0)
    assert metrics["tardiness_mean"] == pytest.approx(2.0)


def test_late_and_unserved_requests_are_counted() -> None:
    """O4: one node serves 1000 requests a minute in slots 1 and 2, 200 more than within the latency bound."""
    outcome = run(LATE, "EverySlot", "SlowRolling", "highs")
    assert outcome.total == pytest.approx(0.030745, abs=1e-7)
    assert totals(outcome, "requests", "unserved", "served_late") == pytest.approx([204_000, 0, 120_000])

    shed = run(LATE, "EverySlot", "TooMuchRolling", "highs")
    requests, unserved, late = totals(shed, "requests", "unserved", "served_late")
    assert 0 < unserved < requests
    assert late == 0
