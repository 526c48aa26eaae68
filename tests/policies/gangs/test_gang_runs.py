"""Whole runs with gangs: judged by an independent referee, compared with jobs on one node, recorded, live, failing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from gang_clusters import Gang, Node, Racks, random_racks
from generic_clusters import random_cluster
from referee import Referee, Stay

import gpusched_dsl as gs
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.history import stretches_of
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.online.simulation.world import World
from gpusched_dsl.policies.generic.catalogue import GENERIC
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.workflows.live import run_live_loop


def loop(text: str, method: str, most_events: int = 2000, verify: str = "none") -> SimulationLoop:
    found = Diagnostics()
    workspace = workspace_from_text(text, "racks.gsm", found)
    found.raise_if_errors()
    return loop_of(setup_of(workspace, RunConfig(method=method, verify=verify, most_events=most_events)))


def run(text: str, method: str) -> RunOutcome:
    outcome = loop(text, method, verify="full").run()
    assert [w.message for w in outcome.warnings if w.code != "GSM7005"] == []  # every plan satisfies the model
    return outcome


def stays_of(world: World) -> list[Stay]:
    found: dict[tuple[int, float, float], dict[int, int]] = {}
    parts = stretches_of(world)
    rows = zip(parts.job, parts.place, parts.uses, parts.start, parts.end, strict=True)
    for job, place, uses, start, end in rows:
        found.setdefault((int(job), float(start), float(end)), {})[int(place)] = round(float(uses))
    return [Stay(job, workers, start, end) for (job, start, end), workers in found.items()]


def judge(racks: Racks, method: str) -> None:
    referee = Referee(racks, stays_of(run(racks.text(), method).world), fastest_first=method != "Indifferent")
    keys = {
        "FIFO": lambda j: (),
        "Packed": lambda j: (),
        "Indifferent": lambda j: (),
        "SJF": lambda j: (racks.jobs[j].length / max(n.pace for n in racks.nodes),),
        "EDF": lambda j: (racks.jobs[j].due,),
    }
    referee.check(keys[method], waits=method in ("FIFO", "SJF", "EDF"))
    referee.check_load()
    assert len(referee.stays) == len(racks.jobs)


QUEUES = ["FIFO", "SJF", "EDF", "Packed", "Indifferent"]


@pytest.mark.quick(3)
@pytest.mark.parametrize("method", QUEUES)
@pytest.mark.parametrize("seed", range(11))
def test_queues(method: str, seed: int) -> None:
    judge(random_racks(seed, equal=seed % 2 == 0), method)


@pytest.mark.slow
@pytest.mark.parametrize("method", QUEUES)
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_queues(method: str, seed: int) -> None:
    for at in range(25):
        judge(random_racks(1000 * seed + at), method)


@pytest.mark.quick(2)
@pytest.mark.parametrize("method", ["EASY", "Conservative"])
@pytest.mark.parametrize("seed", range(20, 31))
def test_backfilling(method: str, seed: int) -> None:
    """All gangs are complete and take their time; with EASY the first job in the queue is never delayed."""
    racks = random_racks(seed)
    world = run(racks.text(), method).world
    referee = Referee(racks, stays_of(world))
    referee.check_load()
    assert len(referee.stays) == len(racks.jobs)
    for stay in referee.stays:
        assert sum(stay.workers.values()) == racks.jobs[stay.job].need
        assert stay.end - stay.start == pytest.approx(referee.time(stay.job, stay.workers))
    if method == "EASY":
        referee.check_reserved_starts()


@pytest.mark.quick(1)
@pytest.mark.parametrize("method", ["LAS", "SRTF"])
@pytest.mark.parametrize("seed", range(40, 51))
def test_preempting_queues(method: str, seed: int) -> None:
    racks = random_racks(seed, equal=seed % 2 == 0)
    referee = Referee(racks, stays_of(run(racks.text(), method).world), fastest_first=True)
    pace = max(n.pace for n in racks.nodes)
    keys = {
        "LAS": lambda j, gpu_time, left: gpu_time,
        "SRTF": lambda j, gpu_time, left: left * racks.jobs[j].length / pace,
    }
    referee.check_preempting(keys[method])
    referee.check_load()


def test_users_take_turns_up_to_their_quotas() -> None:
    """Shares of 1 and 2, quotas of 5 and 6 GPUs, on three nodes with four GPUs each."""
    nodes = [Node(0, 4, 99.0, 1.0), Node(0, 4, 99.0, 1.0), Node(1, 4, 99.0, 1.0)]
    jobs = [
        Gang(3, 1.0, 4.0, 0.0, 99.0, owner=0),
        Gang(3, 1.0, 4.0, 0.0, 99.0, owner=0),  # 6 GPUs would exceed the quota of u0
        Gang(2, 1.0, 4.0, 0.0, 99.0, owner=0),
        Gang(5, 1.0, 4.0, 0.0, 99.0, owner=1),
        Gang(2, 1.0, 4.0, 0.0, 99.0, owner=1),  # 7 GPUs would exceed the quota of u1
        Gang(1, 1.0, 4.0, 0.0, 99.0, owner=1),
    ]
    world = run(Racks(nodes, jobs, [(1.0, 5.0), (2.0, 6.0)]).text(), "FairShare").world
    started = [s for s in stays_of(world) if s.start == 0.0]
    assert sorted((s.job, sum(s.workers.values())) for s in started) == [(0, 3), (2, 2), (3, 5), (5, 1)]
    assert [s.workers for s in started if s.job == 3] == [{0: 1, 1: 4}]
    assert world.end[3] == pytest.approx(4.8)


def test_controllers_keep_gangs_on_their_nodes() -> None:
    """Two controllers have every other node and job: j0, j2 on n0, n2 and j1 on n1, which is too small for it."""
    found = Diagnostics()
    workspace = workspace_from_text(TWO.text(), "racks.gsm", found)
    config = RunConfig(method="Packed", controllers=2)
    world = loop_of(setup_of(workspace, config)).run().world
    nodes = {s.job: sorted(s.workers) for s in stays_of(world)}
    assert nodes == {0: [2], 2: [0]}
    assert np.isnan(world.first_start[1])


def test_easy_keeps_the_reserved_start() -> None:
    """The wide job starts when the first one ends; a short job may overtake it, a long one may not."""
    nodes = [Node(0, 4, 99.0, 1.0), Node(0, 4, 99.0, 1.0)]
    jobs = [
        Gang(6, 1.0, 2.0, 0.0, 99.0),  # on two nodes: to 2.4
        Gang(8, 1.0, 1.0, 0.1, 99.0),  # reserves 2.4
        Gang(2, 1.0, 3.0, 0.2, 99.0),  # would end at 3.2: waits
        Gang(1, 1.0, 2.0, 0.3, 99.0),  # ends at 2.3
        Gang(2, 1.0, 2.0, 0.35, 99.0),  # one GPU is left
    ]
    world = run(Racks(nodes, jobs).text(), "EASY").world
    assert world.first_start[:4] == pytest.approx([0.0, 2.4, 3.6, 0.3])
    assert world.end[1] == pytest.approx(3.6)
    fifo = run(Racks(nodes, jobs).text(), "FIFO").world
    assert fifo.first_start[:4] == pytest.approx([0.0, 2.4, 3.6, 3.6])


@pytest.mark.quick(2)
@pytest.mark.parametrize("method", sorted(GENERIC))
@pytest.mark.parametrize("seed", range(3))
def test_gangs_of_one_worker_are_jobs_on_one_node(method: str, seed: int) -> None:
    """With one worker for all of its GPUs, every policy plans and the cluster runs as without gangs."""
    cluster = random_cluster(seed + 40, outages=seed == 1 and not GENERIC[method].preempts, users=2, parts=False)
    roles = "user owner[j];  share part[owner[j]];  quota most[owner[j]];"
    single, gangs = (loop(cluster.text(roles + more), method) for more in ("", "workers 1;"))
    single.fast_replay = None  # type: ignore[attr-defined]
    one, other = single.run().world, gangs.run().world
    for name in ("first_start", "end", "done", "attained"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for mine, theirs in zip(vars(stretches_of(one)).values(), vars(stretches_of(other)).values(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one.ledger.totals == other.ledger.totals
    assert {k: v.tolist() for k, v in one.counts.items()} == {k: v.tolist() for k, v in other.counts.items()}


# --- charges, changes, failures --------------------------------------------------------------------------------------

TWO = Racks(
    [Node(0, 2, 99.0, 1.0), Node(0, 2, 99.0, 1.0), Node(1, 4, 99.0, 1.0)],
    [Gang(3, 1.0, 2.0, 0.0, 99.0), Gang(4, 1.0, 1.0, 0.0, 99.0), Gang(2, 1.0, 1.0, 0.5, 99.0)],
)


def test_charges_are_by_worker() -> None:
    world = run(TWO.text(), "Packed").world
    # j0 on the large node, j1 on the two small ones at 1.2 times its time; then j2 on one of them.
    assert world.ledger.jobs["execution"] == pytest.approx([3 * 2.0, 4 * 1.2, 2 * 1.0])
    assert world.ledger.places["execution"] == pytest.approx([2 * 1.2 + 2 * 1.0, 2 * 1.2, 3 * 2.0])
    assert world.attained == pytest.approx([6.0, 4.8, 2.0])
    assert world.gpu_time.sum() == pytest.approx(12.8)


def test_whole_nodes_are_shared_by_their_gangs() -> None:
    text = (
        TWO.text()
        .replace("costs 1[$/h];", "node_price 1[$/h];")
        .replace("OUTAGE", "")
        .replace("carry clock = now;", "carry clock = now;  charge nodes;")
    )
    world = run(text, "Packed").world
    assert world.ledger.totals["execution"] == pytest.approx(2.0 + 2 * 1.2 + 1.0)
    assert world.ledger.jobs["execution"] == pytest.approx([2.0, 2.4, 1.0])


def test_a_failing_node_halts_the_whole_gang() -> None:
    racks = Racks(
        [Node(0, 2, 99.0, 1.0, down=1.0), Node(0, 2, 99.0, 1.0, down=50.0), Node(1, 1, 99.0, 1.0, down=50.0)],
        [Gang(4, 1.0, 2.0, 0.0, 99.0), Gang(1, 1.0, 5.0, 0.0, 99.0)],
        outage=0.5,
    )
    world = run(racks.text(), "FIFO").world
    # 1 h of 2.4 h is done, 0.5 h nothing runs, 1 h more, the node fails again for 0.5 h, then 0.4 h are left.
    stays = [(s.start, s.end) for s in stays_of(world) if s.job == 0]
    assert stays == [pytest.approx((0.0, 1.0)), pytest.approx((1.5, 2.5)), pytest.approx((3.0, 3.4))]
    assert world.counts["halt"].tolist() == [2, 0]
    assert world.counts["resume"].tolist() == [2, 0]
    assert world.ledger.jobs["execution"] == pytest.approx([4 * 2.4, 5.0])


def test_changes_cost_once_for_a_gang() -> None:
    """A gang of two nodes that moves has one delay and one cost; each of its nodes is booted."""
    text = TWO.text().replace(
        "carry clock = now;",
        "carry clock = now;  on start delay 0.5[h] costs 3[$];  on boot delay 0.1[h] costs 0.25[$];",
    )
    world = run(text, "Packed").world
    assert world.end[:2] == pytest.approx([2.5, 1.7])
    assert world.ledger.totals["start"] == pytest.approx(9.0)
    assert world.ledger.jobs["boot"] == pytest.approx([0.25, 0.5, 0.25])
    assert world.boots == 4


class Listed:
    """A planner that returns given plans: workers by job and node."""

    name = "Listed"

    def __init__(self, *plans: dict[tuple[int, int], int]) -> None:
        self.plans = list(plans)

    def plan(self, request: PlanningRequest) -> Plan:
        chosen = self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]
        codes = np.array(list(chosen), dtype=np.int64).reshape(-1, 2).T
        return Plan({"worker": VariableValues(tuple(codes), np.array(list(chosen.values()), dtype=float))}, self.name)

    def fresh(self) -> Listed:
        return self

    def close(self) -> None:
        pass


def run_listed(*plans: dict[tuple[int, int], int], stop_after: int = 2) -> World:
    racks = Racks(
        [Node(0, 2, 99.0, 1.0), Node(0, 2, 99.0, 1.0), Node(1, 4, 99.0, 1.0)],
        [Gang(2, 1.0, 4.0, 0.0, 99.0), Gang(1, 1.0, 1.0, 0.5, 99.0)],
    )
    planned = loop(racks.text(), "FIFO")
    planned.planner, planned.examine = Listed(*plans), None
    planned.stop = lambda: len(planned.steps) >= stop_after
    planned.run()
    return planned.world


def test_moves_and_resizes_of_gangs() -> None:
    on_two, on_one = {(0, 0): 1, (0, 1): 1}, {(0, 0): 2}
    world = run_listed(on_two, on_two)
    assert (world.counts["migration"][0], world.counts["resize"][0]) == (0, 0)
    world = run_listed(on_two, on_one)
    assert (world.counts["migration"][0], world.counts["resize"][0]) == (1, 0)
    assert world.completions() == pytest.approx([0.5 + 4.0 * (1 - 0.5 / 4.8)])  # from 1.2 times to once its time
    world = run_listed(on_two, {(0, 0): 1, (0, 2): 1})
    assert (world.counts["migration"][0], world.counts["resize"][0]) == (1, 0)
    assert world.completions() == pytest.approx([0.5 + 6.0 * (1 - 0.5 / 4.8)])


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({(0, 0): 1}, "the plan runs 1 of 2 workers of the gang `j0`"),
        ({(0, 0): 2, (0, 2): 1}, "the plan runs 3 of 2 workers of the gang `j0`"),
    ],
)
def test_a_part_of_a_gang_ends_the_run(plan: dict[tuple[int, int], int], message: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        run_listed(plan)
    assert [(d.code, d.message) for d in raised.value.diagnostics] == [("GSM7011", message)]


# --- records and results ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["FIFO", pytest.param("LAS", marks=pytest.mark.slow)])
def test_a_recorded_run_resumes(method: str, tmp_path: Path) -> None:
    text = random_racks(3, outages=True).text()
    whole = loop(text, method, 60).run()

    def run_recorded(steps: int) -> RunOutcome:
        setup = loop(text, method, 60).setup.stateless()
        with Recorder(tmp_path / "run.db", setup, RunInfo(method, None, "S", {}, {}, {})) as recorder:
            recorded = loop_of(setup, journal=recorder.steps)
            recorded.stop = lambda: len(recorded.steps) >= steps
            outcome = recorded.run()
            recorder.close_with(outcome)
        return outcome

    stopped = run_recorded(4)
    assert 0 < len(stopped.steps) < len(whole.steps)
    resumed = run_recorded(10**6)
    assert [s.time for s in resumed.steps] == [s.time for s in whole.steps]
    for name in ("end", "first_start", "attained", "done"):
        np.testing.assert_array_equal(getattr(resumed.world, name), getattr(whole.world, name))
    assert stays_of(resumed.world) == stays_of(whole.world)


def test_a_live_run_reports_workers(tmp_path: Path) -> None:
    found = Diagnostics()
    workspace = workspace_from_text(TWO.text(), "racks.gsm", found)
    lines = [
        {"kind": "tick", "time": 0.0},
        {"kind": "node_down", "time": 0.6, "node": "n0"},
        {"kind": "completion", "time": 2.0, "job": "j0"},
        {"kind": "end", "time": 3.0},
    ]
    source, out = tmp_path / "events.jsonl", io.BytesIO()
    source.write_text("".join(json.dumps({"version": 1, "id": str(i), **line}) + "\n" for i, line in enumerate(lines)))
    assert run_live_loop(workspace, str(source), out, RunConfig(method="Packed"))
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    plans = [r["entries"]["worker"] for r in records if "entries" in r]
    by_plan = [{tuple(entry["index"]): entry["value"] for entry in plan} for plan in plans]
    assert by_plan[0] == {("j0", "n2"): 3.0, ("j1", "n0"): 2.0, ("j1", "n1"): 2.0}
    down = by_plan[-2]  # j1 has lost a node: all of it waits, and j2 takes the other one
    assert down == {("j0", "n2"): 3.0, ("j2", "n1"): 2.0}
    assert by_plan[-1] == {("j2", "n1"): 2.0, ("j1", "n2"): 4.0}


def test_tables_and_bound(tmp_path: Path) -> None:
    path = tmp_path / "racks.gsm"
    path.write_text(TWO.text())
    result = gs.load(path).run(method="Packed")
    jobs = {row["job"]: row for row in result.jobs.to_dicts()}
    assert (jobs["j1"]["node"], jobs["j1"]["gpus"], jobs["j1"]["running"]) == ("n0, n1", 4.0, pytest.approx(1.2))
    assert result.metrics["slowdown_mean"] == pytest.approx((1 + 1 + (2.2 - 0.5)) / 3)
    assert result.schedule.filter(result.schedule["job"] == "j1")["node"].to_list() == ["n0", "n1"]
    assert result.bound.value == pytest.approx(3 * 2.0 + 4 * 1.0 + 2 * 1.0)
    assert "jobs are gangs, with workers on several nodes" in result.event_by_event
    result.to_html(tmp_path / "run.html")
    assert "n0, n1" in (tmp_path / "run.html").read_text()


MODES = """
model Elastic {
  set Jobs;  set Nodes;  set Widths;
  param gpus[Nodes] integer;
  param size[Widths] integer;
  param slower[Widths];
  param length[Jobs] in h;
  param remaining[Jobs] default 1;
  param submitted[Jobs] in h;
  var worker[j in Jobs, w in Widths, n in Nodes where size[w] <= 8] integer >= 0 <= gpus[n];
  var runs[j in Jobs, w in Widths] binary;
  maximize running: sum[j in Jobs, w in Widths] runs[j, w];
  constraint once[j in Jobs]: sum[w in Widths] runs[j, w] <= 1;
  constraint all_or_none[j in Jobs, w in Widths where size[w] <= 8]:
    sum[n in Nodes] worker[j, w, n] == size[w] * runs[j, w];
  constraint room[n in Nodes]: sum[j in Jobs, w in Widths where size[w] <= 8] worker[j, w, n] <= gpus[n];
  placement worker[j, w, n] {
    job j;  node n;  mode w;  workers size[w];  uses 1 of gpus[n];
    lasts remaining[j] * length[j] * slower[w];  across_nodes 1.25;
  }
}
online Loop for Elastic { arrive j in Jobs at submitted[j];  carry remaining[j] = remaining[j]; }
scenario S for Elastic {
  table Nodes: gpus = a 4  b 4;
  table Widths: size slower = narrow 2 2  wide 8 1  huge 16 0.5;
  table Jobs: length[h] submitted[h] = first 2 0  second 1 0.5  third 1 0.5  last 1 6;
}
"""


@pytest.mark.parametrize("method", [pytest.param("FIFO", marks=pytest.mark.slow), "EASY"])
def test_widths_of_gangs(method: str) -> None:
    """A gang with several numbers of workers has the fastest one for which there is room."""
    world = run(MODES, method).world
    stays = {s.job: (round(s.start, 9), round(s.end, 9), s.workers) for s in stays_of(world)}
    assert stays == {
        0: (0.0, 2.5, {0: 4, 1: 4}),
        1: (2.5, 3.75, {0: 4, 1: 4}),
        2: (3.75, 5.0, {0: 4, 1: 4}),
        3: (6.0, 7.25, {0: 4, 1: 4}),
    }
    text = MODES.replace("first 2 0", "first 2 0  beside 3 0").replace("a 4  b 4", "a 4  b 2")
    world = run(text, method).world
    assert {s.job: s.workers for s in stays_of(world) if s.start == 0.0} == {0: {1: 2}, 1: {0: 2}}
    assert world.end[:2] == pytest.approx([4.0, 6.0])
