"""Tables of a run: a row per job, per stretch of a job on a node, per plan, per type of node."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.history import RunHistory, cost_of_jobs
from gpusched_dsl.online.run_record import RunStep
from gpusched_dsl.online.simulation.world import STATES
from gpusched_dsl.reporting.runs.metrics import busy_of, tardiness_of, waiting_of

COUNTED = {"resumes": "resume", "migrations": "migration", "resizes": "resize", "halts": "halt"}
STEP_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "number": pl.Int64, "time": pl.Float64, "why": pl.List(pl.String), "method": pl.String, "status": pl.String,
    "jobs": pl.Int64, "placed": pl.Int64, "started": pl.Int64, "resumed": pl.Int64, "migrated": pl.Int64,
    "resized": pl.Int64, "halted": pl.Int64, "booted": pl.Int64, "plan_seconds": pl.Float64,
    "build_seconds": pl.Float64, "other_seconds": pl.Float64, "objective": pl.Float64, "bound": pl.Float64,
}  # fmt: skip


def jobs_table(reading: RunHistory) -> pl.DataFrame:
    """The jobs that arrived, in the order of their set.

    `job`, `state`, `arrival`, `start` (the first), `end`, `due`, `tardiness`, `weight`, `cost` (money, all terms),
    `waiting`, `running` (time), `gpu_time` (GPUs * time), `node` and `node_type` of the last stretch, `gpus` used in
    it, and counts of `resumes`, `migrations`, `resizes` and `halts`. Null where there is none.
    """
    world, rows = reading.outcome.world, reading.came
    busy, gpu_time = busy_of(reading)
    place, kind, uses = _last(reading)
    found: dict[str, pl.Series] = {
        "job": _texts(reading.labels(reading.jobs_root, rows)),
        "state": _texts([STATES[s] for s in world.status[rows].tolist()]),
        "arrival": _numbers(world.arrival[rows]),
        "start": _numbers(world.first_start[rows]),
        "end": _numbers(world.end[rows]),
        "due": _numbers(world.due[rows]),
        "tardiness": _numbers(tardiness_of(reading)[rows]),
        "weight": _numbers(world.weight[rows]),
        "cost": _numbers(cost_of_jobs(reading)[rows]),
        "waiting": _numbers(waiting_of(reading)[rows]),
        "running": _numbers(busy[rows]),
        "gpu_time": _numbers(gpu_time[rows]),
        "node": _texts([] if reading.counted else reading.labels(reading.places_root, place[rows]), len(rows)),
        "node_type": _texts(reading.labels(reading.kinds_root, kind[rows])),
        "gpus": _numbers(uses[rows]),
    }
    found |= {name: pl.Series(world.counts[of][rows]) for name, of in COUNTED.items()}
    return pl.DataFrame(found)


def schedule_table(reading: RunHistory) -> pl.DataFrame:
    """Return the executed jobs: `job`, `node`, `node_type`, `gpus`, `start`, `end`; by start, then job."""
    parts = reading.stretches
    return pl.DataFrame(
        {
            "job": _texts(reading.labels(reading.jobs_root, parts.job)),
            "node": _texts([] if reading.counted else reading.labels(reading.places_root, parts.place), len(parts)),
            "node_type": _texts(reading.labels(reading.kinds_root, parts.kind)),
            "gpus": _numbers(parts.uses),
            "start": _numbers(parts.start),
            "end": _numbers(parts.end),
        }
    )


def steps_table(steps: tuple[RunStep, ...]) -> pl.DataFrame:
    """A row per plan with the fields of `RunStep`."""
    columns = list(zip(*steps, strict=True)) if steps else [()] * len(STEP_COLUMNS)
    data = {
        name: pl.Series(name, [list(v) for v in column] if name == "why" else column, dtype=dtype)
        for (name, dtype), column in zip(STEP_COLUMNS.items(), columns, strict=True)
    }
    return pl.DataFrame(data)


def node_types_table(reading: RunHistory) -> pl.DataFrame:
    """Types of nodes: `gpus` of a node, `nodes` in the cluster, hours of GPUs used and of nodes in use, utilisation."""
    world = reading.outcome.world
    used, in_use = world.gpu_time * reading.hours, world.place_time * reading.hours
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.full(len(used), np.nan) if reading.counted else used / (in_use * reading.gpus)
    return pl.DataFrame(
        {
            "node_type": _texts(reading.labels(reading.kinds_root, np.arange(len(used), dtype=np.int64))),
            "gpus": _numbers(reading.gpus),
            "nodes": _numbers(reading.nodes),
            "gpu_hours": _numbers(used),
            "node_hours": _numbers(in_use),
            "utilisation": _numbers(part),
        }
    )


def _last(reading: RunHistory) -> tuple[Ints, Ints, Floats]:
    """Place, kind and GPUs of the last stretch of each job; -1 and NaN for jobs that never ran."""
    parts, count = reading.stretches, len(reading.outcome.world.status)
    last = np.full(count, -1, dtype=np.int64)
    last[parts.job] = np.arange(len(parts))  # by start: of several rows of a job the last one stays
    ran = last >= 0
    place, kind = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    uses = np.full(count, np.nan)
    place[ran], kind[ran], uses[ran] = parts.place[last[ran]], parts.kind[last[ran]], parts.uses[last[ran]]
    return place, kind, uses


def _numbers(values: Floats) -> pl.Series:
    """Numbers; null where they are not finite."""
    finite = np.isfinite(values)
    if finite.all():
        return pl.Series(values + 0.0, dtype=pl.Float64)
    return pl.Series(np.where(finite, values, np.nan), dtype=pl.Float64, nan_to_null=True)


def _texts(texts: list[str], count: int | None = None) -> pl.Series:
    """Names, null for none; `count` nulls where there is no list."""
    filled = texts if texts or count is None else [""] * count
    return pl.Series([t or None for t in filled], dtype=pl.String)
