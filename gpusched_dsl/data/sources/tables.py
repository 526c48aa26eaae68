"""Data files of every kind to columns: CSV, TSV (plain or gzip), JSON Lines, Parquet, SQLite and Excel."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from gpusched_dsl.data.sources.files import (
    DataFile,
    Fault,
    FileColumns,
    FileLimits,
    Unreadable,
    expand_gzip,
    locate,
    missing_columns,
    read_bytes,
    repeated_columns,
)

KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_HINTS = {
    ".json": "write the list as `.jsonl`, with one object per line",
    ".xls": "save it as `.xlsx`, or export the sheet as `.csv`",
    ".duckdb": "export the table as `.parquet`",
}


def read_columns(
    base: Path, path: str, table: str | None, columns: Sequence[str], limits: FileLimits | None = None
) -> FileColumns:
    """The named columns of the data file that `path` (relative to the folder `base`) names.

    `table` is for databases and Excel only. Text formats and Excel give text (empty cells are null), the others what
    they declare.
    Raises Unreadable with everything found wrong (GSM20xx).
    """
    limits = limits or FileLimits()
    file = locate(base, path, limits)
    return read_data_file(file, table, columns, limits)


def read_data_file(file: DataFile, table: str | None, columns: Sequence[str], limits: FileLimits) -> FileColumns:
    kind, packed = _kind(file.name)
    if table is not None and kind not in ("sqlite", "excel"):
        raise Unreadable(
            Fault(
                "GSM2016",
                f"data file `{file.name}` is not a database and has no table `{table}`",
                help="`table` is only for SQLite databases and sheets of Excel files",
            )
        )
    if kind == "sqlite":
        from gpusched_dsl.data.sources.sqlite import read_sqlite

        return read_sqlite(file, table, columns, limits)
    raw = read_bytes(file, limits)
    if kind == "parquet":
        from gpusched_dsl.data.sources.parquet import read_parquet

        return read_parquet(raw, file.name, columns, limits)
    digest = hashlib.sha256(raw).hexdigest()
    if kind == "excel":
        return _read_excel(raw, file.name, table, columns, limits, digest)
    if packed:
        raw = expand_gzip(file.name, raw, limits)
    if kind == "json":
        from gpusched_dsl.data.sources.json_lines import read_json_lines

        return read_json_lines(raw, file.name, columns, limits, digest)
    from gpusched_dsl.data.sources.delimited import read_delimited

    return read_delimited(raw, file.name, columns, "," if kind == "csv" else "\t", limits, digest)


def _read_excel(
    raw: bytes, name: str, table: str | None, columns: Sequence[str], limits: FileLimits, digest: str
) -> FileColumns:
    from gpusched_dsl.data.sources.excel import read_sheet, sheet_columns

    found, lines, header = sheet_columns(name, read_sheet(raw, name, table or "", limits))
    faults = missing_columns(name, list(columns), header) + repeated_columns(name, columns, header)
    if faults:
        raise Unreadable(*faults)
    return FileColumns(name, {column: found[column] for column in dict.fromkeys(columns)}, len(lines), digest, lines)


def is_excel(name: str) -> bool:
    """Whether a file of this name is read as an Excel file."""
    return Path(name.lower()).suffix in (".xlsx", ".xlsm")


def is_text(name: str) -> bool:
    """Whether the cells of a file of this name have no types of their own."""
    return Path(name.lower().removesuffix(".gz")).suffix in (".csv", ".tsv", ".xlsx", ".xlsm")


def _kind(name: str) -> tuple[str, bool]:
    """The kind of a file by its name, and whether it is compressed."""
    lowered = name.lower()
    plain = lowered.removesuffix(".gz")
    packed = plain != lowered
    suffix = Path(plain).suffix
    kind = KINDS.get(suffix)
    if kind is None or (packed and kind in ("parquet", "sqlite", "excel")):
        known = ", ".join(f"`{k}`" for k in KINDS)
        raise Unreadable(
            Fault(
                "GSM2005",
                f"the name of data file `{name}` has no known extension",
                notes=(f"known extensions are {known}; text may be compressed (`.csv.gz`)",),
                help=_HINTS.get(suffix),
            )
        )
    return kind, packed
