"""The instances as the C++ program reads them: three tables in a folder, seconds and dollars."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints


@dataclass(frozen=True)
class Instance:
    """Jobs in the order of their submission; each has the same C ways to run, on kinds of VM in catalogue order."""

    nodes: int
    submitted: Floats  # (J,) s
    deadline: Floats  # (J,) s
    weight: Floats  # (J,) $/s
    time: Floats  # (J, C) s
    way_kind: Ints  # (C,)
    way_gpus: Ints  # (C,)
    gpus: Ints  # (K,)
    family: Ints  # (K,)
    price: Floats  # (K,) $/s of a whole VM


def read_instance(folder: Path) -> Instance:
    """The three tables of a folder. Raises KeyError or ValueError if one is not as described."""
    jobs = _rows(folder / "Lof_Selectjobs.csv")
    jobs.sort(key=lambda row: float(row["SubmissionTime"]))
    at = {row["UniqueJobsID"]: i for i, row in enumerate(jobs)}
    table = _rows(folder / "SelectJobs_times.csv")
    ways = list(dict.fromkeys((row["VMtype"], int(row["nGPUs"])) for row in table))
    kinds = list(dict.fromkeys(row["VMtype"] for row in table))
    of_kind = {row["VMtype"]: row for row in table}
    families = list(dict.fromkeys(row["GPUtype"] for row in table))
    time = np.full((len(jobs), len(ways)), np.nan)
    column = {way: c for c, way in enumerate(ways)}
    for row in table:
        time[at[row["UniqueJobsID"]], column[row["VMtype"], int(row["nGPUs"])]] = float(row["ExecutionTime"])
    if np.isnan(time).any():
        raise ValueError(f"{folder}: a job lacks a configuration that others have")

    def numbers(name: str) -> Floats:
        return np.array([float(row[name]) for row in jobs])

    return Instance(
        nodes=len(_rows(folder / "tNodes.csv")),
        submitted=numbers("SubmissionTime"),
        deadline=numbers("Deadline"),
        weight=numbers("Tardinessweight"),
        time=time,
        way_kind=np.array([kinds.index(kind) for kind, _ in ways], dtype=np.int64),
        way_gpus=np.array([gpus for _, gpus in ways], dtype=np.int64),
        gpus=np.array([int(of_kind[kind]["max_nGPUs"]) for kind in kinds], dtype=np.int64),
        family=np.array([families.index(of_kind[kind]["GPUtype"]) for kind in kinds], dtype=np.int64),
        price=np.array([float(of_kind[kind]["cost"]) / 3600 for kind in kinds]),
    )


def reference_costs(folder: Path) -> dict[tuple[str, str], float]:
    """The C++ program's total cost by instance and method, in dollars."""
    return {(row["instance"], row["method"]): float(row["total_cost"]) for row in _rows(folder / "reference_costs.csv")}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
