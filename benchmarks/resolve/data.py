"""Writes the state of a cluster at several decisions: `python -m benchmarks.resolve.data FOLDER [NODES SEED EVENTS]`.

Each folder 0, 1, ... holds the CSV files of one decision and the scenario that reads them. From one to the next a job
completes and another arrives, with the data of one of the others, all its times multiplied by a random factor.
"""

import random
import shutil
import sys
from pathlib import Path

import polars as pl

from benchmarks.capacity.data import write as write_instance

HERE = Path(__file__).resolve().parent


def write(folder: Path, nodes: int = 40, seed: int = 1, events: int = 10) -> None:
    draw = random.Random(seed)
    for number in range(events + 1):
        state = folder / str(number)
        if number == 0:
            write_instance(state, nodes, seed)
            shutil.copy(HERE / "synthetic.gsm", state)
        else:
            shutil.copytree(folder / str(number - 1), state, dirs_exist_ok=True)
            _one_event(state, f"new{number}", draw)


def _one_event(state: Path, name: str, draw: random.Random) -> None:
    jobs, times = pl.read_csv(state / "instance_jobs.csv"), pl.read_csv(state / "instance_times.csv")
    gone, like = draw.choice(jobs["job"].to_list()), draw.choice(jobs["job"].to_list())
    longer = draw.uniform(0.7, 1.4)
    its_row = jobs.filter(pl.col("job") == like).with_columns(
        job=pl.lit(name), deadline_h=pl.col("deadline_h") * longer
    )
    its_times = times.filter(pl.col("job") == like).with_columns(job=pl.lit(name), hours=pl.col("hours") * longer)
    pl.concat([jobs.filter(pl.col("job") != gone), its_row]).write_csv(state / "instance_jobs.csv")
    pl.concat([times.filter(pl.col("job") != gone), its_times]).write_csv(state / "instance_times.csv")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
