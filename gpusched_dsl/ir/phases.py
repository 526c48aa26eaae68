"""Where the time of a process goes: wall and CPU seconds of phases, each without the phases inside it.

`log_phase` (`log.py`) names them; without a record, as without `--profile`, a phase costs nothing here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gpusched_dsl.ir.log import RECORD

STARTING, REST = "starting", "the rest"


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


@contextmanager
def recorded_phases() -> Iterator[PhaseRecord]:
    """Record the phases of the work inside, of this thread."""
    record = PhaseRecord()
    token = RECORD.set(record)
    try:
        yield record
    finally:
        RECORD.reset(token)
