"""Results as CSV: one file per variable, safe to open in a spreadsheet."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from gpusched_dsl.reporting.files import make_folder, write_text

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_RISKY = ("=", "+", "-", "@", "\t", "\r")


def write_csv_folder(folder: Path, tables: dict[str, pl.DataFrame]) -> list[Path]:
    """Write each table to `NAME.csv` in `folder`, which is made if need be; gives the files.

    Raises DiagnosticError (GSM6008) when a file cannot be written.
    """
    make_folder(folder)
    written = []
    for name, frame in tables.items():
        path = folder / f"{name}.csv"
        write_text(path, csv_text(frame))
        written.append(path)
    return written


def csv_text(frame: pl.DataFrame) -> str:
    """The table as CSV; texts that a spreadsheet would run as a formula get a leading `'`."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    guarded = [
        pl.Series(name, [defused(v) if v is not None else None for v in frame[name].unique().to_list()])
        for name in texts
    ]
    for name, safe in zip(texts, guarded, strict=True):
        plain = frame[name].unique()
        if not plain.equals(safe):
            frame = frame.with_columns(frame[name].replace_strict(plain, safe).alias(name))
    return frame.write_csv()


def defused(text: str) -> str:
    """The text with a `'` before it where a spreadsheet would take it for a formula; numbers stay as they are."""
    return f"'{text}" if text.startswith(_RISKY) and not _NUMBER.match(text) else text
