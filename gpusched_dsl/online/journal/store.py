"""The file of a journal: created completely or not at all, recognised by its first bytes, opened.

It is an SQLite file with a rollback journal: a committed transaction is in the file itself, and `FILE-journal` can only
undo the last one, which was not committed. Readers get a copy through a connection that cannot write, so a journal that
is refused stays as it was found, and a reader that stays does not keep a run from writing.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from shutil import copyfile

from gpusched_dsl.data.sources.sqlite_files import keeps_rollback_journal
from gpusched_dsl.online.journal.chain import Json, pack, root
from gpusched_dsl.online.journal.errors import FORMAT, cannot_open, damage_error, no_journal, other_format

APPLICATION_ID = 0x6773646A  # "gsdj"
_MAGIC = b"SQLite format 3\0"
BESIDE = ("-journal", "-wal")  # files that SQLite keeps beside a database; the second one from earlier versions

COPIES = 5  # attempts to copy the files while nobody writes them

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
    """Create a journal at `path`: written to another file, flushed, then renamed, so that it is never incomplete."""
    stored = pack(header)
    new = path.with_name(path.name + "-new")
    undo = path.with_name(path.name + "-new-journal")
    try:
        for left in (new, undo):
            left.unlink(missing_ok=True)  # by a process that was killed here; the writer's lock is ours
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            for pragma in ("page_size = 4096", f"application_id = {APPLICATION_ID}", f"user_version = {FORMAT}"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("BEGIN")
            for table in TABLES:
                connection.execute(table)
            connection.execute("INSERT INTO run VALUES (1, ?)", (stored,))
            chains = (root(stored, "step"), root(stored, "event"))
            connection.execute("INSERT INTO head VALUES (1, 0, ?, 0, ?, 0, 0)", chains)
            connection.execute("COMMIT")
        _flush(new)
        os.replace(new, path)
        _flush(path.parent)
    except (OSError, sqlite3.Error) as failure:
        for left in (new, undo):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        raise cannot_open(path, f"it cannot be created ({failure})") from failure


def _flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    folder = path.is_dir()
    if folder and sys.platform == "win32":
        return  # folders cannot be opened there; its file systems log renames
    handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)  # Windows flushes only files that are open for writing
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- recognise -------------------------------------------------------------------------------------------------------


def exists(path: Path) -> bool:
    """Whether there is a file to recognise; raises GSM5101 for impossible paths, GSM5105 if it was removed."""
    try:
        if path.is_dir():
            raise cannot_open(path, "it is a folder")
        if path.exists():
            return True
        for end in BESIDE:
            left = path.with_name(path.name + end)
            if left.exists() and left.stat().st_size:
                raise damage_error(path, f"the file is missing and only `{left.name}` exists")
    except OSError as failure:
        raise cannot_open(path, str(failure)) from failure
    return False


def recognise(path: Path) -> None:
    """Reject files that are not journals of this format, by their first bytes (GSM5101 to GSM5103, GSM5105)."""
    try:
        with path.open("rb") as file:
            start = file.read(100)
    except OSError as failure:
        raise cannot_open(path, failure.strerror or str(failure)) from failure
    if not start:
        raise no_journal(path, "it is empty")
    if len(start) < 100 or not start.startswith(_MAGIC):
        raise no_journal(path, "it is not an SQLite file")
    version, application = struct.unpack(">i4xi", start[60:72])
    if application != APPLICATION_ID:
        raise no_journal(path, "it is an SQLite file of another program")
    if version != FORMAT:
        raise other_format(path, version)
    if start[18:20] not in (b"\1\1", b"\2\2"):  # SQLite would take it as one that may not be written
        raise damage_error(path, "the beginning of the file is wrong")


# --- connect ---------------------------------------------------------------------------------------------------------


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Return a connection with durable commits; raise `sqlite3.Error`."""
    address = f"{path.as_uri()}?mode={'rw' if write else 'ro'}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=5.0)
    try:
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL", "fullfsync = ON"):
            connection.execute(f"PRAGMA {pragma}")
        if write and connection.execute("PRAGMA journal_mode = TRUNCATE").fetchone() != ("truncate",):
            raise sqlite3.DatabaseError("it does not keep a rollback journal")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def open_view(path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of a journal as of one moment, also while a run writes it and in a folder that cannot be written.

    SQLite must write to read a file whose last transaction is to be undone, or one in WAL mode; that is done to a copy
    of the files.
    """
    with ExitStack() as resources:
        try:
            connection = _snapshot(path, write=False) if keeps_rollback_journal(path) else None
        except sqlite3.OperationalError as failure:
            if failure.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            connection = None
        if connection is None:
            folder = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="gsdsl-journal-")))
            connection = _snapshot(_copy_files(path, folder / "journal"), write=True)
        yield resources.enter_context(closing(connection))


def _copy_files(path: Path, copy: Path) -> Path:
    """Copy the files in a consistent state: copy them again if a run changed one meanwhile."""
    ends = ("", *BESIDE)
    for _ in range(COPIES):
        before = [_stamp(path.with_name(path.name + end)) for end in ends]
        for end, stamp in zip(ends, before, strict=True):
            target = copy.with_name(copy.name + end)
            target.unlink(missing_ok=True)
            if stamp is not None:
                with suppress(FileNotFoundError):
                    copyfile(path.with_name(path.name + end), target)
        if before == [_stamp(path.with_name(path.name + end)) for end in ends]:
            break
    return copy


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


def _snapshot(path: Path, *, write: bool) -> sqlite3.Connection:
    """All pages of a database in a temporary one, which SQLite keeps in memory while it is small."""
    copy = sqlite3.connect("", isolation_level=None)
    try:
        with closing(connect(path, write=write)) as connection:
            connection.backup(copy)
    except BaseException:
        copy.close()
        raise
    return copy
