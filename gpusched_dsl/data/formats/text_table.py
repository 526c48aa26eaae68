"""Any table to columns of text: CSV with any separator, sheets of Excel, Parquet; the line of every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.data.formats.fields import header_of
from gpusched_dsl.data.formats.separators import TEXT_OPTIONS, separator_advice, separator_of
from gpusched_dsl.data.formats.shape import Option, Raw, Setting
from gpusched_dsl.data.sources.delimited import read_delimited
from gpusched_dsl.data.sources.excel import MAGIC, read_sheet, sheet_columns
from gpusched_dsl.data.sources.files import Fault, Unreadable, check_text, column_name, repeated_columns
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

if TYPE_CHECKING:
    import polars as pl

OPTIONS = (
    *TEXT_OPTIONS,
    Option("header", "line that names the columns; lines before it are skipped", 1, least=1),
    Option("sheet", "sheet of an Excel file", "", shown="the only one"),
    Option("only", "only rows that satisfy this condition on columns", "", condition=True, shown="all"),
    Option("timezone", "time zone of times without an offset, by its name: `Europe/Berlin`", "UTC"),
    Option("dates", "order of day and month if the year is last", "auto", choices=("auto", "mdy", "dmy"),
           shown="derived from the dates"),
)  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class TextTable:
    """Columns of text by their names in the file, without names that occur twice; empty cells are null."""

    name: str
    columns: Mapping[str, pl.Series]
    lines: Ints
    header: Sequence[str]
    note: str = ""  # about the separator, if the columns look like one

    def fault(self, column: str, what: str, option: tuple[str, str] | None = None) -> Fault:
        """The fault of a file without a column, or with several of its name."""
        repeated = repeated_columns(self.name, [column], self.header, None)
        if repeated:
            return structs.replace(repeated[0], option=option)
        names = list(self.columns)
        shown = ", ".join(f"`{name}`" for name in names[:20]) + (" ..." if len(names) > 20 else "")
        return Fault(
            "GSM2011",
            f"data file `{self.name}` has no column `{column}`{what}",
            notes=(f"its columns are {shown}",),
            help=self.note or did_you_mean(column, names),
            option=option,
        )


def read_text_table(raw: Raw, settings: Mapping[str, Setting]) -> TextTable:
    """Read all columns of a file; raise Unreadable (GSM2007 to GSM2016, GSM2019; GSM1519 for a wrong separator)."""
    header = int(settings["header"])
    if raw.data.startswith(MAGIC):
        return _sheet(raw, str(settings["sheet"]), header)
    if raw.name.lower().endswith((".parquet", ".pq")):
        return _parquet(raw)
    text = check_text(raw.name, raw.data)
    if header > 1:  # skipped lines become blank lines, which count
        text = b"\n" * (header - 1) + b"\n".join(text.split(b"\n", header - 1)[header - 1 :])
    separator = separator_of(raw.name, str(settings["separator"]))
    member = Raw(raw.name, text, separator, str(settings["decimal"]), raw.limits)
    names = header_of(member)
    wanted = [name for name in dict.fromkeys(names) if name and names.count(name) == 1]
    note = separator_advice(member, names)
    try:
        file = read_delimited(text, raw.name, wanted, separator, raw.limits)
    except Unreadable as error:
        if note and error.faults[0].code == "GSM2013":
            raise Unreadable(structs.replace(error.faults[0], help=note)) from None
        raise
    lines = np.arange(file.rows) + file.first_line if file.lines is None else file.lines
    return TextTable(raw.name, {name: file.series(name) for name in file.columns}, lines, names, note)


def _sheet(raw: Raw, sheet: str, header: int) -> TextTable:
    cells = read_sheet(raw.data, raw.name, sheet, raw.limits, "sheet")
    return TextTable(raw.name, *sheet_columns(raw.name, cells, header))


def _parquet(raw: Raw) -> TextTable:
    import polars as pl

    from gpusched_dsl.data.sources.parquet import names_of, read_parquet

    limits, names, file = raw.limits, names_of(raw.data, raw.name, raw.limits), None
    while file is None:
        try:
            file = read_parquet(raw.data, raw.name, names, limits)
        except Unreadable as error:  # columns of lists and structures are left out
            unusable = {fault.column for fault in error.faults if fault.code == "GSM2014"} & set(names)
            if not unusable:
                raise
            names = [name for name in names if name not in unusable]
    shown = [column_name(name) for name in file.columns]
    columns = {
        name: file.series(column).cast(pl.String)
        for name, column in zip(shown, file.columns, strict=True)
        if name and shown.count(name) == 1
    }
    return TextTable(raw.name, columns, np.arange(1, file.rows + 1), shown)
