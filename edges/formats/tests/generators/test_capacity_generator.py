"""Instances of capacity planning: published check values, the shipped files, and optima by way of the language."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from drawing import draw

import gpusched_dsl as gs

SHIPPED = Path(__file__).resolve().parents[4] / "models" / "capacity_planning" / "data" / "synthetic"


def test_check_values() -> None:
    jobs = draw("capacity_jobs", seed=1, nodes=2, jobs=20)
    first = jobs.head(4)
    assert first["application"].to_list() == ["DeepSpeech", "ResNet50", "AlexNet", "ResNet50"]
    assert first["framework"].to_list() == ["TensorFlow", "TensorFlow", "TensorFlow", "PyTorch"]
    assert first["submitted"].to_list() == pytest.approx([0, 0.040645, 0.042700, 0.048749], abs=1e-6)
    assert first["deadline"].to_list() == pytest.approx([19.595112, 1.385482, 9.647458, 7.499252], abs=1e-6)
    assert first["weight"].to_list() == pytest.approx([0.485979, 0.581962, 1.019519, 0.700240], abs=1e-6)
    assert jobs["weight"].sum() == pytest.approx(13.628554, abs=1e-6)
    assert jobs["submitted"][-1] == pytest.approx(0.194401, abs=1e-6)
    times = draw("capacity_times", seed=1, nodes=2, jobs=20)
    on_one = times.filter((pl.col("type") == "NC6") & (pl.col("gpus") == 1))["time"]
    assert on_one.head(4).to_list() == pytest.approx([6.356429, 16.983345, 5.030375, 3.397574], abs=1e-6)
    assert times.filter((pl.col("type") == "In-house server 2") & (pl.col("gpus") == 8))["time"][0] == pytest.approx(
        0.498124, abs=1e-6
    )


def test_by_the_calls_of_the_rule() -> None:
    """The words of the generator are what `integers(4)`, `integers(2)` and `random(4)` take, job by job."""
    rng = np.random.default_rng([7, 5, 500])
    jobs = draw("capacity_jobs", seed=7, nodes=5, jobs=500, interarrival=45.0)
    at = 0.0
    for number, row in enumerate(jobs.iter_rows(named=True)):
        application, framework = int(rng.integers(4)), int(rng.integers(2))
        u = rng.random(4)
        low, high = ((1, 8), (2, 16), (4, 24), (3, 20))[application]
        work = math.exp(math.log(low) + u[0] * (math.log(high) - math.log(low))) * (1.0, 1.1)[framework]
        at += 45 / 3600 * -math.log(1 - u[1]) if number else 0
        assert row["work"] == pytest.approx(work, rel=1e-12)
        assert row["submitted"] == pytest.approx(at, rel=1e-12)
        assert row["weight"] == pytest.approx(0.36 + 0.72 * u[3], rel=1e-12)


@pytest.mark.parametrize("catalogue", ["full9", "azure6"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_shipped_files(catalogue: str, seed: int) -> None:
    stem = SHIPPED / f"{catalogue}_4x40_seed{seed}"
    with stem.with_name(stem.name + "_jobs.csv").open(encoding="utf-8") as file:
        jobs = list(csv.DictReader(file))
    drawn = draw("capacity_jobs", seed=seed, catalogue=catalogue)
    assert drawn["application"].to_list() == [row["application"] for row in jobs]
    for column, name in (("deadline", "deadline_h"), ("weight", "weight_usd_per_h"), ("submitted", "arrival_h")):
        assert drawn[column].to_list() == pytest.approx([float(row[name]) for row in jobs], abs=1e-6), column
    with stem.with_name(stem.name + "_times.csv").open(encoding="utf-8") as file:
        times = list(csv.DictReader(file))
    hours = draw("capacity_times", seed=seed, catalogue=catalogue)
    assert hours["type"].to_list() == [row["vm_type"] for row in times]
    assert hours["gpus"].to_list() == [int(row["gpus"]) for row in times]
    assert hours["time"].to_list() == pytest.approx([float(row["hours"]) for row in times], abs=1e-6)


def test_weights_of_the_study_of_sharing() -> None:
    """The same place in the other range, and nothing else changes."""
    usual, other = draw("capacity_jobs", jobs=500), draw("capacity_jobs", jobs=500, weights="sharing")
    share = (usual["weight"] - 0.36) / (1.08 - 0.36)
    assert (other["weight"] / 3600).to_list() == pytest.approx((0.0254 + (0.0444 - 0.0254) * share).to_list())
    assert (other["postponed_weight"] / other["weight"]).to_list() == pytest.approx([100] * 500)
    assert other.drop("weight", "postponed_weight").equals(usual.drop("weight", "postponed_weight"))


def test_ranges() -> None:
    jobs, times = draw("capacity_jobs", jobs=2000), draw("capacity_times", jobs=2000)
    assert jobs["weight"].is_between(0.36, 1.08).all()
    shortest = times.group_by("job", maintain_order=True).agg(pl.col("time").min(), pl.col("time").max().alias("most"))
    assert (jobs["deadline"] >= shortest["time"]).all()
    assert (jobs["deadline"] <= 2 * shortest["most"]).all()
    assert jobs["submitted"].is_sorted()
    gaps = jobs["submitted"].diff().drop_nulls() * 3600
    assert abs(float(gaps.mean() or 0) - 30) < 4 * 30 / 1999**0.5  # type: ignore[arg-type]


TEXT = """\
import "gsdsl:capacity_planning/model.gsm";
scenario Drawn for CapacityPlanning {
  generate capacity_nodes (nodes = 2) { Nodes = node; }
  generate capacity_types (catalogue = full9) {
    Types = type;  gpus[type] = gpus;  price[type] = price;  family[type] = family;
  }
  generate capacity_jobs (seed = 1, nodes = 2, jobs = 20) {
    Jobs = job;  deadline[job] = deadline;  weight[job] = weight;
  }
  generate capacity_times (seed = 1, nodes = 2, jobs = 20) {
    Runnable = (job, type, gpus);  exec_time[job, type, gpus] = time;
  }
}
"""


def test_a_published_optimum_from_text() -> None:
    with gs.loads(TEXT) as model:
        result = model.solve("Drawn", gap=0.0)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(5.9370, abs=6e-5)
