"""Runs in one go give what the loop gives event by event: the world, its costs, and who waits for ever."""

from __future__ import annotations

import numpy as np
import pytest
from online_texts import driver, machines

from gpusched_dsl.online.record import Outcome

QUEUE = """
import "gsdsl:policies/trace_replay.gsm";
scenario S for TraceReplay {{
  table Nodes: gpus = {nodes};
  table Jobs: submitted[h] needs exec_time[h] deadline[h] weight[$/h] = {jobs};
}}
"""
COMPARED = (
    "status", "first_start", "end", "due", "weight", "done", "kind", "uses", "gpu_time", "place_time",
)  # fmt: skip


def both(text: str, policy: str) -> tuple[Outcome, Outcome]:
    """In one go, and event by event."""
    whole = driver(text, method=policy).run()
    loop = driver(text, method=policy)
    loop.whole = None
    return whole, loop.run()


def assert_equal(whole: Outcome, each: Outcome) -> None:
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
