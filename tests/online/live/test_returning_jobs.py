"""Jobs that arrive together, and jobs that are withdrawn for now and come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from found_codes import raises_code

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.loops.external import ExternalEventLoop

TEXT = """
import "gsdsl:trace_replay/policies.gsm";
scenario Cluster for TraceReplay { Nodes = { g1 }; gpus[n in Nodes] = 4; Jobs = {}; }
online Live for TraceReplay {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}
"""


def new_loop() -> ExternalEventLoop:
    return gs.loads(TEXT, base=Path.cwd()).live(online="Live", method="FIFO")._loop


def job(name: str, needs: int, hours: float = 2.0, submitted: float = 0.0) -> dict[str, Any]:
    return {"job": name, "values": {"needs": needs, "exec_time": hours, "submitted": submitted}}


def running(loop: ExternalEventLoop) -> dict[Any, int]:
    """The jobs of the plan in effect, with their GPUs."""
    labels = loop.base.store.universes[loop.jobs_root].labels
    parts = loop.world.parts
    return {labels[j]: round(u) for j, u in zip(parts.job.tolist(), parts.uses.tolist(), strict=True)}


def test_jobs_that_arrive_together_are_as_single_arrivals() -> None:
    jobs = [job(f"j{n}", 1 + n % 3, 1 + n, n / 10) for n in range(6)]
    together, single = new_loop(), new_loop()
    together.on_event({"kind": "arrivals", "time": 1, "jobs": jobs})
    for one in jobs:
        single.on_event({"kind": "arrival", "time": 1, **one})
    for loop in (together, single):
        loop.on_event({"kind": "completion", "time": 2, "job": "j0"})
    assert running(together) == running(single) != {}
    assert together.step_count == 2
    for wrong, code, named in (
        ([job("j9", 1), job("j1", 1)], "GSM5207", "j1"),
        ([job("j9", 1), job("j9", 1)], "GSM5207", "j9"),
        ([job("j9", 1), job("j0", 1)], "GSM5207", "j0"),
        ([job("j9", 1), job("j8", 0)], "GSM2109", 'needs["j8"]'),
    ):
        with raises_code(code, named):
            together.on_event({"kind": "arrivals", "time": 3, "jobs": wrong})
    assert "j9" not in together.base.store.universes[together.jobs_root].code_of


def test_a_job_comes_back_with_its_progress() -> None:
    loop = new_loop()
    loop.on_event({"kind": "arrivals", "time": 0, "jobs": [job("a", 4), job("b", 2)]})
    assert running(loop) == {"a": 4}
    loop.on_event({"kind": "withdrawal", "time": 1, "job": "a", "returns": True})
    assert running(loop) == {"b": 2}
    with raises_code("GSM5207", "a"):
        loop.on_event({"kind": "completion", "time": 1, "job": "a"})
    loop.on_event({"kind": "completion", "time": 3, "job": "b"})
    assert running(loop) == {}
    loop.on_event({"kind": "arrival", "time": 4, "job": "a"})
    assert running(loop) == {"a": 4}
    assert loop.world.remaining()[0] == pytest.approx(0.5)
    loop.on_event({"kind": "withdrawal", "time": 4, "job": "a", "returns": True})
    loop.on_event({"kind": "withdrawal", "time": 4, "job": "a"})
    with pytest.raises(DiagnosticError, match="already ended"):
        loop.on_event({"kind": "arrival", "time": 5, "job": "a"})
    assert loop.finish()["done"] == 1


HISTORY = """
model Rooms {
  set Jobs;  set Nodes;
  param submitted[Jobs] in h;  param length[Jobs] in h default 4[h];  param remaining[Jobs] default 1;
  param received[Jobs] in h default 0[h];  param worked in h default 0[h];  param limit in h default 100[h];
  var run[Jobs, Nodes] binary;
  maximize served: sum[j in Jobs, n in Nodes] run[j, n] / (1 + received[j] / 1[h]);
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  constraint budget[j in Jobs, n in Nodes]: run[j, n] * worked <= limit;
  placement run[j, n] { job j;  node n;  lasts remaining[j] * length[j]; }
}
policy FIFO for Rooms { order j in Jobs by submitted[j]; place new_node exclusive, wait; keep running; }
online Loop for Rooms {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  carry received[j] = previous(received[j]) + executed(sum[n in Nodes] run[j, n]);
  carry worked = sum[j in Jobs] length[j] * done[j];
}
scenario S for Rooms { Nodes = { n1 };  Jobs = {}; }
"""


def test_what_a_job_had_before_it_was_withdrawn_counts_while_it_is_away() -> None:
    """`a` runs from 0 to 1 and from 4 on, `b` from 2 to 3; a carried sum of work has `a` also at 2."""
    loop = gs.loads(HISTORY, base=Path.cwd()).live("S", online="Loop", method="FIFO")._loop
    seen: list[tuple[list[float], float]] = []
    for event in (
        {"kind": "arrival", "time": 0, "job": "a", "values": {"submitted": 0}},
        {"kind": "withdrawal", "time": 1, "job": "a", "returns": True},
        {"kind": "arrival", "time": 2, "job": "b", "values": {"submitted": 2}},
        {"kind": "completion", "time": 3, "job": "b"},
        {"kind": "arrival", "time": 4, "job": "a"},
        {"kind": "arrival", "time": 6, "job": "c", "values": {"submitted": 6}},
    ):
        if loop.on_event(event):
            assert loop.past is not None
            assert loop.instance is not None
            worked = float(loop.instance.store.params["worked"].values[0])
            seen.append((loop.past.kept["received"].values.tolist(), worked))
    assert [received for received, _ in seen] == [[0], [1, 0], [1, 1], [3, 1, 0]]
    assert [worked for _, worked in seen] == pytest.approx([0, 1, 2, 4])
