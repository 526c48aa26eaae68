"""Where the value of a parameter comes from: a field of the observed job, a constant, or a table of profiles."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.units import UNITS, Unit
from gsdsl_clusters.drivers.protocol import Field, ObservedJob
from gsdsl_clusters.drivers.toml_reader import TableReader

Row: TypeAlias = list[Field]


class NoValue(Exception):
    """A job has no value where the mapping needs one; the text says which."""


@dataclass(frozen=True)
class ProfileTable:
    """Rows of a CSV file, by the values of the columns that identify a job; `index` columns are subscripts."""

    file: str
    where: Mapping[str, str]  # field of the job by column
    index: tuple[str, ...]
    rows: Mapping[tuple[str, ...], tuple[Row, ...]]  # subscripts and the value; without a value only subscripts

    def of_job(self, fields: Mapping[str, Field]) -> tuple[Row, ...]:
        """Return the rows of a job. Raises NoValue without any."""
        key = tuple(text_of(fields.get(name, "")) for name in self.where.values())
        rows = self.rows.get(key)
        if rows is None:
            named = ", ".join(f"{name} `{value}`" for name, value in zip(self.where.values(), key, strict=True))
            raise NoValue(f"`{self.file}` has no row for {named}")
        return rows


@dataclass(frozen=True)
class ValueSource:
    """How to read one value of a job.

    The text of `field` is searched for `match` (its group counts, or the whole match without one), or translated by
    `values`. Numbers are in `unit`. `after` adds a date field; dates become times since the start of the run. A value
    of a `table` is multiplied by the field `times`. `default` is used without a value, in the unit of the parameter.
    """

    field: str | None = None
    constant: Field | None = None
    match: re.Pattern[str] | None = None
    values: Mapping[str, Field] | None = None
    unit: Unit | None = None
    after: str | None = None
    times: str | None = None
    default: Field | None = None
    table: ProfileTable | None = None

    @property
    def stated(self) -> tuple[Field, ...]:
        """The values that the file itself states."""
        found = (self.constant, self.default, *(self.values or {}).values())
        return tuple(value for value in found if value is not None)

    def rows(self, lists: Mapping[str, tuple[str, ...]]) -> list[Row]:
        """The tuples of a set from a field that is a list; texts that `values` does not translate are left out."""
        known = self.values
        found = lists.get(self.field or "", ())
        return [[text if known is None else known[text]] for text in found if known is None or text in known]

    def raw(self, fields: Mapping[str, Field]) -> Field | None:
        """The value of the field as found, None without one."""
        if self.constant is not None:
            return self.constant
        value = fields.get(self.field or "")
        if value is None or value == "":
            return None
        if self.match is not None:
            found = self.match.search(text_of(value))
            if found is None:
                return None
            value = found.group(1) if found.re.groups else found.group(0)
        if self.values is not None:
            return self.values.get(text_of(value))
        return value


def text_of(value: Field) -> str:
    """A value as a table spells it: 2.0 as `2`."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def number_of(value: Field, named: str) -> float:
    """Raises NoValue for a text that is no number."""
    try:
        return float(value)
    except ValueError:
        raise NoValue(f"{named} is `{value}`, which is not a number") from None


def read_source(reader: TableReader, name: str, folder: Path, fields: frozenset[str]) -> ValueSource:
    """The source that an entry states: the name of a field, or a table with its details. Errors become diagnostics."""
    if isinstance(reader.table.get(name), str):
        named = reader.get(name, str) or ""
        if named not in fields:
            reader.error(name, f"unknown field `{named}`", did_you_mean(named, fields) or _list_of(fields))
        return ValueSource(field=named)
    if isinstance(reader.table.get(name), int | float | bool):
        return ValueSource(constant=reader.scalar(name))
    inner = reader.sub(name)
    if "table" in inner.table:
        return _table_source(inner, folder, fields)
    value = inner.scalar("value")
    wanted = inner.get("field", str)
    if (wanted is None) is (value is None) and not ("field" in inner.table and wanted is None):
        reader.error(name, f"`{name}` needs either `field` or `value`", 'write `{ field = "qos" }` or `{ value = 1 }`')
    after, times = inner.get("after", str), inner.get("times", str)
    values = inner.get("values", dict)
    source = ValueSource(
        field=wanted, constant=value, match=_pattern(inner), values=values, unit=_unit(inner), after=after, times=times,
        default=inner.scalar("default"),
    )  # fmt: skip
    _check_fields(inner, ("field", "after", "times"), fields)
    _check_times(inner, source)
    inner.finish()
    return source


def read_field(reader: TableReader, name: str, folder: Path, fields: frozenset[str]) -> ValueSource:
    """The source of a further field: a text or number as it is found. Errors become diagnostics."""
    source = read_source(reader, name, folder, fields)
    if name in fields:
        reader.error(name, f"`{name}` is a field of the driver", "choose another name")
    if source.field in LISTS:
        reader.error(name, f"`{source.field}` is a list, which a further field cannot keep", "name it in [jobs]")
    if source.field in TIMES:
        reader.error(name, f"`{source.field}` is a time, which a further field cannot keep", "name it in [jobs]")
    parts = {"table": source.table, "unit": source.unit, "after": source.after, "times": source.times}
    for part, value in parts.items():
        if value is not None:
            reader.sub(name).error(part, f"a further field has no `{part}`", f"write `{part}` in [jobs]")
    return source


def _table_source(reader: TableReader, folder: Path, fields: frozenset[str]) -> ValueSource:
    file = reader.need("table", str, "name a CSV file") or ""
    where = reader.get("where", dict, {}) or {}
    index = tuple(str(column) for column in reader.get("index", list, []) or ())
    value, times = reader.get("value", str), reader.get("times", str)
    for column, wanted in where.items():
        if wanted not in fields:
            help = did_you_mean(str(wanted), fields) or _list_of(fields)
            reader.error("where", f"unknown field `{wanted}` for the column `{column}`", help)
    _check_fields(reader, ("times",), fields)
    unit = _unit(reader)
    reader.finish()
    rows = _read_rows(reader, folder / file, tuple(where), index, value)
    source = ValueSource(table=ProfileTable(file, where, index, rows), unit=unit, times=times)
    _check_times(reader, source)
    return source


def _read_rows(
    reader: TableReader, path: Path, where: tuple[str, ...], index: tuple[str, ...], value: str | None
) -> dict[tuple[str, ...], tuple[Row, ...]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # spreadsheets write a mark at the beginning
            reading = csv.DictReader(file, restkey="")
            lines = [(reading.line_num, line) for line in reading]
            header = list(reading.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as failure:
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
        reader.error("table", f"cannot read `{path}`: {reason}", "paths are relative to the cluster file")
        return {}
    for column in (*where, *index, *(() if value is None else (value,))):
        if column not in header:
            help = did_you_mean(column, header) or f"its columns are {', '.join(header)}"
            reader.error("table", f"`{path.name}` has no column `{column}`", help)
            return {}
    rows: dict[tuple[str, ...], list[Row]] = {}
    lines_of: dict[tuple[str, ...], int] = {}
    for number, line in lines:
        if "" in line or None in line.values():
            help = f"write one cell for each column: {', '.join(header)}"
            reader.error("table", f"line {number} of `{path.name}` has {_count_of(line)} cells", help)
            return {}
        subscripts = tuple(line[column] for column in (*where, *index))
        first = lines_of.setdefault(subscripts, number)
        if value is not None and first != number:
            named = ", ".join(f"{column} `{line[column]}`" for column in (*where, *index)) or "the value"
            message = f"lines {first} and {number} of `{path.name}` both have {named}"
            reader.error("table", message, "keep one of them, or add the column that differs to `where` or `index`")
            return {}
        row = [_cell(line[column]) for column in (*index, *(() if value is None else (value,)))]
        rows.setdefault(tuple(line[column] for column in where), []).append(row)
    return {key: tuple(found) for key, found in rows.items()}


def _count_of(line: Mapping[str, Any]) -> int:
    """The cells of a line, of which `DictReader` collects those without a column."""
    return sum(value is not None for name, value in line.items() if name) + len(line.get("", ()))


def _cell(text: str) -> Field:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _pattern(reader: TableReader) -> re.Pattern[str] | None:
    text = reader.get("match", str)
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except re.error as failure:
        reader.error("match", f"`match` is not a regular expression: {failure}", r"such as 'due=([0-9.]+)h'")
        return None
    if pattern.groups > 1:
        help = "keep the group of the value, and write the others as `(?:...)`"
        reader.error("match", f"`match` has {pattern.groups} groups", help)
    return pattern


def _unit(reader: TableReader) -> Unit | None:
    text = reader.get("unit", str)
    if text is None:
        return None
    if text not in UNITS:
        reader.error("unit", f"unknown unit `{text}`", did_you_mean(text, UNITS) or "such as `s`, `min`, `h`")
        return None
    return UNITS[text]


def _check_fields(reader: TableReader, names: tuple[str, ...], fields: frozenset[str]) -> None:
    for name in names:
        wanted: Any = reader.table.get(name)
        if isinstance(wanted, str) and wanted not in fields:
            reader.error(name, f"unknown field `{wanted}`", did_you_mean(wanted, fields) or _list_of(fields))


def _check_times(reader: TableReader, source: ValueSource) -> None:
    """Times become those of the parameter: a date is not changed, and a time has its unit."""
    if source.field in LISTS:
        for part in ("match", "unit", "after", "times", "default"):
            if part in reader.table:
                reader.error(part, f"`{source.field}` is a list, which has no `{part}`", "only `values` translates it")
    if source.field in TIMES and source.unit is not None:
        reader.error("unit", f"`{source.field}` is a time, which has its unit", "omit `unit`: times are converted")
    if source.field in DATES:
        for part in ("match", "values", "after", "times"):
            if part in reader.table:
                help = f"omit `{part}`: dates become times since the start of the run"
                reader.error(part, f"`{source.field}` is a date, which has no `{part}`", help)
    if source.after is not None and source.after not in DATES:
        reader.error("after", f"`{source.after}` is no date", "such as `submitted`")
    if source.times in TIMES:
        reader.error("times", f"`{source.times}` is a time, not a number", "such as a field with the number of steps")


def _list_of(fields: frozenset[str]) -> str:
    return f"the fields are {', '.join(f'`{name}`' for name in sorted(fields))}"


LISTS = frozenset({"after", "allowed_nodes", "gpu_types"})  # fields that are lists of texts
DATES = frozenset({"submitted", "started", "ended", "deadline_date"})
SECONDS = frozenset({"time_limit"})
TIMES = DATES | SECONDS


def fields_of(job: ObservedJob) -> dict[str, Field]:
    """Everything that a mapping can read of a job: the fields of the driver, and those of every driver."""
    known: dict[str, Any] = {
        "name": job.name, "gpus": job.gpus, "submitted": job.submitted, "started": job.started,
        "restarts": job.restarts,
    }  # fmt: skip
    return {**job.fields, **{name: value for name, value in known.items() if value is not None}}


COMMON_FIELDS = frozenset({"name", "gpus", "submitted", "started", "restarts"})
