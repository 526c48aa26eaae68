"""Verifies a journal: its structure, every record by its chain, and the length of the chains."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gpusched_dsl.online.journal.chain import DamagedRecord, Json, link, root, unpack
from gpusched_dsl.online.journal.errors import cannot_open, damage_error, of_sqlite
from gpusched_dsl.online.journal.store import TABLES, open_view, recognise


@dataclass(slots=True)
class Head:
    """The end of a journal: its last digests, and the number of reported steps."""

    header: Json
    steps: int = 0
    step_digest: bytes = b""
    events: int = 0
    event_digest: bytes = b""
    reported: int = 0
    finished: bool = False


def verify(path: Path, stack: ExitStack) -> tuple[sqlite3.Connection, Head]:
    """Return a copy of a journal, open as long as `stack`, after all records were read and checked.

    Raises GSM5101 to GSM5103, GSM5105, GSM5106.
    """
    recognise(path)
    try:
        connection = stack.enter_context(open_view(path))
        return connection, check(connection)
    except DamagedRecord as failure:
        raise damage_error(path, str(failure)) from failure
    except sqlite3.Error as failure:
        raise of_sqlite(path, failure) from failure
    except OSError as failure:
        raise cannot_open(path, str(failure)) from failure


def check(connection: sqlite3.Connection) -> Head:
    """Check structure, chains and ends in one view; raises `DamagedRecord` and `sqlite3.Error`."""
    found = [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    if sorted(map(str, found)) != sorted(TABLES):
        raise DamagedRecord("its tables are not those of a journal")
    first = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if first != ("ok",):
        raise DamagedRecord(f"SQLite reports: {str(first[0]).splitlines()[-1]}")
    row = connection.execute("SELECT steps, step_digest, events, event_digest, told, finished FROM head").fetchone()
    stored = connection.execute("SELECT header FROM run").fetchone()
    if row is None or stored is None or not isinstance(stored[0], bytes):
        raise DamagedRecord("its header is missing")
    steps, step_digest, events, event_digest, reported, finished = row
    head = Head(None, steps, step_digest, events, event_digest, reported, finished == 1)
    _check_steps(connection, head, stored[0])
    _check_events(connection, head, stored[0])
    head.header = unpack(stored[0])
    if not 0 <= head.reported <= head.steps:
        raise DamagedRecord(f"{head.reported} of {head.steps} steps are marked as reported")
    if result_of(connection, head) is not None and not head.finished:
        raise DamagedRecord("it has a result, but the run was not finished")
    return head


def _check_steps(connection: sqlite3.Connection, head: Head, header: bytes) -> None:
    before, number = root(header, "step"), 0
    for seq, _time, content, digest in connection.execute("SELECT seq, time, content, digest FROM step ORDER BY seq"):
        number += 1
        if seq != number:
            raise DamagedRecord(f"step {number} is missing")
        before = _link(before, number, content, digest, f"step {number}")
    if number != head.steps or before != head.step_digest:
        raise DamagedRecord(f"it has {number} steps, but {head.steps} were recorded")


def _check_events(connection: sqlite3.Connection, head: Head, header: bytes) -> None:
    before, number = root(header, "event"), 0
    for seq, name, content, digest in connection.execute("SELECT seq, id, content, digest FROM event ORDER BY seq"):
        number += 1
        if seq != number:
            raise DamagedRecord(f"event {number} is missing")
        before = _link(before, number, content, digest, f"event {number}")
        if unpack(content)["id"] != name:
            raise DamagedRecord(f"event {number} has another id than its record")
    if number != head.events or before != head.event_digest:
        raise DamagedRecord(f"it has {number} events, but {head.events} were recorded")


def _link(before: bytes, number: int, content: object, digest: object, what: str) -> bytes:
    if not isinstance(content, bytes) or link(before, number, content) != digest:
        raise DamagedRecord(f"{what} differs from the written content")
    return link(before, number, content)


def result_of(connection: sqlite3.Connection, head: Head) -> Json | None:
    """Return the result of the run, as a list of one; None while it has not ended."""
    row = connection.execute("SELECT content, digest FROM result").fetchone()
    if row is None:
        return None
    _link(head.step_digest, head.steps + 1, row[0], row[1], "the result")
    return unpack(row[0])
