"""Traces of real clusters: the mean completion times of replays, computed again without them."""

from __future__ import annotations

import csv
import heapq
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from planned_runs import Ready, driven, planned, ready, replayed

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.online.replay.run import replay
from gpusched_dsl.online.replay.trace_reader import read_trace

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "models" / "trace_replay" / "data" / "philly" / "philly_sample.csv"
# Jobs with submit_time_s, num_gpus, duration_s.
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
HELIOS = Path(os.environ.get("GSDSL_HELIOS", SHARED / "helios" / "venus_sept2020_vcvGl.csv"))
PHILLY = Path(os.environ.get("GSDSL_PHILLY", ""))  # the job list that the sample was cut from
Row = tuple[float, int, float]  # submitted, GPUs, duration


def mean_completion(rows: list[Row], gpus: int, shortest_first: bool) -> float:
    """Of a strict queue on one pool, from one start to the next: no events, no heap of events, no groups."""
    left = sorted(range(len(rows)), key=lambda j: rows[j][0])
    running: list[tuple[float, int]] = []  # end, GPUs
    free, now, total = gpus, 0.0, 0.0
    waiting: list[tuple[float, int]] = []
    while left or waiting:
        if not waiting:
            now = max(now, rows[left[0]][0])
        while left and rows[left[0]][0] <= now:
            j = left.pop(0)
            heapq.heappush(waiting, (rows[j][2] if shortest_first else rows[j][0], j))
        while running and running[0][0] <= now:
            free += heapq.heappop(running)[1]
        j = waiting[0][1]
        if rows[j][1] <= free:
            heapq.heappop(waiting)
            free -= rows[j][1]
            heapq.heappush(running, (now + rows[j][2], rows[j][1]))
            total += now + rows[j][2] - rows[j][0]
        else:
            now = min([running[0][0], *(rows[k][0] for k in left[:1])])
    return total / len(rows)


def mean_of(given: Ready) -> float:
    trace = read_trace(given.policy, given.store, MemoryLimits(), given.submitted, driven(given).fractions).trace
    done = replay(trace)
    assert np.isfinite(done.end).all()
    return float((done.end - trace.submitted).mean())


def sample_text() -> str:
    return 'import "trace_replay/scenarios/philly_sample.gsm";\n'


def test_the_sample_is_what_its_readme_says(tmp_path: Path) -> None:
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        rows = [(int(r["submitted_s"]), int(r["gpus"]) * int(r["seconds"])) for r in csv.DictReader(file)]
    assert len(rows) == 257
    assert round(sum(work for _, work in rows) / max(at for at, _ in rows)) == 124
    if PHILLY.is_file():
        subprocess.run([sys.executable, SAMPLE.parent / "cut_philly.py", PHILLY, tmp_path], check=True, timeout=300)
        assert (tmp_path / SAMPLE.name).read_bytes() == SAMPLE.read_bytes()


@pytest.mark.parametrize(("policy", "shortest_first"), [("FIFO", False), ("SJF", True)])
def test_the_shipped_sample(policy: str, shortest_first: bool) -> None:
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        rows = [(float(r["submitted_s"]), int(r["gpus"]), float(r["seconds"])) for r in csv.DictReader(file)]
    given = ready(sample_text(), policy, "PhillyPool", ROOT / "models")
    expected = mean_completion(rows, 128, shortest_first) / 3600
    assert mean_of(given) == pytest.approx(expected, rel=1e-9)
    assert expected > 1.05 * sum(row[2] for row in rows) / len(rows) / 3600  # jobs do wait


@pytest.mark.slow
def test_the_shipped_sample_is_replayed_as_it_is_planned() -> None:
    given = ready(sample_text(), "Backfilling", "PhillyNodes", ROOT / "models")
    assert replayed(given) == planned(given)


@pytest.mark.skipif(not HELIOS.is_file(), reason="the sample is not there, and GSDSL_HELIOS names no file")
@pytest.mark.parametrize(("policy", "shortest_first"), [("FIFO", False), ("SJF", True)])
def test_a_virtual_cluster_of_helios(policy: str, shortest_first: bool, tmp_path: Path) -> None:
    with HELIOS.open(encoding="utf-8", newline="") as file:
        rows = [(float(r["submit_time_s"]), int(r["num_gpus"]), float(r["duration_s"])) for r in csv.DictReader(file)]
    rows = [row for row in rows if 1 <= row[1] <= 160 and row[2] > 0]
    with (tmp_path / "trace.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(("job", "submitted", "gpus", "seconds"))
        out.writerows((f"j{at}", *row) for at, row in enumerate(rows))
    text = """import "gsdsl:trace_replay/policies.gsm";
    scenario Run for TraceReplay {
      Nodes = { cluster };  gpus["cluster"] = 160;
      data "trace.csv" { Jobs = job; submitted[job] = submitted[s]; needs[job] = gpus; exec_time[job] = seconds[s]; }
    }
    """
    given = ready(text, policy, "Run", tmp_path)
    assert mean_of(given) == pytest.approx(mean_completion(rows, 160, shortest_first) / 3600, rel=1e-9)


@pytest.mark.slow
def test_arms_of_the_benchmark_do_the_same_work(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
        return done.stdout

    run("benchmarks.replay.data", str(tmp_path), "50000")
    arms = (("by_gsdsl", "FIFO", "interpreted"), ("by_python",), ("by_numba",), ("by_command", "FIFO"))
    facts = [
        json.loads(run("benchmarks.child", f"benchmarks.replay.{arm}", str(tmp_path), *rest).splitlines()[-1])["facts"]
        for arm, *rest in arms
    ]
    assert facts[0] == facts[1] == facts[2]
    assert facts[0]["waited"] > 0
    assert [told["finished"] for told in facts] == [50_000] * 4
