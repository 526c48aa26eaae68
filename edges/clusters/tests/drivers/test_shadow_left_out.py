"""The shadow report invents no savings: left-out work keeps its GPUs, and jobs run only where they may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drive_files import CLUSTER, MODEL, write_files
from simulated_cluster import EPOCH

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.comparison import ShadowComparison, compare_with_cluster
from gsdsl_clusters.drivers.drive import config_of
from gsdsl_clusters.drivers.history import HistoryWriter
from gsdsl_clusters.drivers.observed_jobs import ClusterHistory, Stay, read_history
from gsdsl_clusters.drivers.occupancy import Occupancy, gpu_hours
from gsdsl_clusters.drivers.protocol import JobState, Observation, ObservedJob, ObservedNode
from gsdsl_clusters.drivers.records import RecordFile, read_records
from gsdsl_clusters.drivers.settings import read_settings

HOUR = 3600.0
Line = dict[str, Any]
EXCLUDE = {"set": 0, "names": ["g1"]}


class Comment:
    fields = frozenset({"comment"})


def job(
    name: str, submitted: float, started: float, ended: float, nodes: dict[str, int], *, misfits: int | None = None,
    left_out: str = "", needs: int = 4,
) -> list[Line]:  # fmt: skip
    """The lines of a job that waits, runs and ends; times in hours."""
    values = {"submitted": submitted, "needs": needs, "exec_time": ended - started}
    about: Line = {"left_out": left_out} if left_out else {"values": values}
    if misfits is not None:
        about["misfits"] = misfits
    common = {"job": name, "submitted": EPOCH + submitted * HOUR, "restarts": 0}
    run = {**common, "started": EPOCH + started * HOUR}
    end = EPOCH + ended * HOUR
    return [
        {"at": EPOCH + submitted * HOUR, "state": "pending", "nodes": {}, "started": None, "ended": None, **common}
        | about,
        {"at": EPOCH + started * HOUR, "state": "running", "nodes": nodes, "ended": None, **run},
        {"at": end, "state": "done", "nodes": nodes, "ended": end, **run},
    ]  # fmt: skip


def compare(tmp_path: Path, history: ClusterHistory, *methods: str, **more: Any) -> ShadowComparison:
    settings, _ = read_settings(write_files(tmp_path, MODEL, CLUSTER), Comment())  # type: ignore[arg-type]
    found = Diagnostics()
    workspace = load_workspace(settings.model, found)
    found.raise_if_errors()
    return compare_with_cluster(workspace, config_of(settings), history, EPOCH, methods, **more)


def history_of(*lines: list[Line], types: dict[str, str] | None = None) -> ClusterHistory:
    flat = sorted((line for one in lines for line in one), key=lambda line: line["at"])
    first: list[Line] = [{"at": EPOCH, "types": types or {}}, {"at": EPOCH, **EXCLUDE}]
    return read_history([*first, *flat])


def wait(found: ShadowComparison, method: str) -> float:
    return float(found[method].metrics["queueing_mean"] or 0.0)


def test_a_job_that_had_to_wait_for_left_out_work_waits_in_every_row(tmp_path: Path) -> None:
    """A gang that the model does not know has both nodes for two hours; a job of one hour waits for it."""
    gang = job("gang", 0, 0, 2, {"g1": 4, "g2": 4}, left_out="it needs 2 nodes")
    found = compare(tmp_path, history_of(gang, job("a", 0, 2, 3, {"g1": 4})), "FIFO", "SJF")
    assert {method: wait(found, method) for method in ("cluster", "FIFO", "SJF")} == {
        "cluster": pytest.approx(2), "FIFO": pytest.approx(2), "SJF": pytest.approx(2),
    }  # fmt: skip
    assert (found.gpu_hours, found.hours_left_out) == (4.0, 16.0)
    lines = found.summary()
    assert (
        "left-out work has used 16 GPU hours, 80.0% of all; in every row it occupies the GPUs that it has occupied"
        in lines
    )
    assert lines[-1] == "more than 10% of the GPU hours are left out, so no method is called better"
    assert not any("saved" in line for line in lines)
    assert not any(row["best"] for row in json.loads(found.json_text())["rows"])
    alone = compare(tmp_path, history_of(job("a", 0, 2, 3, {"g1": 4})), "FIFO")
    assert wait(alone, "FIFO") == 0
    assert [row["best"] for row in json.loads(alone.json_text())["rows"]] == [False, True]


def test_a_part_of_a_node_is_taken(tmp_path: Path) -> None:
    """Two of four GPUs of both nodes are taken for an hour: a job of four waits, one of two does not."""
    arrays = [job(f"task{n}", 0, 0, 1, {f"g{n}": 2}, left_out="it is an array") for n in (1, 2)]
    large, small = job("large", 0, 1, 2, {"g1": 4}), job("small", 0.5, 0.5, 1, {"g2": 2}, needs=2)
    found = compare(tmp_path, history_of(*arrays, large, small), "Backfilling")
    assert wait(found, "Backfilling") == pytest.approx(wait(found, "cluster")) == pytest.approx(0.5)


@pytest.mark.parametrize(("checkpoints", "end"), [(False, 4.0), (True, 3.0)])
def test_left_out_work_takes_its_gpus_whatever_runs_there(tmp_path: Path, checkpoints: bool, end: float) -> None:
    """FIFO starts at once on the node that left-out work takes an hour later: the job is halted, and begins again."""
    both = job("gang", 1, 1, 2, {"g1": 4, "g2": 4}, left_out="it needs 2 nodes")
    found = compare(tmp_path, history_of(both, job("a", 0, 2, 4, {"g1": 4})), "FIFO", checkpoints=checkpoints)
    assert found.interruptions == {"cluster": 0, "FIFO": 1}
    assert "left-out work takes the GPUs of jobs of FIFO 1 time" in found.summary()
    assert float(found["FIFO"].metrics["jct_mean"] or 0.0) == pytest.approx(end)


def test_a_job_runs_only_where_its_demands_allow(tmp_path: Path) -> None:
    """Two jobs must not run on g1: one waits for the other, while a third has g1. Both would fit at once otherwise."""
    history = history_of(
        job("a", 0, 0, 1, {"g2": 4}, misfits=0), job("b", 0, 1, 2, {"g2": 4}, misfits=0), job("c", 0, 0, 1, {"g1": 4})
    )
    found = compare(tmp_path, history, "FIFO", "SJF", "Backfilling", "LargestFirst")
    for method in ("cluster", "FIFO", "SJF", "Backfilling", "LargestFirst"):
        assert wait(found, method) == pytest.approx(1 / 3), method
    assert [line for line in found.summary() if "cost" in line or "saved" in line] == [
        "FIFO would have cost the same", "SJF would have cost the same", "Backfilling would have cost the same",
        "LargestFirst would have cost the same",
    ]  # fmt: skip


def test_a_job_that_was_never_seen_waiting_keeps_the_type_of_its_gpus(tmp_path: Path) -> None:
    runs = [job("a", 0, 0, 1, {"g2": 4})[1:], job("b", 0, 1, 2, {"g2": 4})[1:]]
    for lines in runs:
        lines[0]["values"] = {"submitted": 0.0, "needs": 4, "exec_time": 1.0}
    other = compare(tmp_path, history_of(*runs, types={"g1": "a100", "g2": "h100"}), "FIFO")
    same = compare(tmp_path, history_of(*runs, types={"g1": "h100", "g2": "h100"}), "FIFO")
    assert wait(other, "FIFO") == pytest.approx(0.5)
    assert wait(same, "FIFO") == 0


def test_a_difference_within_rounding_is_none(tmp_path: Path) -> None:
    """A third of an hour has no exact value, and the sums of the two rows differ in their last digit."""
    lines = [job(f"j{n}", n / 7, n / 7, n / 7 + 1 / 3, {"g1": 1}, needs=1) for n in range(9)]
    found = compare(tmp_path, history_of(*lines), "FIFO")
    assert [line for line in found.summary() if line.startswith("FIFO")] == ["FIFO would have cost the same"]


def test_occupancy_against_each_second() -> None:
    """Random executions, counted at random times."""
    rng = np.random.default_rng(3)
    stays = []
    for _ in range(60):
        start = float(rng.integers(0, 50))
        stays.append(
            Stay(start, start + float(rng.integers(1, 20)), {f"g{rng.integers(0, 4)}": int(rng.integers(1, 5))})
        )
    found = Occupancy.of(stays, ("g0", "g1", "g2"), 10.0)
    for time in rng.uniform(10, 80, 200):
        expected = [
            sum(s.allocation.get(node, 0) for s in stays if s.start <= time < s.end and s.end > 10)
            for node in ("g0", "g1", "g2")
        ]
        at = int(np.searchsorted(found.times, time, side="right")) - 1
        assert (found.gpus[at] if at >= 0 else np.zeros(3)).tolist() == expected
    assert gpu_hours([Stay(0, 2 * HOUR, {"g1": 2, "g2": 1})], HOUR) == 3.0


def test_what_the_cluster_shows_no_more_is_free(tmp_path: Path) -> None:
    """A foreign pod is deleted while it runs; demands shrink to what excludes a node all the time, over restarts."""
    path = tmp_path / "cluster.jsonl"
    nodes = {name: ObservedNode(name, 4, gpu_type="h100") for name in ("g1", "g2")}

    def seen(*jobs: ObservedJob) -> Observation:
        return Observation({one.name: one for one in jobs}, nodes)

    def waiting(*misfits: str) -> ObservedJob:
        return ObservedJob("w", JobState.PENDING, 4, misfits=dict.fromkeys(misfits, "why"))

    foreign = ObservedJob("f", JobState.RUNNING, 4, allocation={"g1": 4}, started=1.0, unsupported="another scheduler")
    unread = ObservedJob("u", JobState.RUNNING, allocation={"g2": 4}, unsupported="no text", unread=True)
    for observations in (
        [(1.0, seen(foreign, waiting("g1", "g2"))), (5.0, seen(waiting("g1")))],
        [(6.0, seen(waiting("g1", "g2"))), (7.0, seen(foreign, waiting(), unread)), (9.0, seen(waiting("g1")))],
    ):
        record = RecordFile(path)
        writer = HistoryWriter(record, lambda job: {})
        for at, observation in observations:
            writer.write(observation, at)
        record.close()
        history = read_history(read_records(path))
        if at == 5.0:  # after the first part
            assert history.jobs["f"].executions(history.until) == [Stay(1.0, 5.0, {"g1": 4})]
            assert history.jobs["w"].misfits == frozenset({"g1"})
    assert history.jobs["f"].executions(20.0) == [Stay(1.0, 9.0, {"g1": 4})]
    assert history.jobs["u"].executions(20.0) == [Stay(7.0, 9.0, {"g2": 4})]
    assert history.jobs["w"].misfits == frozenset()
    assert history.types == {"g1": "h100", "g2": "h100"}


def test_a_job_that_starts_at_once_when_it_may_keeps_its_demands(tmp_path: Path) -> None:
    """A task of an array is blocked, and runs at the next look: the last nodes that it could not use still count."""
    record = RecordFile(tmp_path / "cluster.jsonl")
    nodes = {name: ObservedNode(name, 4, gpu_type="h100") for name in ("g1", "g2")}
    for at, state, misfits in (
        (1.0, JobState.BLOCKED, ("g1", "g2")), (2.0, JobState.BLOCKED, ()), (3.0, JobState.BLOCKED, ("g1",)),
        (4.0, JobState.RUNNING, ()),
    ):  # fmt: skip
        writer = HistoryWriter(record, lambda job: {})  # begun again each time
        task = ObservedJob("7_1", state, 4, misfits=dict.fromkeys(misfits, "why"))
        writer.write(Observation({"7_1": task}, nodes), at)
    record.close()
    assert read_history(read_records(tmp_path / "cluster.jsonl")).jobs["7_1"].misfits == frozenset({"g1"})
