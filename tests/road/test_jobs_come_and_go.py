"""Re-solving capacity planning while jobs arrive and complete: `resolve` equals a cold start."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

import gpusched_dsl as gs

DATA = Path(__file__).parents[2] / "models" / "capacity_planning" / "data" / "synthetic"
SCENARIO = """
import "gsdsl:capacity_planning/patterns.gsm";
scenario Now extends AllPatterns {{
  Nodes = 1..{nodes};
  table Types: gpus price[$/h] = NC6 1 0.9  NC12 2 1.8  NC24 4 3.6  ND6 1 2.07  ND12 2 4.14  ND24 4 8.28;
  data "{stem}_jobs.csv" {{ Jobs = job; deadline[job] = deadline_h[h]; weight[job] = weight_usd_per_h[$/h]; }}
  data "{stem}_times.csv" {{ Runnable = (job, vm_type, gpus); exec_time[job, vm_type, gpus] = hours[h]; }}
}}
"""
GAP = 1e-7


class Cluster:
    """The tables of an instance, changed as jobs come and go."""

    def __init__(self, folder: Path, stem: str, seed: int) -> None:
        self.draw = random.Random(seed)
        self.jobs = pl.read_csv(DATA / f"{stem}_jobs.csv")
        self.times = pl.read_csv(DATA / f"{stem}_times.csv").filter(
            pl.col("vm_type").is_in(["NC6", "NC12", "NC24", "ND6", "ND12", "ND24"])
        )
        for name in ("jobs", "times"):
            getattr(self, name).write_csv(folder / f"{stem}_{name}.csv")
        self.arrived = 0

    def arrives(self) -> None:
        self.arrived += 1
        like, longer = self.draw.choice(self.jobs["job"].to_list()), self.draw.uniform(0.5, 2)
        name = pl.lit(f"new{self.arrived}")
        job = self.jobs.filter(pl.col("job") == like).with_columns(job=name, deadline_h=pl.col("deadline_h") * longer)
        times = self.times.filter(pl.col("job") == like).with_columns(job=name, hours=pl.col("hours") * longer)
        at = self.draw.randint(0, len(self.jobs))  # anywhere: the numbers of all behind it shift
        self.jobs = pl.concat([self.jobs[:at], job, self.jobs[at:]])
        self.times = pl.concat([times, self.times])

    def completes(self) -> None:
        gone = self.draw.choice(self.jobs["job"].to_list())
        self.jobs = self.jobs.filter(pl.col("job") != gone)
        self.times = self.times.filter(pl.col("job") != gone)

    def time_passes(self) -> None:
        self.jobs = self.jobs.with_columns(deadline_h=pl.col("deadline_h") - 1)

    def tell(self, model: gs.Model) -> None:
        model.set("Jobs", self.jobs["job"].to_list())
        model.set("deadline", self.jobs.select("job", "deadline_h"))
        model.set("weight", dict(zip(self.jobs["job"], self.jobs["weight_usd_per_h"], strict=True)))
        model.set("Runnable", self.times.select("job", "vm_type", "gpus"))
        model.set("exec_time", self.times.select("job", "vm_type", "gpus", "hours"))


def walk(folder: Path, stem: str, nodes: int, seed: int, steps: int, backend: str = "highs") -> list[gs.Result]:
    cluster = Cluster(folder, stem, seed)
    text = SCENARIO.format(nodes=nodes, stem=stem)
    model, cold = (gs.loads(text, base=folder) for _ in range(2))
    model.solve(backend=backend, gap=GAP)
    results = []
    for _ in range(steps):
        for event in cluster.draw.choices([cluster.arrives, cluster.completes, cluster.time_passes], k=2):
            event()
        cluster.tell(model)
        cluster.tell(cold)
        result, fresh = model.resolve(), cold.solve(backend=backend, gap=GAP)
        assert result.status == fresh.status == "optimal"
        assert result.objective == pytest.approx(fresh.objective, rel=1e-6)
        assert sorted(result.problem.variable("config").domain.label_columns()[0]) == sorted(cluster.times["job"])
        results.append(result)
    return results


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_jobs_come_and_go(seed: int, tmp_path: Path) -> None:
    results = walk(tmp_path, "azure6_2x20_seed1", 2, seed, 5)
    assert {r.rebuilt for r in results} == {None}
    assert "carried" in {r.solved.loading for r in results}


def test_jobs_come_and_go_with_a_backend_that_builds_anew(tmp_path: Path) -> None:
    results = walk(tmp_path, "azure6_1x10_seed2", 1, 3, 2, "scip")
    assert all("cannot change" in str(r.rebuilt) for r in results)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_many_jobs_come_and_go(nodes: int, seed: int, tmp_path: Path) -> None:
    walk(tmp_path, f"azure6_{nodes}x{10 * nodes}_seed{1 + seed % 3}", nodes, seed, 8)
