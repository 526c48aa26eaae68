"""A synthetic day of a cluster that trains and serves: 20 nodes of four types, 30 training jobs, three services.

    python generate_instance.py [FOLDER]     # writes the shipped files again, byte for byte

Jobs and requests are drawn from `numpy.random.default_rng([SEED, stream])`, one stream for each; the prices are
those of prices.csv beside this script. README.md tells the source or rule of every number.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SEED = 1
JOB_STREAM, LOAD_STREAM = 0, 1

SLOT_MINUTES = 15
SLOTS = 96
JOBS = 30
NODES_OF_TYPE = 5

TYPES = ("GTX1060-3GB", "GTX1060-6GB", "RTX2060", "GTX1080")
SECONDS_PER_10_ITERATIONS = (42, 36, 15, 24)
LATENCY_SECONDS = (0.062, 0.055, 0.025, 0.028)
TRAIN_WATTS = (157, 157, 191, 208)
FULL_LOAD_WATTS = (62, 62, 86, 98)
BASE_WATTS = 65
IDLE_WATTS = 50
BOOT_USD, RESTART_USD = 0.002, 0.0005

MODELS = ("ResNet152", "VGG19", "InceptionV3")
FACTOR = (1.25, 1.05, 0.70)
SHARE_OF_LOAD = (0.40, 0.25, 0.35)
LATENCY_BOUND_SECONDS = 0.2
REQUESTS_PER_MINUTE = 12_500  # mean over the day; the paper's 100,000 for 160 nodes

ITERATIONS_PER_EPOCH = 400
MEDIAN_EPOCHS, EPOCHS_DEVIATION, EPOCHS_RANGE = 10, 0.5, (2, 35)  # a quarter of those for a week
MEAN_SLACK, SLACK_DEVIATION, LEAST_SLACK = 1.0, 0.15, 0.05
LOAD_NOISE = 0.05


@dataclass(frozen=True)
class Job:
    name: str
    model: int
    arrives: int
    due: int
    epochs: int


def minutes_per_epoch(model: int, kind: int) -> float:
    return SECONDS_PER_10_ITERATIONS[kind] / 10 * ITERATIONS_PER_EPOCH / 60 * FACTOR[model]


def requests_served_per_minute(model: int, kind: int) -> float:
    return 60 / (LATENCY_SECONDS[kind] * FACTOR[model])


def slots_needed(model: int, kind: int, epochs: int) -> int:
    return math.ceil(epochs * minutes_per_epoch(model, kind) / SLOT_MINUTES - 1e-9)


def draw_jobs(seed: int = SEED) -> list[Job]:
    """The jobs, in the order in which they were drawn."""
    rng = np.random.default_rng([seed, JOB_STREAM])
    drawn: list[Job] = []
    for number in range(1, JOBS + 1):
        model = int(rng.integers(len(MODELS)))
        epochs = int(np.clip(math.floor(MEDIAN_EPOCHS * math.exp(EPOCHS_DEVIATION * rng.normal())), *EPOCHS_RANGE))
        slack = max(LEAST_SLACK, float(rng.normal(MEAN_SLACK, SLACK_DEVIATION)))
        fastest = min(slots_needed(model, kind, epochs) for kind in range(len(TYPES)))
        window = math.ceil(fastest * (1 + slack))
        arrives = int(rng.integers(SLOTS - window))
        drawn.append(Job(f"{MODELS[model]}-{number}", model, arrives, arrives + window - 1, epochs))
    return drawn


def draw_load(seed: int = SEED) -> list[list[int]]:
    """Requests per minute of each model in each slot: a day's wave, least at 2:00, with some noise."""
    rng = np.random.default_rng([seed, LOAD_STREAM])
    hours = (np.arange(SLOTS) + 0.5) * SLOT_MINUTES / 60
    shape = 1 + 0.35 * np.sin(2 * np.pi * (hours - 8) / 24)
    noise = 1 + LOAD_NOISE * rng.uniform(-1, 1, (len(MODELS), SLOTS))
    rates = REQUESTS_PER_MINUTE * np.array(SHARE_OF_LOAD)[:, None] * shape * noise
    return [[round(rate) for rate in row] for row in rates.tolist()]


def write(path: Path, header: str, rows: Iterable[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header.split())
        writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows)


def main(folder: Path) -> None:
    with (HERE / "prices.csv").open(encoding="utf-8", newline="") as file:
        hourly = {int(row["hour"]): float(row["usd_per_mwh"]) for row in csv.DictReader(file)}
    per_hour = 60 // SLOT_MINUTES
    write(folder / "slots.csv", "slot usd_per_mwh", ((h, f"{hourly[h // per_hour]:.10g}") for h in range(SLOTS)))
    kinds = range(len(TYPES))
    write(
        folder / "nodes.csv",
        "node node_type",
        ((f"n{kind * NODES_OF_TYPE + n + 1}", TYPES[kind]) for kind in kinds for n in range(NODES_OF_TYPE)),
    )
    write(folder / "types.csv", "node_type idle_w boot_usd", ((kind, IDLE_WATTS, BOOT_USD) for kind in TYPES))
    jobs = draw_jobs()
    write(
        folder / "jobs.csv",
        "job arrives due epochs",
        ((job.name, job.arrives, job.due, job.epochs) for job in jobs),
    )
    write(
        folder / "training.csv",
        "job node_type minutes_per_epoch power_w restart_usd",
        (
            (job.name, TYPES[kind], minutes_per_epoch(job.model, kind), TRAIN_WATTS[kind], RESTART_USD)
            for job in jobs
            for kind in kinds
        ),
    )
    write(folder / "services.csv", "service latency_bound_s", ((name, LATENCY_BOUND_SECONDS) for name in MODELS))
    rate = requests_served_per_minute
    write(
        folder / "serving.csv",
        "service node_type requests_per_min base_w w_per_request_per_min",
        (
            (name, TYPES[kind], rate(model, kind), BASE_WATTS, FULL_LOAD_WATTS[kind] / rate(model, kind))
            for model, name in enumerate(MODELS)
            for kind in kinds
        ),
    )
    load = draw_load()
    write(
        folder / "load.csv",
        "service slot requests_per_min",
        ((name, h, load[model][h]) for model, name in enumerate(MODELS) for h in range(SLOTS)),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
