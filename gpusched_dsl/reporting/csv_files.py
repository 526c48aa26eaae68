"""Results as CSV: one file per variable, safe to open in a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from gpusched_dsl.data.sources.writing import make_folder, write_text

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_RISKY = r"^[=+\-@\t\r]"


def write_csv_folder(folder: Path, tables: dict[str, pl.DataFrame]) -> list[Path]:
    """Write each table to `NAME.csv` in `folder`, which is created if necessary; return the files.

    Names that differ only in case are numbered, since some file systems ignore case. Raises DiagnosticError (GSM6008)
    if a file cannot be written.
    """
    make_folder(folder)
    written = []
    taken: set[str] = set()
    for name, frame in tables.items():
        stem, number = name, 2
        while stem.casefold() in taken:
            stem, number = f"{name}_{number}", number + 1
        taken.add(stem.casefold())
        path = folder / f"{stem}.csv"
        write_text(path, csv_text(frame))
        written.append(path)
    return written


def csv_text(frame: pl.DataFrame) -> str:
    """Return the table as CSV; texts that a spreadsheet would read as formulas get a leading `'`."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    safe_frame = frame.with_columns(
        pl.when(pl.col(name).str.contains(_RISKY) & ~pl.col(name).str.contains(_NUMBER))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
    return safe_frame.write_csv()
