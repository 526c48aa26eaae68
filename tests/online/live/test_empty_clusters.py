"""At a cluster that was empty a plan comes at once, also where a period alone asks for plans."""

from __future__ import annotations

from typing import Any

import pytest

import gpusched_dsl as gs

TEXT = """
import "gsdsl:trace_replay/policies.gsm";
scenario Cluster for TraceReplay {
  table Nodes: gpus = g1 4;
  JOBS
}
online Live for TraceReplay {
  arrive j in Jobs at submitted[j];
  replan on every 2[h];
  carry remaining[j] = remaining[j];
}
"""
BOTH = "table Jobs: submitted[h] needs exec_time[h] = a 0 4 7  b 7 4 1;"
FIRST = "table Jobs: submitted[h] needs exec_time[h] = a 0 4 7;"
ENDS: dict[str, Any] = {"kind": "completion", "time": 7.0, "job": "a"}
COMES: dict[str, Any] = {"kind": "arrival", "time": 7.0, "job": "b", "values": {"needs": 4, "exec_time": 1.0}}
TICK: dict[str, Any] = {"kind": "tick", "time": 7.0}


@pytest.mark.parametrize(
    ("jobs", "events"),
    [(BOTH, [ENDS]), (FIRST, [ENDS, COMES]), (FIRST, [COMES, ENDS]), (BOTH, [TICK, ENDS, TICK])],
    ids=["of the scenario", "after the end", "before the end", "with ticks"],
)
def test_a_job_that_arrives_when_the_last_one_ends_is_planned_for_at_once(
    jobs: str, events: list[dict[str, Any]]
) -> None:
    simulated = gs.loads(TEXT.replace("JOBS", BOTH)).run(online="Live", method="FIFO")
    assert simulated.steps["time"].to_list() == [0.0, 2.0, 4.0, 6.0, 7.0]
    loop = gs.loads(TEXT.replace("JOBS", jobs)).live(online="Live", method="FIFO")
    ticks = [{"kind": "tick", "time": time} for time in (0.0, 2.0, 4.0, 6.0)]
    for event in [*ticks, *events]:
        loop.on_event(event)
    assert [step.time for step in loop._loop.steps] == [0.0, 2.0, 4.0, 6.0, 7.0]
