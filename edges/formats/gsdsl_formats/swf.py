"""Traces in the Standard Workload Format, version 2.2: 18 numbers per line, comments after `;`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from gpusched_dsl.data.formats.fields import POSITIVE, Field, SelectedRows
from gpusched_dsl.data.formats.jobs import trace
from gpusched_dsl.data.formats.lines import read_lines
from gpusched_dsl.data.formats.shape import FormatColumn, Raw, Setting
from gpusched_dsl.data.sources.files import check_text

_CELLS = (
    "job", "submitted", "wait", "duration", "allocated", "cpu_time", "used_memory", "gpus", "requested", "memory",
    "status", "user", "group", "application", "queue", "vc", "preceding", "think_time",
)  # fmt: skip
_UNKNOWN = ("-1", "-1.0")


def _field(name: str, kind: str = "number", **more: object) -> Field:
    return Field(name, (name,), kind, needed=False, unknown=_UNKNOWN, **more)  # type: ignore[arg-type]


_FIELDS = (
    Field("job", ("job",), "label"),
    Field("submitted", ("submitted",), "number", unknown=_UNKNOWN),
    _field("wait", least=0),
    Field("duration", ("duration",), "number", least=POSITIVE, reason="no duration", unknown=_UNKNOWN),
    _field("allocated", "integer"),
    _field("gpus", "integer"),
    _field("requested", least=0),
    _field("memory", least=0),
    _field("status", "text"),
    _field("user", "text"),
    _field("group", "text"),
    _field("application", "text"),
    _field("queue", "text"),
    _field("vc", "text"),
)
_STATUS = {"0": "failed", "1": "completed", "2": "partial", "3": "completed", "4": "failed", "5": "cancelled"}
_HEADER = re.compile(rb"^\s*;\s*(Computer|MaxProcs|MaxNodes|UnixStartTime|TimeZoneString):[ \t]*(.*)$", re.MULTILINE)


def _read(raw: Raw) -> SelectedRows:
    rows = read_lines(raw, {18: _CELLS}, _FIELDS, comment=";")
    header = _HEADER.findall(check_text(raw.name, raw.data))
    rows.facts += [f"{key.decode()}: {value.decode('utf-8').strip()}" for key, value in header]
    return rows


def _change(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    """Read processors as GPUs: the requested number, else the allocated number."""
    import polars as pl

    rows.put(pl.coalesce("gpus", "allocated").alias("gpus"))
    rows.leave_out("no processors", rows["gpus"].is_null() | (rows["gpus"] < 1))
    rows.put(rows["status"].replace_strict(_STATUS, default=None).alias("status"))
    rows.put((rows["memory"] * rows["gpus"] / 1024.0).alias("memory"))


SWF = trace(
    "swf",
    "Jobs in the Standard Workload Format 2.2 of the Parallel Workloads Archive; processors are read as GPUs.",
    _FIELDS,
    "Feitelson et al., Parallel Workloads Archive",
    change=_change,
    more_columns=(
        FormatColumn("wait", "waiting time", "s"),
        FormatColumn("requested", "requested time", "s"),
        FormatColumn("memory", "requested main memory of all processors", "MiB"),
        FormatColumn("status", "completed, failed, cancelled, or partial"),
        FormatColumn("vc", "number of the partition"),
        FormatColumn("queue", "number of the queue"),
        FormatColumn("group", "number of the group of the user"),
        FormatColumn("application", "number of the application"),
    ),
    read=_read,
    text_options=(),
)

FORMATS = MappingProxyType({"swf": SWF})
