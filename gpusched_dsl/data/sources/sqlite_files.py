"""SQLite files of others as they were committed, read without leaving a file beside them.

A database in WAL mode makes SQLite write `-shm` and `-wal` beside it, also for reading. So a database without a log is
opened as immutable, and one with a log is copied with it into a private folder. Files that are not plain are refused.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from shutil import copyfileobj

from gpusched_dsl.data.sources.files import DataFile, Fault, FileLimits, Unreadable, check_plain

LOGS = ("-journal", "-wal")  # files beside a database that may contain its newest state
COPIES = 5  # attempts to copy the files while nobody writes them
MODES = slice(18, 20)  # bytes of the header: the versions of the format for writing and reading
ROLLBACK = b"\1\1"
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def open_committed(file: DataFile, limits: FileLimits) -> Iterator[sqlite3.Connection]:
    """Yield a connection for reading the last committed state of a database.

    Raises sqlite3.Error, and Unreadable (GSM2004, GSM2006) for a log that is no plain file or too large, and for a file
    that changes while it is read.
    """
    with ExitStack() as resources:
        before = _stamps(file.path)
        if any(stamp is not None and stamp[1] for stamp in before[1:]):
            folder = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="gsdsl-sqlite-")))
            copy = folder / "copy.db"
            if not copy_database(file, copy, limits):
                raise _changing(file)
            yield resources.enter_context(closing(sqlite3.connect(f"{copy.as_uri()}?mode=rw", uri=True)))
            return
        address = f"{file.path.as_uri()}?mode=ro"
        if not keeps_rollback_journal(file.path):  # SQLite locks nothing then, so that we look for changes
            address += "&immutable=1"
        yield resources.enter_context(closing(sqlite3.connect(address, uri=True)))
        if _stamps(file.path) != before:
            raise _changing(file)


def keeps_rollback_journal(path: Path) -> bool:
    """Whether a database keeps a rollback journal rather than a write-ahead log, by its header; raises OSError."""
    with path.open("rb") as file:
        return file.read(MODES.stop)[MODES] == ROLLBACK


def copy_database(file: DataFile, copy: Path, limits: FileLimits) -> bool:
    """Copy a database with its logs; return whether nothing changed them meanwhile. Raises Unreadable and OSError."""
    for _ in range(COPIES):
        before = _stamps(file.path)
        for end, stamp in zip(("", *LOGS), before, strict=True):
            target = copy.with_name(copy.name + end)
            target.unlink(missing_ok=True)
            if stamp is not None:
                with suppress(FileNotFoundError):
                    _copy(DataFile(_beside(file.path, end), file.name + end), target, limits)
        if before == _stamps(file.path):
            return True
    return False


def _copy(file: DataFile, target: Path, limits: FileLimits) -> None:
    with open_plain(file, limits) as source, target.open("wb") as written:
        copyfileobj(source, written)


@contextmanager
def open_plain(file: DataFile, limits: FileLimits) -> Iterator[BufferedReader]:
    """Open a plain file for reading, and no link; raises Unreadable (GSM2004, GSM2006) and OSError."""
    with open(os.open(file.path, _FLAGS), "rb") as stream:
        check_plain(file, os.fstat(stream.fileno()), limits)
        yield stream


def _stamps(path: Path) -> list[tuple[int, int] | None]:
    """Return time of change and size of a database and its logs, None for a file that does not exist."""
    return [_stamp(_beside(path, end)) for end in ("", *LOGS)]


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size if stat.S_ISREG(found.st_mode) else 1


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _changing(file: DataFile) -> Unreadable:
    help = "read it again when no other program writes it, or a copy of it"
    return Unreadable(Fault("GSM2004", f"data file `{file.name}` changes while it is read", help=help))
