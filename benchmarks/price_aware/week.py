"""Writes a week of a cluster at the size of the paper as CSV files, with a scenario that counts nodes by type.

    python -m benchmarks.price_aware.week FOLDER [--slack 0.5] [--jobs 280] [--nodes 40] [--slots 672] [--rate 100000]
                                                 [--seed 1] [--real]

Four types of `nodes` nodes, slots of 15 minutes, training jobs whose windows are `1 + slack` times their shortest time,
and requests of three services. The setting is that of the paper named in models/price_aware/inputs.gsm; its numbers
and the guesses beside them are told in models/price_aware/data/day/README.md. Jobs, requests and prices are drawn from
a stream each, so that the slack does not change the epochs of the jobs, nor the jobs the prices. With `real` the prices
are those of nyiso_central.csv beside this file (see README.md there), which begins on 1 June 2018 and has a week.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent

SLOT_MINUTES = 15
PER_HOUR = 60 // SLOT_MINUTES

TYPES = ("GTX1060-3GB", "GTX1060-6GB", "RTX2060", "GTX1080")
SECONDS_PER_10_ITERATIONS = (42, 36, 15, 24)
LATENCY_SECONDS = (0.062, 0.055, 0.025, 0.028)
TRAIN_WATTS = (157, 157, 191, 208)
FULL_LOAD_WATTS = (62, 62, 86, 98)
BASE_WATTS, IDLE_WATTS = 65, 50
BOOT_USD, RESTART_USD = 0.002, 0.0005

MODELS = ("ResNet152", "VGG19", "InceptionV3")
FACTOR = (1.25, 1.05, 0.70)
SHARE_OF_LOAD = (0.40, 0.25, 0.35)
LATENCY_BOUND_SECONDS = 0.2

ITERATIONS_PER_EPOCH = 400
MEDIAN_EPOCHS, EPOCHS_DEVIATION, EPOCHS_RANGE = 40, 0.5, (8, 140)
SLACK_DEVIATION, LEAST_SLACK = 0.15, 0.05  # the deviation is relative: 7.5 % where the mean is 50 %


class Stream(IntEnum):
    """What is drawn from which stream of random numbers."""

    JOBS = 0
    PRICES = 1
    SLACK = 2


@dataclass(frozen=True)
class Week:
    """What an instance is made of."""

    slack: float = 0.5
    jobs: int = 280
    nodes: int = 40  # of each type
    slots: int = 672
    rate: float = 100_000.0  # requests a minute of all services together, mean over the day
    seed: int = 1
    real: bool = False


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


def draw_jobs(week: Week) -> list[Job]:
    """The jobs in the order in which they were drawn.

    In a short horizon they are cut so that the shortest time of each is at most `1 / (2 + slack)` of it, and windows
    end with it; a week has room for all.
    """
    rng = np.random.default_rng([week.seed, Stream.JOBS])
    slacks = np.random.default_rng([week.seed, Stream.SLACK])
    drawn: list[Job] = []
    for number in range(1, week.jobs + 1):
        model = int(rng.integers(len(MODELS)))
        epochs = int(np.clip(math.floor(MEDIAN_EPOCHS * math.exp(EPOCHS_DEVIATION * rng.normal())), *EPOCHS_RANGE))
        shortest = min(minutes_per_epoch(model, kind) for kind in range(len(TYPES)))
        epochs = max(1, min(epochs, int(week.slots * SLOT_MINUTES / (2 + week.slack) / shortest)))
        place = rng.random()
        slack = max(LEAST_SLACK, week.slack * (1 + SLACK_DEVIATION * float(slacks.normal())))
        fastest = min(slots_needed(model, kind, epochs) for kind in range(len(TYPES)))
        window = min(math.ceil(fastest * (1 + slack)), week.slots)
        arrives = int(place * max(week.slots - window, 1))
        drawn.append(Job(f"{MODELS[model]}-{number}", model, arrives, arrives + window - 1, epochs))
    return drawn


def rates(week: Week) -> list[list[float]]:
    """Requests per minute of each service in each slot: a day's wave, least at 2:00."""
    hours = np.arange(week.slots) / PER_HOUR
    shape = 1 + 0.35 * np.sin(2 * np.pi * (hours - 8) / 24)
    found: list[list[float]] = (week.rate * np.array(SHARE_OF_LOAD)[:, None] * shape).tolist()
    return found


def prices(week: Week) -> NDArray[np.float64]:
    """Dollars per MWh of every slot."""
    if week.real:
        with (HERE / "nyiso_central.csv").open(encoding="utf-8", newline="") as file:
            hourly = np.array([float(row["usd_per_mwh"]) for row in csv.DictReader(file)])
        return np.resize(np.repeat(hourly, PER_HOUR), week.slots)
    hours = np.arange(week.slots) / PER_HOUR
    waves = 24 + 9 * np.sin(2 * np.pi * (hours - 9) / 24) + 3 * np.sin(2 * np.pi * (hours - 14) / 12)
    noise = np.random.default_rng([week.seed, Stream.PRICES]).normal(0, 1.5, week.slots)
    return np.asarray(np.clip(waves + noise, 2, 50))


def write(folder: Path, week: Week | None = None) -> Path:
    """The CSV files and `week.gsm`, whose scenario `Week` reads them; the path of the latter."""
    week = week or Week()
    folder.mkdir(parents=True, exist_ok=True)
    kinds = range(len(TYPES))
    _write(folder / "slots.csv", "slot usd_per_mwh", ((h, f"{p:.6f}") for h, p in enumerate(prices(week).tolist())))
    _write(
        folder / "nodes.csv",
        "node node_type",
        ((f"n{kind * week.nodes + n + 1}", TYPES[kind]) for kind in kinds for n in range(week.nodes)),
    )
    _write(folder / "types.csv", "node_type idle_w boot_usd", ((kind, IDLE_WATTS, BOOT_USD) for kind in TYPES))
    jobs = draw_jobs(week)
    _write(folder / "jobs.csv", "job arrives due epochs", ((j.name, j.arrives, j.due, j.epochs) for j in jobs))
    _write(
        folder / "training.csv",
        "job node_type minutes_per_epoch power_w restart_usd",
        (
            (job.name, TYPES[kind], f"{minutes_per_epoch(job.model, kind):.10g}", TRAIN_WATTS[kind], RESTART_USD)
            for job in jobs
            for kind in kinds
        ),
    )
    _write(folder / "services.csv", "service latency_bound_s", ((name, LATENCY_BOUND_SECONDS) for name in MODELS))
    rate = requests_served_per_minute
    _write(
        folder / "serving.csv",
        "service node_type requests_per_min base_w w_per_request_per_min",
        (
            (name, TYPES[kind], f"{rate(m, kind):.10g}", BASE_WATTS, f"{FULL_LOAD_WATTS[kind] / rate(m, kind):.10g}")
            for m, name in enumerate(MODELS)
            for kind in kinds
        ),
    )
    _write(
        folder / "load.csv",
        "service slot requests_per_min",
        ((name, h, f"{r:.3f}") for name, row in zip(MODELS, rates(week), strict=True) for h, r in enumerate(row)),
    )
    path = folder / "week.gsm"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def _write(path: Path, header: str, rows: Iterable[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header.split())
        writer.writerows(rows)


SCENARIO = """\
import "gsdsl:price_aware/by_type.gsm";

scenario Week for PriceAwareByType {
  slot = 15[min];
  data "slots.csv" { Slots = slot;  tariff[slot] = usd_per_mwh[$/MWh]; }
  data "types.csv" {
    Types = node_type;
    idle_power[node_type] = idle_w[W];
    boot_cost[node_type] = boot_usd[$];
  }
  data "nodes.csv" { Nodes = node;  node_type[node] = node_type; }
  data "jobs.csv" {
    Batch = job;
    arrives[job] = arrives;
    due[job] = due;
    epochs[job] = epochs[epoch];
  }
  data "training.csv" {
    Fits = (job, node_type);
    epoch_time[job, node_type] = minutes_per_epoch[min/epoch];
    train_power[job, node_type] = power_w[W];
    restart_cost[job, node_type] = restart_usd[$];
  }
  data "services.csv" { Services = service;  latency_bound[service] = latency_bound_s[s]; }
  data "serving.csv" {
    Deployed = (service, node_type);
    rate[service, node_type] = requests_per_min[request/min];
    base_power[service, node_type] = base_w[W];
    load_power[service, node_type] = w_per_request_per_min[W*min/request];
  }
  data "load.csv" { load[service, slot] = requests_per_min[request/min]; }
}

# One service at a time on a node, so that its response time is that of a single queue.
scenario WeekExclusive extends Week {
  inference_sharing = exclusive;
}
"""


def main() -> None:
    given = argparse.ArgumentParser(description="Write a week of a cluster as CSV files with a scenario.")
    given.add_argument("folder", type=Path)
    given.add_argument("--slack", type=float, default=Week.slack)
    given.add_argument("--jobs", type=int, default=Week.jobs)
    given.add_argument("--nodes", type=int, default=Week.nodes)
    given.add_argument("--slots", type=int, default=Week.slots)
    given.add_argument("--rate", type=float, default=Week.rate)
    given.add_argument("--seed", type=int, default=Week.seed)
    given.add_argument("--real", action="store_true")
    found = vars(given.parse_args())
    write(found.pop("folder"), Week(**found))


if __name__ == "__main__":
    main()
