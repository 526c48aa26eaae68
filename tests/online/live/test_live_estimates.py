"""Estimates and explanations of a live run: its simulated continuation has the right draws, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from found_codes import raises_code

import gpusched_dsl
from gpusched_dsl.online.loops.external import ExternalEventLoop
from gpusched_dsl.workflows.estimate import estimate_live
from gpusched_dsl.workflows.why import explain_live

MODEL = """import "gsdsl:trace_replay/policies.gsm";
scenario Cluster for TraceReplay {
  Nodes = { g1 };
  gpus[n in Nodes] = 4;
  Jobs = { };
}
scenario Known for TraceReplay {
  Nodes = { g1 };
  gpus[n in Nodes] = 4;
  table Jobs: submitted[h] needs exec_time[h] =
    a 0 4 4
    b 1 2 3
    c 2 4 1
    d 2 2 5 ;
}
online Live for TraceReplay {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}
online Uncertain for TraceReplay {
  arrive j in Jobs at submitted[j];
  stretch uniform(low = 0.5, high = 2.5);
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}
"""
JOBS = {"a": (0, 4, 4), "b": (1, 2, 3), "c": (2, 4, 1), "d": (2, 2, 5)}


def live_loop(folder: Path, online: str, method: str = "SJF") -> ExternalEventLoop:
    path = folder / "cluster.gsm"
    path.write_text(MODEL)
    return gpusched_dsl.load(path).live("Cluster", online=online, method=method)._loop


def arrive(loop: ExternalEventLoop, *names: str) -> None:
    for name in names:
        submitted, needs, hours = JOBS[name]
        values = {"submitted": submitted, "needs": needs, "exec_time": hours}
        loop.on_event({"kind": "arrival", "time": float(submitted), "job": name, "values": values})


def test_without_random_quantities_the_continuation_is_the_run(tmp_path: Path) -> None:
    loop = live_loop(tmp_path, "Live")
    arrive(loop, *JOBS)
    run = gpusched_dsl.load(tmp_path / "cluster.gsm").run("Known", online="Live", method="SJF")
    starts = dict(zip(run.jobs["job"], zip(run.jobs["start"], run.jobs["end"], strict=True), strict=True))
    before = (loop.now, len(loop.steps), loop.world.done.tolist())
    for name in JOBS:
        found = estimate_live(loop, name)
        assert (found.samples, found.quantile("start", 0.5), found.quantile("end", 0.5)) == (
            1, pytest.approx(starts[name][0]), pytest.approx(starts[name][1]),
        )  # fmt: skip
    assert (loop.now, len(loop.steps), loop.world.done.tolist()) == before
    loop.on_event({"kind": "completion", "time": 2.5, "job": "a"})  # earlier than planned
    assert estimate_live(loop, "c").quantile("end", 0.5) == pytest.approx(3.5)
    with raises_code("GSM6022", "a", "2.5") as raised:
        estimate_live(loop, "a")
    assert raised.value.diagnostics[0].code == "GSM6022"
    with raises_code("GSM6021", "x"):
        estimate_live(loop, "x")


@pytest.mark.parametrize("at", [0.0, 3.0, 6.0])
def test_a_running_job_takes_longer_than_it_has_run(tmp_path: Path, at: float) -> None:
    """A job of 4 h takes 2 to 10 h, uniformly. At a time at which it still runs, the rest of that law is left."""
    loop = live_loop(tmp_path, "Uncertain")
    arrive(loop, "a")
    found = estimate_live(loop, "a", at=at, samples=60)
    least = max(2.0, at)
    assert found.end.min() >= least - 1e-9
    assert found.end.max() <= 10.0 + 1e-9
    for share in (0.1, 0.5, 0.9):
        assert found.quantile("end", share) == pytest.approx(least + share * (10.0 - least), abs=1.3)
    assert np.isclose(found.start, 0.0).all()


def test_reported_progress_is_taken_as_it_is(tmp_path: Path) -> None:
    """Half of 4 h is left, at a pace that is still unknown: 1 to 5 h."""
    loop = live_loop(tmp_path, "Uncertain")
    arrive(loop, "a")
    loop.on_event({"kind": "progress", "time": 3.0, "job": "a", "fraction": 0.5})
    found = estimate_live(loop, "a", samples=60)
    assert found.end.min() >= 4.0 - 1e-9
    assert found.end.max() <= 8.0 + 1e-9
    assert found.quantile("end", 0.5) == pytest.approx(6.0, abs=0.8)


def test_why_of_a_live_run(tmp_path: Path) -> None:
    loop = live_loop(tmp_path, "Live")
    arrive(loop, "a", "b")
    assert explain_live(loop, "a").runs
    found = explain_live(loop, "b")
    assert (found.runs, found.method, found.turn is not None) == (False, "SJF", True)
