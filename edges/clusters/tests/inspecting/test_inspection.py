"""The look at a cluster: its tables against plain sums over the jobs, and its text."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from made_history import made_history

from gsdsl_clusters.inspecting import starts
from gsdsl_clusters.inspecting.blocking import blocking_jobs
from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.load import load_by, load_by_type
from gsdsl_clusters.inspecting.other_queues import compare_queues
from gsdsl_clusters.inspecting.queue_simulation import QueueRule
from gsdsl_clusters.inspecting.reasons import waiting_reasons
from gsdsl_clusters.inspecting.snapshot import (
    JOB_COLUMNS,
    LIMIT_COLUMNS,
    NODE_COLUMNS,
    RESERVATION_COLUMNS,
    ClusterSnapshot,
    frame,
)
from gsdsl_clusters.inspecting.starts import QueueOrder
from gsdsl_clusters.inspecting.times import SnapshotClock
from gsdsl_clusters.inspecting.unused import unused_gpus
from gsdsl_clusters.inspecting.what_if import what_if

EASY = QueueOrder(False, QueueRule.EASY)


@pytest.fixture(scope="module")
def history() -> ClusterSnapshot:
    return made_history(3, jobs=300, nodes=3)


@pytest.fixture(autouse=True)
def few_futures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the starts these tests read no times: few drawn futures do."""
    monkeypatch.setattr(starts, "MOST_DRAWS", starts.LEAST_DRAWS)


def test_load_equals_sums_over_jobs(history: ClusterSnapshot) -> None:
    used = 0
    teams: dict[str, list[float]] = defaultdict(lambda: [0.0] * 6)
    for job in history.jobs.iter_rows(named=True):
        total, own = job["gpus"] * job["nodes"], teams[job["team"]]
        if job["state"] == "running":
            used += total
            own[0] += 1
            own[1] += total
        if job["state"] == "waiting":
            own[2] += 1
        else:
            own[3] += total * job["duration"] / 3600
            own[4] += job["started"] - job["submitted"]
            own[5] += 1
    [row] = load_by_type(history).to_dicts()
    assert (row["nodes"], row["gpus"], row["used"], row["free"]) == (3, 24, used, 24 - used)
    for row in load_by(history).to_dicts():
        own = teams[row["team"]]
        assert (row["running"], row["gpus"], row["waiting"]) == tuple(own[:3])
        assert row["gpu_hours"] == pytest.approx(own[3])
        assert row["mean_wait"] == pytest.approx(own[4] / own[5])


def test_the_own_queue_in_the_simulation_has_the_waits_of_the_cluster(history: ClusterSnapshot) -> None:
    found = compare_queues(history, EASY)
    assert found is not None
    assert found.real is not None
    assert found.explains
    assert found.own.mean_wait == pytest.approx(found.real.mean_wait, rel=0.05)
    strict = next(each for each in found.others if each.name == "first come, first served")
    assert strict.mean_wait > found.own.mean_wait
    waits = history.jobs.filter(history.jobs["started"].is_not_null())
    assert found.real.mean_wait == pytest.approx(waits.select(pl.mean("started") - pl.mean("submitted")).item())


def test_hidden_rules_of_a_cluster_are_noticed(history: ClusterSnapshot) -> None:
    later = history.jobs.with_columns(started=pl.col("started") + 7200.0, ended=pl.col("ended") + 7200.0)
    found = compare_queues(replace(history, jobs=later), EASY)
    assert found is not None
    assert not found.explains


def test_one_more_node_shortens_waits(history: ClusterSnapshot) -> None:
    now, more = what_if(history, EASY)
    assert more.text == "one more node of type a100"
    assert more.mean_wait < now.mean_wait


def test_unused_hours_equal_a_sum_over_minutes(history: ClusterSnapshot) -> None:
    found = unused_gpus(history)
    assert found is not None
    ran = history.jobs.filter(history.jobs["started"].is_not_null())
    first = min(ran["started"].to_list()) // 3600 * 3600
    count = int((history.now - first) // 3600)
    minutes = first + 30.0 + 60.0 * np.arange(60 * count)
    busy = np.zeros(len(minutes))
    for job in ran.iter_rows(named=True):
        end = history.now if job["ended"] is None else job["ended"]
        busy[(minutes >= job["started"]) & (minutes < end)] += job["gpus"] * job["nodes"]
    hour = (minutes // 3600).astype(np.int64) % 24
    expected = [float((24 - busy[hour == each]).mean()) for each in range(24)]
    np.testing.assert_allclose(found.unused, expected, atol=0.1)
    assert found.hours == pytest.approx(sum(expected), abs=0.5)


def test_reasons_name_needs_those_ahead_and_limits(history: ClusterSnapshot) -> None:
    found = waiting_reasons(history, EASY)
    waiting = history.jobs.filter(history.jobs["state"] == "waiting").sort("submitted")
    assert [each.job for each in found] == waiting["job"].to_list()
    for place, (each, job) in enumerate(zip(found, waiting.iter_rows(named=True), strict=True)):
        assert each.reason is not None
        need = each.reason.needs[0]
        assert (need.amounts[0], need.workers) == (job["gpus"], job["nodes"])
        assert [ahead.job for ahead in each.reason.ahead] == waiting["job"].to_list()[:place][:50]
    limited = replace(history, limits=frame([{"scope": "user", "owner": "", "gpus": 1}], LIMIT_COLUMNS))
    notes = [note for each in waiting_reasons(limited, EASY) for note in each.notes]
    assert len(notes) == len(waiting)
    assert all("of at most 1 GPUs" in note for note in notes)


def test_text_and_document(history: ClusterSnapshot) -> None:
    found = inspect(history, price=2.0)
    text = str(found)
    used = load_by_type(history)["used"].sum()
    assert f"{used:.0f} of 24 GPUs are in use" in text
    assert "the queue: by submission, backfilling with a reservation" in " ".join(text.split())
    document = json.loads(found.json_text())
    assert len(document["starts"]) == history.jobs.filter(history.jobs["state"] == "waiting").height
    assert document["waiting"][0]["reason"]["needs"][0]["amounts"]["GPU"] > 0
    assert document["unused"]["price"] == 2.0


@pytest.mark.parametrize("prefix", ["", "a-long-name-of-a-team-in-a-large-company-"])
def test_every_line_has_at_most_80_columns(history: ClusterSnapshot, prefix: str) -> None:
    named = history.jobs.with_columns(
        pl.concat_str(pl.lit(prefix), "team").alias("team"), pl.concat_str(pl.lit(prefix), "user").alias("user")
    )
    lines = inspect(replace(history, jobs=named, notes=("a note " * 30,), unread=("what " * 40,))).lines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(f"{load_by_type(history)['used'].sum():.0f} of 24 GPUs are in use")


def test_running_jobs_that_block_equal_a_count_over_jobs(history: ClusterSnapshot) -> None:
    waiting = [j for j in history.jobs.iter_rows(named=True) if j["state"] == "waiting"]
    running = [j for j in history.jobs.iter_rows(named=True) if j["state"] == "running"]

    def has_room(job: dict[str, object], without: str) -> bool:
        free = dict.fromkeys(history.nodes["node"].to_list(), 8)
        for other in running:
            for node, gpus in zip(other["on_nodes"], other["on_gpus"], strict=True):
                free[node] -= gpus * (other["job"] != without)
        return sum(each >= job["gpus"] for each in free.values()) >= max(job["nodes"], 1)

    expected = {each["job"]: sum(has_room(j, each["job"]) and not has_room(j, "") for j in waiting) for each in running}
    found = blocking_jobs(history)
    assert found.height > 0
    assert dict(found.select("job", "blocks").iter_rows()) == {job: n for job, n in expected.items() if n}


def test_a_history_without_a_present_and_without_waits_has_short_text(history: ClusterSnapshot) -> None:
    ended = history.jobs.filter(pl.col("state") == "ended")
    at_once = ended.with_columns(pl.col("started").alias("submitted"))
    text = str(inspect(replace(history, jobs=at_once)))
    first = text.split("\n\n")[0]
    assert f"{ended.height} jobs in" in first
    assert "nobody waits" in first
    assert "in use" not in text
    assert "who waits" not in text
    assert "other queues" not in text


@pytest.mark.parametrize(
    ("days", "text"), [(0.1, "Mon 10:24"), (6, "Sun 08:00"), (7, "Mon 2023-11-20 08:00"), (-1, "Sun 2023-11-12 08:00")]
)
def test_dates_are_short_in_the_next_days(days: float, text: str) -> None:
    clock = SnapshotClock(1_699_862_400.0, "UTC", True)
    assert clock.short(clock.now + 86400 * days) == text


@pytest.mark.parametrize(("start", "noted"), [(-600.0, True), (1800.0, True), (7200.0, False), (-9000.0, False)])
def test_reservations_that_a_job_would_reach_are_named(history: ClusterSnapshot, start: float, noted: bool) -> None:
    reserved = frame(
        [
            {
                "reservation": "service",
                "nodes": ["n0", "n1"],
                "start": history.now + start,
                "end": history.now + start + 8e3,
            }
        ],
        RESERVATION_COLUMNS,
    )
    limited = history.jobs.with_columns(pl.lit(3600.0).alias("limit"))
    for each in waiting_reasons(replace(history, jobs=limited, reservations=reserved), EASY):
        text = "reserved before its limit would end: 2 of the 3 nodes that suit it, by service"
        assert (text in each.notes) == noted


def test_running_jobs_without_a_limit_or_past_it(history: ClusterSnapshot) -> None:
    for limit, text in ((None, "no limit"), (1.0, "past limit")):
        jobs = history.jobs.with_columns(pl.lit(limit, pl.Float64).alias("limit"))
        assert text in str(inspect(replace(history, jobs=jobs)))


def test_a_cluster_without_a_past_states_no_mean_wait(history: ClusterSnapshot) -> None:
    jobs = history.jobs.filter(pl.col("state") == "waiting")
    text = str(inspect(replace(history, jobs=jobs)))
    assert "how many waiting jobs start now" in text
    assert "mean wait of past jobs" not in text


@pytest.mark.parametrize(("start", "end", "free"), [(-1.0, 5.0, 6), (1.0, 5.0, 14), (-5.0, 0.0, 14), (0.0, 1.0, 6)])
def test_gpus_of_nodes_in_reservations_are_not_free(start: float, end: float, free: int) -> None:
    nodes = frame([{"node": name, "gpus": 8, "gpu_type": "a"} for name in ("n0", "n1")], NODE_COLUMNS)
    job = {"job": "1", "state": "running", "gpus": 2, "nodes": 1, "on_nodes": ["n1"], "on_gpus": [2], "started": 0.0}
    windows = [{"reservation": name, "nodes": ["n0"], "start": 100.0 + start, "end": 100.0 + end} for name in "rs"]
    tables = (frame([job], JOB_COLUMNS), frame(windows, RESERVATION_COLUMNS))
    [row] = load_by_type(ClusterSnapshot("made", 100.0, nodes, *tables)).to_dicts()
    assert (row["gpus"], row["used"], row["free"]) == (16, 2, free)
