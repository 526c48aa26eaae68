"""Phases of work: one line for each in the log, for programs that use `logging`, and their times where recorded.

The logger is `gpusched_dsl`. Phases of a second or more, and the start and end of solves and runs, are at level INFO,
shorter phases at DEBUG. A program that has not imported `logging` cannot listen, so nothing is imported for it.

Recorded are wall and CPU seconds of phases (`--profile`), each without the phases inside it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

NAME = "gpusched_dsl"
LONG = 1.0  # seconds of a phase that is logged at INFO
STARTING, REST = "starting", "the rest"


def log(text: str, *, important: bool = True) -> None:
    """Write a line to the log, at INFO or DEBUG."""
    logging = sys.modules.get("logging")
    if logging is None:
        return
    logger = logging.getLogger(NAME)
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        logger.addHandler(logging.NullHandler())  # as the documentation of `logging` asks of libraries
    logger.log(logging.INFO if important else logging.DEBUG, "%s", text)


class PhaseTime(NamedTuple):
    """Seconds of all turns of a phase; CPU seconds are those of this process, on all of its threads."""

    name: str
    turns: int
    wall: float
    cpu: float


class PhaseRecord:
    """Records phases from its creation on; the CPU time of the process before it is that of `STARTING`."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, float, float]] = {}
        self._open = [REST]
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        self._found[STARTING] = (1, self._cpu, self._cpu)  # what it waited for is not known

    def enter(self, name: str) -> None:
        self._count(0)
        self._open.append(name)

    def leave(self) -> None:
        self._count(1)
        self._open.pop()

    def times(self) -> tuple[PhaseTime, ...]:
        """Return the phases in the order in which they first ended, and the rest until now."""
        self._count(0)
        listed = [PhaseTime(name, *found) for name, found in self._found.items() if name != REST]
        return (*listed, PhaseTime(REST, *self._found.get(REST, (0, 0.0, 0.0))))

    def _count(self, turns: int) -> None:
        """Add the time since the last call to the innermost open phase."""
        wall, cpu = time.perf_counter(), time.process_time()
        before = self._found.get(self._open[-1], (0, 0.0, 0.0))
        self._found[self._open[-1]] = (before[0] + turns, before[1] + wall - self._wall, before[2] + cpu - self._cpu)
        self._wall, self._cpu = wall, cpu


RECORD: ContextVar[PhaseRecord | None] = ContextVar("phases", default=None)


@contextmanager
def recorded_phases() -> Iterator[PhaseRecord]:
    """Record the phases of the work inside, of this thread."""
    record = PhaseRecord()
    token = RECORD.set(record)
    try:
        yield record
    finally:
        RECORD.reset(token)


@contextmanager
def log_phase(name: str) -> Iterator[None]:
    """Write how long the work took, also if it fails; record it where phases are recorded."""
    record = RECORD.get()
    if record is not None:
        record.enter(name)
    began = time.perf_counter()
    try:
        yield
    finally:
        if record is not None:
            record.leave()
        seconds = time.perf_counter() - began
        log(f"{name}: {seconds:.2f} s", important=seconds >= LONG)
