"""Live runs restored from a state equal those repeated from their beginning, to the last bit, at several plans."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import live_child
import net_roads
import pytest
from gang_cases import drawn_gangs
from gang_roads import Beside
from gang_windows import drawn_gang_window
from live_fuzz import events
from live_toy import line
from live_windows import tick
from net_roads import event_loop, opened
from restored_runs import check_live, only_states, record_live, restored, save_often
from state_cases import drawn_state
from state_simulator import StateSimulation
from state_window_roads import against_simulation, config_of, slot_loop
from state_window_roads import events_of as window_events
from state_windows import drawn_state_window
from test_forgotten_slots import REMEMBERS
from test_live_windows import many_jobs

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.checkpoints.state_files import CheckpointedSteps
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.live.session import LiveRun
from gpusched_dsl.online.loops import forgetting, forgetting_slots
from gpusched_dsl.online.open import setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.estimate import estimate_live
from gpusched_dsl.workflows.live import live_parts


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    save_often(monkeypatch)


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(12))
def test_random_runs_by_events(seed: int, tmp_path: Path) -> None:
    """With shares, budgets and half-lives, delays, failures, periods and clock times."""
    case = drawn_state(seed)
    workspace = opened(case)
    loop = event_loop(workspace)
    loop.stop = lambda: len(loop.steps) > 40
    run = loop.run()
    lines = net_roads.events_of(case, run, StateSimulation(case).run()) if run.ended != "interrupt" else []
    if not lines:
        pytest.skip("the run does not end")
    config = record_live(workspace, net_roads.CONFIG, lines, tmp_path / "run.db")
    check_live(workspace, config)


@pytest.mark.quick(4)
@pytest.mark.parametrize("kept", [None, 2])
@pytest.mark.parametrize("kind", ["states", "gangs"])
@pytest.mark.parametrize("seed", range(5))
def test_random_runs_with_windows(
    kind: str, seed: int, kept: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Peaks, budgets and ramps; slots and jobs of long ago may be forgotten."""
    if kept is not None:
        monkeypatch.setattr(forgetting_slots, "KEPT", kept)
        monkeypatch.setattr(forgetting_slots, "REACH", 1)
        monkeypatch.setattr(forgetting, "KEPT", kept)
    case = drawn_state_window(seed) if kind == "states" else drawn_gang_window(seed)
    workspace = opened(case)
    loop, plans, known = slot_loop(setup_of(workspace, config_of(case)), case)
    run = loop.run()
    _, slow = against_simulation(case, run, plans, known)
    last = case.horizon - case.lookahead + 1
    config = record_live(workspace, config_of(case), window_events(case, run, slow, last), tmp_path / "run.db")
    check_live(workspace, config)


@pytest.mark.parametrize("kept", [1000, 2])
def test_windows_whose_prices_come_later(kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots without a known price repeat the last known one, in the restored run as well."""
    for module in (forgetting, forgetting_slots):
        monkeypatch.setattr(module, "KEPT", kept)
    monkeypatch.setattr(forgetting_slots, "REACH", 1)
    workspace = workspace_from_text(REMEMBERS, "windows.gsm", Diagnostics(), Path.cwd(), allow_outside=True)
    lines = [*many_jobs(14)[:-1], tick(15), tick(20)]  # the window is beyond the known prices
    config = record_live(workspace, RunConfig(online="Ahead", method="highs", gap=0.0), lines, tmp_path / "run.db")
    assert check_live(workspace, config) == 6


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(8))
def test_random_runs_of_gangs(seed: int, tmp_path: Path) -> None:
    """Jobs are withdrawn and come back, nodes fail."""
    case = drawn_gangs(seed)
    workspace = opened(case)
    config = RunConfig(online="Block", method=case.method, seed=1, gap=0.0, journal=tmp_path / "run.db")
    parts = live_parts(workspace, config)
    with Journal.open(tmp_path / "run.db", parts.header) as journal:
        loop = parts.make_loop(CheckpointedSteps(journal))
        LiveRun(loop, lambda text: None, clock=parts.clock, journal=journal).run(Beside(case, loop))
    check_live(workspace, config)


@pytest.mark.quick(4)
@pytest.mark.parametrize("method", ["Greedy", "highs"])
@pytest.mark.parametrize("seed", range(6))
def test_extreme_events(method: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values change, events are refused and taken back, jobs are forgotten; the process ends and goes on halfway."""
    monkeypatch.setattr(forgetting, "KEPT", 2)
    found = Diagnostics()
    workspace = workspace_from_text(live_child.TEXT, "cluster.gsm", found)
    lines = events(seed, 60)
    config = RunConfig(online="EveryEvent", method=method)
    record_live(workspace, config, lines[:30], tmp_path / "run.db")
    config = record_live(workspace, config, lines[30:], tmp_path / "run.db")
    check_live(workspace, config)


CLUSTER = """import "gsdsl:trace_replay/policies.gsm";
policy P for TraceReplay { portfolio SJF, LargestFirst; futures 2; }
scenario Cluster for TraceReplay { Nodes = { g1, g2 }; gpus[n in Nodes] = 4; Jobs = { }; }
online Live for TraceReplay {
  arrive j in Jobs at submitted[j];
  stretch uniform(low = 0.5, high = 2);
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}
"""


@pytest.mark.quick(2)
@pytest.mark.parametrize("kept", [1000, 3])
@pytest.mark.parametrize("method", ["SJF", "LAS", "EASY", "MaxMin", "P"])
def test_policies_with_a_memory(method: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Received time, remembered queues, simulated futures; with estimates that are equal."""
    monkeypatch.setattr(forgetting, "KEPT", kept)
    workspace = workspace_from_text(CLUSTER, "cluster.gsm", Diagnostics())
    config = record_live(workspace, RunConfig(online="Live", method=method), job_lines(7, 30), tmp_path / "run.db")
    assert check_live(workspace, config) == 6
    parts = live_parts(workspace, config)
    with Journal.read(tmp_path / "run.db") as journal:
        found = [restored(parts, journal)]
        with only_states(()):
            found.append(restored(parts, journal))
    waiting = str(found[1].base.store.universes["Jobs"].labels[found[1].world.present()[-1]])
    ours, theirs = (estimate_live(loop, waiting, arrivals=True, samples=3).to_dict() for loop in found)
    assert ours == theirs


def job_lines(seed: int, count: int) -> list[bytes]:
    """Jobs that come, progress, leave, return and end, and a node that fails; the last ones stay."""
    draw, now, present, found = random.Random(seed), 0.0, list[str](), list[bytes]()
    away: dict[str, dict[str, Any]] = {}
    known: dict[str, dict[str, Any]] = {}

    def tell(kind: str, **others: Any) -> None:
        found.append(line(kind, f"e{len(found)}", now, **others))

    for number in range(count):
        now += draw.random()
        name = f"job {number}"
        known[name] = {"submitted": now, "needs": draw.randint(1, 4), "exec_time": draw.uniform(1, 9)}
        tell("arrival", job=name, values=known[name])
        present.append(name)
        now += draw.random()
        if draw.random() < 0.75:
            tell("completion", job=present.pop(draw.randrange(len(present))))
        if present and draw.random() < 0.3:
            tell("progress", job=draw.choice(present), fraction=draw.random())
        if present and draw.random() < 0.2:
            name = present.pop(draw.randrange(len(present)))
            tell("withdrawal", job=name, returns=True)
            away[name] = known[name]
        elif away and draw.random() < 0.5:
            name = next(iter(away))
            tell("arrival", job=name, values=away.pop(name))
            present.append(name)
        if draw.random() < 0.2:
            tell(draw.choice(("node_down", "node_up")), node="g2")
    for number in range(3):
        tell("arrival", job=f"last {number}", values={"submitted": now, "needs": 4, "exec_time": 3.0})
    tell("progress", job="last 0", fraction=0.25)  # after the last plan
    return found


def test_events_after_the_last_plan_count(tmp_path: Path) -> None:
    """The progress of a job, which no plan follows, is in the restored run; it was left out once."""
    workspace = workspace_from_text(CLUSTER, "cluster.gsm", Diagnostics())
    lines = job_lines(1, 3)
    config = record_live(workspace, RunConfig(online="Live", method="SJF"), lines, tmp_path / "run.db")
    with Journal.read(tmp_path / "run.db") as journal:
        loop = restored(live_parts(workspace, config), journal)
    code = loop.base.store.universes["Jobs"].code_of["last 0"]
    assert loop.world.done[code] == 0.25 * loop.world.work[code]


LAWS = """import "gsdsl:gpu_sharing/online.gsm";
import "gsdsl:gpu_sharing/policies.gsm";
import "gsdsl:gpu_sharing/scenarios/synthetic.gsm";
scenario Start extends TenNodes { }
"""


def test_laws_of_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws have a form in states, also when the jobs of some are forgotten."""
    monkeypatch.setattr(forgetting, "KEPT", 1)
    workspace = workspace_from_text(LAWS, "laws.gsm", Diagnostics())
    config = RunConfig(scenario="Start", online="Synthetic", method="STS", settings={"jobs": "6", "nodes": "4"})
    arrivals = live_parts(workspace, config).make_loop(None).world.arrival.tolist()
    lines = []
    for number, arrival in enumerate(arrivals, 1):
        lines.append(line("tick", f"t{number}", arrival))
        if number < len(arrivals):
            lines.append(line("completion", f"c{number}", arrival + 0.3, job=f"j{number}"))
    config = record_live(workspace, config, lines, tmp_path / "run.db")
    check_live(workspace, config)


def test_several_controllers(tmp_path: Path) -> None:
    text = live_child.TEXT + "policy Pair for CapacityPlanning extends Greedy { split 2 controllers; }\n"
    workspace = workspace_from_text(text, "cluster.gsm", Diagnostics())
    config = RunConfig(online="EveryEvent", method="Pair")
    config = record_live(workspace, config, events(3, 60), tmp_path / "run.db")
    check_live(workspace, config)
