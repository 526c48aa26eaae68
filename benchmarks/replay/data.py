"""`python -m benchmarks.replay.data FOLDER [JOBS]`: a trace of so many jobs for a cluster of 384 GPUs, and its texts.

Where the environment variable GSDSL_PHILLY names the job list of the Philly cluster (`submit_time`, `duration_s`,
`num_gpus`), these are its first jobs in the order of submission, without those larger than the cluster. Else they are
drawn to look like it: 19 of 20 take one GPU, half of them end within a quarter of an hour, few last for days.
"""

from __future__ import annotations

import csv
import os
import sys
from datetime import datetime
from pathlib import Path

import numpy as np

GPUS = 384
JOBS = 50_000
Row = tuple[int, int, int]  # submitted (s since the first), GPUs, seconds

TEXT = f"""import "gsdsl:trace_replay/policies.gsm";

scenario Trace for TraceReplay {{
  Nodes = {{ cluster }};
  gpus["cluster"] = {GPUS};
  data "trace.csv" {{
    Jobs = job;
    submitted[job] = submitted_s[s];
    needs[job] = gpus;
    exec_time[job] = seconds[s];
  }}
}}
"""


def from_list(path: Path, jobs: int) -> list[Row]:
    """The first jobs of a list that fit on the cluster."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            (datetime.fromisoformat(row["submit_time"]), int(row["num_gpus"]), int(float(row["duration_s"])))
            for row in csv.DictReader(file)
        ]
    rows = sorted((row for row in rows if row[1] <= GPUS), key=lambda row: row[0])[:jobs]
    return [(int((at - rows[0][0]).total_seconds()), gpus, seconds) for at, gpus, seconds in rows]


def drawn(jobs: int, seed: int = 1) -> list[Row]:
    """Jobs that come in bursts and use most of the cluster; sizes and times of the shape of the list's."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(22, jobs) * rng.choice([0.1, 1.0, 2.5], jobs)
    gpus = rng.choice([1, 2, 4, 8, 16, 32], jobs, p=[0.942, 0.025, 0.014, 0.016, 0.002, 0.001])
    seconds = np.clip(np.exp(rng.normal(np.log(900), 2.1, jobs)), 1, 3_000_000)
    return [(int(t), int(g), int(s)) for t, g, s in zip(np.cumsum(gaps), gpus, np.ceil(seconds), strict=True)]


def read(folder: Path) -> list[Row]:
    """What `main` wrote, for arms that take rows."""
    with (folder / "trace.csv").open(encoding="utf-8", newline="") as file:
        return [(int(row["submitted_s"]), int(row["gpus"]), int(row["seconds"])) for row in csv.DictReader(file)]


def main(folder: Path, jobs: int) -> None:
    given = os.environ.get("GSDSL_PHILLY")
    rows = from_list(Path(given), jobs) if given else drawn(jobs)
    with (folder / "trace.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("job", "submitted_s", "gpus", "seconds"))
        out.writerows((f"job-{number}", *row) for number, row in enumerate(rows, start=1))
    (folder / "replay.gsm").write_text(TEXT, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else JOBS)
