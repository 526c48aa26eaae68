"""Tables of one's own: jobs with a mapping of columns, and any other table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gpusched_dsl.data.formats.jobs import COLUMNS, job_options
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting
from gpusched_dsl.data.formats.text_table import OPTIONS

_NAMES = (
    "job", "submitted", "gpus", "nodes", "duration", "deadline", "weight", "value", "network", "batch_size",
    "iterations", "status", "vc", "user", "cpus", "memory", "gpu_types",
)  # fmt: skip
_COLUMNS = (
    *(COLUMNS[name] for name in _NAMES),
    FormatColumn("started", "start, on the clock of `submitted`", "s"),
    FormatColumn("ended", "end, on the clock of `submitted`", "s"),
)
_ORIGIN = Option("origin", 'time 0, such as "2024-03-01"', "", shown="the first kept submission; see `clock`")


def _mapping(column: FormatColumn) -> Option:
    needed = "needed" if column.name == "submitted" else "if there is one"
    return Option(column.name, f"column of the file for `{column.name}`", "", shown=f"`{column.name}`, {needed}")


def _jobs(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    from gpusched_dsl.data.formats.own_jobs import read_own_jobs

    assert raw is not None
    return read_own_jobs(raw, settings, JOBS)


def _table(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    from gpusched_dsl.data.formats.own_jobs import read_own_table

    assert raw is not None
    return read_own_table(raw, settings)


JOBS = Format(
    "jobs",
    "Jobs of any table (CSV, Excel, Parquet): options name its columns; other columns keep their names.",
    _COLUMNS,
    _jobs,
    (
        *map(_mapping, _COLUMNS),
        *OPTIONS,
        Option("from", 'only jobs submitted at this time or later, such as "2024-03-01 06:00"', "", shown="all"),
        Option("until", "only jobs submitted before this time", "", shown="all"),
        _ORIGIN,
        Option("least_gpus", "only jobs with at least this number of GPUs", 0, least=0),
        *job_options([name for name in _NAMES if name not in ("status", "vc")]),
    ),
    open_columns=True,
)

TABLE = Format(
    "table",
    "Any table (CSV, Excel, Parquet): its columns by their names, times and lengths of time in seconds.",
    (),
    _table,
    (
        *OPTIONS,
        Option("times", "columns of times, read as seconds since `origin`, with `|` between them", "", shown="none"),
        Option("durations", "columns of lengths of time, read as seconds, with `|` between them", "", shown="none"),
        Option("origin", "time 0 of these columns", "", shown="the midnight before the first time"),
    ),
    open_columns=True,
)

FORMATS = MappingProxyType({"jobs": JOBS, "table": TABLE})
