"""One day of Alibaba's GPU cluster of 2023: its pods with GPUs, with allowed models, due dates and weights.

    python cut_openb.py PODS [FOLDER]

writes openb_pods.csv and openb_allowed.csv, byte for byte the shipped ones, from the list that README.md names. It has
no due dates: README.md gives the rule by which they are drawn.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

DAY = 86400
FROM, TO = 123 * DAY, 124 * DAY
SHORTEST, LONGEST = 60, DAY  # lifetimes that are kept
MODELS = ("G2", "P100", "T4")  # of the nodes of the scenario
PRICES = {"G2": 1.0, "P100": 1.46, "T4": 0.53}  # $ per hour of a GPU
PARTS = (250, 500, 1000)  # thousandths of a GPU; a request is rounded up to the next one


def main(pods: Path, folder: Path) -> None:
    with pods.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["num_gpu"]) > 0]
    rows = [row for row in rows if FROM <= float(row["creation_time"]) < TO and row["pod_phase"] != "Pending"]
    rows = [row for row in rows if SHORTEST <= _lifetime(row) <= LONGEST and _models(row)]
    slack = np.random.default_rng(2026).uniform(1.2, 3.0, len(rows))
    with (folder / "openb_pods.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("pod", "submitted_s", "gpus", "seconds", "due_s", "weight_usd_per_h"))
        for row, factor in zip(rows, slack.tolist(), strict=True):
            came, gpus = float(row["creation_time"]) - FROM, _gpus(row)
            due = round(came + factor * _lifetime(row) + 600)
            weight = 2 * gpus * min(PRICES[model] for model in _models(row))
            out.writerow((row["name"], int(came), f"{gpus:g}", int(_lifetime(row)), due, f"{weight:.4g}"))
    with (folder / "openb_allowed.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("pod", "gpu_model"))
        out.writerows((row["name"], model) for row in rows for model in _models(row))


def _lifetime(row: dict[str, str]) -> float:
    return float(row["deletion_time"]) - float(row["creation_time"])


def _models(row: dict[str, str]) -> list[str]:
    """The allowed models; without a list every model is allowed. More than two GPUs need a node of model G2."""
    named = set(row["gpu_spec"].split("|")) - {""}
    large = MODELS if int(row["num_gpu"]) <= 2 else ("G2",)
    return [model for model in large if not named or model in named]


def _gpus(row: dict[str, str]) -> float:
    """GPUs of a pod, or the part of one, rounded up."""
    count, part = int(row["num_gpu"]), int(row["gpu_milli"])
    return float(count) if count > 1 else next(size for size in PARTS if part <= size) / 1000


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).resolve().parent)
