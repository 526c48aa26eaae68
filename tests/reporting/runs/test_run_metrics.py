"""Metrics of runs against a second computation in plain Python from the trace plan by plan."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from run_texts import THREE_JOBS, Watched, mean, percentile, ran, random_text

from gpusched_dsl.reporting.runs.metrics import METRICS
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.reporting.runs.series import costs_over_time, gpus_in_use, gpus_of_used_nodes, queue_length

GPUS = {0: 1, 1: 2, 2: 4}


@pytest.mark.parametrize(
    ("method", "total", "late", "ends"),
    [("FIFO", 7.3, 3.6, [4.0, 5.2, 6.2]), ("Greedy", 3.5, 0.0, [4.0, 3.0, 4.0])],
)
def test_the_worked_example(method: str, total: float, late: float, ends: list[float]) -> None:
    result, _ = ran(THREE_JOBS, method=method)
    assert result.ended == "finished"
    assert result.total == pytest.approx(total, abs=1e-9)
    assert result.costs == pytest.approx({"execution": total - late, "tardiness": late}, abs=1e-9)
    assert result.jobs["job"].to_list() == ["J1", "J2", "J3"]
    assert result.jobs["end"].to_list() == pytest.approx(ends)
    assert result.bound.value == pytest.approx(3.5)  # each job on one GPU of a half: 2 + 1 + 0.5
    assert result.gap == pytest.approx((total - 3.5) / total)
    assert (result.unit, result.money) == ("h", "$")


def test_figures_of_the_worked_example() -> None:
    """FIFO: J1 from 0 to 4 on A, J2 from 4 to 5.2, J3 from 5.2 to 6.2; due at 6, 3.4 and 9."""
    metrics = ran(THREE_JOBS, method="FIFO")[0].metrics
    expected = {
        "jobs": 3, "jobs_finished": 3, "jobs_late": 1, "late_share": 1 / 3, "tardiness_sum": 1.8, "tardiness_mean": 0.6,
        "tardiness_max": 1.8, "tardiness_cost": 3.6, "makespan": 6.2, "jct_mean": (4 + 4.2 + 5.2) / 3, "jct_p50": 4.2,
        "jct_max": 5.2, "queueing_mean": (0 + 3 + 4.2) / 3, "queueing_max": 4.2, "waiting_sum": 7.2,
        "gpu_hours": 4 + 2.4 + 1.0, "node_hours": 6.2, "utilisation": 1.0, "starts": 3, "resumes": 0, "migrations": 0,
        "halts": 0, "boots": 3, "plans": 7, "fallback_share": 0.0,
    }  # fmt: skip
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)
    assert metrics["cluster_utilisation"] is None  # a node may be rented as any type
    assert metrics["energy"] is None


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("online", ["EveryEvent", "Changing", "NoisyTimes"])
def test_against_an_account_plan_by_plan(seed: int, online: str) -> None:
    check(*ran(random_text(seed), online, seed=seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_against_an_account_plan_by_plan_many(seed: int) -> None:
    for method in ("Greedy", "EDF", "LocalSearch"):
        check(*ran(random_text(seed, jobs=20, nodes=3), ("EveryEvent", "Changing")[seed % 2], method, seed=seed))


def check(result: RunResult, watched: Watched) -> None:
    world = result.outcome.world
    arrival, end, due = world.arrival.tolist(), world.end.tolist(), world.due.tolist()
    jobs = range(len(arrival))
    assert result.ended == "finished"
    busy, gpu_time, kind_time = defaultdict(float), defaultdict(float), defaultdict(float)
    started: dict[int, float] = {}
    nexts = [t for t, _ in watched.plans[1:]] + [math.inf]
    for (time, where), until in zip(watched.plans, nexts, strict=True):
        nodes: dict[tuple[int, int], float] = {}
        for job, (place, kind, uses) in where.items():
            stop = min(until, end[job])
            started.setdefault(job, time)
            busy[job] += stop - time
            gpu_time[job] += uses * (stop - time)
            nodes[place, kind] = max(nodes.get((place, kind), 0.0), stop - time)
        for (_, kind), hours in nodes.items():
            kind_time[kind] += hours
    late = [max(0.0, end[j] - due[j]) for j in jobs]
    late = [x if x > 1e-9 * max(1.0, abs(d)) else 0.0 for x, d in zip(late, due, strict=True)]
    jct = [end[j] - arrival[j] for j in jobs]
    queueing = [started[j] - arrival[j] for j in jobs]
    waiting = [jct[j] - busy[j] for j in jobs]
    room = sum(hours * GPUS[kind] for kind, hours in kind_time.items())
    weights = world.weight.tolist()
    expected = {
        "total": sum(result.costs.values()),
        "jobs": len(arrival), "jobs_finished": len(arrival), "jobs_unfinished": 0, "jobs_overdue": 0,
        "jobs_late": sum(x > 0 for x in late), "late_share": sum(x > 0 for x in late) / len(late),
        "tardiness_sum": sum(late), "tardiness_mean": mean(late), "tardiness_max": max(late),
        "tardiness_cost": sum(w * x for w, x in zip(weights, late, strict=True)),
        "makespan": max(end) - min(arrival),
        "jct_mean": mean(jct), "jct_max": max(jct),
        **{f"jct_p{p}": percentile(jct, p) for p in (50, 90, 95, 99)},
        "queueing_mean": mean(queueing), "queueing_max": max(queueing),
        **{f"queueing_p{p}": percentile(queueing, p) for p in (50, 95)},
        "waiting_sum": sum(waiting), "waiting_mean": mean(waiting),
        "gpu_hours": sum(gpu_time.values()), "node_hours": sum(kind_time.values()),
        "utilisation": sum(gpu_time.values()) / room,
        "starts": len(arrival), "plans": len(watched.plans),
    }  # fmt: skip
    assert {name: result.metrics[name] for name in expected} == pytest.approx(expected, rel=1e-7, abs=1e-7)
    table = result.jobs
    assert table["running"].to_list() == pytest.approx([busy[j] for j in jobs])
    assert table["waiting"].to_list() == pytest.approx(waiting, abs=1e-7)
    assert table["gpu_time"].to_list() == pytest.approx([gpu_time[j] for j in jobs])
    assert table["start"].to_list() == pytest.approx([started[j] for j in jobs])
    assert table["tardiness"].to_list() == pytest.approx(late, abs=1e-7)
    assert table["cost"].sum() == pytest.approx(result.total)
    curves(result)


def curves(result: RunResult) -> None:
    """Areas under the curves are the sums, and the schedule holds no two rows of a job at a time."""
    reading, hours = result.history, result.outcome.world.now
    waiting = queue_length(reading)
    assert waiting.mean * hours == pytest.approx(result.metrics["waiting_sum"], abs=1e-6)
    assert (waiting.values >= 0).all()
    assert waiting.values[-1] == 0
    assert gpus_in_use(reading).mean * hours == pytest.approx(result.metrics["gpu_hours"])
    room = gpus_of_used_nodes(reading)
    assert room is not None
    assert room.mean * hours == pytest.approx(result.metrics["gpu_hours"] / result.metrics["utilisation"])
    thin = room.thin_out(7)
    assert len(thin.times) <= max(7, 2)
    assert thin.mean == pytest.approx(room.mean)
    times, terms = costs_over_time(reading)
    assert {name: values[-1] for name, values in terms.items()} == pytest.approx(
        {name: result.costs.get(name, 0.0) for name in terms}
    )
    costs = sum(terms.values())
    assert (np.diff(costs) >= -1e-9).all()
    assert costs[-1] == pytest.approx(result.total)
    assert times[-1] == hours
    last: dict[str, float] = defaultdict(float)
    for row in result.schedule.iter_rows(named=True):
        assert row["start"] >= last[row["job"]] - 1e-9
        last[row["job"]] = row["end"]


def test_a_run_that_was_stopped() -> None:
    """What runs is told up to now; what is late of it cannot be known yet."""
    result, _ = ran(THREE_JOBS, method="FIFO", plans=3)
    assert result.ended == "interrupt"
    now = result.outcome.world.now
    assert now == 2.0  # J1 has begun at 0 and would run until 4
    metrics = result.metrics
    assert metrics["jobs_unfinished"] == metrics["jobs"] - metrics["jobs_finished"] > 0
    assert result.schedule.rows() == [("J1", "n1", "A", 1.0, 0.0, 2.0)]
    assert metrics["gpu_hours"] == 2.0
    assert result.bound.value is None
    assert "unfinished" in result.bound.how
    assert metrics["gpu_hours"] == pytest.approx(gpus_in_use(result.history).mean * now)
    assert queue_length(result.history).mean * now == pytest.approx(metrics["waiting_sum"])
    assert metrics["jobs_overdue"] == sum(d < now for d in (6, 3.4, 9))


def test_stated_rates_are_told_by_what_they_are() -> None:
    """Money by time is in the total, power by time is energy; both count while anything runs: here from 0 to 6.2 h."""
    text = (
        THREE_JOBS
        + """
    online Stated for CapacityPlanning extends EveryEvent {
      charge jobs;
      charge fee = 30[$/h];
      charge drawn = 500[W];
    }
    """
    )
    result, _ = ran(text, "Stated", "FIFO")
    assert result.costs == pytest.approx({"execution": 3.7, "tardiness": 3.6, "fee": 186.0})
    assert result.total == pytest.approx(193.3)
    assert list(result.quantities) == ["drawn"]
    assert result.metrics["energy"] == pytest.approx(3.1)
    assert result.unit_of("energy") == "kWh"
    assert result.bound.value is None


def test_every_figure_has_a_unit_and_a_meaning() -> None:
    result, _ = ran(THREE_JOBS)
    assert tuple(result.metrics) == tuple(METRICS)
    assert result.unit_of("total") == "$"
    assert result.unit_of("jct_p95") == "h"
    assert result.unit_of("utilisation") == result.unit_of("jobs") == ""
    assert result.unit_of("plan_seconds_p95") == "s"
    with pytest.raises(KeyError):
        result.unit_of("jct_p12")
    assert all(metric.means for metric in METRICS.values())
