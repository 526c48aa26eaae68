"""Results as CSV, safe to open in a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from gpusched_dsl.data.sources.writing import make_folder, write_text

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
# What spreadsheets read as a formula, also in the full width of East Asian keyboards and behind blanks.
_RISKY = r"^(?:[\t\r\n]|[\s\x00-\x1f]*[=+\-@\uff1d\uff0b\uff0d\uff20])"


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
    names = [name for name, dtype in frame.schema.items() if dtype in (pl.String, pl.Categorical, pl.Enum)]
    headings = pl.Series("name", frame.columns, pl.String).to_frame().select(_safe("name"))["name"]
    return frame.with_columns(map(_safe, names)).rename(dict(zip(frame.columns, headings, strict=True))).write_csv()


def _safe(column: str) -> pl.Expr:
    text = pl.col(column).cast(pl.String)
    is_risky = text.str.contains(_RISKY) & ~text.str.contains(_NUMBER)
    return pl.when(is_risky).then(pl.concat_str(pl.lit("'"), text)).otherwise(text).alias(column)
