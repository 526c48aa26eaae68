"""Profiles of training one epoch on two GPU models, with the power drawn, from measurements of the Zeus project.

    python convert_zeus.py POWER_V100 POWER_P100 [FOLDER]

writes zeus.csv, byte for byte the shipped one, from the files that README.md names.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

POWER_LIMIT_W = "250"  # the highest of both GPU models
COLUMNS = (
    "job_id", "gpu_type", "source", "fits", "exec_time_s", "power_w", "dataset", "dnn_model", "optimizer", "batch_size",
)  # fmt: skip


def rows_of(gpu_type: str, measured: Path) -> list[tuple[str, ...]]:
    """One row for each configuration at the highest power limit, in the order of the file."""
    with measured.open(encoding="utf-8", newline="") as file:
        kept = [row for row in csv.DictReader(file) if row["power_limit"] == POWER_LIMIT_W]
    return [
        (
            f"{r['network']}-{r['dataset']}-{r['batch_size']}-{r['optimizer']}", gpu_type, "measured", "true",
            f"{float(r['time_per_epoch']):.6g}", f"{float(r['average_power']):.6g}",
            r["dataset"], r["network"], r["optimizer"], r["batch_size"],
        )
        for r in kept
    ]  # fmt: skip


def main(v100: Path, p100: Path, folder: Path) -> None:
    with (folder / "zeus.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        out.writerows([*rows_of("V100", v100), *rows_of("P100", p100)])


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    paths = [Path(argument) for argument in sys.argv[1:]]
    main(paths[0], paths[1], paths[2] if len(paths) == 3 else Path(__file__).resolve().parent)
