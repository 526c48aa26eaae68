"""Data files for tests, and the faults found in them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from gpusched_dsl.data.sources.files import FileColumns, FileLimits, Unreadable
from gpusched_dsl.data.sources.tables import read_columns

ROWS = [("j1", 3.5, 1), ("j2", 7.0, 2), ("j3", 4.0, 4)]
CSV = "job,hours,gpus\n" + "".join(f"{j},{h},{g}\n" for j, h, g in ROWS)


def write(folder: Path, name: str, content: str | bytes) -> None:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def faults(
    folder: Path,
    name: str,
    columns: tuple[str, ...] = ("job", "hours"),
    table: str | None = None,
    limits: FileLimits | None = None,
) -> list[tuple[str, int | None]]:
    """The codes of what is wrong and the lines they point at."""
    with pytest.raises(Unreadable) as caught:
        read_columns(folder, name, table, columns, limits)
    return [(f.code, None if f.cell is None else f.cell.row) for f in caught.value.faults]


def code(
    folder: Path,
    name: str,
    columns: tuple[str, ...] = ("job",),
    table: str | None = None,
    limits: FileLimits | None = None,
) -> str:
    found = faults(folder, name, columns, table, limits)
    assert len(found) == 1
    return found[0][0]


def listed(file: FileColumns) -> dict[str, list[object]]:
    return {name: series.to_list() for name, series in file.columns.items()}


def database(folder: Path, statements: str) -> None:
    with sqlite3.connect(folder / "a.sqlite") as connection:
        connection.executescript(statements)
    connection.close()
