"""The summary of a table of a format as JSON: the document that `docs/schema/trace.schema.json` describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpusched_dsl.data.formats.shape import Dropped, Format, FormatTable, Setting

if TYPE_CHECKING:
    import polars as pl

FORMAT = "gsdsl-trace/1"
PERCENTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
MOST_VALUES = 20  # of a column of text


def table_document(found: Format, table: FormatTable, file: str, options: Mapping[str, Setting]) -> dict[str, Any]:
    """Return the read and skipped rows, the sizes and durations of jobs, and the contents of the columns.

    Times are in seconds. `options` are all those of the format; the document has those without their defaults.
    """
    frame = table.frame
    units = {column.name: column.unit for column in found.columns}
    return {
        "format": FORMAT,
        "file": file,
        "as": found.name,
        "options": _given(found, options),
        "facts": list(table.facts),
        "rows_read": table.rows,
        "rows": frame.height,
        "unusable": [_dropped_document(each) for each in table.dropped],
        "excluded": [_dropped_document(each) for each in table.filtered],
        "notes": list(table.notes),
        "jobs": _jobs(frame) if "submitted" in frame.columns and frame.height else None,
        "columns": [_column(frame[name], units.get(name, "")) for name in frame.columns],
        "missing_columns": [name for name in units if name not in frame.columns],
    }


def _given(found: Format, options: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the options that differ from their defaults."""
    defaults = {option.name: option.default for option in found.options}
    return {name: value for name, value in options.items() if value != defaults.get(name)}


def _dropped_document(each: Dropped) -> dict[str, Any]:
    return {
        "reason": each.reason,
        "rows": each.rows,
        "first_line": each.first,
        "column": each.column,
        "text": each.text,
    }


def _jobs(frame: pl.DataFrame) -> dict[str, Any]:
    """Return the time span, the number of jobs by GPUs, quantiles of durations, GPU hours and deadlines."""
    submitted = frame["submitted"]
    jobs: dict[str, Any] = {"first_submission": submitted.min(), "last_submission": submitted.max()}
    if "gpus" in frame.columns:
        counts = frame["gpus"].drop_nulls().value_counts().sort("gpus")
        jobs["gpus"] = [{"gpus": gpus, "jobs": count} for gpus, count in counts.rows()]
    if "duration" in frame.columns and len(known := frame["duration"].drop_nulls()):
        jobs["duration"] = {f"p{level:.0%}".rstrip("%"): known.quantile(level, "nearest") for level in PERCENTILES}
        jobs["duration"]["max"] = known.max()
    if {"gpus", "duration"} <= set(frame.columns):
        jobs["gpu_hours"] = float((frame["gpus"] * frame["duration"]).sum()) / 3600
    if "deadline" in frame.columns:
        jobs["jobs_with_deadline"] = frame.height - frame["deadline"].null_count()
    return jobs


def _column(column: pl.Series, unit: str) -> dict[str, Any]:
    """Return the range of a column of numbers, or the most frequent values of one of texts."""
    given = column.drop_nulls()
    described: dict[str, Any] = {"name": column.name, "unit": unit, "empty": column.null_count()}
    if column.dtype.is_numeric():
        return described | {"type": "number", "min": given.min(), "max": given.max(), "mean": given.mean()}
    counts = given.value_counts(sort=True)
    listed = [{"value": str(value), "rows": rows} for value, rows in counts.head(MOST_VALUES).rows()]
    return described | {"type": "text", "distinct": counts.height, "values": listed}
