"""The file of a journal: made whole or not at all, recognised by its first bytes, connected to.

It is read through a connection that cannot write, so that a journal that is refused stays as it was found.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from shutil import copyfile

from gpusched_dsl.online.journal.chain import Json, packed, root
from gpusched_dsl.online.journal.errors import FORMAT, cannot_open, damaged, no_journal, other_format

APPLICATION_ID = 0x6773646A  # "gsdj"
_MAGIC = b"SQLite format 3\0"

TABLES = (
    "CREATE TABLE run (one INTEGER PRIMARY KEY CHECK (one = 1), header BLOB NOT NULL)",
    "CREATE TABLE event (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, time REAL NOT NULL, batch INTEGER NOT NULL, "
    "content BLOB NOT NULL, digest BLOB NOT NULL)",
    "CREATE TABLE step (seq INTEGER PRIMARY KEY, time REAL NOT NULL, content BLOB NOT NULL, digest BLOB NOT NULL)",
    "CREATE TABLE result (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, digest BLOB NOT NULL)",
    # What the other tables must hold: a lost last record would leave a chain that is whole.
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), steps INTEGER NOT NULL, step_digest BLOB NOT NULL, "
    "events INTEGER NOT NULL, event_digest BLOB NOT NULL, told INTEGER NOT NULL, finished INTEGER NOT NULL)",
)


# --- make ------------------------------------------------------------------------------------------------------------


def create(path: Path, header: Json) -> None:
    """A new journal at `path`: written beside it, flushed, then renamed, so that there is never half of one."""
    stored = packed(header)
    new = path.with_name(path.name + "-new")
    log = path.with_name(path.name + "-new-wal")
    try:
        for left in (new, log):
            left.unlink(missing_ok=True)  # by a process that was killed here; the writer's lock is ours
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            for pragma in ("page_size = 4096", f"application_id = {APPLICATION_ID}", f"user_version = {FORMAT}"):
                connection.execute(f"PRAGMA {pragma}")
            # Not yet with a log, which would have to be copied into the file on closing: that can fail in silence.
            connection.execute("BEGIN")
            for table in TABLES:
                connection.execute(table)
            connection.execute("INSERT INTO run VALUES (1, ?)", (stored,))
            chains = (root(stored, "step"), root(stored, "event"))
            connection.execute("INSERT INTO head VALUES (1, 0, ?, 0, ?, 0, 0)", chains)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
        if log.exists() and log.stat().st_size:
            raise OSError("its log could not be written")
        _flush(new)
        os.replace(new, path)
        _flush(path.parent)
    except (OSError, sqlite3.Error) as failure:
        for left in (new, log, path.with_name(path.name + "-new-journal")):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        raise cannot_open(path, f"it cannot be made ({failure})") from failure


def _flush(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there; its file systems log renames
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- recognise -------------------------------------------------------------------------------------------------------


def exists(path: Path) -> bool:
    """Whether there is a file to recognise; raises GSM5101 for what cannot be one, GSM5105 where only a log is left."""
    try:
        if path.is_dir():
            raise cannot_open(path, "it is a folder")
        if path.exists():
            return True
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise damaged(path, f"the file is gone and only `{log.name}` is left")
    except OSError as failure:
        raise cannot_open(path, str(failure)) from failure
    return False


def recognise(path: Path) -> None:
    """Refuse what is no journal of this format by the file's first bytes (GSM5101 to GSM5103, GSM5105)."""
    try:
        with path.open("rb") as file:
            start = file.read(100)
    except OSError as failure:
        raise cannot_open(path, failure.strerror or str(failure)) from failure
    if not start:
        raise no_journal(path, "it is empty")
    if len(start) < 100 or not start.startswith(_MAGIC):
        raise no_journal(path, "it is no SQLite file")
    version, application = struct.unpack(">i4xi", start[60:72])
    if application != APPLICATION_ID:
        raise no_journal(path, "it is an SQLite file of something else")
    if version != FORMAT:
        raise other_format(path, version)
    if start[18:20] not in (b"\1\1", b"\2\2"):  # SQLite would take it as one that may not be written
        raise damaged(path, "the beginning of the file is wrong")


# --- connect ---------------------------------------------------------------------------------------------------------


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """A connection whose commits are durable when they return; raises `sqlite3.Error`."""
    address = f"{path.as_uri()}?mode={'rw' if write else 'ro'}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=5.0)
    try:
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL", "fullfsync = ON"):
            connection.execute(f"PRAGMA {pragma}")
        if write and connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise sqlite3.DatabaseError("it does not keep a write-ahead log")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One consistent view of a journal, also while a run writes it and in a folder that cannot be written.

    SQLite needs to make files beside a database with a log, even to read it; where it may not, a copy is read.
    """
    with ExitStack() as held:
        try:
            connection = held.enter_context(closing(_view(path, write=False)))
        except sqlite3.OperationalError as failure:
            if failure.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            copy = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="gsdsl-journal-"))) / "journal"
            copyfile(path, copy)
            with suppress(FileNotFoundError):
                copyfile(path.with_name(path.name + "-wal"), copy.with_name("journal-wal"))
            connection = held.enter_context(closing(_view(copy, write=True)))
        yield connection


def _view(path: Path, *, write: bool) -> sqlite3.Connection:
    connection = connect(path, write=write)
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # from now on nothing of it changes
    except BaseException:
        connection.close()
        raise
    return connection
