"""Columns of a published table to those of its format: numbers checked, unusable rows left out with the reason."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import structs

from gpusched_dsl.data.formats.separators import numbers_of, separator_advice
from gpusched_dsl.data.formats.shape import Dropped, FormatTable, Raw
from gpusched_dsl.data.sources.delimited import unsplit
from gpusched_dsl.data.sources.files import Fault, Unreadable, check_text, column_name
from gpusched_dsl.ir.arrays import Bools, Ints
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["text", "number", "integer", "label", "clock"]
POSITIVE = 5e-324  # the smallest number above 0
HUGE = 1e100  # sums and products of smaller numbers stay finite
LARGEST = 2.0**53  # beyond it a float cannot represent every integer


@dataclass(frozen=True, slots=True)
class Field:
    """The source of a column: the first of `sources` in the file, with its numbers times `scale`.

    A file without a `needed` column is no file of the format, and a row with an empty cell there is left out unless it
    may be `blank`. A row is also left out where the cell is no finite number of its kind, and where it is
    below `least` (said as `reason`). Cells that read `unknown` are empty. A "label" is text, or integers where all
    cells are; a "clock" is a date and time of day, in seconds from the first midnight.
    """

    name: str
    sources: tuple[str, ...]
    kind: Kind = "text"
    scale: float = 1.0
    needed: bool = True
    blank: bool = False
    least: float | None = None
    reason: str = ""
    unknown: tuple[str, ...] = ()


def optional_field(name: str, sources: Iterable[str], kind: Kind = "text", scale: float = 1.0) -> Field:
    return Field(name, tuple(sources), kind, scale, needed=False)


SILENT = "unusable, and outside the requested time"
TIME = "_submitted"  # the time of submission in microseconds, where formats convert times themselves
LINE, ROW = "_line", "_row"  # columns beside those of the format: the line in the file, and the number of the row


@dataclass(frozen=True, slots=True)
class _Unusable:
    """Rows that were left out for one reason: their lines, and the cells at fault in `column` of the file.

    `times` are their times if they are known, `silent` are the rows whose time is not requested.
    """

    reason: str
    lines: Ints
    column: str | None
    texts: pl.Series | None
    times: pl.Series | None
    silent: Bools

    def within(self, low: float, high: float) -> Dropped | None:
        """Return the count and the first of the rows between two lines; None if there are none."""
        at = np.flatnonzero((self.lines > low) & (self.lines < high) & ~self.silent)
        if not len(at):
            return None
        first = int(at[self.lines[at].argmin()])
        cell = None if self.texts is None else self.texts[first]
        text = None if cell is None else str(cell)
        return Dropped(self.reason, len(at), int(self.lines[first]), self.column, text)


@dataclass(eq=False)
class SelectedRows:
    """The rows of a file that are still in, in the columns of the format, and why the others are not.

    Unusable rows outside the requested time do not matter. Their time is often unknown, so they are recognised by their
    line, if the file is in the order of its times: then they come before or after all requested rows.
    """

    frame: pl.DataFrame
    total: int
    filtered: dict[str, Dropped] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    _unusable: list[_Unusable] = field(default_factory=list)
    _not_requested: list[Ints] = field(default_factory=list)  # lines of files in the order of their times

    def __contains__(self, column: str) -> bool:
        return column in self.frame.columns

    def __getitem__(self, column: str) -> pl.Series:
        return self.frame[column]

    def put(self, *columns: pl.Series | pl.Expr) -> None:
        """Add columns, or replace those of the same name."""
        self.frame = self.frame.with_columns(*columns)

    def leave_out(
        self,
        reason: str,
        which: pl.Series,
        *,
        asked: bool = False,
        column: str | None = None,
        text: pl.Series | None = None,
        time: str | None = None,
    ) -> None:
        """Remove rows, as unusable or (`asked`) by options; no effect if there are none.

        `column` of the file is at fault, with the cells `text`; the first of them is shown. If an option excludes rows
        by their `time`, that is the column with the times.
        """
        mask = which.fill_null(False)
        if not mask.any():
            return
        gone = self.frame.filter(mask)
        lines = gone[LINE].to_numpy()
        knows_times = TIME in self.frame.columns and self.frame["submitted"].dtype.is_float()
        times = gone[TIME] if knows_times else None
        texts = None if text is None else text.filter(mask)
        unusable = _Unusable(reason, lines, column, texts, times, np.zeros(len(lines), dtype=np.bool_))
        if not asked:
            self._unusable.append(unusable)
        else:
            if time is not None and self.frame.sort(LINE)[time].is_sorted():
                self._not_requested.append(lines)
            _add(self.filtered, unusable.within(-np.inf, np.inf))
        self.frame = self.frame.filter(~mask)

    def leave_out_times(self, reason: str, is_outside: Callable[[pl.Series], pl.Series]) -> None:
        """Remove the rows whose time in the column `TIME` an option excludes; unusable ones among them are silent."""
        for unusable in self._unusable:
            if unusable.times is not None:
                unusable.silent[is_outside(unusable.times).fill_null(False).to_numpy()] = True
        self.leave_out(reason, is_outside(self.frame[TIME]), asked=True, time=TIME)

    def leave_out_lines(self, reason: str, lines: Ints) -> None:
        """Count lines of the file without a row as unusable."""
        silent = np.zeros(len(lines), dtype=np.bool_)
        self._unusable.insert(0, _Unusable(reason, lines, None, None, None, silent))

    @property
    def dropped(self) -> dict[str, Dropped]:
        """Return the unusable rows within the requested time, by reason."""
        low, high = self._requested_lines()
        found: dict[str, Dropped] = {}
        for unusable in self._unusable:
            _add(found, unusable.within(low, high))
        return found

    def _requested_lines(self) -> tuple[float, float]:
        """Return the last line before the requested time and the first line after it."""
        if not self._not_requested or not self.frame.height:
            return -np.inf, np.inf
        kept, others = self.frame[LINE].to_numpy(), np.concatenate(self._not_requested)
        before, after = others[others < kept.min()], others[others > kept.max()]
        return float(before.max(initial=-1)), float(after.min()) if len(after) else np.inf

    def keep_first(self, *keys: str) -> None:
        """Of rows that agree in these columns keep the first."""
        import polars as pl

        repeated = self.frame.select(~pl.struct(keys).is_first_distinct()).to_series()
        self.leave_out(f"an earlier row has the same {', '.join(map(words_of, keys))}", repeated)

    def order(self, *by: str) -> None:
        """Sort by columns; equal rows keep the order of the file."""
        self.frame = self.frame.sort(*by, LINE)

    def table(self, columns: Iterable[str]) -> FormatTable:
        """Return the rows in these columns; the file may lack some of them."""
        return FormatTable(
            self.frame.select([name for name in columns if name in self.frame.columns]),
            self.total,
            tuple(self.dropped.values()),
            tuple(self._all_filtered().values()),
            facts=tuple(self.facts),
            lines=self.frame[LINE].to_numpy(),
        )

    def _all_filtered(self) -> dict[str, Dropped]:
        """Return the rows that options exclude, with the unusable ones outside the requested time."""
        silent = sum(len(each.lines) for each in self._unusable) - sum(each.rows for each in self.dropped.values())
        return self.filtered | ({SILENT: Dropped(SILENT, silent)} if silent else {})


def _add(account: dict[str, Dropped], found: Dropped | None) -> None:
    """Add rows to those of the same reason."""
    if found is None:
        return
    before = account.get(found.reason)
    if before is not None:
        sooner = before if before.first is not None and before.first <= (found.first or 0) else found
        found = structs.replace(sooner, rows=before.rows + found.rows)
    account[found.reason] = found


def read_rows(raw: Raw, fields: Sequence[Field]) -> SelectedRows:
    """The columns of a CSV file; raises Unreadable (GSM20xx): GSM2011 for each column that is needed and not there."""
    from gpusched_dsl.data.sources.delimited import read_delimited

    header = header_of(raw)
    found = {f.name: next((s for s in f.sources if s in header), None) for f in fields}
    faults = [missing_column_fault(raw, f, header) for f in fields if f.needed and found[f.name] is None]
    if faults:
        raise Unreadable(*faults)
    sources = [source for source in found.values() if source is not None]
    file = read_delimited(raw.data, raw.name, sources, raw.separator, raw.limits)
    lines = np.arange(file.rows) + file.first_line if file.lines is None else file.lines
    texts = {name: file.series(source) for name, source in found.items() if source is not None}
    return rows_of(texts, lines, fields, raw.decimal)


def header_of(raw: Raw, separator: str | None = None) -> list[str]:
    """The names in the first line that is not blank; raises Unreadable (GSM2008 to GSM2010)."""
    lines = (line.decode("utf-8") + "\n" for line in check_text(raw.name, raw.data).split(b"\n", 64))
    try:
        rows = csv.reader(lines, delimiter=separator or raw.separator)
        first = next((row for row in rows if len(row) > 1 or any(cell.strip() for cell in row)), None)
    except csv.Error as error:  # such as a name of more than 131,072 characters
        raise Unreadable(unsplit(raw.name, str(error))) from None
    if first is None:
        raise Unreadable(
            Fault("GSM2010", f"data file `{raw.name}` is empty", help="its first line must name the columns")
        )
    return [column_name(cell) for cell in first]


def missing_column_fault(raw: Raw, wanted: Field, header: Sequence[str]) -> Fault:
    """The fault of a file without a column that its format needs."""
    shown = ", ".join(f"`{column}`" for column in header[:20]) + (" ..." if len(header) > 20 else "")
    either = " or ".join(f"`{source}`" for source in wanted.sources)
    return Fault(
        "GSM2011",
        f"data file `{raw.name}` has no column {either}, needed for `{wanted.name}` of its format",
        notes=(f"its columns are {shown}",),
        help=separator_advice(raw, header) or did_you_mean(wanted.sources[0], header) or "check the format of the file",
    )


def rows_of(texts: Mapping[str, pl.Series], lines: Ints, fields: Sequence[Field], decimal: str = ".") -> SelectedRows:
    """Columns of text to those of the fields; unusable rows go, those with several faults by the first of them."""
    import polars as pl

    present = [f for f in fields if f.name in texts]
    columns = {f.name: texts[f.name].cast(pl.String) for f in present}
    numbers = {LINE: pl.Series(lines, dtype=pl.Int64), ROW: pl.int_range(1, len(lines) + 1, eager=True)}
    rows = SelectedRows(pl.DataFrame({**columns, **numbers}), len(lines))
    for each in present:
        _convert(rows, each, texts[each.name].name, decimal)
    return rows


def _convert(rows: SelectedRows, each: Field, source: str, decimal: str) -> None:
    """Convert one column; `source` is its name in the file, empty if it has none."""
    import polars as pl

    name = source if source in each.sources else each.name

    rows.put(rows[each.name].str.strip_chars().replace(list(dict.fromkeys(("", *each.unknown))), None))
    if each.needed and not each.blank:
        rows.leave_out(f"no {words_of(each.name)}", rows[each.name].is_null(), column=name)
    column = rows[each.name]
    if each.kind == "text":
        return
    if each.kind == "label":
        as_integer = column.drop_nulls().str.contains(r"^(0|-?[1-9][0-9]{0,17})$").all()
        rows.put(column.cast(pl.Int64) if as_integer else column)
        return
    numbers = clock_seconds(column) if each.kind == "clock" else numbers_of(column, decimal)
    wrong = column.is_not_null() & (numbers.is_null() | ~(numbers.abs() < HUGE).fill_null(True) | numbers.is_nan())
    if each.kind == "integer":
        wrong |= (numbers != numbers.round()).fill_null(False) | (numbers.abs() >= LARGEST).fill_null(False)
    what = {"integer": "integer", "clock": "date and time"}.get(each.kind, "number")
    rows.put(numbers)
    reason = f"{words_of(each.name)} is not a{'n' if what[0] in 'aeiou' else ''} {what}"
    rows.leave_out(reason, wrong, column=name, text=column)
    column = column.filter(~wrong)
    if each.least is not None:
        below = f"{words_of(each.name)} {'not positive' if each.least == POSITIVE else f'below {each.least:g}'}"
        rows.leave_out(each.reason or below, rows[each.name] < each.least, column=name, text=column)
    if each.kind == "integer":
        rows.put(rows[each.name].cast(pl.Int64))
    elif each.scale != 1:
        # Divided where that is exact, 1000 thousandths are 1; polars would multiply by the reciprocal.
        cells = rows[each.name].to_numpy()
        scaled = cells * each.scale if each.scale > 1 else cells / round(1 / each.scale)
        rows.put(pl.Series(each.name, scaled, nan_to_null=True))


def words_of(column: str) -> str:
    """`batch size`, `number of GPUs`."""
    special = {
        "gpus": "number of GPUs", "nodes": "number of nodes", "cpus": "number of CPU cores",
        "submitted": "submission time", "started": "start", "ended": "end",
    }  # fmt: skip
    return special.get(column, column.replace("_", " "))


_CLOCKS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M")


def clock_seconds(column: pl.Series) -> pl.Series:
    """Dates and times of day without a zone as seconds from midnight before the first; null where they are none."""
    import polars as pl

    times = pl.Series([None] * len(column), dtype=pl.Datetime("us"))
    for form in _CLOCKS:
        parsed = column.str.to_datetime(form, strict=False, time_unit="us")
        times = times.zip_with(times.is_not_null(), parsed)
    if times.null_count() == len(times):
        return pl.Series(column.name, [None] * len(column), dtype=pl.Float64)
    first = times.dt.truncate("1d").min()
    seconds = (times - first).dt.total_microseconds() / 1e6
    return seconds.alias(column.name)
