"""One writer per journal: a lock of the operating system, through SQLite, that ends with the process.

The lock is an exclusive transaction on an empty file beside the journal. It works the same on every system that SQLite
runs on, is not inherited by child processes, and a kill releases it; the file itself says nothing and stays.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from gpusched_dsl.online.journal.errors import cannot_open, in_use


class WriterLock:
    """Locked from construction until `release`; raises GSM5106 if another process or journal object has the lock."""

    def __init__(self, journal: Path) -> None:
        path = journal.with_name(journal.name + "-lock")
        try:
            self._connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)
        except sqlite3.Error as failure:
            raise cannot_open(journal, f"its lock `{path.name}` cannot be created ({failure})") from failure
        try:
            self._connection.execute("PRAGMA journal_mode = MEMORY")  # else a kill leaves a file behind
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as failure:
            self._connection.close()
            code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise in_use(journal) from failure
            raise cannot_open(journal, f"its lock `{path.name}` cannot be acquired ({failure})") from failure

    def release(self) -> None:
        self._connection.close()
