"""`python -m benchmarks.calibration.snapshots`: how often the starts that `gsdsl inspect` states hold, on five traces.

Each trace is run by a queue (EASY backfilling) on as many nodes of 8 GPUs as give the stated load. Then the starts of
all jobs that wait are estimated at times of the last two thirds, with what was known then. Nothing is chosen by trace.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from gpusched_dsl.language.text.numbers import percent_text
from gpusched_dsl.online.rollouts.calibration import Calibration, calibrate
from gsdsl_clusters.inspecting.past_state import times_to_ask
from gsdsl_clusters.inspecting.queue_simulation import QueueRule, past, simulate
from gsdsl_clusters.inspecting.snapshot import JOB_COLUMNS, NODE_COLUMNS, ClusterSnapshot, complete, frame
from gsdsl_clusters.inspecting.starts import QueueOrder, past_cases, recent_drift

SIZE = 8  # GPUs of a node; larger jobs are left out
HOUR = 3600.0


@dataclass(frozen=True)
class TraceColumns:
    """The columns of a trace; `unit` is that of its times in seconds, and dates have no unit."""

    submitted: str
    gpus: str
    length: str
    user: str = ""
    unit: float = 1.0


# Known headers, by the column of submissions. The user is what is closest to one.
KNOWN: Mapping[str, TraceColumns] = {
    "submitted_s": TraceColumns("submitted_s", "gpus", "seconds"),
    "submit_time_s": TraceColumns("submit_time_s", "num_gpus", "duration_s", "user"),
    "submission_time": TraceColumns("submission_time", "num_gpu", "duration"),
    "arrival_h": TraceColumns("arrival_h", "width", "duration_h", unit=HOUR),
    "submit_time": TraceColumns("submit_time", "num_gpus", "duration_s", "vc"),
}


def read_jobs(path: Path, first: int, count: int) -> pl.DataFrame:
    """Read jobs of at most one node: `submitted`, `gpus`, `duration` (s), `user`. Raises ValueError."""
    table = pl.read_csv(path)
    named = next((columns for name, columns in KNOWN.items() if name in table.columns), None)
    if named is None:
        raise ValueError(f"`{path}` has none of the columns {', '.join(KNOWN)}")
    submitted = table[named.submitted]
    if submitted.dtype == pl.String:
        submitted = submitted.str.to_datetime().dt.epoch("s")
    user = table[named.user] if named.user in table.columns else pl.Series([""] * table.height)
    jobs = pl.DataFrame(
        {
            "submitted": submitted.cast(pl.Float64) * named.unit,
            "gpus": table[named.gpus].cast(pl.Int32),
            "duration": table[named.length].cast(pl.Float64) * named.unit,
            "user": user.cast(pl.String),
        }
    )
    return jobs.filter(pl.col("gpus").is_between(1, SIZE) & (pl.col("duration") > 0)).sort("submitted")[first:][:count]


def history_of(jobs: pl.DataFrame, load: float, name: str = "trace") -> ClusterSnapshot:
    """Run the jobs by EASY on the nodes that give this load; the history after the last end."""
    span = float(jobs["submitted"].max() - jobs["submitted"].min())  # type: ignore[operator, arg-type]
    work = float((jobs["gpus"] * jobs["duration"]).sum())
    nodes = max(1, round(work / span / SIZE / load))
    columns = jobs.with_columns(
        pl.format("job {}", pl.int_range(pl.len())).alias("job"), pl.lit("ended").alias("state"),
        pl.lit("COMPLETED").alias("outcome"), pl.lit(1).alias("nodes"),
    )  # fmt: skip
    rows = [{"node": f"n{at}", "gpus": SIZE} for at in range(nodes)]
    empty = ClusterSnapshot(name, 0.0, frame(rows, NODE_COLUMNS), complete(columns, JOB_COLUMNS), has_starts=False)
    run = simulate(past(empty), QueueRule.EASY)
    places = [run.nodes_of(at) for at in range(jobs.height)]
    table = run.data.table.with_columns(
        pl.Series("started", run.start),
        pl.Series("ended", run.end),
        pl.Series("on_nodes", [list(place) for place in places], dtype=pl.List(pl.String)),
        pl.Series("on_gpus", [list(place.values()) for place in places], dtype=pl.List(pl.Int32)),
    )
    return replace(empty, now=float(run.end.max()), jobs=complete(table, JOB_COLUMNS), has_starts=True)


@dataclass(frozen=True)
class TraceResult:
    """Coverage of the raw quantiles on the cases of `calibration`, which has that of the corrected ones."""

    nodes: int
    times: int
    waited: float  # h, the mean wait of all jobs
    raw: tuple[float, ...] | None
    calibration: Calibration
    drift: str | None

    def row(self, name: str) -> str:
        """A row of the table in docs/reference/estimates.md."""
        corrected = self.calibration.coverage
        if self.raw is None or corrected is None:
            what = "nobody waits" if not self.times else "too few cases"
            return f"| {name} | {self.nodes} | {self.waited:.1f} h | {self.times} | {what} | | |"
        raw, found = (", ".join(map(percent_text, shares)) for shares in (self.raw, corrected))
        cases = f"{self.calibration.cases:,}"
        return f"| {name} | {self.nodes} | {self.waited:.1f} h | {self.times} | {cases} | {raw} | {found} |"


def measure(history: ClusterSnapshot, times: int) -> TraceResult:
    """Ask at times of the last two thirds of the starts."""
    order = QueueOrder(False, QueueRule.EASY)
    asked = times_to_ask(history, times, 2 / 3)
    found = [past_cases(history, at, order, number) for number, at in enumerate(asked.tolist())]
    now = history.now + 1.0
    calibration = calibrate(found, now)
    every = [(one.waits[:, None] <= one.quantiles) for one in found]
    raw = tuple(np.concatenate(every).mean(axis=0).tolist()) if every else None
    mean_wait = float((history.jobs["started"] - history.jobs["submitted"]).mean())  # type: ignore[arg-type]
    return TraceResult(history.nodes.height, len(asked), mean_wait / HOUR, raw, calibration, recent_drift(history))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration.snapshots", description=__doc__)
    parser.add_argument("trace", type=Path, nargs="+", help="CSV with one of the known headers")
    parser.add_argument("--first", type=int, default=0, help="jobs that are left out at the beginning")
    parser.add_argument("--jobs", type=int, default=1500)
    parser.add_argument("--load", type=float, default=0.8)
    parser.add_argument("--times", type=int, default=60)
    options = parser.parse_args()
    print("| trace | nodes | mean wait | times | cases | 10 %, 50 %, 90 % | corrected |")
    for path in options.trace:
        began = time.process_time()
        result = measure(history_of(read_jobs(path, options.first, options.jobs), options.load), options.times)
        print(
            result.row(path.stem), f"{time.process_time() - began:.0f} CPU s; {result.drift or 'no drift'}", flush=True
        )


if __name__ == "__main__":
    main()
