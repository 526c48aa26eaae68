"""The CSV files as NumPy arrays, for the arms written by hand."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tables:
    """N nodes, V types, J jobs, C configurations (v, g) in the order of the types; times in hours, prices in $/h."""

    N: int
    V: int
    J: int
    C: int
    gpus: NDArray[np.int64]  # V
    price: NDArray[np.float64]  # V
    deadline: NDArray[np.float64]  # J
    weight: NDArray[np.float64]  # J
    type_of: NDArray[np.int64]  # C
    size_of: NDArray[np.int64]  # C
    hours: NDArray[np.float64]  # J, C


def read(folder: Path) -> Tables:
    nodes, types, jobs, times = (
        rows(folder / f"{n}.csv") for n in ("nodes", "types", "instance_jobs", "instance_times")
    )
    gpus = np.array([int(row["gpus"]) for row in types])
    type_of = np.repeat(np.arange(len(types)), gpus)
    size_of = np.concatenate([np.arange(1, g + 1) for g in gpus])
    job_number = {row["job"]: i for i, row in enumerate(jobs)}
    config_number = {(types[v]["vm_type"], str(g)): c for c, (v, g) in enumerate(zip(type_of, size_of, strict=True))}
    hours = np.full((len(jobs), len(type_of)), np.nan)
    at = np.array([(job_number[row["job"]], config_number[row["vm_type"], row["gpus"]]) for row in times])
    hours[at[:, 0], at[:, 1]] = [float(row["hours"]) for row in times]
    if np.isnan(hours).any():
        raise ValueError("an execution time is missing")
    return Tables(
        N=len(nodes),
        V=len(types),
        J=len(jobs),
        C=len(type_of),
        gpus=gpus,
        price=np.array([float(row["price_usd_per_h"]) for row in types]),
        deadline=np.array([float(row["deadline_h"]) for row in jobs]),
        weight=np.array([float(row["weight_usd_per_h"]) for row in jobs]),
        type_of=type_of,
        size_of=size_of,
        hours=hours,
    )


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
