"""Writes the data of the tracks, byte for byte the shipped ones, from the models' data and two public files.

    python make_data.py ELASTICFLOW_JOBS ELASTICFLOW_THROUGHPUTS SHOCKWAVE_JOBS

README.md names the files and their licences. Tracks keep copies of the models' data, so that they stay as they are.
"""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
MODELS = HERE.parents[3] / "models"
A100_PRICE = 32.7726 / 8  # $ per hour of a GPU: on-demand list price of AWS p4d.24xlarge
ELASTICFLOW_JOBS = 90  # of the smaller track
HEAVY_GAP = 8000  # seconds between arrivals on one node
Row = dict[str, str]


def read(file: Path) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write(name: str, columns: str, rows: list[tuple[object, ...]]) -> None:
    with (HERE / name).open("w", encoding="utf-8", newline="") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(columns.split())
        out.writerows(rows)


def number(value: float) -> str:
    return f"{value:.6g}"


def copies() -> None:
    traces = MODELS / "trace_replay" / "data"
    shutil.copy(traces / "philly" / "philly_sample.csv", HERE / "philly.csv")
    shutil.copy(traces / "helios" / "helios_sample.csv", HERE / "helios.csv")
    shutil.copy(traces / "openb" / "openb_pods.csv", HERE)
    shutil.copy(traces / "openb" / "openb_allowed.csv", HERE)


def gavel() -> None:
    """The forty jobs of the trace in the order of their arrival, gaps divided by 40: then they compete for nodes."""
    folder = MODELS / "capacity_planning" / "data" / "gavel"
    for name in ("times.csv", "vm_types.csv"):
        shutil.copy(folder / name, HERE / f"gavel_{name}")
    jobs = sorted(read(folder / "jobs.csv"), key=lambda row: float(row["arrival_s"]))
    first = float(jobs[0]["arrival_s"])
    rows: list[tuple[object, ...]] = []
    for row in jobs:
        came = (float(row["arrival_s"]) - first) / 3600 / 40
        due = came + float(row["deadline_h"])
        rows.append((row["job"], number(came), number(due), row["weight_usd_per_h"]))
    write("gavel_jobs.csv", "job submitted_h due_h weight_usd_per_h", rows)


def elasticflow(jobs_file: Path, speeds_file: Path, name: str, most: int | None) -> None:
    """The first jobs (None: all) with their due dates; times on 1, 2, 4 and 8 A100 by measured throughputs."""
    speeds = {
        (row["model"], row["global_batch_size"], row["num_gpus"]): float(row["iterations_per_s"])
        for row in read(speeds_file)
        if row["gpu_type"] == "A100"
    }
    source = sorted(read(jobs_file), key=lambda row: float(row["submission_time"]))[:most]
    first = float(source[0]["submission_time"])
    jobs: list[tuple[object, ...]] = []
    times: list[tuple[object, ...]] = []
    for place, row in enumerate(source, 1):
        job = f"{row['model_name']}-{place}"
        came, due = float(row["submission_time"]) - first, float(row["deadline"]) - first
        jobs.append((job, number(came), number(due), number(2 * A100_PRICE * int(row["num_gpu"]))))
        for gpus in ("1", "2", "4", "8"):
            speed = speeds.get((row["model_name"], row["batch_size"], gpus))
            if speed:
                times.append((job, "A100", gpus, number(float(row["num_iteration"]) / speed)))
    write(f"{name}_jobs.csv", "job submitted_s due_s weight_usd_per_h", jobs)
    write(f"{name}_times.csv", "job type gpus seconds", times)


def shockwave(file: Path) -> None:
    """Each hour of a job costs 1 $ divided by its run time in hours: the cost of a run is the sum of slowdowns."""
    rows: list[tuple[object, ...]] = []
    for place, row in enumerate(read(file), 1):
        seconds = float(row["duration_s"])
        name = f"{row['model']}-{place}"
        rows.append((name, number(float(row["arrival_s"])), row["num_gpus"], number(seconds), number(3600 / seconds)))
    write("shockwave.csv", "job submitted_s gpus seconds weight_usd_per_h", rows)


def heavy(nodes: int, seed: int) -> None:
    """Ten jobs for each node on the VM types of Azure, by the rule that README.md states."""
    draw = np.random.default_rng(seed)
    count = 10 * nodes
    base = 3600 * np.exp(draw.uniform(np.log(2), np.log(96), count))  # on one K80
    faster, power = draw.uniform(0.6, 1.1, count), draw.uniform(0.6, 0.95, count)
    came = np.concatenate([[0.0], draw.exponential(HEAVY_GAP / nodes, count - 1)]).cumsum()
    slack, weight = draw.uniform(1, 3, count), 3600 * 2 * draw.uniform(0.0015, 0.0075, count)
    gpus = np.arange(1, 5)
    times = base[:, None, None] * np.stack([np.ones(count), faster], axis=1)[:, :, None] / gpus ** power[:, None, None]
    due = came + slack * times.min(axis=(1, 2))
    names = [f"job{place}" for place in range(1, count + 1)]
    columns = (names, *([number(value) for value in each] for each in (came, due, weight)))
    write(f"heavy_{nodes}_jobs.csv", "job submitted_s due_s weight_usd_per_h", list(zip(*columns, strict=True)))
    types = (("NC6", 0, 1), ("NC12", 0, 2), ("NC24", 0, 4), ("NV6", 1, 1), ("NV12", 1, 2), ("NV24", 1, 4))
    rows: list[tuple[object, ...]] = [
        (name, vm_type, used, number(times[place, model, used - 1]))
        for place, name in enumerate(names)
        for vm_type, model, size in types
        for used in range(1, size + 1)
    ]
    write(f"heavy_{nodes}_times.csv", "job type gpus seconds", rows)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    copies()
    gavel()
    elasticflow(Path(sys.argv[1]), Path(sys.argv[2]), "elasticflow", ELASTICFLOW_JOBS)
    elasticflow(Path(sys.argv[1]), Path(sys.argv[2]), "elasticflow_all", None)
    heavy(10, seed=1)
    heavy(20, seed=1)
    shockwave(Path(sys.argv[3]))
