"""Drawn arrivals of estimates: each future is a run of the scenario with the copies among its jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_live_estimates import JOBS, arrive, live_loop

import gpusched_dsl as gs
from gpusched_dsl.online.rollouts.arriving import add_arrivals, blocks_of_arrivals
from gpusched_dsl.workflows.estimate import estimate_live

TEXT = """import "gsdsl:trace_replay/policies.gsm";
scenario Known for TraceReplay {{
  Nodes = {{ g1 }};
  gpus[n in Nodes] = 4;
  table Jobs: submitted[h] needs exec_time[h] deadline[h] =
{rows} ;
}}
online Live for TraceReplay {{
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}}
"""


@pytest.mark.parametrize("method", ["SJFSkipping", "EDF"])
def test_a_future_is_the_run_with_its_jobs(tmp_path: Path, method: str) -> None:
    loop = live_loop(tmp_path, "Live", method)
    names = list(JOBS)
    for name in names:
        submitted, needs, hours = JOBS[name]
        values = {"submitted": submitted, "needs": needs, "exec_time": hours, "deadline": submitted + 7.0 - hours}
        loop.on_event({"kind": "arrival", "time": float(submitted), "job": name, "values": values})
    future = loop.simulated_from(3.0, seed=4)
    drawn = blocks_of_arrivals(future, 4, 12)
    add_arrivals(future, 4, most=12)
    store = future.base.store
    labels = store.universes["Jobs"].labels
    assert len(labels) == len(names) + 12 == len(set(labels))
    columns = {name: store.params[name].values for name in ("submitted", "needs", "exec_time", "deadline")}
    for copy, (template, time) in enumerate(zip(drawn.template.tolist(), drawn.time.tolist(), strict=True)):
        at = len(names) + copy
        assert columns["submitted"][at] == pytest.approx(time)
        assert columns["deadline"][at] - columns["deadline"][template] == pytest.approx(time - JOBS[names[template]][0])
        assert columns["exec_time"][at] == JOBS[names[template]][2]
    while not future.step():
        pass
    rows = (
        "\n".join(
            f"    j{at} {columns['submitted'][at]!r} {round(columns['needs'][at])} {columns['exec_time'][at]!r} "
            f"{columns['deadline'][at]!r}"
            for at in range(len(labels))
        )
        .replace("np.float64(", "")
        .replace(")", "")
    )
    run = gs.loads(TEXT.format(rows=rows)).run("Known", online="Live", method=method, verify="none")
    starts = dict(zip(run.jobs["job"], run.jobs["start"], strict=True))
    expected = [starts[f"j{at}"] for at in range(len(labels))]
    assert future.world.first_start.tolist() == pytest.approx(expected)


def test_arrivals_repeat_blocks_of_the_past(tmp_path: Path) -> None:
    """Jobs come in pairs, an hour apart, after three hours: so do drawn ones. Jobs at time 0 are not repeated."""
    loop = live_loop(tmp_path, "Live", "FIFO")
    times = [0.0, 0.0, *(t for pair in range(1, 40) for t in (4.0 * pair, 4.0 * pair + 1.0))]
    for number, time in enumerate(times):
        values = {"submitted": time, "needs": 1, "exec_time": 0.5}
        loop.on_event({"kind": "arrival", "time": time, "job": f"j{number}", "values": values})
        if time > 0:
            loop.on_event({"kind": "completion", "time": time + 0.1, "job": f"j{number}"})
    future = loop.simulated_from(158.0, seed=1)  # an hour after the last arrival: the next one is of a new pair
    drawn = blocks_of_arrivals(future, 1, 4000)
    assert drawn.template.min() >= 2
    gaps = np.diff(drawn.time, prepend=158.0)
    assert gaps[0] in (3.0 - 1.0, 4.0 - 1.0)  # the gap after the first time is 4 h
    assert set(gaps[1:].round(9).tolist()) <= {1.0, 3.0, 4.0}
    assert abs(gaps.mean() - 157.0 / 78) < 0.1
    follows = np.diff(drawn.template) == 1
    assert abs(1 - follows.mean() - (1 / np.sqrt(78) + 1 / 78)) < 0.03
    assert np.array_equal(blocks_of_arrivals(future, 1, 4000).time, drawn.time)
    assert not np.array_equal(blocks_of_arrivals(future, 2, 4000).time, drawn.time)


@pytest.mark.slow
def test_jobs_that_overtake_delay_the_start(tmp_path: Path) -> None:
    """Without arrivals `d` starts when `b` has ended. Shorter jobs overtake it, and no draw of a known job changes."""
    loop = live_loop(tmp_path, "Live", "SJF")
    arrive(loop, *JOBS)
    alone = estimate_live(loop, "d", at=3.0, samples=20)
    found = estimate_live(loop, "d", at=3.0, samples=4, arrivals=True)
    assert (alone.samples, found.samples, found.drawn) == (1, 4, True)
    assert (found.start >= alone.start[0] - 1e-9).all()
    assert found.start.max() > alone.start[0] + 0.5
    assert len(loop.base.store.universes["Jobs"].labels) == len(JOBS)


@pytest.mark.slow
def test_alternatives_with_arrivals_compare_the_jobs_that_are_there(tmp_path: Path) -> None:
    loop = live_loop(tmp_path, "Live", "SJF")
    arrive(loop, "a", "b", "d")
    found = estimate_live(loop, "d", at=3.0, samples=1, arrivals=True, changes=[])
    assert found.alternatives is not None
    assert found.alternatives.start.tolist() == found.start.tolist()
    node = next(one for one in found.alternatives.changes if one.kind == "node")
    assert node.start.tolist() == [3.0]
    held = next(one for one in found.alternatives.changes if one.text == "hold b until it starts")
    assert (held.start <= found.alternatives.start).all()
    assert held.unfinished == 0


def test_jobs_withdrawn_while_on_hold_are_not_repeated(tmp_path: Path) -> None:
    """Their times of arrival are not known any more."""
    loop = live_loop(tmp_path, "Live", "FIFO")
    for number in range(6):
        values = {"submitted": float(number), "needs": 4, "exec_time": 50.0}
        loop.on_event({"kind": "arrival", "time": float(number), "job": f"j{number}", "values": values})
    loop.on_event({"kind": "withdrawal", "time": 6.0, "job": "j3", "returns": True})
    loop.on_event({"kind": "withdrawal", "time": 7.0, "job": "j3"})
    drawn = blocks_of_arrivals(loop.simulated_from(8.0, seed=1), 1, 100)
    assert np.isfinite(drawn.time).all()
    assert 3 not in drawn.template
