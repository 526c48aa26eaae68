"""Traces of jobs: the columns that they share, and the options by which all of them are cut, one way for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpusched_dsl.data.formats.fields import ROW, Field, SelectedRows, read_rows
from gpusched_dsl.data.formats.separators import TEXT_OPTIONS
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting, dropped_text
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.text.numbers import count_text

if TYPE_CHECKING:
    import polars as pl

COLUMNS = MappingProxyType(
    {
        c.name: c
        for c in (
            FormatColumn("job", "the job; without a name in the file, the number of its row"),
            FormatColumn("submitted", "submission, relative to the first kept submission (see `clock`)", "s"),
            FormatColumn("gpus", "requested GPUs"),
            FormatColumn("nodes", "nodes that it ran on"),
            FormatColumn("duration", "run time", "s"),
            FormatColumn("deadline", "due time, on the clock of `submitted`", "s"),
            FormatColumn("weight", "its weight or priority"),
            FormatColumn("value", "its value if it ends in time"),
            FormatColumn("network", "the network that it trains"),
            FormatColumn("batch_size", "samples of one iteration"),
            FormatColumn("iterations", "length of the training", "iteration"),
            FormatColumn("status", "final status, in the words of the trace"),
            FormatColumn("vc", "virtual cluster or queue"),
            FormatColumn("user", "user who submitted it"),
            FormatColumn("cpus", "CPU cores"),
            FormatColumn("memory", "main memory", "MiB"),
            FormatColumn("gpu_share", "requested part of a GPU, 1 for complete GPUs"),
            FormatColumn("gpu_types", "allowed GPU models, with `|` between them; empty: any"),
            FormatColumn("gpu_time", "GPU time of all attempts", "gpu*s"),
        )
    }
)
ALL = 1 << 62
_CLOCKS = ("first", "file")


def job_options(names: Sequence[str], *more: Option) -> tuple[Option, ...]:
    """Return the options for a trace with these columns, then those of a single format."""
    found = [
        Option("first", "number of rows to keep, in the order of submission, after all other options", ALL, least=1,
               shown="all"),
        Option("skip", "number of first rows to skip", 0, least=0),
        Option("after", "only jobs submitted at this time of the trace or later", -math.inf, unit="s", shown="all"),
        Option("before", "only jobs submitted earlier than this time of the trace", math.inf, unit="s", shown="all"),
        Option("clock", "origin of times: the `first` kept submission, or as in the `file`", "first",
               choices=_CLOCKS),
    ]  # fmt: skip
    for name, what in (("status", "only jobs with this status"), ("vc", "only jobs of these virtual clusters")):
        if name in names:
            found.append(Option(name, f"{what}, several with `|` between them", "", shown="all"))
    if "gpus" in names:
        found.append(
            Option("most_gpus", "only jobs that request at most this number of GPUs", ALL, least=1, shown="any")
        )
    if "duration" in names:
        found.append(
            Option("least_duration", "only jobs that ran at least this time", 0.0, unit="s", least=0, shown="any")
        )
    return (*found, *more)


Change = Callable[[SelectedRows, Mapping[str, Setting]], None]


def trace(
    name: str,
    doc: str,
    fields: Sequence[Field],
    source: str,
    *,
    change: Change | None = None,
    more_columns: Sequence[FormatColumn] = (),
    more_options: Sequence[Option] = (),
    read: Callable[[Raw], SelectedRows] | None = None,
    text_options: Sequence[Option] = TEXT_OPTIONS,
) -> Format:
    """Return the format of a trace in CSV: `fields` in its order; `change` edits the rows before they are cut.

    `more_columns` are those that `change` makes, that are of this format alone, or that mean something else in it; a
    field that is no column is there for `change` only.
    """
    own = {c.name: c for c in more_columns}
    produced = {"job", *own, *(f.name for f in fields)}
    listed = tuple(c for c in {**COLUMNS, **own}.values() if c.name in produced)

    def take(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
        assert raw is not None
        rows = read_rows(raw, fields) if read is None else read(raw)
        if change is not None:
            change(rows, settings)
        select_jobs(rows, settings, raw.name)
        return rows.table(c.name for c in listed)

    return Format(name, doc, listed, take, job_options([c.name for c in listed], *more_options, *text_options), source)


def select_jobs(rows: SelectedRows, settings: Mapping[str, Setting], name: str) -> None:
    """Sort by submission, skip unusable and unrequested rows, and set the clock.

    Raises Unreadable (GSM2018) when nothing is left.
    """
    _name_jobs(rows)
    if "deadline" in rows:
        rows.leave_out("deadline before the submission", rows["deadline"] < rows["submitted"])
    rows.order("submitted")
    seen = {name: rows[name].unique().drop_nulls().to_list() for name in ("status", "vc") if name in rows}
    _filter(rows, settings)
    _window(rows, settings)
    if rows.frame.height == 0:
        raise Unreadable(_no_rows_fault(rows, settings, seen, name))
    if settings.get("clock", "first") == "first":
        _rebase(rows)


def _name_jobs(rows: SelectedRows) -> None:
    """Jobs without names are called by the number of their row; of those named alike only the first is kept."""
    if "job" not in rows:
        rows.put(rows[ROW].alias("job"))
    rows.keep_first("job")


def _filter(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    start = rows["submitted"].min() if settings.get("clock", "first") == "first" else 0.0
    for name in ("status", "vc"):
        wanted = str(settings.get(name, ""))
        if wanted and name in rows:
            listed = [part.strip() for part in wanted.split("|")]
            rows.leave_out(f"another {name}", ~rows[name].is_in(listed).fill_null(False), asked=True)
    since = rows["submitted"] - start
    after, before = _number(settings, "after", -math.inf), _number(settings, "before", math.inf)
    reason = "submitted outside the requested time"
    rows.leave_out(reason, (since < after) | (since >= before), asked=True, time="submitted")
    if "gpus" in rows:
        most = _number(settings, "most_gpus", ALL)
        rows.leave_out(f"more than {most:g} GPUs", rows["gpus"] > most, asked=True)
    if "duration" in rows:
        least = _number(settings, "least_duration", 0.0)
        rows.leave_out(f"shorter than {least:g} s", rows["duration"] < least, asked=True)


def _window(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    skip, first = int(_number(settings, "skip", 0)), int(_number(settings, "first", ALL))
    rows.leave_out("skipped by the option `skip`", _numbers(rows) < skip, asked=True, time="submitted")
    rows.leave_out("after the requested number of rows", _numbers(rows) >= first, asked=True, time="submitted")


def _numbers(rows: SelectedRows) -> pl.Series:
    import polars as pl

    return pl.int_range(rows.frame.height, eager=True)


def _number(settings: Mapping[str, Setting], name: str, default: float) -> float:
    value = settings.get(name, default)
    assert not isinstance(value, str)
    return value


def _rebase(rows: SelectedRows) -> None:
    zero = rows["submitted"].min()
    for name in ("submitted", "deadline", "started", "ended"):
        if name in rows:
            rows.put(rows[name] - zero)


def _no_rows_fault(
    rows: SelectedRows, settings: Mapping[str, Setting], seen: Mapping[str, list[str]], name: str
) -> Fault:
    help = None
    for option in ("status", "vc"):
        wanted = str(settings.get(option, ""))
        if wanted and option in seen and not set(wanted.split("|")) & set(seen[option]):
            known = sorted(seen[option])
            help = did_you_mean(wanted, known) or f"`{option}` in the file: {', '.join(known[:12])}"
    notes = [dropped_text(d) for d in (*rows.dropped.values(), *rows.filtered.values())]
    message = f"no usable row among the {count_text(rows.total, 'row')} of `{name}`"
    return Fault("GSM2018", message, notes=tuple(notes), help=help)
