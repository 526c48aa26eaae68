"""The durable record of an online run: external events, numbered steps with their decisions, the result.

A run is a function of its inputs, options, seed, external events and decisions, so a run that was killed goes on by
repeating the recorded steps without new decisions. One process writes; any may read. A step is
durable when `append` returns: only then may anybody act on it. It is an SQLite file, flushed at every commit.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from gpusched_dsl.online.journal.chain import DamagedRecord, Json, link, normalise_json, pack, unpack
from gpusched_dsl.online.journal.errors import (
    cannot_open,
    cannot_write,
    damage_error,
    has_steps,
    of_sqlite,
    other_run,
    step_differs,
)
from gpusched_dsl.online.journal.header import differences
from gpusched_dsl.online.journal.integrity import Head, result_of, verify
from gpusched_dsl.online.journal.lock import WriterLock
from gpusched_dsl.online.journal.records import External, JournalStep
from gpusched_dsl.online.journal.store import connect, create, exists, recognise


class Journal:
    """A journal open for one run (`open`) or for reading (`read`)."""

    def __init__(
        self, path: Path, head: Head, connection: sqlite3.Connection, resources: ExitStack, *, writes: bool
    ) -> None:
        self.path = path
        self._head = head
        self._connection = connection
        self._resources = resources  # closed by `close`
        self._writes = writes
        self._failed: sqlite3.Error | None = None
        self._position = 0
        self._trial_steps: list[JournalStep] | None = None  # steps of a trial, not recorded yet
        self.on_write: Callable[[], None] = lambda: None  # called after events and steps were recorded

    # --- open and close ----------------------------------------------------------------------------------------------

    @classmethod
    def open(cls, path: str | Path, header: Mapping[str, Json], *, resume: bool = True) -> Self:
        """Open the journal of the run of `header`: a new one, or the existing record.

        `header` has what the run depends on (inputs_sha256, options, seed, method, ...). Raises GSM5101 to GSM5106
        where the file cannot be that journal, GSM5108 where it has steps and `resume` is false; the file is unchanged.
        """
        path = _resolve(path)
        if not path.parent.is_dir():
            raise cannot_open(path, "the folder does not exist")
        if exists(path):
            recognise(path)  # leaves no lock beside the file of somebody else
        with ExitStack() as resources:
            resources.callback(WriterLock(path).release)
            if not exists(path):
                create(path, dict(header))
            with ExitStack() as view:
                _, head = verify(path, view)
            found = differences(head.header, normalise_json(dict(header)))
            if found:
                raise other_run(path, found, head.steps)
            if not resume and (head.steps or head.events or head.finished):
                raise has_steps(path, head.steps)
            try:
                connection = connect(path, write=True)
            except sqlite3.Error as failure:
                raise of_sqlite(path, failure) from failure
            resources.callback(connection.close)
            return cls(path, head, connection, resources.pop_all(), writes=True)
        raise AssertionError  # an ExitStack with only callbacks lets every exception through

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Open a journal for reading, also during its run; it does not grow while it is open."""
        path = _resolve(path)
        if not exists(path):
            raise cannot_open(path, "the file does not exist", "name the journal of a run")
        with ExitStack() as resources:
            connection, head = verify(path, resources)
            return cls(path, head, connection, resources.pop_all(), writes=False)
        raise AssertionError

    def close(self) -> None:
        """Close the journal; appended records are already durable."""
        if self._writes and self._failed is None:
            with suppress(sqlite3.Error):  # it only avoids repeated reports
                self._connection.execute("UPDATE head SET told = ?", (self._head.reported,))
                self._connection.execute("PRAGMA journal_mode = DELETE")  # leaves no file beside it
        self._writes = False
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- read --------------------------------------------------------------------------------------------------------

    @property
    def header(self) -> Json:
        return self._head.header

    def __len__(self) -> int:
        """Return the number of recorded steps."""
        return self._head.steps

    def __bool__(self) -> bool:
        return True

    @property
    def finished(self) -> bool:
        """Whether the run has ended; no more steps are appended."""
        return self._head.finished

    @property
    def result(self) -> Json | None:
        """Return the result of the run; None while it has not ended."""
        with self._converted_errors():
            return result_of(self._connection, self._head)

    def step(self, seq: int) -> JournalStep:
        """Step number `seq` of those recorded; raises IndexError for others."""
        if not 1 <= seq <= self._head.steps:
            raise IndexError(f"there is no step {seq} of {self._head.steps}")
        with self._converted_errors():
            row = self._connection.execute("SELECT content FROM step WHERE seq = ?", (seq,)).fetchone()
            if row is None:
                raise DamagedRecord(f"step {seq} is missing")
            content = unpack(row[0])
            return JournalStep(seq, content["time"], content["events"], content["decision"])

    def steps(self, first: int = 1) -> Iterator[JournalStep]:
        """The recorded steps from number `first` on, in order."""
        seq = first
        while seq <= self._head.steps:
            yield self.step(seq)
            seq += 1

    def external(self, first: int = 1) -> Iterator[External]:
        """The events from outside in the order in which they were accepted, from number `first` on."""
        for seq in range(first, self._head.events + 1):
            yield self._external(seq)

    @property
    def event_count(self) -> int:
        """The number of recorded events."""
        return self._head.events

    def step_digest(self, seq: int) -> bytes:
        """The digest of step number `seq`, which covers all steps before; raises IndexError for others."""
        return self._digest("step", seq)

    def event_digest(self, seq: int) -> bytes:
        """The digest of event number `seq`, which covers all events before; raises IndexError for others."""
        return self._digest("event", seq)

    def _digest(self, table: str, seq: int) -> bytes:
        with self._converted_errors():
            row = self._connection.execute(f"SELECT digest FROM {table} WHERE seq = ?", (seq,)).fetchone()
        if row is None:
            raise IndexError(f"there is no {table} {seq}")
        found: bytes = row[0]
        return found

    def find_external(self, id: str) -> External | None:
        """Return the external event with this id; None if none was accepted."""
        with self._converted_errors():
            row = self._connection.execute("SELECT seq FROM event WHERE id = ?", (id,)).fetchone()
        return None if row is None else self._external(row[0])

    def _external(self, seq: int) -> External:
        with self._converted_errors():
            row = self._connection.execute("SELECT content FROM event WHERE seq = ?", (seq,)).fetchone()
            if row is None:
                raise DamagedRecord(f"event {seq} is missing")
            return External(**unpack(row[0]))

    @contextmanager
    def _converted_errors(self) -> Iterator[None]:
        try:
            yield
        except DamagedRecord as failure:
            raise damage_error(self.path, str(failure)) from failure
        except sqlite3.Error as failure:
            raise of_sqlite(self.path, failure) from failure

    # --- write -------------------------------------------------------------------------------------------------------

    def append(self, step: JournalStep) -> None:
        """Record the next step; it is durable when this returns, or after `commit` in a trial.

        Raises GSM5107 where it could not be written, and from then on always: the run must end. Raises ValueError for a
        step that is not the next one, for a run that has ended, and for numbers that are not finite.
        """
        head = self._head
        if step.seq != self.last_step + 1 or head.finished:
            last = "the end of the run" if head.finished else self.last_step
            raise ValueError(f"step {step.seq} cannot follow {last}")
        if not math.isfinite(step.time):
            raise ValueError(f"step {step.seq} has the time {step.time}")
        if self._trial_steps is not None:
            self._trial_steps.append(step)
        else:
            self._write((), (step,))

    @property
    def last_step(self) -> int:
        """The number of the last step, recorded or of the trial."""
        return self._head.steps + len(self._trial_steps or ())

    def begin(self) -> None:
        """Begin a trial, or begin it again: steps that are appended from now on wait for `commit`."""
        self._trial_steps = []

    def discard(self) -> None:
        """End a trial; its steps are forgotten."""
        self._trial_steps = None

    def commit(self, events: Sequence[External]) -> None:
        """End a trial: record these events and its steps, all or none. Raises as `append` and `accept`."""
        steps, self._trial_steps = tuple(self._trial_steps or ()), None
        if events or steps:
            self._write(events, steps)

    def accept(self, events: Sequence[External]) -> None:
        """Record events from outside, all or none; their ids must be new."""
        self._write(events, ())

    def _write(self, events: Sequence[External], steps: Sequence[JournalStep]) -> None:
        head = self._head
        step_digest, step_rows = head.step_digest, []
        for step in steps:
            content = pack({"time": step.time, "events": list(step.events), "decision": step.decision})
            step_digest = link(step_digest, step.seq, content)
            step_rows.append((step.seq, step.time, content, step_digest))
        digest, number, rows = head.event_digest, head.events, []
        for event in events:
            if self.find_external(event.id) is not None or not math.isfinite(event.time):
                raise ValueError(f"event {event.id!r} was accepted before, or has no time")
            number += 1
            fields = {"id": event.id, "time": event.time, "content": event.content, "batch": event.batch}
            content = pack(fields)
            digest = link(digest, number, content)
            rows.append((number, event.id, event.time, event.batch, content, digest))
        if len({event.id for event in events}) < len(events):
            raise ValueError("two events have the same id")
        last = steps[-1].seq if steps else head.steps
        what = f"step {last}" if steps else "the step after them"
        with self._transaction(what) as connection:
            connection.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.executemany("INSERT INTO step VALUES (?, ?, ?, ?)", step_rows)
            connection.execute(
                "UPDATE head SET steps = ?, step_digest = ?, events = ?, event_digest = ?, told = ?",
                (last, step_digest, number, digest, head.reported),
            )
        head.events, head.event_digest = number, digest
        head.steps, head.step_digest = last, step_digest
        self.on_write()

    def finish(self, result: Json) -> None:
        """Record the result of the run."""
        if self._head.finished:
            raise ValueError("the run has already ended")
        content = pack(result)
        digest = link(self._head.step_digest, self._head.steps + 1, content)
        with self._transaction("the result") as connection:
            connection.execute("INSERT INTO result VALUES (1, ?, ?)", (content, digest))
            connection.execute("UPDATE head SET finished = 1, told = ?", (self._head.reported,))
        self._head.finished = True

    @contextmanager
    def _transaction(self, what: str) -> Iterator[sqlite3.Connection]:
        if self._failed is not None:
            raise cannot_write(self.path, self._failed, self._head.steps, what)
        if not self._writes:
            raise ValueError("the journal is open for reading, or closed")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._connection.execute("COMMIT")
        except sqlite3.Error as failure:
            # Whether it is in the file shows when it is opened again; either way nobody has acted on it.
            self._failed = failure
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise cannot_write(self.path, failure, self._head.steps, what) from failure

    # --- run through it ----------------------------------------------------------------------------------------------

    def decide(self, time: float, events: Sequence[Json], plan: Callable[[], Json]) -> Json:
        """The decision of the run's next step: the recorded one where there is one, else that of `plan`, recorded.

        Both come back as read from JSON. Raises GSM5109 where the recorded step has another time or other events.
        """
        seq = min(self._position, self.last_step) + 1  # a trial may have been discarded
        if seq <= self._head.steps:
            step = self.step(seq)
            how = step.difference_from(time, normalise_json(list(events)))
            if how is not None:
                raise step_differs(self.path, seq, how)
        else:
            step = JournalStep(seq, time, events, normalise_json(plan()))
            self.append(step)
        self._position = seq
        return step.decision

    @property
    def is_replaying(self) -> bool:
        """Whether `decide` is still in the recorded steps."""
        return self._position < self._head.steps

    # --- reported decisions ------------------------------------------------------------------------------------------

    @property
    def last_reported(self) -> int:
        """Return the last step with reported decisions; later ones must be reported again."""
        return self._head.reported

    def mark_reported(self, seq: int) -> None:
        """Note that the decisions up to step `seq` were reported; it becomes durable with the next record."""
        self._head.reported = max(self._head.reported, min(seq, self._head.steps))


def _resolve(path: str | Path) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, ValueError, RuntimeError) as failure:
        raise cannot_open(Path(path), str(failure)) from failure
