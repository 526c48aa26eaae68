"""A live run forgets jobs and plans of long ago; its decisions and costs are those of a run that keeps everything."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from found_codes import raises_code
from live_fuzz import check, events
from test_live_cluster import live

import gpusched_dsl
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.live.seen_names import SeenNames
from gpusched_dsl.online.loops import forgetting
from gpusched_dsl.online.loops.external import ExternalEventLoop
from gpusched_dsl.online.loops.forgetting import reads_ended_jobs
from gpusched_dsl.workflows.estimate import estimate_live

HEAD = 'import "gsdsl:trace_replay/policies.gsm";\n'
CLUSTER = "scenario Cluster for TraceReplay { Nodes = { g1, g2 }; gpus[n in Nodes] = 4; Jobs = { }; }\n"
ONLINE = """online Live for TraceReplay {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
"""


def loop_of(folder: Path, method: str = "SJF", more: str = "", head: str = HEAD) -> ExternalEventLoop:
    path = folder / "long.gsm"
    path.write_text(head + CLUSTER + ONLINE + more + "}\n")
    return gpusched_dsl.load(path).live("Cluster", online="Live", method=method)._loop


def drive(loop: ExternalEventLoop, seed: int, jobs: int) -> list[Any]:
    """Jobs come and end in a random order; nodes fail and come back, some jobs are withdrawn."""
    draw, now, made, present = random.Random(seed), 0.0, list[Any](), list[str]()
    number = 0
    while number < jobs or present:
        now += draw.random()
        kind = draw.random()
        if number < jobs and (kind < 0.5 or not present):
            name = f"job {number}"
            values = {"submitted": now, "needs": draw.randint(1, 4), "exec_time": draw.uniform(1, 9)}
            event = {"kind": "arrival", "job": name, "values": values}
            present.append(name)
            number += 1
        elif kind < 0.9:
            name = present.pop(draw.randrange(len(present)))
            event = {"kind": draw.choice(("completion",) * 5 + ("withdrawal",)), "job": name}
        elif kind < 0.95 and present:
            event = {"kind": "progress", "job": draw.choice(present), "fraction": draw.random()}
        else:
            event = {"kind": draw.choice(("node_down", "node_up")), "node": "g2"}
        found = loop.on_event({**event, "time": now})
        made += [(d.step, d.time, d.why, d.entries) for d in found]
    return made


@pytest.mark.quick(2)
@pytest.mark.parametrize("method", ["SJF", "LAS", "EASY", "MaxMin", "ATC"])
@pytest.mark.parametrize("seed", range(3))
def test_decisions_and_costs_are_those_of_a_run_that_keeps_all(
    method: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = loop_of(tmp_path, method)
    expected = drive(everything, seed, 40)
    monkeypatch.setattr(forgetting, "KEPT", 3)
    short = loop_of(tmp_path, method)
    assert drive(short, seed, 40) == expected
    assert len(everything.world.status) == 40
    assert len(short.world.status) < 12, "at most 2 * 3 ended ones, and those that are there"
    assert len(short.steps) < 2 * 3 + 1
    assert short.finish() == everything.finish()


@pytest.mark.quick(2)
@pytest.mark.parametrize("method", ["Greedy", "highs"])
@pytest.mark.parametrize("seed", range(10))
def test_random_events_of_every_kind(method: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels come again after their jobs were forgotten, values change, events are refused and taken back."""
    lines = events(seed, 60)
    expected = live(lines, tmp_path, method)
    assert len(expected) > len(lines)
    monkeypatch.setattr(forgetting, "KEPT", 1)
    found = live(lines, tmp_path, method)
    assert [_without_seconds(r) for r in found] == [_without_seconds(r) for r in expected]


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(10, 20))
def test_a_killed_run_forgets_at_the_same_steps(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "KEPT", 1)
    check(seed, 60, tmp_path)


def _without_seconds(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "seconds"}


def test_questions_about_a_forgotten_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "KEPT", 1)
    loop = loop_of(tmp_path)
    values = {"submitted": 0, "needs": 1, "exec_time": 1}
    for number in range(5):
        loop.on_event({"kind": "arrival", "time": number, "job": f"j{number}", "values": values})
        loop.on_event({"kind": "completion", "time": number + 0.5, "job": f"j{number}"})
    loop.on_event({"kind": "arrival", "time": 9, "job": "last", "values": values})
    assert len(loop.world.status) == 2
    assert loop.finish()["done"] == 5
    with raises_code("GSM6022", "j0") as raised:
        estimate_live(loop, "j0")
    assert raised.value.diagnostics[0].code == "GSM6022"
    with pytest.raises(DiagnosticError, match="job `j0` is not present"):
        loop.on_event({"kind": "completion", "time": 10, "job": "j0"})
    for again in (
        {"kind": "arrival", "time": 10, "job": "j0", "values": values},
        {"kind": "arrivals", "time": 10, "jobs": [{"job": "j0", "values": values}]},
    ):
        with pytest.raises(DiagnosticError, match="job `j0` has already ended"):
            loop.on_event(again)
    assert estimate_live(loop, "last", arrivals=True).samples > 1, "from the arrivals that are kept"


@pytest.mark.parametrize(
    ("more", "reads"),
    [
        ("charge n in 1 = card(Jobs);", False),  # the present ones
        ("charge n in 1 = sum[j in Jobs] needs[j];", False),
        ("charge n in 1 = sum[j in Jobs] needs[j] * 1[h] / (1[h] + sum[k in Jobs] exec_time[k]);", False),
        ("charge n in 1 = sum[j in Large] 1;", True),
        ("charge n in 1 = all_needs;", True),
        ("charge n in 1 = sum[j in Jobs where j in Large] 1;", False),
    ],
)
def test_what_may_read_ended_jobs(more: str, reads: bool, tmp_path: Path) -> None:
    extended = HEAD + (
        "model Sizes extends TraceReplay {\n"
        "  set Large within Jobs = { j in Jobs where needs[j] > 2 };\n"
        "  param all_needs = sum[j in Jobs] needs[j];\n"
        "}\n"
    )
    path = tmp_path / "long.gsm"
    text = extended + CLUSTER + ONLINE + f"  {more}\n}}\n"
    path.write_text(text.replace("for TraceReplay", "for Sizes"))
    loop = gpusched_dsl.load(path).live("Cluster", online="Live", method="highs")._loop
    assert reads_ended_jobs(loop.online, loop.base) is reads


def test_names_by_digests() -> None:
    names = SeenNames()
    for number in range(10_000):
        names.add(f"job {number}")
    assert all(f"job {number}" in names for number in range(10_000))
    assert not any(f"job {number}" in names for number in range(10_000, 20_000))
    assert 7 not in names
    more = names.union([7])
    assert (7 in more, "7" in more, 7 in names) == (True, False, False)


LENGTHS = """import "gsdsl:gpu_sharing/online.gsm";
import "gsdsl:gpu_sharing/policies.gsm";
import "gsdsl:gpu_sharing/scenarios/synthetic.gsm";
scenario Start extends TenNodes { }
"""


def test_laws_of_forgotten_jobs_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal laws are one, those that no job has any more are none; decisions are those of a run that keeps all."""

    def run(kept: int) -> tuple[list[Any], ExternalEventLoop]:
        monkeypatch.setattr(forgetting, "KEPT", kept)
        path = tmp_path / "lengths.gsm"
        path.write_text(LENGTHS)
        settings = {"jobs": 6, "nodes": 4}
        loop = gpusched_dsl.load(path).live("Start", online="Synthetic", method="STS", settings=settings)._loop
        made: list[Any] = []
        arrivals = loop.world.arrival.copy()
        for number, arrival in enumerate(arrivals.tolist(), 1):
            for event in (
                {"kind": "tick", "time": arrival},
                {"kind": "completion", "time": arrival + 0.3, "job": f"j{number}"},
            ):
                made += [(d.step, d.time, d.entries) for d in loop.on_event(event)]
        return made, loop

    expected, everything = run(1000)
    found, short = run(1)
    assert found == expected
    assert len(everything.world.status) == 6
    assert len(short.world.status) < 6
    laws = short.base.store.randoms["length"]
    assert len(laws.laws) == len(set(laws.which.tolist())) <= len(short.world.status)
    assert len(everything.base.store.randoms["length"].laws) <= 4, "one for each network"
