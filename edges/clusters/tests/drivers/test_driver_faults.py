"""Faults between plan and cluster: afterwards journal, cluster and model agree, and every job has run once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drive_files import CLUSTER, run_driver, write_files
from found_codes import raises_code
from simulated_cluster import EPOCH, SimulatedCluster

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.journal.chain import unpack
from gsdsl_clusters.drivers import events
from gsdsl_clusters.drivers.drive import ACTIONS, JOURNAL
from gsdsl_clusters.drivers.protocol import Action, ActionKind, ActionRefused, ClusterUnavailable, JobState, Observation
from gsdsl_clusters.drivers.records import read_records

ROUNDS = 30


class Killed(BaseException):
    """The process ends here."""


def new_cluster(jobs: int = 6) -> SimulatedCluster:
    """Two nodes of four GPUs, and more jobs than fit at once."""
    cluster = SimulatedCluster({"g1": 4, "g2": 4})
    for number in range(1, jobs + 1):
        length = 12 + number
        cluster.submit(str(number), 2 + 2 * (number % 2), length, at=3 * number, comment=f"length={length}")
    return cluster


def events_of(path: Path) -> list[dict[str, Any]]:
    """The events in the journal; the run is over, so nobody else has it open."""
    connection = sqlite3.connect(path.parent / "shadow" / JOURNAL)
    rows = connection.execute("SELECT content FROM event ORDER BY seq").fetchall()
    connection.close()
    return [unpack(row[0])["content"] for row in rows]


def arrivals_of(events: list[dict[str, Any]]) -> list[str]:
    """The jobs of all arrivals, in order."""
    found: list[str] = []
    for event in events:
        if event["kind"] in ("arrival", "arrivals"):
            found += [one["job"] for one in event.get("jobs", [event])]
    return found


def check_agreement(path: Path, cluster: SimulatedCluster, lost: frozenset[str] = frozenset()) -> None:
    """Every job but the `lost` ones has run to its end, once but for the times that it was put back."""
    events = events_of(path)
    arrived, left = arrivals_of(events), [event["job"] for event in events if event.get("returns")]
    kinds = ("completion", "withdrawal")
    ended = [event["job"] for event in events if event["kind"] in kinds and not event.get("returns")]
    assert set(arrived) == cluster.jobs.keys()
    assert all(arrived.count(name) <= 1 + left.count(name) for name in arrived)
    assert sorted(ended) == sorted(cluster.jobs.keys() - lost)
    for job in cluster.jobs.values():
        if job.name in lost:
            assert job.starts == 0
            continue
        assert job.state is JobState.DONE
        assert job.starts == job.restarts + 1
    assert not any(job.allocation for job in cluster.jobs.values())
    lines = list(read_records(path.parent / "shadow" / ACTIONS))
    begun = {line["n"] for line in lines if "action" in line}
    assert begun == {line["n"] for line in lines if "result" in line}


def run_killed(path: Path, cluster: SimulatedCluster, told: list[Diagnostic] | None = None) -> int:
    """Run until all jobs have ended, starting again after each kill; return the number of kills."""
    kills = 0
    while True:
        try:
            run_driver(path, cluster, ROUNDS, told=told)
            return kills
        except Killed:
            kills += 1


def test_without_faults(tmp_path: Path) -> None:
    cluster, path = new_cluster(), write_files(tmp_path)
    summary = run_driver(path, cluster, ROUNDS)
    check_agreement(path, cluster)
    assert (summary.changes, summary.left_out) == (6, {})
    assert [action.kind for action in cluster.actions] == [ActionKind.START] * 6
    assert all(action.reason.startswith("gsdsl step ") for action in cluster.actions)


@pytest.mark.quick(2)
@pytest.mark.parametrize("moment", ["before", "half", "after"])
@pytest.mark.parametrize("number", [1, 4])
def test_the_process_is_killed_at_an_action(moment: str, number: int, tmp_path: Path) -> None:
    cluster, path = new_cluster(), write_files(tmp_path)
    seen: list[Action] = []

    def fault(action: Action, when: str) -> None:
        if when == moment:
            seen.append(action)
            if len(seen) == number:
                raise Killed

    cluster.fault = fault
    assert run_killed(path, cluster) == 1
    check_agreement(path, cluster)
    unknown = [line for line in read_records(path.parent / "shadow" / ACTIONS) if line.get("result") == "unknown"]
    assert len(unknown) == 1


@pytest.mark.quick(1)
@pytest.mark.parametrize("moment", ["before", "half", "after"])
def test_the_cluster_does_not_answer_at_an_action(moment: str, tmp_path: Path) -> None:
    cluster, path = new_cluster(), write_files(tmp_path)
    seen: list[Action] = []

    def fault(action: Action, when: str) -> None:
        if when == moment:
            seen.append(action)
            if len(seen) == 2:
                raise ClusterUnavailable("timed out")

    cluster.fault = fault
    run_driver(path, cluster, ROUNDS)
    check_agreement(path, cluster)


def test_the_controller_restarts(tmp_path: Path) -> None:
    cluster, path, told = new_cluster(), write_files(tmp_path), list[Diagnostic]()

    def switch(down: bool) -> Callable[[], None]:
        return lambda: setattr(cluster, "down", down)

    cluster.at = [(EPOCH + 8, switch(True)), (EPOCH + 33, switch(False))]
    run_driver(path, cluster, ROUNDS, told=told)
    check_agreement(path, cluster)
    assert [d.code for d in told] == ["GSM5405", "GSM5405"]
    assert told[0].message == "the cluster cannot be observed: no answer"


class PreparedLate(SimulatedCluster):
    """A cluster that must be prepared, and answers this from some time on."""

    prepared = 0

    def prepare(self) -> None:
        if self.down:
            raise ClusterUnavailable("no answer")
        if self.refuse(Action(ActionKind.HOLD, "")) is not None:
            raise ActionRefused("not yours")
        self.prepared += 1


def test_the_cluster_does_not_answer_when_the_command_starts(tmp_path: Path) -> None:
    cluster, path, told = PreparedLate({"g1": 4, "g2": 4}), write_files(tmp_path), list[Diagnostic]()
    cluster.jobs, cluster.down = new_cluster().jobs, True
    cluster.at = [(EPOCH + 12, lambda: setattr(cluster, "down", False))]
    run_driver(path, cluster, ROUNDS, told=told)
    check_agreement(path, cluster)
    assert cluster.prepared == 1
    assert [(d.code, d.message) for d in told] == [("GSM5405", "the cluster cannot be prepared: no answer")]
    cluster.down = True
    with pytest.raises(DiagnosticError, match="cannot be prepared: no answer"):
        run_driver(path, cluster, 3)
    with pytest.raises(DiagnosticError, match="cannot be prepared: no answer"):
        run_driver(path, cluster, ROUNDS, stop=lambda: True)
    cluster.down, cluster.refuse = False, lambda action: "not yours"
    with pytest.raises(DiagnosticError, match="cannot be prepared: not yours") as refused:
        run_driver(path, cluster, ROUNDS)
    assert refused.value.diagnostics[0].code == "GSM5407"


@pytest.mark.slow
def test_an_action_is_refused_once(tmp_path: Path) -> None:
    cluster, path, told = new_cluster(), write_files(tmp_path), list[Diagnostic]()
    answers = iter(["try later"])
    cluster.refuse = lambda action: next(answers, None) if action.job == "2" else None
    run_driver(path, cluster, ROUNDS, told=told)
    check_agreement(path, cluster)
    assert [(d.code, d.message) for d in told] == [("GSM5407", "`start` of job `2` was refused: try later")]


def test_an_action_is_always_refused(tmp_path: Path) -> None:
    """Its GPUs go to others: the model does not wait for it for ever. Later it is tried again."""
    cluster, path, told = new_cluster(), write_files(tmp_path), list[Diagnostic]()
    cluster.refuse = lambda action: "not allowed" if action.job == "2" else None
    run_driver(path, cluster, ROUNDS, told=told)
    check_agreement(path, cluster, frozenset({"2"}))
    assert [(d.code, d.message) for d in told] == [("GSM5407", "`start` of job `2` was refused: not allowed")]
    refused = [line for line in read_records(path.parent / "shadow" / ACTIONS) if line.get("result") == "refused"]
    assert len(refused) == 3 * 2  # on each of two nodes
    cluster.refuse = lambda action: None
    cluster.time += 600.0
    run_driver(path, cluster, ROUNDS, told=told)
    check_agreement(path, cluster)


@pytest.mark.slow
def test_jobs_are_shown_late_or_not_for_a_while(tmp_path: Path) -> None:
    cluster, path = new_cluster(), write_files(tmp_path)
    cluster.at = [
        (EPOCH + 4, lambda: cluster.hidden.update({"1", "2"})),
        (EPOCH + 22, lambda: cluster.hidden.update({"4"})),
        (EPOCH + 13, lambda: cluster.hidden.clear()),
        (EPOCH + 27, lambda: cluster.hidden.clear()),
    ]
    run_driver(path, cluster, ROUNDS)
    check_agreement(path, cluster)


@pytest.mark.parametrize("late", [(3, 5, 8), (2, 3, 4, 9, 10), tuple(range(2, 30, 2))])
def test_the_cluster_shows_an_earlier_state_again(late: tuple[int, ...], tmp_path: Path) -> None:
    """As a cache would: what has happened since then comes late, and what had happened before comes twice."""
    cluster, path = new_cluster(), write_files(tmp_path)
    observe, shown = cluster.observe, list[Observation]()

    def from_a_cache() -> Observation:
        now = observe()
        shown.append(shown[-1] if len(shown) + 1 in late else now)
        return shown[-1]

    cluster.observe = from_a_cache  # type: ignore[method-assign]
    run_driver(path, cluster, 2 * ROUNDS)
    check_agreement(path, cluster)


@pytest.mark.slow
def test_the_end_of_a_job_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "FORGOTTEN_AFTER", 10)
    cluster, path = new_cluster(), write_files(tmp_path)
    cluster.forgets_ended = True
    run_driver(path, cluster, ROUNDS + 10)
    check_agreement(path, cluster)


@pytest.mark.quick(1)
@pytest.mark.parametrize("skew", [-7200.0, 7200.0])
def test_clocks_differ(skew: float, tmp_path: Path) -> None:
    cluster, path = new_cluster(), write_files(tmp_path)
    cluster.skew = skew
    run_driver(path, cluster, ROUNDS)
    check_agreement(path, cluster)


@pytest.mark.slow
def test_our_clock_is_set_back(tmp_path: Path) -> None:
    cluster, path = new_cluster(), write_files(tmp_path)
    run_driver(path, cluster, 3)
    for job in cluster.jobs.values():
        job.submitted -= 1000
        job.started = None if job.started is None else job.started - 1000
    cluster.time -= 1000
    run_driver(path, cluster, ROUNDS)
    check_agreement(path, cluster)


@pytest.mark.quick(1)
@pytest.mark.parametrize("vanishes", [False, True])
def test_a_node_fails_or_vanishes(vanishes: bool, tmp_path: Path) -> None:
    cluster, path = new_cluster(), write_files(tmp_path)
    node = cluster.nodes["g2"]

    def fail() -> None:
        cluster.fail("g2")
        if vanishes:
            cluster.nodes.pop("g2")

    def recover() -> None:
        cluster.nodes["g2"] = replace(node)

    cluster.at = [(EPOCH + 13, fail), (EPOCH + 50, recover)]
    run_driver(path, cluster, 2 * ROUNDS)
    check_agreement(path, cluster)
    assert sum(job.restarts for job in cluster.jobs.values()) > 0
    nodes = [(event["kind"], event["node"]) for event in events_of(path) if "node" in event]
    assert nodes == [("node_down", "g2"), ("node_up", "g2")]


@pytest.mark.slow
def test_a_node_fails_between_two_observations(tmp_path: Path) -> None:
    """Nobody sees that it was down, only that its job waits again."""
    cluster, path = new_cluster(), write_files(tmp_path)
    cluster.at = [(EPOCH + 16, lambda: (cluster.fail("g1"), cluster.recover("g1")))]
    run_driver(path, cluster, 2 * ROUNDS)
    check_agreement(path, cluster)
    assert any(event["kind"] == "progress" and event["fraction"] == 0 for event in events_of(path))


def test_one_of_many_jobs_does_not_fit_the_model(tmp_path: Path) -> None:
    """Jobs that arrive together are refused together; the one that does not fit is found in three observations."""
    cluster, path, told = SimulatedCluster({"g1": 4, "g2": 4}), write_files(tmp_path), list[Diagnostic]()
    for number in range(1, 61):
        cluster.submit(str(number), 4, 5, comment=f"length={0 if number == 17 else 5}")
    summary = run_driver(path, cluster, 4, told=told)
    assert list(summary.left_out) == ["17"]
    assert [diagnostic.code for diagnostic in told] == ["GSM5406"]
    assert sorted(arrivals_of(events_of(path)), key=int) == [str(n) for n in range(1, 61) if n != 17]


def test_refusals_are_no_changes(tmp_path: Path) -> None:
    """With a limit of three changes, three jobs start, however often another one is refused, also before a restart."""
    text = CLUSTER.replace("changes_per_hour = 1000", "changes_per_hour = 3")
    cluster, path = SimulatedCluster({"g1": 4, "g2": 4}), write_files(tmp_path, cluster=text)
    for number in range(1, 5):
        cluster.submit(str(number), 4, 12, comment="length=12")
    cluster.refuse = lambda action: "not allowed" if action.job == "1" else None
    run_driver(path, cluster, 2)
    run_driver(path, cluster, ROUNDS)
    assert {name for name, job in cluster.jobs.items() if job.starts} == {"2", "3", "4"}
    assert len(cluster.actions) == 3


PRICED = """import "gsdsl:trace_replay/priced.gsm";
policy PricedFIFO for PricedReplay "first in, first out" {
  order j in Jobs by submitted[j];
  place best_fit, new_node, wait;
  keep running;
}
scenario Cluster for PricedReplay {
  Types = { A };  Nodes = { g1, g2 };  node_type[n in Nodes] = A;  gpus[n in Nodes] = 4;  price[t in Types] = 1[$/h];
  Jobs = { };  Allowed = { };
}
online Live for PricedReplay {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}
"""


def test_identical_nodes_of_which_others_occupy_a_part(tmp_path: Path) -> None:
    """A model whose nodes must be equal still plans around the jobs of others."""
    text = CLUSTER.replace('"FIFO"', '"PricedFIFO"').replace(
        "[guard]",
        """deadline = { value = 1000 }
weight = { value = 1 }
Allowed = { value = "A" }

[guard]""",
    )
    cluster = SimulatedCluster({"g1": 4, "g2": 4})
    cluster.submit("9", 3, 30, held=False, comment="length=30")
    cluster.jobs["9"].pinned = ("g1",)
    cluster.sleep(1.0)
    for number in range(1, 4):
        cluster.submit(str(number), 2, 40, comment="length=40")
    path, told = write_files(tmp_path, PRICED, text), list[Diagnostic]()
    run_driver(path, cluster, ROUNDS, told=told)
    assert {job.state for job in cluster.jobs.values()} == {JobState.DONE}, told
    assert [list(cluster.jobs[name].ran_on) for name in "12"] == [["g2"], ["g2"]]


def test_somebody_else_starts_a_job(tmp_path: Path) -> None:
    """A job that the plan did not start keeps its GPUs, and nothing is started on them."""
    cluster, path, told = new_cluster(4), write_files(tmp_path), list[Diagnostic]()
    cluster.submit("9", 4, 40, held=False, comment="length=40")
    cluster.jobs["9"].pinned = ("g1",)
    summary = run_driver(path, cluster, ROUNDS, told=told)
    assert summary.left_out == {"9": "somebody else has started it"}
    assert "GSM5406" in {diagnostic.code for diagnostic in told}
    assert all(job.state is JobState.DONE and job.starts == 1 for job in cluster.jobs.values())
    started = min(job.started or 0.0 for job in cluster.jobs.values() if "g1" in job.ran_on and job.name != "9")
    assert started >= EPOCH + 40


def test_a_freeze_file_stops_all_actions(tmp_path: Path) -> None:
    cluster, path, told = new_cluster(), write_files(tmp_path), list[Diagnostic]()
    (tmp_path / "shadow").mkdir()
    freeze = tmp_path / "shadow" / "freeze"
    freeze.touch()
    run_driver(path, cluster, 6, told=told)
    assert (cluster.actions, [d.code for d in told]) == ([], ["GSM5410"])
    freeze.unlink()
    run_driver(path, cluster, ROUNDS)
    check_agreement(path, cluster)


@pytest.mark.slow
def test_the_number_of_changes_per_hour_is_limited(tmp_path: Path) -> None:
    """The limit holds over a restart of the process, and an hour later changes go on."""
    text = CLUSTER.replace("changes_per_hour = 1000", "changes_per_hour = 2")
    cluster, path, told = new_cluster(), write_files(tmp_path, cluster=text), list[Diagnostic]()
    run_driver(path, cluster, 20, told=told)
    run_driver(path, cluster, 20)
    assert len(cluster.actions) == 2
    assert told[0].message == "the limit of 2 changes per hour is reached; actions wait"
    for _ in range(2):
        cluster.time += 3600.0
        run_driver(path, cluster, 20)
    assert len(cluster.actions) == 6


def test_a_node_with_fewer_gpus_than_the_model_stops_all_actions(tmp_path: Path) -> None:
    cluster, path, told = new_cluster(), write_files(tmp_path), list[Diagnostic]()
    cluster.nodes["g1"] = replace(cluster.nodes["g1"], gpus=2)
    run_driver(path, cluster, 6, told=told)
    assert cluster.actions == []
    assert told[0].message == "the plan uses 4 GPUs of `g1`, which has 2"
    assert told[1].message == "no action is done: the plan uses 4 GPUs of `g1`, which has 2"
    assert told[0].code == "GSM5408"


def test_a_folder_of_the_other_mode_is_refused(tmp_path: Path) -> None:
    cluster, path = new_cluster(1), write_files(tmp_path)
    run_driver(path, cluster, 1, acts=False)
    with raises_code("GSM5409", "--act"):
        run_driver(path, cluster, 1)


def test_shadow_mode_changes_nothing(tmp_path: Path) -> None:
    cluster, path = new_cluster(), write_files(tmp_path)
    cluster.starts_by_itself = True
    for job in cluster.jobs.values():
        job.held = False
    summary = run_driver(path, cluster, ROUNDS, acts=False)
    assert cluster.actions == []
    assert {job.state for job in cluster.jobs.values()} == {JobState.DONE}
    assert summary.plans > 6
    lines = list(read_records(path.parent / "shadow" / ACTIONS))
    assert all(line["shadow"] for line in lines)
