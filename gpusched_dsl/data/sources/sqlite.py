"""Tables and views of SQLite databases to columns. The file is opened for reading only."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Sequence
from itertools import chain
from typing import Any

from gpusched_dsl.data.sources.files import (
    DataFile,
    Fault,
    FileColumns,
    FileLimits,
    Unreadable,
    decoded_size_fault,
    missing_columns,
    size_text,
)
from gpusched_dsl.data.sources.sqlite_files import LOGS, open_committed, open_plain
from gpusched_dsl.data.sources.untyped import series_of, unusable_column
from gpusched_dsl.ir.deadline import active_deadline, checkpoint
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

_CHUNK = 500  # rows: with the longest cells half a gigabyte
_CELL_BYTES, _ROW_BYTES = 40, 64  # as Python keeps them, beside the text
_LONGEST_CELL = 1 << 20
_STEPS = 100_000  # of SQLite's machine between two checks of the time
_VIEW_SECONDS = 60.0


def read_sqlite(file: DataFile, table: str | None, columns: Sequence[str], limits: FileLimits) -> FileColumns:
    """The named columns of a table or view, in its own order; records are counted from 1.

    The table may be left unnamed when the database has only one. Raises Unreadable (GSM2004, GSM2006 to GSM2008,
    GSM2010, GSM2011, GSM2014, GSM2016).
    """
    columns = list(dict.fromkeys(columns))
    try:
        digest = _check_file(file, limits)
        with open_committed(file, limits) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(limits.decoded_bytes, _LONGEST_CELL))
            # A view may compute for ever.
            end, deadline = time.monotonic() + _VIEW_SECONDS, active_deadline()
            connection.set_progress_handler(
                lambda: int(time.monotonic() > end or (deadline is not None and bool(deadline.reason))), _STEPS
            )
            table = _table(connection, file.name, table)
            return _read(connection, f"{file.name} table {table}", table, columns, limits, digest)
    except OSError as error:
        raise Unreadable(Fault("GSM2004", f"data file `{file.name}` cannot be opened: {error.strerror}")) from None
    except (sqlite3.Error, ValueError) as error:  # names may not even be UTF-8
        if isinstance(error, sqlite3.DataError) or "too big" in str(error):
            message = f"a value of `{file.name}` is longer than {size_text(min(limits.decoded_bytes, _LONGEST_CELL))}"
            raise Unreadable(Fault("GSM2007", message)) from None
        if "interrupted" in str(error):
            checkpoint()  # the time limit, or a request to stop
            raise Unreadable(Fault("GSM2007", f"the query of `{file.name}` takes longer than a minute")) from None
        raise Unreadable(
            Fault("GSM2008", f"data file `{file.name}` is damaged or not an SQLite database", notes=(str(error),))
        ) from None


def _check_file(file: DataFile, limits: FileLimits) -> str:
    """Return the SHA-256 of a database and its logs; raises Unreadable and OSError."""
    with open_plain(file, limits) as stream:
        digest = hashlib.file_digest(stream, "sha256")
        size = stream.tell()
    if size == 0:
        raise Unreadable(Fault("GSM2010", f"data file `{file.name}` is empty"))
    for end in LOGS:  # which may contain what was committed
        log = DataFile(file.path.with_name(file.path.name + end), file.name + end)
        with contextlib.suppress(FileNotFoundError), open_plain(log, limits) as stream:
            digest.update(stream.read(limits.file_bytes))
    return digest.hexdigest()


def _quote(name: str) -> str:
    return f"`{name}`"


def _table(connection: sqlite3.Connection, file: str, table: str | None) -> str:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
    known = [str(row[0]) for row in rows if not str(row[0]).startswith("sqlite_")]
    shown = ", ".join(_quote(k) for k in known[:20])
    if table is None:
        if len(known) == 1:
            return known[0]
        raise Unreadable(
            Fault(
                "GSM2016",
                f"the table of database `{file}` is not specified",
                notes=(f"its tables: {shown or 'none'}",),
                help='write `data "file" table "name" { ... }`',
            )
        )
    if table not in known:
        raise Unreadable(
            Fault(
                "GSM2016",
                f"database `{file}` has no table `{table}`",
                notes=(f"its tables: {shown or 'none'}",),
                help=did_you_mean(table, known),
            )
        )
    return table


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read(
    connection: sqlite3.Connection, name: str, table: str, columns: list[str], limits: FileLimits, digest: str
) -> FileColumns:
    known = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({_identifier(table)})")]
    faults = missing_columns(name, columns, known)
    if faults:
        raise Unreadable(*faults)
    chosen = ", ".join(map(_identifier, columns)) or "1"
    cursor = connection.execute(f"SELECT {chosen} FROM {_identifier(table)}")
    chunks: list[list[tuple[Any, ...]]] = []
    count = size = 0
    while chunk := cursor.fetchmany(_CHUNK):
        checkpoint()
        chunks.append(chunk)
        count += len(chunk)
        size += len(chunk) * (_ROW_BYTES + len(columns) * _CELL_BYTES)
        size += sum(len(cell) for row in chunk for cell in row if isinstance(cell, (str, bytes)))
        if size > limits.decoded_bytes:
            raise Unreadable(decoded_size_fault(name, limits))
    values = list(zip(*chain.from_iterable(chunks), strict=True)) or [()] * len(columns)
    taken = {}
    for column, cells in zip(columns, values, strict=False):
        if bytes in set(map(type, cells)):
            raise Unreadable(unusable_column(name, column, "binary data"))
        taken[column] = series_of(cells)
    return FileColumns(name, taken, count, digest)
