"""Synthetic instances of capacity planning: jobs of four applications with execution times after Amdahl's law.

    python generate_instances.py [FOLDER]     # writes the shipped files again, byte for byte

One instance is drawn from `numpy.random.default_rng([seed, nodes, jobs])`; README.md tells the rule of every number.
"""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
CATALOGUES = HERE.parent / "catalogue"

APPLICATIONS = ("AlexNet", "ResNet50", "VGG19", "DeepSpeech")
FRAMEWORKS = ("PyTorch", "TensorFlow")
FRAMEWORK_FACTOR = (1.0, 1.1)
WORK_HOURS = ((1, 8), (2, 16), (4, 24), (3, 20))  # on one K80, log-uniform
SERIAL_SHARE = (0.15, 0.07, 0.05, 0.09)
SPEED = {  # relative to a K80, by application
    "K80": (1, 1, 1, 1),
    "M60": (1.10, 1.20, 1.25, 1.05),
    "Quadro P600": (0.40, 0.30, 0.25, 0.22),
    "GTX 1080Ti": (1.80, 2.90, 3.40, 2.60),
}
SHIPPED_SIZES = (1, 2, 4)  # nodes; ten jobs each
SHIPPED_SEEDS = (1, 2, 3)
LARGER = ("azure6", 20, 1)  # catalogue, nodes, seed of the instance for comparing methods


@dataclass(frozen=True)
class VmType:
    name: str
    gpu_model: str
    gpus: int
    price: float


@dataclass(frozen=True)
class Job:
    """Times in h, weight in $/h. `deadline` is the time from the job's arrival to its due time."""

    name: str
    application: str
    framework: str
    arrival: float
    deadline: float
    weight: float
    times: dict[tuple[str, int], float]


def read_catalogue(name: str) -> list[VmType]:
    """Read a catalogue: `full9` has all types, `azure6` the six types of Azure."""
    with (CATALOGUES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [
            VmType(row["vm_type"], row["gpu_model"], int(row["gpus"]), float(row["price_usd_per_h"]))
            for row in csv.DictReader(file)
        ]


def generate(seed: int, nodes: int, jobs: int, mean_seconds: float, catalogue: list[VmType]) -> list[Job]:
    """Draw the jobs of one instance, in the order of their arrivals."""
    rng = np.random.default_rng([seed, nodes, jobs])
    drawn: list[Job] = []
    arrival = 0.0
    for number in range(1, jobs + 1):
        application, framework = int(rng.integers(4)), int(rng.integers(2))
        u1, u2, u3, u4 = (float(u) for u in rng.random(4))
        low, high = WORK_HOURS[application]
        work = math.exp(math.log(low) + u1 * (math.log(high) - math.log(low))) * FRAMEWORK_FACTOR[framework]
        serial = SERIAL_SHARE[application]
        times = {
            (vm.name, g): work / SPEED[vm.gpu_model][application] * (1 + serial * (g - 1)) / g
            for vm in catalogue
            for g in range(1, vm.gpus + 1)
        }
        if number > 1:
            arrival += mean_seconds / 3600 * -math.log(1 - u2)
        fastest, slowest = min(times.values()), max(times.values())
        drawn.append(
            Job(
                name=f"j{number}",
                application=APPLICATIONS[application],
                framework=FRAMEWORKS[framework],
                arrival=arrival,
                deadline=fastest + u3 * (2 * slowest - fastest),
                weight=0.36 + 0.72 * u4,
                times=times,
            )
        )
    return drawn


def write(jobs: list[Job], stem: Path) -> None:
    """Write `<stem>_jobs.csv` and `<stem>_times.csv`."""
    with Path(f"{stem}_jobs.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("job", "application", "framework", "arrival_h", "deadline_h", "weight_usd_per_h"))
        for job in jobs:
            numbers = (f"{x:.10g}" for x in (job.arrival, job.deadline, job.weight))
            out.writerow((job.name, job.application, job.framework, *numbers))
    with Path(f"{stem}_times.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("job", "vm_type", "gpus", "hours"))
        for job in jobs:
            for (vm, gpus), hours in job.times.items():
                out.writerow((job.name, vm, gpus, f"{hours:.10g}"))


def main(folder: Path) -> None:
    for name in ("full9", "azure6"):
        catalogue = read_catalogue(name)
        for nodes in SHIPPED_SIZES:
            for seed in SHIPPED_SEEDS:
                jobs = generate(seed, nodes, 10 * nodes, 30, catalogue)
                write(jobs, folder / f"{name}_{nodes}x{10 * nodes}_seed{seed}")
    name, nodes, seed = LARGER
    jobs = generate(seed, nodes, 10 * nodes, 30, read_catalogue(name))
    write(jobs, folder / f"{name}_{nodes}x{10 * nodes}_seed{seed}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
