"""Fast replay equals the simulation by events: the world, its costs, and the jobs that wait for ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from online_texts import driver, machines

import gpusched_dsl as gs
from gpusched_dsl.online.run_record import RunOutcome

QUEUE = """
import "gsdsl:trace_replay/policies.gsm";
scenario S for TraceReplay {{
  table Nodes: gpus = {nodes};
  table Jobs: submitted[h] needs exec_time[h] deadline[h] weight[$/h] = {jobs};
}}
"""
COMPARED = (
    "status", "first_start", "end", "due", "weight", "done", "kind", "uses", "gpu_time", "place_time",
)  # fmt: skip


def both(text: str, policy: str) -> tuple[RunOutcome, RunOutcome]:
    """By fast replay, and event by event."""
    whole = driver(text, method=policy).run()
    loop = driver(text, method=policy)
    loop.fast_replay = None
    return whole, loop.run()


def assert_equal(whole: RunOutcome, each: RunOutcome) -> None:
    assert not whole.steps
    assert each.steps
    assert whole.ended == each.ended
    for name in COMPARED:
        assert np.allclose(getattr(whole.world, name), getattr(each.world, name), equal_nan=True), name
    assert whole.world.counts["start"].tolist() == each.world.counts["start"].tolist()
    assert whole.world.ledger.totals == pytest.approx(each.world.ledger.totals)
    for by in ("jobs", "places"):
        told, expected = getattr(whole.world.ledger, by), getattr(each.world.ledger, by)
        assert {n: v.tolist() for n, v in told.items()} == {n: pytest.approx(v.tolist()) for n, v in expected.items()}
    assert [w.code for w in whole.warnings] == [w.code for w in each.warnings]


@pytest.mark.quick(3)
@pytest.mark.parametrize("policy", ["FIFO", "Backfilling", "SJF", "EDFSkipping", "LargestFirst"])
@pytest.mark.parametrize("seed", range(2))
def test_queues_of_a_trace(policy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        f"j{i} {rng.integers(0, 8)} {rng.integers(1, 7)} {rng.uniform(0.2, 4):.2f} {rng.uniform(2, 20):.1f} 2"
        for i in range(14)
    ]
    text = QUEUE.format(nodes="a 4  b 8", jobs="  ".join(rows))
    assert_equal(*both(text, policy))


def test_jobs_that_never_fit_are_told_alike() -> None:
    text = QUEUE.format(nodes="a 4", jobs="j0 0 2 1 9 1  j1 1 8 1 9 1  j2 2 1 1 9 1")
    whole, each = both(text, "Backfilling")
    assert whole.ended == "stuck"
    assert_equal(whole, each)


def test_a_job_that_never_fits_and_comes_after_all_others_have_ended_waits() -> None:
    whole, each = both(QUEUE.format(nodes="a 4", jobs="j0 0 2 1 9 1  j1 3 8 1 9 1"), "Backfilling")
    assert whole.ended == "stuck"
    assert_equal(whole, each)


def test_rents_of_machines() -> None:
    text = machines(2, [(0.0, 2.0), (0.5, 3.0), (0.5, 1.0), (4.0, 0.5)], "weight = 1[$/h];", due=[1.5, 2.0, 3.0, 9.0])
    text = text.replace("carry due_in[j] = due_in[j] - now;", "")
    assert_equal(*both(text, "FIFO"))


@pytest.mark.parametrize(
    ("more", "policy"),
    [
        ("online X for Machines extends Events { stretch 2; }", "FIFO"),
        ("online X for Machines extends Events { replan on arrival; }", "FIFO"),
        ("online X for Machines extends Events { charge nodes; }", "FIFO"),
        ("online X for Machines extends Events { on start delay 1[h]; }", "FIFO"),
        ("online X for Machines extends Events { outage n in Nodes every 50[h] lasting 1[h]; }", "FIFO"),
        ("online X for Machines extends Events { }", "SRPT"),
    ],
)
def test_what_changes_on_the_way_is_not_replayed(more: str, policy: str) -> None:
    loop = driver(machines(1, [(0.0, 1.0), (0.5, 1.0)]) + more, "X", method=policy)
    assert loop.run().steps


TARIFFS = """
model Rented {
  set Jobs;  set Nodes;  set Hours = 0..9;
  param submitted[Jobs] in h default 0;
  param length[Jobs] in h > 0;
  param remaining[Jobs] > 0 <= 1 default 1;
  param tariff[Hours] in $/h default 0;
  param price in $/h default 1;
  param left[j in Jobs] in h = remaining[j] * length[j];
  var run[Jobs, Nodes] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes] price * left[j] * run[j, n];
  constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  placement run[j, n] { job j; node n; lasts left[j]; costs price in $/h; }
}
policy FIFO for Rented { order j in Jobs by submitted[j]; place new_node exclusive, wait; keep running; }
online ByHour for Rented {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, every 1[h];
  carry remaining[j] = remaining[j];
  carry price = sum[h in Hours where h == floor(now / 1[h])] tariff[h];
}
scenario S for Rented {
  Nodes = { n };
  table Hours: tariff[$/h] = 0 10  1 20  2 30  3 40;
  table Jobs: length[h] = j 4;
}
"""


def test_a_price_that_is_carried_is_charged_by_every_road(tmp_path: Path) -> None:
    path = tmp_path / "run.gsm"
    path.write_text(TARIFFS)
    model = gs.load(path)
    fast = model.run(method="FIFO")
    assert fast.total == pytest.approx(100.0, rel=1e-12)
    assert fast.event_by_event == ("`costs` may change: `price` is carried from plan to plan",)
    assert fast.to_dict()["event_by_event"] == list(fast.event_by_event)
    recorded = model.run(method="FIFO", journal=tmp_path / "run.db")
    assert recorded.total == fast.total
    estimated = model.estimate("j", method="FIFO")
    assert estimated.cost.tolist() == pytest.approx([100.0], rel=1e-12)
    loop = driver(TARIFFS)
    loop.fast_replay = None
    assert loop.run().total == fast.total


def test_a_job_that_begins_anew_at_every_plan_is_planned_at_every_event() -> None:
    """Without `carry remaining[j]` a plan takes the whole time of a job for what is left of it."""
    text = QUEUE.format(nodes="a 4", jobs="j0 0 2 4 9 1  j1 1 1 2 9 1")
    text += "online Own for TraceReplay { arrive j in Jobs at submitted[j]; replan on arrival, completion; }"
    found = driver(text, "Own", "S").run()
    assert found.steps
    assert found.world.end.tolist() == pytest.approx([7.0, 3.0])  # from 4 h, 3/4 left at 1 h and 1/2 at 3 h: anew


def test_a_price_read_by_the_number_of_its_hour_is_charged_by_every_road() -> None:
    text = TARIFFS.replace("set Hours = 0..9;", "set Hours ordered;")
    by_carry = text.replace(
        "sum[h in Hours where h == floor(now / 1[h])] tariff[h]", "(tariff[floor(now / 1[h])] else 0)"
    )
    by_clock = text.replace(
        "  carry price = sum[h in Hours where h == floor(now / 1[h])] tariff[h];", "carry clock = now;"
    )
    by_clock = by_clock.replace(
        "param price in $/h default 1;",
        "param clock in h default 0[h]; param price in $/h = (tariff[floor(clock / 1[h])] else 0);",
    )
    for one in (by_carry, by_clock):
        loop = driver(one)
        assert loop.run().total == pytest.approx(100.0, rel=1e-12)
        assert loop.event_by_event  # why it is not replayed
        loop = driver(one)
        loop.fast_replay = None
        assert loop.run().total == pytest.approx(100.0, rel=1e-12)


def test_due_dates_pass_as_the_clock_does() -> None:
    jobs = [(0.0, 2.0), (0.5, 3.0), (0.5, 1.0), (4.0, 0.5)]
    text = machines(1, jobs, "weight = 1[$/h];", due=[1.5, 2.0, 3.0, 9.0])
    assert_equal(*both(text, "FIFO"))
    twice = text.replace("carry due_in[j] = due_in[j] - now;", "carry due_in[j] = due_in[j] - 2 * now;")
    assert driver(twice).run().event_by_event == ("the time until jobs are due does not decrease with the clock",)


def test_arrivals_before_the_run_and_runs_that_may_be_too_long_are_planned_at_every_event() -> None:
    early = driver(machines(1, [(-1.0, 2.0), (0.5, 1.0)])).run()
    assert early.event_by_event == ("some jobs arrive before the run begins",)
    assert early.world.first_start.tolist() == [0.0, 2.0]
    loop = driver(machines(1, [(0.0, 2.0), (0.5, 1.0)]))
    loop.config = replace(loop.config, most_events=3)
    assert loop.run().ended == "events"
