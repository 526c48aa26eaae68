"""Tables of a run: a row per job, per stretch of a job on a node, per plan, per type of node."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.history import RunHistory, cost_of_jobs
from gpusched_dsl.online.run_record import RunStep
from gpusched_dsl.online.simulation.world import STATES
from gpusched_dsl.reporting.runs.fairness import bounded_slowdowns, finish_time_fairness, slowdowns
from gpusched_dsl.reporting.runs.groups import attributes_of, labels_of
from gpusched_dsl.reporting.runs.job_times import busy_times, tardiness_of, waiting_times

JOB_TIMES, STRETCH_TIMES, STEP_TIMES = ("arrival", "start", "end", "due"), ("start", "end"), ("time",)
COUNTED = {"resumes": "resume", "migrations": "migration", "resizes": "resize", "halts": "halt"}
STEP_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "number": pl.Int64, "time": pl.Float64, "why": pl.List(pl.String), "method": pl.String, "status": pl.String,
    "jobs": pl.Int64, "placed": pl.Int64, "started": pl.Int64, "resumed": pl.Int64, "migrated": pl.Int64,
    "resized": pl.Int64, "halted": pl.Int64, "booted": pl.Int64, "plan_seconds": pl.Float64,
    "build_seconds": pl.Float64, "other_seconds": pl.Float64, "objective": pl.Float64, "bound": pl.Float64,
}  # fmt: skip


def jobs_table(history: RunHistory) -> pl.DataFrame:
    """The jobs that arrived, in the order of their set.

    `job`, `state`, `arrival`, `start` (the first), `end`, `due`, `tardiness`, `weight`, `cost` (money, all terms),
    `waiting`, `running` (time), `gpu_time` (GPUs * time), `node` and `node_type` of the last stretch (of a gang all of
    them, with commas), `gpus` used in it, counts of `resumes`, `migrations`, `resizes` and `halts`, `slowdown`,
    `bounded_slowdown` and `rho` of finished jobs, and the attributes of jobs that the model declares. Null where there
    is none.
    """
    world, rows = history.outcome.world, history.came
    busy, gpu_time = busy_times(history)
    last = _Last(history)
    found: dict[str, pl.Series] = {
        "job": _texts(history.labels(history.jobs_root, rows)),
        "state": _texts([STATES[s] for s in world.status[rows].tolist()]),
        "arrival": _numbers(world.arrival[rows]),
        "start": _numbers(world.first_start[rows]),
        "end": _numbers(world.end[rows]),
        "due": _numbers(world.due[rows]),
        "tardiness": _numbers(tardiness_of(history)[rows]),
        "weight": _numbers(world.weight[rows]),
        "cost": _numbers(cost_of_jobs(history)[rows]),
        "waiting": _numbers(waiting_times(history)[rows]),
        "running": _numbers(busy[rows]),
        "gpu_time": _numbers(gpu_time[rows]),
        "node": _texts([] if history.counts_nodes else last.nodes(rows), len(rows)),
        "node_type": _texts(last.kinds(rows)),
        "gpus": _numbers(last.uses[rows]),
    }
    found |= {name: pl.Series(world.counts[of][rows]) for name, of in COUNTED.items()}
    fairness = {"slowdown": slowdowns, "bounded_slowdown": bounded_slowdowns, "rho": finish_time_fairness}
    found |= {name: _numbers(values(history)[rows]) for name, values in fairness.items()}
    for name in attributes_of(history):
        found[name if name not in found else f"{name}_"] = _texts(labels_of(history, name, rows), len(rows))
    return with_dates(pl.DataFrame(found), history.outcome.clock, JOB_TIMES)


def schedule_table(history: RunHistory) -> pl.DataFrame:
    """Return the executed jobs: `job`, `node`, `node_type`, `gpus`, `start`, `end`; by start, then job."""
    parts = history.stretches
    nodes = [] if history.counts_nodes else history.labels(history.places_root, parts.place)
    table = pl.DataFrame(
        {
            "job": _texts(history.labels(history.jobs_root, parts.job)),
            "node": _texts(nodes, len(parts)),
            "node_type": _texts(history.labels(history.kinds_root, parts.kind)),
            "gpus": _numbers(parts.uses),
            "start": _numbers(parts.start),
            "end": _numbers(parts.end),
        }
    )
    return with_dates(table, history.outcome.clock, STRETCH_TIMES)


def steps_table(steps: tuple[RunStep, ...], clock: RunClock) -> pl.DataFrame:
    """A row per plan with the fields of `RunStep`."""
    columns = list(zip(*steps, strict=True)) if steps else [()] * len(STEP_COLUMNS)
    data = {
        name: pl.Series(name, [list(v) for v in column] if name == "why" else column, dtype=dtype)
        for (name, dtype), column in zip(STEP_COLUMNS.items(), columns, strict=True)
    }
    return with_dates(pl.DataFrame(data), clock, STEP_TIMES)


def with_dates(table: pl.DataFrame, clock: RunClock, times: tuple[str, ...]) -> pl.DataFrame:
    """Add `start_date` to `start`, and so on, in ISO 8601, if there is a calendar; null where a time has no date."""
    if clock.dates is None:
        return table
    dates = {f"{name}_date": _texts(clock.isos(table[name].to_numpy()), table.height) for name in times}
    return table.with_columns(**dates)


def for_readers(table: pl.DataFrame, clock: RunClock, times: tuple[str, ...]) -> pl.DataFrame:
    """Replace times by dates as people write them, if there is a calendar."""
    if clock.dates is None:
        return table
    texts = {name: _texts(clock.texts(table[name].to_numpy()), table.height) for name in times}
    return table.with_columns(**texts).drop([f"{name}_date" for name in times], strict=False)


def node_types_table(history: RunHistory) -> pl.DataFrame:
    """Types of nodes: `gpus` of a node, `nodes` in the cluster, hours of GPUs used and of nodes in use, utilisation."""
    world = history.outcome.world
    used, in_use = world.gpu_time * history.hours, world.place_time * history.hours
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.full(len(used), np.nan) if history.counts_nodes else used / (in_use * history.gpus)
    return pl.DataFrame(
        {
            "node_type": _texts(history.labels(history.kinds_root, np.arange(len(used), dtype=np.int64))),
            "gpus": _numbers(history.gpus),
            "nodes": _numbers(history.nodes),
            "gpu_hours": _numbers(used),
            "node_hours": _numbers(in_use),
            "utilisation": _numbers(part),
        }
    )


class _Last:
    """Place, kind and GPUs of the last stretch of each job; of a gang all its places."""

    def __init__(self, history: RunHistory) -> None:
        self.history, parts = history, history.stretches
        count = len(history.outcome.world.status)
        last = np.full(count, -1, dtype=np.int64)
        led = np.flatnonzero(parts.leads)
        last[parts.job[led]] = led  # in order of start: the last row of a job remains
        self.place, self.kind = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
        self.uses = np.full(count, np.nan)
        ran = np.flatnonzero(last >= 0)
        self.place[ran], self.kind[ran] = parts.place[last[ran]], parts.kind[last[ran]]
        sums = np.add.reduceat(parts.uses, led) if len(led) else parts.uses
        sizes = np.diff(np.append(led, len(parts)))
        number = np.searchsorted(led, last[ran])
        self.uses[ran] = sums[number]
        wide = np.flatnonzero(sizes[number] > 1)
        of_gangs = zip(ran[wide].tolist(), led[number[wide]].tolist(), sizes[number[wide]].tolist(), strict=True)
        self.gangs = {job: slice(start, start + size) for job, start, size in of_gangs}

    def nodes(self, jobs: Ints) -> list[str]:
        """The names of the nodes of some jobs."""
        return self._names(self.history.places_root, self.history.stretches.place, self.place, jobs)

    def kinds(self, jobs: Ints) -> list[str]:
        """The names of the types of the nodes of some jobs."""
        return self._names(self.history.kinds_root, self.history.stretches.kind, self.kind, jobs)

    def _names(self, root: str, of_parts: Ints, of_jobs: Ints, jobs: Ints) -> list[str]:
        found = self.history.labels(root, of_jobs[jobs])
        for at, job in enumerate(jobs.tolist()) if self.gangs else ():
            if job in self.gangs:
                found[at] = ", ".join(dict.fromkeys(self.history.labels(root, of_parts[self.gangs[job]])))
        return found


def _numbers(values: Floats) -> pl.Series:
    """Return a column of numbers, null for NaN and infinite ones."""
    finite = np.isfinite(values)
    if finite.all():
        return pl.Series(values + 0.0, dtype=pl.Float64)
    return pl.Series(np.where(finite, values, np.nan), dtype=pl.Float64, nan_to_null=True)


def _texts(texts: list[str], count: int | None = None) -> pl.Series:
    """Return a column of names, null for empty ones; `count` nulls for an empty list."""
    filled = texts if texts or count is None else [""] * count
    return pl.Series([t or None for t in filled], dtype=pl.String)
