"""Writes the synthetic instance of section 6.3 of the capacity-planning specification as CSV files.

`python -m benchmarks.capacity.data FOLDER [NODES JOBS SEED]`. Execution times follow Amdahl's law with an
application-dependent serial part and speed per GPU model; deadlines and weights are drawn as the paper states.
"""

import csv
import math
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# name, GPU model, GPUs, price of the whole VM in $/h
CATALOGUE = (
    ("NC6", "K80", 1, 0.56),
    ("NC12", "K80", 2, 1.13),
    ("NC24", "K80", 4, 2.25),
    ("NV6", "M60", 1, 0.62),
    ("NV12", "M60", 2, 1.24),
    ("NV24", "M60", 4, 2.48),
    ("inhouse1", "P600", 2, 0.11),
    ("inhouse2", "1080Ti", 8, 1.13),
    ("inhouse3", "P600", 8, 0.44),
)
# work on one K80 in hours (low, high), serial part, speed by GPU model
APPLICATIONS = (
    (1.0, 8.0, 0.15, {"K80": 1.0, "M60": 1.10, "P600": 0.40, "1080Ti": 1.80}),
    (2.0, 16.0, 0.07, {"K80": 1.0, "M60": 1.20, "P600": 0.30, "1080Ti": 2.90}),
    (4.0, 24.0, 0.05, {"K80": 1.0, "M60": 1.25, "P600": 0.25, "1080Ti": 3.40}),
    (3.0, 20.0, 0.09, {"K80": 1.0, "M60": 1.05, "P600": 0.22, "1080Ti": 2.60}),
)
FRAMEWORK_FACTOR = (1.0, 1.1)


@dataclass(frozen=True)
class Job:
    length: float
    weight: float
    hours: dict[tuple[str, int], float]


def generate(seed: int, nodes: int, jobs: int) -> list[Job]:
    """The jobs of one instance; `length` is the time from arrival to deadline in hours."""
    random = np.random.default_rng([seed, nodes, jobs])
    result = []
    for _ in range(jobs):
        application = APPLICATIONS[int(random.integers(4))]
        factor = FRAMEWORK_FACTOR[int(random.integers(2))]
        u1, _u2, u3, u4 = random.random(4)
        low, high, serial, speeds = application
        work = math.exp(math.log(low) + u1 * (math.log(high) - math.log(low))) * factor
        hours = {
            (name, g): work / speeds[model] * (1 + serial * (g - 1)) / g
            for name, model, gpus, _ in CATALOGUE
            for g in range(1, gpus + 1)
        }
        shortest, longest = min(hours.values()), max(hours.values())
        result.append(Job(shortest + u3 * (2 * longest - shortest), 0.36 + 0.72 * u4, hours))
    return result


def write(folder: Path, nodes: int = 40, jobs: int = 400, seed: int = 1) -> None:
    """nodes.csv, types.csv, jobs.csv and times.csv in `folder`, with a copy of the model beside them."""
    drawn = generate(seed, nodes, jobs)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "nodes.csv", ["node"], [[f"n{i}"] for i in range(1, nodes + 1)])
    _write(folder / "types.csv", ["type", "gpus", "price"], [[n, g, p] for n, _, g, p in CATALOGUE])
    _write(
        folder / "jobs.csv",
        ["job", "deadline", "weight"],
        [[f"j{i}", job.length, job.weight] for i, job in enumerate(drawn, 1)],
    )
    _write(
        folder / "times.csv",
        ["job", "type", "gpus", "hours"],
        [[f"j{i}", v, g, hours] for i, job in enumerate(drawn, 1) for (v, g), hours in job.hours.items()],
    )
    shutil.copy(Path(__file__).with_name("printed.gsm"), folder)


def _write(path: Path, header: list[str], rows: list[list]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
