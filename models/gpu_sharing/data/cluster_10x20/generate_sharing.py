"""Synthetic instances of GPU sharing: jobs of four networks on nodes of three models of GPU.

    python generate_sharing.py [FOLDER]     # writes the shipped files again, byte for byte

README.md tells the rule of every number. One seed makes an instance; each sort of number has a stream of its own, so
that drawing one differently leaves the others as they are.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent

GPUS = 8  # of every node
RATES = {  # $/h with 1 to 8 GPUs in use
    "K80": (0.90, 1.80, 2.70, 3.60, 4.50, 5.40, 6.30, 7.20),
    "M60": (1.14, 2.28, 3.42, 4.56, 5.70, 6.84, 7.98, 9.12),
    "A100": (3.67, 7.35, 11.02, 14.69, 18.37, 22.04, 25.71, 29.38),
}
MEMORY = {"K80": 24, "M60": 16, "A100": 80}  # GB of a GPU
MOST_SLOWDOWN = {  # by GPU and twentieths of it; the least is 1.01
    ("K80", 5): 1.11, ("K80", 10): 1.05, ("M60", 5): 1.11, ("M60", 10): 1.05, ("A100", 2): 1.17, ("A100", 3): 1.15,
}  # fmt: skip
MEMORY_NEEDS = (3, 5, 7, 10, 14)  # GB

EPOCHS = 100
BATCH_FACTOR = {16: 1.25, 32: 1.0, 64: 0.85}
SHIPPED_SEEDS = (1, 2, 3)
OUTCOMES = 10


@dataclass(frozen=True)
class Network:
    """Seconds of an epoch on one K80, overhead of every further GPU, speed of an A100 relative to a K80, and the law of
    the epochs: all of them with probability `all_epochs`, else by a beta distribution."""

    name: str
    seconds: float
    overhead: float
    a100: tuple[float, float]
    beta: tuple[float, float]
    all_epochs: float


NETWORKS = (
    Network("AlexNet", 900, 0.20, (2.4, 3.0), (2.5, 1.2), 0.45),
    Network("ResNet", 2400, 0.10, (2.8, 3.6), (1.6, 5.0), 0.02),
    Network("VGG16", 3600, 0.14, (2.8, 3.6), (1.3, 6.5), 0.01),
    Network("MobileNetV2", 1500, 0.24, (2.4, 3.0), (4.0, 4.0), 0.03),
)


@dataclass(frozen=True)
class Job:
    """Times in h for all epochs, by GPU and number of GPUs; `deadline` in h from now; `epochs` in each outcome."""

    name: str
    network: str
    batch: int
    memory: int
    deadline: float
    weight: float
    times: dict[tuple[str, int], float]
    epochs: list[int]


Slowdown = dict[tuple[str, int], float]
"""By GPU and twentieths of it."""


def generate(seed: int, nodes: int, jobs: int, outcomes: int = OUTCOMES) -> tuple[list[Job], Slowdown]:
    """The jobs of one instance, and how much a job slows down on each part of a GPU."""
    streams = np.random.SeedSequence([seed, nodes, jobs]).spawn(4)
    attributes, due, slowing, ends = (np.random.default_rng(stream) for stream in streams)
    drawn = [_job(f"J{number}", attributes, due, ends, outcomes) for number in range(1, jobs + 1)]
    return drawn, {key: float(slowing.uniform(1.01, most)) for key, most in MOST_SLOWDOWN.items()}


def _job(
    name: str, attributes: np.random.Generator, due: np.random.Generator, ends: np.random.Generator, outcomes: int
) -> Job:
    network, batch = NETWORKS[attributes.integers(4)], list(BATCH_FACTOR)[attributes.integers(3)]
    memory = MEMORY_NEEDS[attributes.integers(5)]
    epoch = network.seconds * BATCH_FACTOR[batch] * attributes.uniform(0.8, 1.2) / 3600
    speed = {"K80": 1.0, "M60": attributes.uniform(1.15, 1.45), "A100": attributes.uniform(*network.a100)}
    overhead = network.overhead * attributes.uniform(0.7, 1.3)
    times = {
        (gpu, k): float(EPOCHS * epoch / speed[gpu] * (1 + overhead * (k - 1)) / k)
        for gpu in RATES
        for k in range(1, GPUS + 1)
    }
    fastest, slowest = min(times.values()), max(times.values())
    deadline = float(due.uniform(fastest, 1.2 * min(3 * fastest, slowest)))
    epochs = [_epochs(network, ends) for _ in range(outcomes)]
    return Job(name, network.name, batch, memory, deadline, float(due.uniform(0.0254, 0.0444)), times, epochs)


def _epochs(network: Network, ends: np.random.Generator) -> int:
    """11 to 100: training stops at the earliest after 10 epochs without progress."""
    everything, early = ends.random() < network.all_epochs, ends.beta(*network.beta)
    return EPOCHS if everything else 11 + min(int(89 * early), 88)


def write(jobs: Sequence[Job], slowdown: Slowdown, stem: Path) -> None:
    """`<stem>_jobs.csv`, `_times.csv`, `_shares.csv` and `_epochs.csv`."""

    def table(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        with stem.with_name(f"{stem.name}_{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)

    table(
        "jobs",
        ("job", "network", "batch", "memory_gb", "deadline_h", "weight_usd_per_s"),
        ((j.name, j.network, j.batch, j.memory, f"{j.deadline:.4f}", f"{j.weight:.6f}") for j in jobs),
    )
    times = ((j.name, gpu, k, f"{hours:.4f}") for j in jobs for (gpu, k), hours in j.times.items())
    table("times", ("job", "gpu", "gpus", "hours"), times)
    table("shares", ("gpu", "twentieths", "slowdown"), ((gpu, u, f"{by:.4f}") for (gpu, u), by in slowdown.items()))
    ends = ((outcome, j.name, epochs) for j in jobs for outcome, epochs in enumerate(j.epochs, start=1))
    table("epochs", ("outcome", "job", "epochs"), ends)


def write_cluster(folder: Path) -> None:
    """`gpus.csv` and `rates.csv`, the same for every instance."""
    with (folder / "gpus.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("gpu", "memory_gb", "gpus"))
        writer.writerows((gpu, memory, GPUS) for gpu, memory in MEMORY.items())
    with (folder / "rates.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("gpu", "gpus", "usd_per_h"))
        writer.writerows((gpu, k, f"{rate:.2f}") for gpu, row in RATES.items() for k, rate in enumerate(row, start=1))


def main(folder: Path = HERE) -> None:
    write_cluster(folder)
    for seed in SHIPPED_SEEDS:
        write(*generate(seed, 10, 20), folder / f"10x20_seed{seed}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
