"""Forty jobs of a public trace, their execution times from measured throughputs, and the VMs they may rent.

    python convert_gavel.py THROUGHPUTS TRACE PRICES [FOLDER]

writes vm_types.csv, jobs.csv and times.csv, byte for byte the shipped ones, from the files that README.md names:
Gavel's `simulation_throughputs.json` and `e13805.trace`, and the cloud price list `cloud-gpus.csv`.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SEED = "gavel-40-jobs"
JOBS = 40
SHORTEST_HOURS, LONGEST_HOURS = 0.5, 240.0
WEIGHT_USD_PER_H = (0.36, 1.08)
CLOUD = "Azure"
GPU_MODELS = {"K80 (12 GB)": "k80", "P100 (16 GB)": "p100", "V100 (16 GB)": "v100"}  # price list -> throughputs


@dataclass(frozen=True)
class VmType:
    name: str
    gpu_model: str
    gpus: int
    price: float


@dataclass(frozen=True)
class Job:
    name: str
    application: str
    batch_size: str
    steps: int
    arrival_seconds: float
    gpus_in_trace: int
    hours: dict[tuple[str, int], float]  # by GPU model and number of GPUs; only what was measured to run


def draw(job: str, what: str) -> float:
    """Return a number of [0, 1) that depends only on the seed's name, the job and `what`, not on the order of calls."""
    digest = hashlib.sha256(f"{SEED}:{job}:{what}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def read_vm_types(prices: Path) -> list[VmType]:
    """The cloud's VMs with the three GPU models of the profiles, by model and size, at on-demand prices."""
    with prices.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Cloud"] == CLOUD and row["GPU Type"] in GPU_MODELS]
    types = [
        VmType(row["Name"].replace(" ", "_"), GPU_MODELS[row["GPU Type"]], int(row["GPUs"]), float(row["On-demand"]))
        for row in rows
    ]
    return sorted(types, key=lambda vm: (vm.gpu_model, vm.gpus))


def parts_of(pattern: str, text: str) -> tuple[str, ...]:
    """Return the groups of a pattern that matches the complete text; raise ValueError otherwise."""
    match = re.fullmatch(pattern, text)
    if match is None:
        raise ValueError(f"not of the form expected: {text!r}")
    return match.groups(default="")


def read_rates(throughputs: Path) -> dict[tuple[str, str, int], float]:
    """Return batches per second of a single job over all its GPUs, by GPU model, job type and number of GPUs."""
    profiles = json.loads(throughputs.read_text(encoding="utf-8"))
    rates = {}
    for model in GPU_MODELS.values():
        for key, partners in profiles[model].items():
            kind, gpus = parts_of(r"\('(.+)', (\d+)\)", key)
            rates[model, kind, int(gpus)] = float(partners["null"])
    return rates


def read_jobs(trace: Path, rates: dict[tuple[str, str, int], float], vm_types: list[VmType]) -> list[Job]:
    """Every job of the trace, named after its application, the trace and its line."""
    sizes = {(vm.gpu_model, gpus) for vm in vm_types for gpus in range(1, vm.gpus + 1)}
    jobs = []
    for line, text in enumerate(trace.read_text(encoding="utf-8").splitlines(), start=1):
        kind, _, _, _, steps, arrival, gpus = text.split("\t")
        application, batch_size = parts_of(r"([^ ]+)(?: \(batch size (\d+)\))?", kind)
        hours = {
            (model, size): int(steps) / rates[model, kind, size] / 3600
            for model, size in sorted(sizes)
            if rates.get((model, kind, size), 0.0) > 0
        }
        name = f"{application}-{line}"
        jobs.append(Job(name, application, batch_size, int(steps), float(arrival), int(gpus), hours))
    return jobs


def choose(jobs: list[Job]) -> list[Job]:
    """`JOBS` of those neither trivial nor endless, without replacement; in the order of their submission."""
    able = [j for j in jobs if min(j.hours.values()) >= SHORTEST_HOURS and max(j.hours.values()) <= LONGEST_HOURS]
    chosen = sorted(able, key=lambda job: draw(job.name, "chosen"))[:JOBS]
    return [job for job in jobs if job in chosen]


def deadline_and_weight(job: Job) -> tuple[float, float]:
    """The paper's rule: deadline uniform in [fastest, 2 * slowest] h, weight uniform in [0.36, 1.08] $/h."""
    fastest, slowest = min(job.hours.values()), max(job.hours.values())
    low, high = WEIGHT_USD_PER_H
    deadline = fastest + draw(job.name, "deadline") * (2 * slowest - fastest)
    return deadline, low + draw(job.name, "weight") * (high - low)


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        out.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows)


def main(throughputs: Path, trace: Path, prices: Path, folder: Path) -> None:
    vm_types = read_vm_types(prices)
    jobs = choose(read_jobs(trace, read_rates(throughputs), vm_types))
    write(
        folder / "vm_types.csv",
        ("vm_type", "gpu_model", "gpus", "price_usd_per_h"),
        [(vm.name, vm.gpu_model, vm.gpus, vm.price) for vm in vm_types],
    )
    write(
        folder / "jobs.csv",
        ("job", "application", "batch_size", "steps", "arrival_s", "gpus_in_trace", "deadline_h", "weight_usd_per_h"),
        [
            (
                j.name,
                j.application,
                j.batch_size,
                j.steps,
                int(j.arrival_seconds),
                j.gpus_in_trace,
                *deadline_and_weight(j),
            )
            for j in jobs
        ],
    )
    write(
        folder / "times.csv",
        ("job", "vm_type", "gpus", "hours"),
        [
            (job.name, vm.name, gpus, job.hours[vm.gpu_model, gpus])
            for job in jobs
            for vm in vm_types
            for gpus in range(1, vm.gpus + 1)
            if (vm.gpu_model, gpus) in job.hours
        ],
    )


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    paths = [Path(argument) for argument in sys.argv[1:]]
    out = paths[3] if len(paths) == 4 else Path(__file__).resolve().parent
    main(paths[0], paths[1], paths[2], out)
