"""Writes a synthetic instance as CSV files, with a scenario: `python -m benchmarks.capacity.data FOLDER [NODES SEED]`.

The jobs come from the generators of capacity planning, which draw the instances under
models/capacity_planning/data/synthetic too; ten jobs a node, and the nine VM types of the papers.
"""

import csv
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.data_scripts import MODELS
from gpusched_dsl.data.formats.shape import Setting
from gsdsl_formats.generators import capacity_tables

HERE = Path(__file__).resolve().parent


def write(folder: Path, nodes: int = 40, seed: int = 1) -> None:
    """nodes.csv, types.csv, instance_jobs.csv and instance_times.csv, and the scenario that reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Setting] = {"seed": seed, "nodes": nodes, "jobs": 10 * nodes}
    settings |= {"interarrival": 30.0, "catalogue": "full9", "weights": "capacity"}
    jobs = capacity_tables.jobs(settings).frame
    columns = ("job", "application", "framework", "submitted", "deadline", "weight")
    header = "job application framework arrival_h deadline_h weight_usd_per_h"
    _write(folder / "instance_jobs.csv", header, jobs.select(columns).iter_rows())
    times = capacity_tables.times(settings).frame
    _write(folder / "instance_times.csv", "job vm_type gpus hours", times.iter_rows())
    shutil.copy(MODELS / "capacity_planning" / "data" / "catalogue" / "full9.csv", folder / "types.csv")
    names = "".join(f"n{i}\n" for i in range(1, nodes + 1))
    (folder / "nodes.csv").write_text("node\n" + names, encoding="utf-8")
    shutil.copy(HERE / "synthetic.gsm", folder)


def _write(path: Path, header: str, rows: Iterable[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header.split())
        out.writerows([f"{cell:.10g}" if isinstance(cell, float) else cell for cell in row] for row in rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
