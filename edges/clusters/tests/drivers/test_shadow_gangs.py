"""The shadow report of gangs, types, arrays and dependencies: the cluster could have done what each row does."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drive_files import write_files
from plain_schedule import Facts, Run, broken, fifo, runs_of
from simulated_cluster import EPOCH

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.comparison import ShadowComparison, compare_with_cluster
from gsdsl_clusters.drivers.drive import config_of
from gsdsl_clusters.drivers.observed_jobs import read_history
from gsdsl_clusters.drivers.settings import read_settings

MODEL = """import "gsdsl:cluster/online.gsm";
scenario Cluster for Cluster "Two types of nodes" {
  Types = { a100, v100 };
  Requests = { any_type, a100, v100 };
  Teams = { vision };
  Racks = { A };
  Demands = { no_demand };
  Windows = {};
  table Nodes: rack node_type gpus = a1 A a100 4  a2 A a100 4  a3 A a100 4  v1 A v100 4  v2 A v100 4;
  Jobs = {};
}
"""
CLUSTER = """driver = "simulated"
model = "cluster.gsm"
online = "ClusterOverTime"
method = "EASY"

[jobs]
submitted = "submitted"
needs = "gpus"
workers = { field = "nodes_wanted", default = 1 }
team = { value = "vision" }
exec_time = { field = "comment", match = "length=([0-9.]+)", unit = "s" }
"""
NODES = ("a1", "a2", "a3", "v1", "v2")
GPUS = dict.fromkeys(NODES, 4)
METHODS = ("EASY", "FIFO", "Backfilling", "SlurmFairShare")


class Fields:
    fields = frozenset({"comment", "nodes_wanted"})


def draw(seed: int) -> list[Facts]:
    """Jobs; the model knows neither the nodes that suit them, nor arrays and dependencies."""
    rng, jobs = random.Random(seed), list[Facts]()
    for number in range(14):
        allowed = rng.choice([NODES, NODES, NODES[:3], NODES[3:], NODES[1:], ("a2", "v1", "v2")])
        before = rng.choice(jobs) if jobs and rng.random() < 0.3 else None
        after, least = ((), 0.0) if before is None else ((before.name,), before.arrival)
        array, limit = ("x", 2) if rng.random() < 0.4 and not after else ("", 0)
        jobs.append(Facts(
            f"j{number}", rng.randint(1, 4), rng.randint(1, min(3, len(allowed))), frozenset(allowed),
            max(least, float(rng.randint(0, 30))), float(rng.randint(1, 20)), after, array, limit,
        ))  # fmt: skip
    return sorted(jobs, key=lambda job: job.arrival)


def history_lines(jobs: list[Facts], runs: dict[str, Run]) -> list[dict[str, Any]]:
    """What the driver writes about them."""
    lines: list[dict[str, Any]] = [{"at": EPOCH, "types": {n: "a100" if n[0] == "a" else "v100" for n in NODES}}]
    for number, job in enumerate(jobs):
        run, common = runs[job.name], {"job": job.name, "submitted": EPOCH + job.arrival, "restarts": 0}
        needs, hours = job.gpus * job.nodes, job.length / 3600
        values = {"submitted": 0.0, "needs": needs, "workers": job.nodes, "team": "vision", "exec_time": hours}
        lines.append({"at": EPOCH + job.arrival, "set": number, "names": sorted(set(NODES) - job.allowed)})
        lines.append({
            **common, "at": EPOCH + job.arrival, "state": "pending", "nodes": {}, "started": None, "ended": None,
            "values": values, "misfits": number, "after": list(job.after), "array": job.array, "limit": job.limit,
        })  # fmt: skip
        began = {**common, "nodes": dict(run.places), "started": EPOCH + run.start}
        lines.append({**began, "at": EPOCH + run.start, "state": "running", "ended": None})
        lines.append({**began, "at": EPOCH + run.end, "state": "done", "ended": EPOCH + run.end})
    return sorted(lines, key=lambda line: line["at"])


def compare(folder: Path, jobs: list[Facts], runs: dict[str, Run], *methods: str) -> ShadowComparison:
    settings, _ = read_settings(write_files(folder, MODEL, CLUSTER), Fields())  # type: ignore[arg-type]
    found = Diagnostics()
    workspace = load_workspace(settings.model, found)
    found.raise_if_errors()
    history = read_history(history_lines(jobs, runs))
    return compare_with_cluster(workspace, config_of(settings), history, EPOCH, methods)


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(12))
def test_the_cluster_could_have_done_what_each_row_does(tmp_path: Path, seed: int) -> None:
    jobs = draw(seed)
    runs = fifo(jobs, GPUS)
    assert list(broken(jobs, runs, GPUS)) == []
    found = compare(tmp_path, jobs, runs, *METHODS)
    for row in found.rows:
        assert row.result is not None, row
        assert row.result.ended == "finished", row.method
        schedule = runs_of(row.result.schedule.to_dicts())
        assert list(broken(jobs, schedule, GPUS)) == [], row.method
        mean = sum(schedule[job.name].end - job.arrival for job in jobs) / len(jobs)
        assert float(row.result.metrics["jct_mean"] or 0.0) * 3600 == pytest.approx(mean), row.method
        if row.method == "cluster":
            assert mean == pytest.approx(sum(runs[job.name].end - job.arrival for job in jobs) / len(jobs))


def test_a_job_that_no_plan_starts_ends_the_row(tmp_path: Path) -> None:
    """The cluster ran it on two nodes that have fewer GPUs in the model: a week after that, the method gives up."""
    wide = Facts("wide", 4, 2, frozenset({"v1", "v2"}), 0.0, 10.0)
    tight = MODEL.replace("v2 A v100 4", "v2 A v100 2")
    other = replace(wide, name="other", gpus=1, nodes=1)
    runs = {"wide": Run(0.0, 10.0, {"v1": 4, "v2": 4}), "other": Run(10.0, 20.0, {"v1": 1})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "MODEL", tight)
        found = compare(tmp_path, [wide, other], runs, "Backfilling")
    result = found["Backfilling"]
    assert result.ended == "stuck"
    assert [finding.code for finding in result.warnings] == ["GSM7005"]
    assert float(result.metrics["makespan"] or 0.0) < 24 * 8
    assert not any(line.startswith("Backfilling would") for line in found.summary())
