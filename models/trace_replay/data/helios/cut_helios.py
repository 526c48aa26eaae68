"""Some jobs of SenseTime's Helios: all those of one virtual cluster in six days, with due dates and weights.

    python cut_helios.py JOBS [FOLDER]

writes helios_sample.csv, byte for byte the shipped one, from the list that README.md names. The list has no due dates:
README.md gives the rule by which they are drawn.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

DAY = 86400
FROM, TO = 16 * DAY, 22 * DAY
PRICE = 3.06  # $ per hour of a GPU


def main(jobs: Path, folder: Path) -> None:
    with jobs.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if FROM <= float(row["submit_time_s"]) < TO]
    rows = [row for row in rows if float(row["duration_s"]) >= 1]
    first = min(float(row["submit_time_s"]) for row in rows)
    slack = np.random.default_rng(2026).uniform(1.2, 3.0, len(rows))
    with (folder / "helios_sample.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("job", "submitted_s", "gpus", "seconds", "due_s", "weight_usd_per_h"))
        for row, factor in zip(rows, slack.tolist(), strict=True):
            came, seconds, gpus = float(row["submit_time_s"]) - first, float(row["duration_s"]), int(row["num_gpus"])
            due = round(came + factor * seconds + 600)
            out.writerow((row["job_id"], int(came), gpus, int(seconds), due, f"{2 * PRICE * gpus:.2f}"))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).resolve().parent)
