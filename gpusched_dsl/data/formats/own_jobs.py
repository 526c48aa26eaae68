"""Jobs of any table: its columns by options, times with time zones, and all other columns by their own names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusched_dsl.data.formats.conditions import satisfies
from gpusched_dsl.data.formats.fields import POSITIVE, Field, Kind, SelectedRows, rows_of, words_of
from gpusched_dsl.data.formats.jobs import select_jobs
from gpusched_dsl.data.formats.moments import midnight_before, moment_of, of_one_job, seconds_of, times_of
from gpusched_dsl.data.formats.separators import with_points
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Raw, Setting, dropped_text
from gpusched_dsl.data.formats.text_table import TextTable, read_text_table
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.language.units import DIMENSIONLESS, convertible, factor, parse_unit_text

if TYPE_CHECKING:
    import polars as pl

TIMES = ("submitted", "started", "ended", "deadline")
_KINDS: Mapping[str, Kind] = {
    "job": "label", "gpus": "integer", "nodes": "integer", "weight": "number", "value": "number",
    "batch_size": "integer", "iterations": "number", "cpus": "number", "memory": "number",
}  # fmt: skip
_LEAST = {"gpus": 0.0, "nodes": 0.0, "cpus": 0.0, "memory": 0.0, "iterations": POSITIVE, "batch_size": 1.0}
_SPEC = re.compile(r"^(.*?)\s*\[([^\]]*)\]$")
_SECOND = parse_unit_text("s")


@dataclass(frozen=True, slots=True)
class _Source:
    """The column of the file for a column of the format, and the unit of its numbers in that of the format."""

    column: str
    scale: float


def read_own_jobs(raw: Raw, settings: Mapping[str, Setting], described: Format) -> FormatTable:
    """Return the jobs of a table; raise Unreadable (GSM20xx, GSM1519) for the file as a whole."""
    table = read_text_table(raw, settings)
    sources = _sources(table, settings, described.columns)
    rows = _typed_columns(table, sources, settings)
    _put_times(rows, table, sources, settings)
    _put_durations(rows, sources)
    keep_only(rows, table, settings)
    _place_in_time(rows, settings, raw.name)
    known = [column.name for column in described.columns]
    extra = [column for column in table.columns if column not in known]
    return rows.table([*known, *extra])


def _sources(table: TextTable, settings: Mapping[str, Setting], columns: Sequence[FormatColumn]) -> dict[str, _Source]:
    """Return the columns of the file by those of the format; without an option, the column of the same name."""
    found: dict[str, _Source] = {}
    faults: list[Fault] = []
    for column in columns:
        stated = str(settings.get(column.name, ""))
        if not stated:
            if column.name in table.columns:
                found[column.name] = _Source(column.name, 1.0)
            elif column.name in table.header or column.name == "submitted":
                faults.append(table.fault(column.name, f": state its name by the option `{column.name}`"))
            continue
        name, unit = stated, ""
        if name not in table.columns and (match := _SPEC.match(name)) is not None:
            name, unit = match[1], match[2]
        if name not in table.columns:
            faults.append(table.fault(name, f", needed for `{column.name}`", (column.name, name)))
            continue
        scale = _scale(column, unit, stated)
        if isinstance(scale, Fault):
            faults.append(scale)
        else:
            found[column.name] = _Source(name, scale)
    if faults:
        raise Unreadable(*faults)
    return found


def _scale(column: FormatColumn, unit: str, stated: str) -> float | Fault:
    """Return the factor from a stated unit to that of a column of the format."""
    if not unit:
        return 1.0
    own = _SECOND if column.name in TIMES else parse_unit_text(column.unit) if column.unit else DIMENSIONLESS
    try:
        written = parse_unit_text(unit)
    except ValueError as error:
        return Fault("GSM1519", f"option `{column.name}` cannot be `{stated}`: {error}", option=(column.name, unit))
    if not convertible(written, own):
        what = (
            f"`{column.name}` is in `{own}`" if column.unit or column.name in TIMES else f"`{column.name}` has no unit"
        )
        return Fault("GSM1302", f"units do not agree: `{unit}`, but {what}", option=(column.name, unit))
    return float(factor(written, own))


def _typed_columns(table: TextTable, sources: Mapping[str, _Source], settings: Mapping[str, Setting]) -> SelectedRows:
    """Return all rows: mapped columns by their kinds, others as text or integers."""
    fields, texts, decimal = [], {}, str(settings["decimal"])
    for name, source in sources.items():
        kind, cells = _KINDS.get(name, "text"), table.columns[source.column]
        texts[name] = with_points(cells, decimal) if kind == "text" else cells
        if kind == "text":  # times and durations, which follow
            fields.append(Field(name, (source.column,), needed=False))
        else:
            fields.append(Field(name, (source.column,), kind, source.scale, needed=False, least=_LEAST.get(name)))
    extra = {name: column for name, column in table.columns.items() if name not in sources}
    fields += [Field(name, (name,), needed=False) for name in extra]
    rows = rows_of({**texts, **extra}, table.lines, fields, decimal)
    rows.put(*(labels_or_text(with_points(rows[name], decimal)) for name in extra))
    if "job" in sources:
        rows.leave_out("no job", rows["job"].is_null(), column=sources["job"].column)
    return rows


def labels_or_text(column: pl.Series) -> pl.Series:
    """Return integers if all cells are, so that they equal integer labels; else text."""
    import polars as pl

    given = column.drop_nulls()
    integers = len(given) and bool(given.str.contains(r"^(0|-?[1-9][0-9]{0,17})$").all())
    return column.cast(pl.Int64) if integers else column


def _put_times(
    rows: SelectedRows, table: TextTable, sources: Mapping[str, _Source], settings: Mapping[str, Setting]
) -> None:
    """Convert times to seconds from the origin of the file."""
    import polars as pl

    names = [name for name in TIMES if name in sources]
    zone = str(settings["timezone"])
    rows.leave_out("no submission time", rows["submitted"].is_null(), column=sources["submitted"].column)
    found = {}
    for name in names:
        found[name] = times_of(rows[name], zone, str(settings["dates"]), sources[name].scale)
    known = "duration" in sources
    elapsed = seconds_of(rows["duration"], sources["duration"].scale)[0] if known else None
    moments = of_one_job(found, elapsed)
    for name, times in found.items():
        rows.put(pl.Series(f"_{name}", moments[name]).set(pl.Series(~times.has_value), None))
        rows.put(pl.Series(f"_{name} wrong", times.wrong), pl.Series(f"_{name} skipped", times.skipped))
    for name in names:
        what, source = words_of(name), sources[name].column
        rows.leave_out(f"{what} is not a time", rows[f"_{name} wrong"], column=source, text=rows[name])
        rows.leave_out(f"{what} does not exist in {zone}", rows[f"_{name} skipped"], column=source, text=rows[name])
    dated = any(times.dated for times in found.values())
    zero = _zero(rows, dated, settings)
    for name in names:
        rows.put(((rows[f"_{name}"] - zero).cast(pl.Float64) / 1e6).alias(name))


def _zero(rows: SelectedRows, dated: bool, settings: Mapping[str, Setting]) -> int:
    """Return the moment of time 0: the option `origin`, or the midnight before the first time of dates."""
    stated = moment_of(str(settings["origin"]), settings, "origin")
    if stated is not None:
        return stated
    first = rows["_submitted"].min()
    return midnight_before(int(first), str(settings["timezone"])) if dated and isinstance(first, int) else 0


def _put_durations(rows: SelectedRows, sources: Mapping[str, _Source]) -> None:
    """Read `duration`, or compute it from `started` and `ended`; jobs without one are unusable."""
    import polars as pl

    if "duration" in sources:
        source = sources["duration"]
        values, wrong = seconds_of(rows["duration"], source.scale)
        text = rows["duration"]
        rows.put(pl.Series("_seconds", values, nan_to_null=True), pl.Series("_wrong", wrong))
        rows.leave_out("duration is not a length of time", rows["_wrong"], column=source.column, text=text)
        rows.put(rows["_seconds"].alias("duration"))
    elif "started" in rows and "ended" in rows:
        rows.put((rows["ended"] - rows["started"]).alias("duration"))
    if "duration" in rows:
        column = sources["duration"].column if "duration" in sources else None
        rows.leave_out("no duration", rows["duration"].is_null(), column=column)
        rows.leave_out("no duration", rows["duration"] <= 0, column=column)


def keep_only(rows: SelectedRows, table: TextTable, settings: Mapping[str, Setting]) -> None:
    """Remove the rows that do not satisfy the option `only`."""
    condition = str(settings["only"])
    if not condition:
        return

    def column(name: str) -> pl.Series:
        if name in rows and not name.startswith("_"):
            return rows[name]
        raise Unreadable(table.fault(name, ", which option `only` reads", ("only", name)))

    rows.leave_out("excluded by `only`", ~satisfies(condition, column), asked=True)


def _place_in_time(rows: SelectedRows, settings: Mapping[str, Setting], name: str) -> None:
    """Apply `from` and `until`, the options that all traces share, and the origin of times."""
    since, until = (
        moment_of(str(settings["from"]), settings, "from"),
        moment_of(str(settings["until"]), settings, "until"),
    )
    reason = "submitted outside `from` and `until`"
    if since is not None:
        rows.leave_out_times(reason, lambda times: times < since)
    if until is not None:
        rows.leave_out_times(reason, lambda times: times >= until)
    if "gpus" in rows:
        least = int(settings["least_gpus"])
        rows.leave_out(f"fewer than {least} GPUs", rows["gpus"] < least, asked=True)
    shared = {key: value for key, value in settings.items() if key not in ("status", "vc")}  # names of columns here
    if settings["origin"]:
        shared["clock"] = "file"
    select_jobs(rows, shared, name)


def read_own_table(raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """Return any table; times and lengths of time in seconds, and all else as in the file."""
    import polars as pl

    table = read_text_table(raw, settings)
    names = {option: _option_list(table, settings, option) for option in ("times", "durations")}
    both = next((name for name in names["times"] if name in names["durations"]), None)
    if both is not None:
        message = f"column `{both}` cannot be both a time and a length of time"
        raise Unreadable(
            Fault("GSM1519", message, option=("durations", both), help="name it in one of the two options")
        )
    plain = [name for name in table.columns if name not in (*names["times"], *names["durations"])]
    rows = rows_of(table.columns, table.lines, [Field(name, (name,), needed=False) for name in table.columns])
    decimal = str(settings["decimal"])
    rows.put(*(labels_or_text(with_points(rows[name], decimal)) for name in plain))
    keep_only(rows, table, settings)
    zone = str(settings["timezone"])
    zero = moment_of(str(settings["origin"]), settings, "origin")
    for name in names["times"]:
        text, times = rows[name], times_of(rows[name], zone, str(settings["dates"]))
        rows.put(pl.Series("_micros", times.micros).set(pl.Series(~times.has_value), None))
        rows.put(pl.Series("_wrong", times.wrong), pl.Series("_skipped", times.skipped))
        first = pl.Series(times.micros).filter(pl.Series(times.has_value & ~times.wrong & ~times.skipped)).min()
        if zero is None:
            zero = midnight_before(int(first), zone) if times.dated and isinstance(first, int) else 0
        rows.put(((rows["_micros"] - zero).cast(pl.Float64) / 1e6).alias(name), text.alias("_text"))
        rows.leave_out(f"{name} is not a time", rows["_wrong"], column=name, text=rows["_text"])
        rows.leave_out(f"{name} does not exist in {zone}", rows["_skipped"], column=name, text=rows["_text"])
    for name in names["durations"]:
        values, wrong = seconds_of(with_points(rows[name], decimal))
        rows.put(rows[name].alias("_text"), pl.Series(name, values, nan_to_null=True), pl.Series("_wrong", wrong))
        rows.leave_out(f"{name} is not a length of time", rows["_wrong"], column=name, text=rows["_text"])
    if rows.total and not rows.frame.height:
        notes = tuple(dropped_text(each) for each in (*rows.dropped.values(), *rows.filtered.values()))
        message = f"no usable row among the {count_text(rows.total, 'row')} of `{raw.name}`"
        raise Unreadable(Fault("GSM2018", message, notes=notes))
    return rows.table(table.columns)


def _option_list(table: TextTable, settings: Mapping[str, Setting], option: str) -> list[str]:
    names = [name.strip() for name in str(settings[option]).split("|") if name.strip()]
    faults = [table.fault(name, f", named by option `{option}`", (option, name)) for name in names
              if name not in table.columns]  # fmt: skip
    if faults:
        raise Unreadable(*faults)
    return names
