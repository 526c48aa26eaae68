"""A live run: events come in as lines, are recorded, handed to the loop, and decisions go out as lines.

An event counts once it is recorded; its acknowledgement goes out after that. A decision goes out once its step is
recorded. So after a kill the same command goes on, and whoever sends may send everything again: known events are
acknowledged and change nothing. A decision that was perhaps not told before the kill is told again, with its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

import msgspec

from gpusched_dsl.language.diagnostics import Diagnostic, DiagnosticError
from gpusched_dsl.online.journal import Journal
from gpusched_dsl.online.journal_records import External
from gpusched_dsl.online.live_clock import LiveClock
from gpusched_dsl.online.live_lines import Lines
from gpusched_dsl.online.messages import (
    Acknowledged,
    AnyEvent,
    AnyRecord,
    Decided,
    End,
    Finished,
    Refused,
    Started,
    event_of,
    failed,
    line_of,
)


class LiveLoop(Protocol):
    """What a live run drives. All times are by the clock of the loop; the same calls make the same decisions."""

    @property
    def now(self) -> float: ...

    def check(self, event: AnyEvent) -> None:
        """Raise DiagnosticError for an event that does not fit what there is; changes nothing."""
        ...

    def apply(self, event: AnyEvent, time: float) -> None:
        """Let time come to `time`, not before `now`, and take an event that fits; it is not planned for yet."""
        ...

    def decide(self) -> None:
        """Plan, if what was applied since the last plan asks for it."""
        ...

    def decisions(self) -> Sequence[Decided]:
        """What was decided since this was asked last, in order; each step is recorded by then."""
        ...

    def finish(self) -> Any:
        """The result of the run, as JSON can say it."""
        ...


class _Memory:
    """In place of a journal, where there is none: nothing outlives the process."""

    told = 0
    finished = False

    def __init__(self) -> None:
        self._events: dict[str, External] = {}

    def known(self, id: str) -> External | None:
        return self._events.get(id)

    def accept(self, events: Sequence[External]) -> None:
        self._events.update((event.id, event) for event in events)

    def external(self) -> Iterator[External]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def tell(self, seq: int) -> None:
        pass

    def finish(self, result: Any) -> None:
        self.finished = True


@dataclass
class LiveRun:
    """One live run over a loop that has not begun. `write` sends a line away and returns when it is sent.

    `tell_from`: tell recorded decisions again from this step on; by default those that were perhaps not told.
    """

    loop: LiveLoop
    write: Callable[[bytes], object]
    name: str = ""
    clock: LiveClock = field(default_factory=LiveClock)
    journal: Journal | None = None
    tell_from: int | None = None

    def __post_init__(self) -> None:
        self._record: Journal | _Memory = _Memory() if self.journal is None else self.journal
        self._batch = 1
        self._open = False  # whether events of this batch were applied and not planned for
        self._ended = False
        self._steps = 0

    def run(self, lines: Lines) -> bool:
        """Go on after what is recorded, then take all lines; whether the run has ended, else it can be resumed.

        Raises DiagnosticError where the loop cannot plan or the journal fails.
        """
        self._resume()
        while not self._ended and self._gather(lines):
            self._decide()
            self._tell(self._decided())
        if self._ended:
            self._finish()
        return self._ended

    # --- what was recorded -------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        """Go through what is recorded. A last batch that was not planned for may still be joined by others."""
        told, earlier = self._record.told, len(self._record)
        recorded = list(self._record.external())
        decided: list[Decided] = []
        for number, batch in groupby(recorded, key=lambda event: event.batch):
            if self._open:
                self._decide()
            self._batch = number
            for external in batch:
                self._apply(event_of(msgspec.json.encode(external.content)), external.time)
            decided += self._decided()
        if self._open and (self._steps < earlier or self._ended):
            self._decide()
            decided += self._decided()
        self._send(
            Started(
                online=self.name, time=self.loop.now, unit=self.clock.unit, steps=earlier, events=len(recorded)
            )
        )  # fmt: skip
        first = told + 1 if self.tell_from is None else self.tell_from
        for decision in decided:
            decision.again = decision.step <= earlier
        self._tell(d for d in decided if d.step >= first)

    # --- what comes --------------------------------------------------------------------------------------------------

    def _gather(self, lines: Lines) -> bool:
        """Let the loop take the next events: those at one time that are there together. False: no more lines come."""
        while not self._open or (lines.waiting() and self._goes_with(lines.peek())):
            line = lines.next()
            if line is None:
                break
            self._send(self._answer(line, lines.number))
            if self._ended:
                break
        return self._open

    def _goes_with(self, line: bytes | None) -> bool:
        """Whether the next line belongs to the time that the loop has come to; what will be refused does."""
        if line is None:
            return False
        try:
            return self.clock.read(event_of(line).time, self.loop.now) <= self.loop.now
        except DiagnosticError:
            return True

    def _answer(self, line: bytes, number: int) -> AnyRecord:
        """Record the event of a line and let the loop take it, unless it is known or refused; what to say to it."""
        id: str | None = None
        try:
            event = event_of(line)
            id, content = event.id, msgspec.json.decode(line)
            known = self._record.known(id)
            if known is not None:
                _must_be(known, content)
                return Acknowledged(id=id, time=known.time, duplicate=True)
            stated = self.clock.read(event.time, self.loop.now)
            self.loop.check(event)
        except Refused as refused:
            return failed(refused.finding, number, refused.id)
        except DiagnosticError as refused:
            return failed(refused.diagnostics[0], number, id)
        time = max(stated, self.loop.now)
        self._record.accept([External(id, time, content, self._batch)])
        self._apply(event, time)
        return Acknowledged(id=id, time=time, late=stated < time)

    def _apply(self, event: AnyEvent, time: float) -> None:
        self.loop.apply(event, time)
        self._open = True
        self._ended = isinstance(event, End)

    def _decide(self) -> None:
        self.loop.decide()
        self._open = False
        self._batch += 1

    def _decided(self) -> Sequence[Decided]:
        decided = self.loop.decisions()
        self._steps += len(decided)
        return decided

    # --- what goes out -----------------------------------------------------------------------------------------------

    def _tell(self, decisions: Iterable[Decided]) -> None:
        for decision in decisions:
            self._send(decision)
            self._record.tell(decision.step)

    def _finish(self) -> None:
        result = self.loop.finish()
        if not self._record.finished:
            self._record.finish(result)
        self._send(Finished(time=self.loop.now, steps=self._steps, result=result))

    def _send(self, record: AnyRecord) -> None:
        self.write(line_of(record))


def _must_be(known: External, content: Any) -> None:
    """Raise GSM5206 where an event that has the id of another one is another one."""
    if known.content == content:
        return
    message = f"the id `{known.id}` is that of another event"
    help = "give every event an id of its own; only the very same event may be sent again"
    raise DiagnosticError([Diagnostic("GSM5206", message, help=help)])
