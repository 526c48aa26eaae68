"""Tables with all their columns; columns as numbers, with errors reported by line and column."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.data.labels import has_values, numbers, texts
from gpusched_dsl.data.reports import SHOWN, examples
from gpusched_dsl.data.short_columns import as_series
from gpusched_dsl.data.sources.files import (
    DataFile,
    Fault,
    FileColumns,
    FileLimits,
    Unreadable,
    check_text,
    column_name,
    expand_gzip,
    missing_columns,
    read_bytes,
)
from gpusched_dsl.data.sources.parquet import damage_error
from gpusched_dsl.data.sources.parquet_trial import UnreadableFile, column_names
from gpusched_dsl.data.sources.tables import read_data_file
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")


def read_sheet(path: Path, needed: Sequence[str], limits: FileLimits | None = None) -> FileColumns:
    """A CSV, TSV or Parquet file with all its columns, which must include those needed.

    Raises DiagnosticError (GSM20xx).
    """
    limits = limits or FileLimits(allow_outside=True)
    data_file = DataFile(path, str(path))
    try:
        if not path.exists():
            raise Unreadable(Fault("GSM2001", f"data file `{path}` does not exist"))
        names = _names(data_file, limits)
        absent = missing_columns(data_file.name, list(needed), names)
        if absent:
            raise Unreadable(*absent)
        return read_data_file(data_file, None, names, limits)
    except Unreadable as error:
        raise DiagnosticError(
            Diagnostic(f.code, f.message, f.cell, notes=f.notes, help=f.help) for f in error.faults
        ) from None


def _names(file: DataFile, limits: FileLimits) -> list[str]:
    """Return the names of the columns; the caller reports a table without columns."""
    lowered = file.name.lower()
    if not lowered.endswith(SUFFIXES):
        suffixes = ", ".join(f"`{s}`" for s in SUFFIXES)
        message = f"the name of table `{file.name}` has no known extension"
        raise Unreadable(Fault("GSM2005", message, notes=(f"known extensions are {suffixes}",)))
    raw = read_bytes(file, limits)
    if lowered.endswith((".parquet", ".pq")):
        try:
            return list(column_names(raw))
        except UnreadableFile as damage:
            raise Unreadable(damage_error(file.name, damage)) from None
    if lowered.endswith(".gz"):
        raw = expand_gzip(file.name, raw, limits)
    text = check_text(file.name, raw).decode("utf-8").lstrip("\n")
    separator = "\t" if ".tsv" in lowered else ","
    first = next(csv.reader(io.StringIO(text), delimiter=separator), [])
    return list(dict.fromkeys(map(column_name, first)))


def keys_of(file: FileColumns, columns: Sequence[str], diagnostics: Diagnostics) -> list[NDArray[np.object_]]:
    """Return key columns as text; report GSM2301 for empty cells and GSM2302 for repeated keys."""
    found = [texts(file.columns[column]) for column in columns]
    sound = np.ones(file.rows, dtype=np.bool_)
    for column, series in zip(columns, found, strict=True):
        has_value = has_values(series)
        report_cells(file, column, ~has_value, "is empty", diagnostics)
        sound &= has_value
    filled = [as_series(series).fill_null("") for series in found]
    labels: list[NDArray[np.object_]] = [np.array(series.to_list(), dtype=object) for series in filled]
    codes = np.zeros(file.rows, dtype=np.int64)
    for label in labels:
        suffixes, inverse = np.unique(label.astype(str), return_inverse=True)
        codes = codes * max(len(suffixes), 1) + inverse
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    again = np.flatnonzero(sound & (first[inverse] != np.arange(file.rows)))
    if len(again):
        row = int(again[0])
        what = ", ".join(f"`{label[row]}`" for label in labels)
        diagnostics.error(
            "GSM2302",
            f"{what} has two rows in `{file.name}`",
            file.place(row, columns[0]),
            "again",
            secondary=[Label(file.place(int(first[inverse][row]), columns[0]), "first here")],
            notes=examples([str(file.place(int(r), columns[0])) for r in again[1:SHOWN]], len(again) - 1),
            help="keep one of them, or give repeated runs different names",
        )
    return labels


def numbers_of(
    file: FileColumns, column: str, diagnostics: Diagnostics, *, truth_values: bool = False, least: float = -np.inf
) -> Floats:
    """A column of finite numbers from `least` on, NaN where a cell is empty; reports GSM2301."""
    read = numbers(file.columns[column], truth_values=truth_values)
    values = np.where(read.numeric, read.values, np.nan)
    report_cells(file, column, read.has_value & ~read.numeric, "is not a number", diagnostics)
    report_cells(file, column, read.numeric & ~np.isfinite(values), "is not a finite number", diagnostics)
    report_cells(file, column, read.underflows, "is so small that it would be read as 0", diagnostics)
    with np.errstate(invalid="ignore"):
        report_cells(file, column, values < least, f"is less than {least:g}", diagnostics)
    return values


def report_cells(
    file: FileColumns, column: str, wrong: Bools, what: str, diagnostics: Diagnostics, help: str = ""
) -> None:
    """Report (GSM2301) all cells of a column that are wrong in one way."""
    rows = np.flatnonzero(wrong)
    if not len(rows):
        return
    place = file.place(int(rows[0]), column)
    shown = "an empty cell" if place.text is None else f"`{place.text}`"
    message = f"{shown} in column `{column}` {what}"
    if place.text is None:
        message = f"a cell in column `{column}` {what}"
    diagnostics.error(
        "GSM2301",
        message,
        place,
        notes=examples([str(file.place(int(r), column)) for r in rows[1:SHOWN]], len(rows) - 1),
        help=help or None,
    )
