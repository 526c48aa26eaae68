"""Metrics of a run by owner, queue, or any other attribute of jobs that the model declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.language.checked import Element, TextType
from gpusched_dsl.language.text.numbers import percent_number, short
from gpusched_dsl.online.history import RunHistory, cost_of_jobs
from gpusched_dsl.online.simulation.world import DONE
from gpusched_dsl.reporting.grid import Grid, GridColumn
from gpusched_dsl.reporting.runs.fairness import bounded_slowdowns, finish_time_fairness, jain, slowdowns
from gpusched_dsl.reporting.runs.job_times import busy_times, tardiness_of, waiting_times

Number = float | None
MOST_DISTINCT = 12  # of so many jobs, texts that all differ are an attribute too

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


def attributes_of(history: RunHistory) -> tuple[str, ...]:
    """Return attributes of jobs: parameters over the jobs alone with elements of another set or with texts.

    Texts that differ for all of many jobs, such as descriptions, form no groups and are left out.
    """
    base, root = history.outcome.base, history.jobs_root
    found = []
    for name, declared in base.model.params.items():
        param = base.store.params.get(name)
        if param is None or not isinstance(declared.type, Element | TextType):
            continue
        components = param.domain.components
        if len(components) != 1 or components[0] is not base.store.universes.get(root):
            continue
        if isinstance(declared.type, Element):
            is_attribute = declared.type.root != root
        else:
            count = len(param.values)
            is_attribute = count <= MOST_DISTINCT or len(set(param.values.tolist())) < count
        if is_attribute:
            found.append(name)
    return tuple(found)


def labels_of(history: RunHistory, attribute: str, rows: Codes) -> list[str]:
    """Return the value of an attribute for some jobs of the run; an empty text for none."""
    base = history.outcome.base
    param, kind = base.store.params[attribute], base.model.params[attribute].type
    keys, values = param.domain.columns()[0], np.asarray(param.values)
    place = np.full(len(history.outcome.world.status), -1, dtype=np.int64)
    inside = keys < len(place)
    place[keys[inside]] = np.flatnonzero(inside)
    at = place[rows]
    if isinstance(kind, Element):
        codes = np.where(at >= 0, values[at], -1) if len(values) else np.full(len(at), -1)
        return history.labels(kind.root, codes.astype(np.int64))
    return [str(values[k]) if k >= 0 else "" for k in at.tolist()]


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
    names = pl.Series(attribute, labels_of(history, attribute, history.came), dtype=pl.String).replace("", None)
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


# Below the tables of groups, once.
LEGEND = (
    "slowdown: completion / run time; bounded: run times count as at least 10 s",
    "rho: completion / that on an equal share of the cluster; above 1 is worse",
    "Jain's index: 1 if all are equal, 1 / n if one of n has everything",
)


def group_grid(table: pl.DataFrame, unit: str, most: int) -> Grid:
    """Return the groups with the most GPU hours as a table of texts."""
    attribute = table.columns[0]
    shown = table.sort("gpu_hours", descending=True, maintain_order=True).head(most)
    times = f" [{unit}]" if unit else ""

    def numbers(header: str, name: str, optional: int = 0) -> GridColumn:
        texts = [short(value, 4) for value in shown[name].to_list()]
        return GridColumn(header, texts, right=True, optional=optional)

    return Grid(
        (
            GridColumn(attribute, [value or "-" for value in shown[attribute].to_list()]),
            numbers("jobs", "jobs"),
            numbers(f"completion{times}", "jct_mean"),
            numbers(f"waiting{times}", "waiting_mean", 1),
            numbers("slowdown", "slowdown_mean", 4),
            numbers("bounded", "bounded_slowdown_mean", 5),
            numbers("largest rho", "rho_max", 6),
            numbers("GPU-hours", "gpu_hours", 2),
            GridColumn("share [%]", [percent_number(v) for v in shown["gpu_share"].to_list()], right=True, optional=3),
        )
    )


def group_footer(table: pl.DataFrame, most: int) -> list[str]:
    """Return the lines below the table: the number of other groups, and Jain's indices."""
    lines = [f"... and {table.height - most} more"] if table.height > most else []
    fair = group_fairness(table)
    indices = [f"{short(value, 3)} of {what}" for what, value in
               (("GPU-hours", fair["jain_gpu_hours"]), ("bounded slowdowns", fair["jain_bounded_slowdown"]))
               if value is not None]  # fmt: skip
    return [*lines, f"Jain's index: {', '.join(indices)}"] if indices else lines
