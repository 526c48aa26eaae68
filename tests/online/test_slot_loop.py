"""The loop over windows, against optima of the complete horizon and cases computed by hand."""

from __future__ import annotations

import pytest
from online_texts import ROLLING, run

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.simulation.world import DONE

# What windows that see everything must find: the optima of the whole horizon (models/price_aware/tests/model.gsm).
OPTIMA = [
    ("ValleysByNode", 0.0234),
    ("DearRestartsByNode", 0.0328),
    ("GapDearBootsByNode", 0.049),
    ("GapOnBeforeByNode", 0.039),
    ("ExclusionByNode", 0.064654),
    ("NegativePricesByNode", -0.0285),
]


@pytest.mark.quick(1)
@pytest.mark.parametrize(("scenario", "optimum"), OPTIMA)
@pytest.mark.parametrize("block", ["Rolling", "SlotBySlot"])
def test_windows_that_see_all_find_the_optimum(scenario: str, optimum: float, block: str) -> None:
    outcome = run(ROLLING, block, scenario, "highs")
    assert outcome.ended == "horizon"
    assert outcome.total == pytest.approx(optimum, abs=1e-7)
    assert (outcome.world.status == DONE).all()


def test_charges_are_told_by_term_job_and_node() -> None:
    outcome = run(ROLLING, "Rolling", "ValleysByNode", "highs")
    ledger = outcome.world.ledger
    assert {n: ledger.totals[n] for n in ("energy", "restarts", "switching")} == pytest.approx(
        {"energy": 0.0144, "restarts": 0.003, "switching": 0.006}
    )
    assert ledger.places["energy"].sum() == pytest.approx(0.0144)
    assert ledger.jobs["restarts"].sum() == pytest.approx(0.003)
    assert outcome.quantities == {"drawn": "kWh"}  # beside the total
    assert ledger.totals["drawn"] == pytest.approx(3 * 0.4)  # three hours at 100 W idle and 300 W training


@pytest.mark.slow
def test_jobs_are_not_known_before_they_come() -> None:
    """A valley that is over when the job comes cannot be used; the job waits for the next one."""
    text = (
        ROLLING
        + """
    online Coming for PriceAware extends Rolling {
      arrive b in Batch at arrives[b];
      replan on arrival, every 2 slots;
    }
    scenario Later for PriceAware extends Valleys { arrives["T1"] = 2; }
    """
    )
    outcome = run(text, "Coming", "Later", "highs")
    known = run(text, "Rolling", "Later", "highs")
    assert outcome.world.first_start[0] >= 2.0
    assert outcome.total == pytest.approx(known.total, abs=1e-9)  # nothing to gain from knowing it before


def test_an_arrival_within_the_commitment_makes_a_new_plan() -> None:
    text = (
        ROLLING
        + """
    online Coming for PriceAware extends Rolling {
      arrive b in Batch at arrives[b];
      replan on arrival, every 2 slots;
    }
    scenario Later for PriceAware extends Valleys { arrives["T1"] = 3; }
    """
    )
    outcome = run(text, "Coming", "Later", "highs")
    assert [(s.time, s.why) for s in outcome.steps] == [
        (0.0, ("window",)),
        (2.0, ("window",)),
        (3.0, ("arrival",)),
        (5.0, ("window",)),
    ]
    assert (outcome.world.status == DONE).all()


def test_plans_by_forecast_are_charged_at_actual_prices() -> None:
    # The forecast has the valleys one slot too early. The plan trains in slots 0, 2, 4; what is paid is 30, 40, 45.
    text = (
        ROLLING
        + """
    model Forecast extends PriceAware { param actual[Slots] in $/MWh default 0; }
    online ByForecast for Forecast {
      window h in Slots lookahead 100 commit 6;
      arrive b in Batch at 0;
      replan on every 6 slots;
      work epochs[b];
      speed 1 / epoch_time[b, node_type[k]];
      carry epochs[b] = epochs[b] - done[b];
      carry was_on[k] = on[k, committed];
      carry was_training[b, k] = train[b, k, committed];
      carry tariff[h] = (actual[h+1] else 40[$/MWh]);
      charge energy in $ = sum[k in Nodes, h in Slots] actual[h] * slot * node_power[k, h];
    }
    scenario Shifted for Forecast extends Valleys {
      table Slots: actual[$/MWh] = 0  30  1  10  2  40  3  12  4  45  5  14;
    }
    """
    )
    outcome = run(text, "ByForecast", "Shifted", "highs")
    assert outcome.total == pytest.approx(0.4e-3 * (30 + 40 + 45), abs=1e-9)


def test_progress_is_told_exactly() -> None:
    outcome = run(ROLLING, "SlotBySlot", "ValleysByNode", "highs")
    world = outcome.world
    assert world.done == pytest.approx([3.0])
    assert world.end == pytest.approx([6.0])
    assert world.counts["halt"].tolist() == [2]
    assert world.counts["resume"].tolist() == [2]


@pytest.mark.slow
def test_runs_are_the_same_when_they_start_from_nothing() -> None:
    first = run(ROLLING, "Rolling", "ExclusionByNode", "highs")
    again = run(ROLLING, "Rolling", "ExclusionByNode", "highs")
    assert first.world.ledger.totals == again.world.ledger.totals


def test_slots_of_different_lengths_are_refused() -> None:
    text = """
    model M {
      set Jobs;  set Nodes;  set Slots ordered;
      param at[Jobs] integer default 0;  param work[Jobs] default 1;  param length[Slots] in h default 1;
      var run[Jobs, Nodes, Slots] binary;
      minimize z: sum[j in Jobs, n in Nodes, h in Slots] run[j, n, h];
      placement run[j, n, h] { job j; node n; slot h; lasts length[h]; }
    }
    online W for M {
      window h in Slots lookahead 4 commit 1;
      arrive j in Jobs at at[j];
      work work[j];  speed 1;
    }
    scenario S for M { Jobs = { a };  Nodes = { n };  Slots = 0..3; }
    """
    with pytest.raises(DiagnosticError) as error:
        run(text, "W", "S", "highs")
    assert [d.code for d in error.value.diagnostics] == ["GSM7002"]


def test_windows_over_numbers_are_refused_before_the_first_plan() -> None:
    text = """
    model M { set Jobs; set Slots ordered = 0..5; var on[Jobs, Slots] binary;
      minimize cost: sum[j in Jobs, h in Slots] on[j, h];
      placement on[j, h] { job j; slot h; costs 1; } }
    online Loop for M { window h in Slots lookahead 3 commit 1; arrive j in Jobs at 0; work 1; speed 1; }
    scenario S for M { Jobs = { a }; }
    """
    with pytest.raises(DiagnosticError, match="GSM1621"):
        run(text, "Loop", "S", "highs")
