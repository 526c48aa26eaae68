"""The guard rail for plans: a driver carries out no plan that violates the model, and says so."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from drive_files import CLUSTER, MODEL, run_driver, write_files
from simulated_cluster import SimulatedCluster

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.online.journal.chain import unpack
from gsdsl_clusters.drivers.drive import JOURNAL
from gsdsl_clusters.drivers.protocol import JobState

# The model asks that two jobs run where there are two; the policy lists one job alone.
DEMANDING = MODEL.replace(
    "scenario Cluster for TraceReplay",
    """model Demanding extends TraceReplay {
  constraint two: sum[j in Jobs, n in Nodes] run[j, n] >= min(2, count(Jobs));
}
policy Single for Demanding {
  order j in Jobs where exec_time[j] == min[i in Jobs] exec_time[i] by 1;
  place best_fit, new_node, wait;
  keep running;
}
scenario Cluster for Demanding""",
).replace("online Live for TraceReplay", "online Live for Demanding")
SINGLE = CLUSTER.replace('method = "FIFO"', 'method = "Single"')


def three_jobs() -> SimulatedCluster:
    cluster = SimulatedCluster({"g1": 4, "g2": 4})
    for number in range(1, 4):
        cluster.submit(str(number), 3, 20, at=0, comment=f"length={20 + number}")
    return cluster


def first_step(journal: Path) -> dict[str, Any]:
    """The first recorded step; the run is over, so nobody else has the journal open."""
    with closing(sqlite3.connect(journal)) as connection:
        [row] = connection.execute("SELECT content FROM step ORDER BY seq LIMIT 1").fetchall()
    decision: dict[str, Any] = unpack(row[0])["decision"]
    return decision


def most_in_use(path: Path, cluster: SimulatedCluster, rounds: int, told: list[Diagnostic]) -> tuple[int, int]:
    """The largest number of GPUs in use at an observation, and the broken plans."""
    used: list[int] = []
    note = lambda now: used.append(sum(sum(job.allocation.values()) for job in cluster.jobs.values()))  # noqa: E731
    summary = run_driver(path, cluster, rounds, told=told, on_observation=note)
    return max(used), summary.broken


def test_a_plan_that_breaks_a_row_is_not_carried_out(tmp_path: Path) -> None:
    cluster, path, told = three_jobs(), write_files(tmp_path, DEMANDING, SINGLE), list[Diagnostic]()
    used, broken = most_in_use(path, cluster, 4, told)
    assert (used, cluster.actions) == (0, [])
    assert broken >= 1
    [warning] = [diagnostic for diagnostic in told if diagnostic.code == "GSM5421"]
    assert "`two` is 1, at least 2; it is not carried out" in warning.message
    step = first_step(path.parent / "shadow" / JOURNAL)
    assert step["plan"]["method"] == "as before"
    assert step["plan"]["notes"] == ["violates the model, by `Single`: `two` is 1, at least 2"]


def test_the_fallback_plans_instead(tmp_path: Path) -> None:
    cluster, told = three_jobs(), list[Diagnostic]()
    path = write_files(tmp_path, DEMANDING, SINGLE.replace('"Single"', '"Single"\nfallback = "highs"'))
    used, broken = most_in_use(path, cluster, 20, told)
    assert used == 6
    assert broken == 0  # the plans of the fallback obey
    assert all(job.state is JobState.DONE for job in cluster.jobs.values())


def test_the_guard_rail_can_be_switched_off(tmp_path: Path) -> None:
    cluster, told = three_jobs(), list[Diagnostic]()
    path = write_files(tmp_path, DEMANDING, SINGLE + "obeys_model = false\n")
    used, broken = most_in_use(path, cluster, 4, told)
    assert used == 3
    assert broken >= 1
    assert any("it is carried out, as `obeys_model` is false" in diagnostic.message for diagnostic in told)
