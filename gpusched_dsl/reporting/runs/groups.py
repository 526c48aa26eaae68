"""Metrics of a run by owner, queue, or any other attribute of jobs that the model declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.language.checked import Element
from gpusched_dsl.language.text.numbers import percent_text
from gpusched_dsl.online.history import RunHistory, cost_of_jobs
from gpusched_dsl.online.simulation.world import DONE
from gpusched_dsl.reporting.runs.fairness import bounded_slowdowns, finish_time_fairness, jain, slowdowns
from gpusched_dsl.reporting.runs.job_times import busy_times, tardiness_of, waiting_times
from gpusched_dsl.reporting.runs.short_numbers import short

Number = float | None

# Columns of the table of a group, with their formulas; times in the unit of the run.
COLUMNS: Final[Mapping[str, str]] = {
    "jobs": "jobs that arrived",
    "jobs_finished": "jobs that finished",
    "jobs_late": "finished jobs that ended after their due date",
    "jct_mean": "mean job completion time",
    "waiting_mean": "mean time that jobs were present without running",
    "slowdown_mean": "mean of job completion time divided by run time",
    "bounded_slowdown_mean": "mean of bounded slowdowns",
    "rho_mean": "mean finish-time fairness",
    "rho_max": "the largest finish-time fairness",
    "gpu_hours": "GPUs used * time",
    "gpu_share": "part of the GPU hours of all jobs",
    "cost": "money of its jobs",
}


def attributes_of(history: RunHistory) -> dict[str, tuple[str, Codes]]:
    """Return attributes of jobs: parameters over the jobs alone whose values are elements of another set.

    Each has the root set of its values and a code for each job of the run, -1 without a value.
    """
    base, root = history.outcome.base, history.jobs_root
    count = len(history.outcome.world.status)
    found: dict[str, tuple[str, Codes]] = {}
    for name, declared in base.model.params.items():
        param = base.store.params.get(name)
        if param is None or not isinstance(declared.type, Element) or declared.type.root == root:
            continue
        components = param.domain.components
        if len(components) != 1 or components[0] is not base.store.universes.get(root):
            continue
        codes = np.full(count, -1, dtype=np.int64)
        keys = param.domain.columns()[0]
        inside = keys < count
        codes[keys[inside]] = np.asarray(param.values)[inside].astype(np.int64)
        found[name] = (declared.type.root, codes)
    return found


def labels_of(history: RunHistory, attribute: str) -> list[str]:
    """Return the value of an attribute for each job that arrived; an empty text for none."""
    root, codes = attributes_of(history)[attribute]
    return history.labels(root, codes[history.came])


def group_table(history: RunHistory, attribute: str) -> pl.DataFrame:
    """Return a row for each value of an attribute that has jobs, by name; `COLUMNS` explains the columns."""
    came = history.came
    done = history.outcome.world.status[came] == DONE
    world = history.outcome.world
    tardiness = tardiness_of(history)[came]
    gpu_hours = busy_times(history)[1][came] * history.hours
    columns: dict[str, Floats] = {
        "finished": done.astype(np.float64),
        "late": np.where(np.isnan(tardiness), 0.0, tardiness > 0),
        "jct": np.where(done, (world.end - world.arrival)[came], np.nan),
        "waiting": waiting_times(history)[came],
        "slowdown": slowdowns(history)[came],
        "bounded": bounded_slowdowns(history)[came],
        "rho": finish_time_fairness(history)[came],
        "gpu_hours": gpu_hours,
        "cost": cost_of_jobs(history)[came],
    }
    names = pl.Series(attribute, labels_of(history, attribute), dtype=pl.String).replace("", None)
    frame = pl.DataFrame({name: pl.Series(values, nan_to_null=True) for name, values in columns.items()})
    total = float(gpu_hours.sum())
    return (
        frame.with_columns(names.alias("_group"))
        .group_by("_group")
        .agg(
            pl.len().cast(pl.Int64).alias("jobs"),
            pl.col("finished").sum().cast(pl.Int64).alias("jobs_finished"),
            pl.col("late").sum().cast(pl.Int64).alias("jobs_late"),
            pl.col("jct").mean().alias("jct_mean"),
            pl.col("waiting").mean().alias("waiting_mean"),
            pl.col("slowdown").mean().alias("slowdown_mean"),
            pl.col("bounded").mean().alias("bounded_slowdown_mean"),
            pl.col("rho").mean().alias("rho_mean"),
            pl.col("rho").max().alias("rho_max"),
            pl.col("gpu_hours").sum(),
            (pl.col("gpu_hours").sum() / total if total > 0 else pl.lit(None, pl.Float64)).alias("gpu_share"),
            pl.col("cost").sum(),
        )
        .sort("_group", nulls_last=True)
        .rename({"_group": attribute})
    )


def group_fairness(table: pl.DataFrame) -> dict[str, Number]:
    """Return Jain's index over groups of their GPU hours and of their mean bounded slowdowns."""
    return {
        "jain_gpu_hours": jain(table["gpu_hours"].to_numpy()),
        "jain_bounded_slowdown": jain(table["bounded_slowdown_mean"].cast(pl.Float64).fill_null(np.nan).to_numpy()),
    }


def group_lines(table: pl.DataFrame, unit: str, most: int) -> list[str]:
    """Return a table as lines of text: the groups with the most GPU hours, and Jain's indices."""
    attribute = table.columns[0]
    shown = table.sort("gpu_hours", descending=True, maintain_order=True).head(most)
    times = f" ({unit})" if unit else ""
    heads = [
        attribute,
        "jobs",
        f"JCT{times}",
        f"waiting{times}",
        "slowdown",
        "bounded",
        "rho max",
        "GPU-hours",
        "share",
    ]
    names = ("jct_mean", "waiting_mean", "slowdown_mean", "bounded_slowdown_mean", "rho_max", "gpu_hours")
    rows = [
        [row[attribute] or "-", short(row["jobs"]), *(short(row[name], 4) for name in names),
         percent_text(row["gpu_share"])]
        for row in shown.to_dicts()
    ]  # fmt: skip
    widths = [max(len(line[at]) for line in (heads, *rows)) for at in range(len(heads))]
    lines = ["  ".join(f"{cell:<{w}}" if at == 0 else f"{cell:>{w}}" for at, (cell, w) in
                       enumerate(zip(line, widths, strict=True))).rstrip() for line in (heads, *rows)]  # fmt: skip
    if table.height > shown.height:
        lines.append(f"... and {table.height - shown.height} more")
    fair = group_fairness(table)
    indices = [f"{short(value, 3)} of {what}" for what, value in
               (("GPU-hours", fair["jain_gpu_hours"]), ("bounded slowdowns", fair["jain_bounded_slowdown"]))
               if value is not None]  # fmt: skip
    return [*lines, f"Jain's index: {', '.join(indices)}"] if indices else lines
