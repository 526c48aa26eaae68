"""A loop so small that its decisions are known by heart: jobs in order of arrival on four GPUs, a plan every 10 too."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.live.clock import LiveClock
from gpusched_dsl.online.live.lines import LineReader
from gpusched_dsl.online.live.messages import Arrival, Completion, Decided, Entry, Event
from gpusched_dsl.online.live.session import LiveRun

HEADER = {"seed": 1}
GPUS, PERIOD = 4, 10.0


class Toy:
    """Follows `LiveLoop`; `planned` counts the plans that were not read from the journal."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.journal = journal
        self._now, self._planned_at = 0.0, 0.0
        self.jobs: list[Any] = []
        self.why: list[str] = []
        self.made: list[Decided] = []
        self.steps = self.planned = 0

    @property
    def now(self) -> float:
        return self._now

    def check(self, event: Event) -> Event:
        if isinstance(event, Completion) and event.job not in self.jobs:
            raise DiagnosticError([Diagnostic("GSM5207", f"unknown job `{event.job}`", help="check its name")])
        return event

    def apply(self, event: Event, time: float) -> None:
        while self._planned_at + PERIOD < time:
            self._now = self._planned_at + PERIOD
            self.why.append("period")
            self.decide()
        self._now = time
        if isinstance(event, Arrival):
            self.jobs.append(event.job)
            self.why.append("arrival")
        elif isinstance(event, Completion):
            self.jobs.remove(event.job)
            self.why.append("completion")

    def decide(self) -> None:
        if not self.why:
            return
        why, self.why, self._planned_at = self.why, [], self._now
        running = list(self.jobs[:GPUS])

        def plan() -> Any:
            self.planned += 1
            return {"running": running, "plan": self.planned}

        found = plan() if self.journal is None else self.journal.decide(self._now, [{"why": why}], plan)
        self.steps += 1
        entries = {"run": [Entry([job], 1.0) for job in found["running"]]}
        made = Decided(step=self.steps, time=self._now, why=why, method="fifo", status="", seconds=0.0, entries=entries)
        self.made.append(made)

    def rehearse(self, made: Any) -> None:
        pass

    def state(self) -> Any:
        values = (self._now, self._planned_at, tuple(self.jobs), tuple(self.why), tuple(self.made), self.steps)
        return (*values, self.planned)

    def restore(self, state: Any) -> None:
        self._now, self._planned_at, jobs, why, made, self.steps, self.planned = state
        self.jobs, self.why, self.made = list(jobs), list(why), list(made)

    def decisions(self) -> Sequence[Decided]:
        made, self.made = self.made, []
        return made

    def finish(self) -> Any:
        return {"left": self.jobs}


# --- lines in and out -------------------------------------------------------------------------------------------------


def line(kind: str, id: str, time: Any = None, **others: Any) -> bytes:
    return json.dumps({"version": 1, "id": id, "time": time, "kind": kind, **others}).encode() + b"\n"


def some_lines(count: int) -> list[bytes]:
    """Jobs that come, two at a time, and go, with ticks, a duplicate, a late event and lines that are wrong."""
    found = []
    for k in range(count):
        found += [line("arrival", f"a{k}", 3.0 * k, job=f"j{k}"), line("arrival", f"b{k}", 3.0 * k, job=f"k{k}")]
        if k % 3 == 2:
            found += [line("completion", f"c{k}", 3.0 * k + 1, job=f"j{k - 2}"), b"{broken\n"]
        if k % 4 == 3:
            found += [found[0], line("tick", f"t{k}", 3.0 * k - 5), line("completion", f"x{k}", 3.0 * k, job="nobody")]
    return [*found, line("tick", "last", 3.0 * count + 25), line("end", "end", 3.0 * count + 25)]


class Pipe:
    """What was sent, as records; `killed_at`: the number of the line at which the process is killed, after sending."""

    def __init__(self, killed_at: int | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self.killed_at = killed_at

    def write(self, text: bytes) -> None:
        self.sent.append(json.loads(text))
        if len(self.sent) == self.killed_at:
            raise Killed

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.sent if record["kind"] == kind]


class Killed(BaseException):
    """Nothing catches it: as if the process were gone."""


def feed(
    lines: Iterable[bytes], folder: Path, journal: Path | None = None, killed_at: int | None = None, **others: Any
) -> tuple[Pipe, Toy, bool | None]:
    """A live run over a file of these lines; None in place of whether it ended, where it was killed."""
    file = folder / "events.jsonl"
    file.write_bytes(b"".join(lines))
    pipe = Pipe(killed_at)
    record = None if journal is None else Journal.open(journal, HEADER)
    toy = Toy(record)
    descriptor = os.open(file, os.O_RDONLY)
    write: Callable[[bytes], None] = pipe.write
    try:
        clock = others.pop("clock", LiveClock("h", 3600.0))
        ended = LiveRun(toy, write, "Toy", clock, record, **others).run(LineReader(descriptor))
    except Killed:
        ended = None
        if record is not None:
            record._head.reported = 0  # whoever is killed notes nothing on the way out
    finally:
        os.close(descriptor)
        if record is not None:
            record.close()
    return pipe, toy, ended
