"""Runs entries on tracks: costs, refusals and warnings, as rows of results.csv; and the bounds of the tracks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.leaderboard.entries import Entry
from benchmarks.leaderboard.referee import fault_of, foresight_of
from benchmarks.leaderboard.tracks import Track
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.offered_load import CODE as LOAD_WARNING
from gpusched_dsl.online.offered_load import plans_alone
from gpusched_dsl.workflows.run import run_method

RESULTS = Path(__file__).resolve().parent / "results.csv"
FINISHED = ("finished", "horizon")
BOUND_BY = "FIFO"  # any method that finishes all jobs gives the same bound
COLUMNS = {
    "track": pl.String, "seed": pl.Int64, "entry": pl.String, "cost": pl.Float64, "warned": pl.Boolean,
    "myopic": pl.Boolean, "refused": pl.String, "cpu_seconds": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One run. `cost` is None if it was refused, with a code or the reason; `warned`: with GSM7009; `myopic`: the
    method minimises the cost of each decision.
    """

    track: str
    seed: int
    entry: str
    cost: float | None
    warned: bool
    myopic: bool
    refused: str
    cpu_seconds: float


def evaluate(track: Track, seed: int, entry: Entry) -> Run:
    """Run an entry on one instance of a track, and verify its schedule."""
    began = _cpu()
    cost, warned, myopic, refused = None, False, False, ""
    loops: list[SimulationLoop] = []
    try:
        workspace = track.workspace(seed, entry.blocks)
        config = track.config(seed, entry.command, time_limit=entry.seconds, gap=entry.gap)
        result = run_method(workspace, config, tell=lambda loop: loops.append(loop) if not loops else None)
        myopic = plans_alone(loops[0].setup.planner)
        warned = any(warning.code == LOAD_WARNING for warning in result.warnings)
        wrong = fault_of(result)
        if result.ended not in FINISHED:
            codes = [warning.code for warning in result.warnings if warning.severity == "error"]
            refused = codes[0] if codes else result.ended
        elif wrong is not None:
            refused = wrong.code
        elif result.metrics["jobs_unfinished"]:
            refused = "unfinished"
        else:
            cost = result.total
    except DiagnosticError as error:
        refused = error.diagnostics[0].code
    return Run(track.name, seed, entry.name, cost, warned, myopic, refused, round(_cpu() - began, 2))


def examine(track: Track, seed: int, entry: Entry) -> str:
    """Return the code with which an entry is refused because it reads the future, "" if nothing shows it."""
    found = foresight_of(track, seed, entry)
    return "" if found is None else found.code


def bound_of(track: Track, seed: int) -> float:
    """Return the lower bound of an instance, with the capacity of the cluster. Raises ValueError if there is none."""
    result = run_method(track.workspace(seed), track.config(seed, BOUND_BY, bound=True))
    if result.bound.value is None:
        raise ValueError(f"{track.name}, seed {seed}: {result.bound.how}")
    return float(f"{result.bound.value:.9g}") * (1 - 1e-9)


def read_results() -> pl.DataFrame:
    """Return the stored results, by track, entry and seed."""
    if not RESULTS.is_file():
        return pl.DataFrame(schema=COLUMNS)
    return pl.read_csv(RESULTS, schema=COLUMNS)


def store(runs: list[Run]) -> pl.DataFrame:
    """Write runs over equal ones of the stored results, and return all results."""
    import fcntl

    new = pl.DataFrame(runs, schema=COLUMNS, orient="row") if runs else pl.DataFrame(schema=COLUMNS)
    with RESULTS.with_suffix(".lock").open("w") as lock:  # several tracks may run at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        old = read_results().join(new, on=["track", "seed", "entry"], how="anti")
        found = pl.concat([old, new]).sort("track", "entry", "seed")
        found.write_csv(RESULTS)
    return found


def _cpu() -> float:
    """Return the CPU time of this process and of the children that have ended."""
    import os

    times = os.times()
    return times.user + times.system + times.children_user + times.children_system if times else time.process_time()
