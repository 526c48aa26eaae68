"""Some jobs of the job list of Microsoft's Philly cluster: all those that one virtual cluster got in some days.

    python cut_philly.py JOBS [FOLDER]

writes philly_sample.csv, byte for byte the shipped one, from the list that README.md names. Jobs are named after their
row in that list; times are seconds since the first of them.
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime
from pathlib import Path

CLUSTER = "ee9e8c"
FROM, TO = datetime(2017, 10, 9), datetime(2017, 10, 23)


def main(jobs: Path, folder: Path) -> None:
    with jobs.open(encoding="utf-8", newline="") as file:
        rows = [
            (f"philly-{line}", datetime.fromisoformat(row["submit_time"]), row["num_gpus"], row["duration_s"])
            for line, row in enumerate(csv.DictReader(file), start=1)
            if row["vc"] == CLUSTER
        ]
    kept = [row for row in rows if FROM <= row[1] < TO]
    first = min(came for _, came, _, _ in kept)
    with (folder / "philly_sample.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("job", "submitted_s", "gpus", "seconds"))
        out.writerows(
            (name, int((came - first).total_seconds()), gpus, int(float(seconds))) for name, came, gpus, seconds in kept
        )


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).resolve().parent)
