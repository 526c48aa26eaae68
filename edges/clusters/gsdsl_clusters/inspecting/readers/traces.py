"""A snapshot from a trace of jobs in one of the known formats: jobs that have ended, with or without their starts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from gpusched_dsl.data.formats.registry import reader, shipped
from gpusched_dsl.data.formats.shape import Format, FormatTable, Raw, dropped_text
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gsdsl_clusters.inspecting.inferring import infer_nodes
from gsdsl_clusters.inspecting.snapshot import (
    JOB_COLUMNS,
    NODE_COLUMNS,
    ClusterSnapshot,
    SnapshotState,
    complete,
    frame,
)
from gsdsl_clusters.inspecting.stated_nodes import StatedNodes

_SAMPLE = 1 << 16  # bytes from which a format is recognised
_NEEDED = ("submitted", "gpus", "duration")
_NO_STARTS = (
    "the trace has no starts: as many GPUs as jobs would have used at once without waiting, on nodes of {} GPUs"
)
_PROCESSORS = re.compile(r"^MaxProcs: (\d+)")
_UNIX_START = re.compile(r"^UnixStartTime: (\d+)")


def trace_formats() -> list[str]:
    """The names of the formats of traces that give submissions, GPUs and durations; `jobs`, for any table, is last."""
    named = [n for n in shipped(False) if n not in ("sacct", "jobs", "kubernetes")]
    fitting = [n for n in named if set(_NEEDED) <= {column.name for column in reader(n).columns}]
    return [*fitting, "jobs"]


def recognise_format(raw: Raw) -> str | None:
    """The format of a file by its first lines: of those that can read them the one with the most columns."""
    whole = raw.data.lstrip()[:1] in (b"[", b"{")  # JSON has no first lines
    end = len(raw.data) if whole else raw.data.rfind(b"\n", 0, _SAMPLE) + 1 or len(raw.data)
    sample = Raw(raw.name, raw.data[:end], raw.separator, raw.decimal, raw.limits)
    found: dict[str, int] = {}
    for name in trace_formats():
        try:
            table = _table(reader(name), sample)
        except Unreadable:
            continue
        if set(_NEEDED) <= set(table.frame.columns):
            found[name] = len(table.frame.columns)
    return max(found, key=lambda name: found[name], default=None)


def read_trace(raw: Raw, name: str, stated: StatedNodes | None = None) -> ClusterSnapshot:
    """Read a trace by the format `name`; without `stated` nodes they are inferred.

    Raises Unreadable (GSM20xx) for a file that is not of this format.
    """
    table = _table(reader(name), raw)
    if lacking := [column for column in _NEEDED if column not in table.frame.columns]:
        message = f"data file `{raw.name}` has no {lacking[0]} of its jobs in the format `{name}`"
        raise Unreadable(Fault("GSM2011", message))
    rows = _with_times(table)
    has_starts = "started" in rows.columns
    jobs = complete(_columns(rows), JOB_COLUMNS)
    how = ""
    if stated is not None:
        nodes = stated.for_jobs(jobs)
    else:
        nodes, how = _nodes_of(jobs, table.facts, has_starts)
    until = pl.col("ended") if has_starts else pl.col("submitted")
    now = jobs.select(until.max()).item()
    unread = [dropped_text(each) for each in table.dropped] + list(table.notes)
    dated = any(_UNIX_START.match(fact) for fact in table.facts)
    return ClusterSnapshot(
        f"{name}: {raw.name}", float(now or 0.0), nodes, jobs, inferred=how, dated=dated, has_starts=has_starts,
        unread=unread,
    )  # fmt: skip


def _table(found: Format, raw: Raw) -> FormatTable:
    settings = {o.name: o.default for o in found.options if o.default is not None}
    return found.read(raw, {**settings, "clock": "file"})


def _with_times(table: FormatTable) -> pl.DataFrame:
    """The rows with `started` and `ended`, if the trace has starts or waits."""
    rows = table.frame
    zero = next((float(found[1]) for fact in table.facts if (found := _UNIX_START.match(fact))), 0.0)
    if "started" not in rows.columns and "wait" in rows.columns:
        rows = rows.with_columns((pl.col("submitted") + pl.col("wait")).alias("started"))
    if "started" in rows.columns:
        rows = rows.with_columns((pl.col("started") + pl.col("duration")).alias("ended"))
    else:
        rows = rows.drop("ended", strict=False)
    times = [pl.col(name) + zero for name in ("submitted", "started", "ended") if name in rows.columns]
    return rows.with_columns(times)


def _columns(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows in the columns of a snapshot; GPUs are divided by the nodes of a job where that is possible."""
    has = set(rows.columns)
    nodes = pl.col("nodes").fill_null(0) if "nodes" in has else pl.lit(0)
    parts = (nodes > 1) & (pl.col("gpus") % nodes.clip(1) == 0)
    texts: Mapping[str, str] = {"user": "user", "team": "vc", "qos": "qos", "name": "name", "outcome": "status"}
    teams = {**texts, "team": "account"} if "account" in has else texts
    return rows.select(
        pl.col("job").cast(pl.String),
        pl.lit(SnapshotState.ENDED.value).alias("state"),
        pl.when(parts).then(pl.col("gpus") // nodes.clip(1)).otherwise("gpus").alias("gpus"),
        pl.when(parts | (nodes == 1)).then(nodes).otherwise(0).alias("nodes"),
        *(pl.col(n) for n in ("submitted", "started", "ended", "duration", "cpus") if n in has),
        *((pl.col("requested").alias("limit"),) if "requested" in has else ()),
        *(pl.col(old).cast(pl.String).alias(new) for new, old in teams.items() if old in has),
        *((pl.col("gpu_types").fill_null("").str.split("|").list.filter(pl.element() != ""),)
          if "gpu_types" in has else ()),
    )  # fmt: skip


def _nodes_of(jobs: pl.DataFrame, facts: Sequence[str], has_starts: bool) -> tuple[pl.DataFrame, str]:
    for fact in facts:
        if found := _PROCESSORS.match(fact):
            pool = {"node": "cluster", "gpus": int(found[1])}
            return frame([pool], NODE_COLUMNS), f"one pool of the {found[1]} processors that the trace states"
    if has_starts:
        return infer_nodes(jobs)
    at_once = jobs.with_columns(
        pl.col("submitted").alias("started"), (pl.col("submitted") + pl.col("duration")).alias("ended")
    )
    nodes, _ = infer_nodes(at_once)
    return nodes, _NO_STARTS.format(nodes["gpus"].max())
