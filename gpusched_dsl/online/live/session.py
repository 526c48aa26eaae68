"""A live run: reads events as lines, plans, records, and writes decisions as lines.

Events at one time form a batch. The loop takes the batch and plans on trial; only a batch that can be planned for is
recorded, together with its step. An event after which no plan can be made is refused and leaves no trace. The
acknowledgement of an event and the decision go out once both are recorded. So after a kill the same command goes on,
and whoever sends may send everything again: known events are acknowledged and change nothing. A decision that was
perhaps not sent before the kill is sent again, with its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.journal.quarantine import quarantine_of, split_quarantined
from gpusched_dsl.online.journal.records import External
from gpusched_dsl.online.live.clock import LiveClock
from gpusched_dsl.online.live.lines import LineSource
from gpusched_dsl.online.live.messages import (
    Acknowledged,
    AnyEvent,
    AnyRecord,
    Decided,
    End,
    Failed,
    Finished,
    Quarantined,
    Refused,
    Started,
    content_of,
    event_of,
    failure_record,
    line_of,
    other_event,
)
from gpusched_dsl.online.live.trial import AcceptedEvent, Defect, TrialLoop, TrialRun, plain_defect

if TYPE_CHECKING:
    from gpusched_dsl.online.journal.journal import Journal


class LiveLoop(TrialLoop, Protocol):
    """The interface of loops for a live run. All times are by the clock of the loop; equal calls make equal
    decisions.
    """

    @property
    def now(self) -> float: ...

    def decisions(self) -> Sequence[Decided]:
        """The decisions since the last call, in order; their steps are in the journal by then."""
        ...

    def finish(self) -> Any:
        """Return the result of the run for JSON."""
        ...


class _Memory:
    """Replaces the journal of a run without one: it keeps events only in memory."""

    last_reported = 0
    finished = False

    def __init__(self) -> None:
        self._events: dict[str, External] = {}

    def find_external(self, id: str) -> External | None:
        return self._events.get(id)

    def begin(self) -> None:
        pass

    def discard(self) -> None:
        pass

    def commit(self, events: Sequence[External]) -> None:
        self._events.update((event.id, event) for event in events)

    def external(self) -> Iterator[External]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def mark_reported(self, seq: int) -> None:
        pass

    def finish(self, result: Any) -> None:
        self.finished = True


@dataclass
class LiveRun:
    """One live run over a loop that has not begun. `write` sends a line away and returns when it is sent.

    `report_from`: report recorded decisions again from this step on; by default those that may not have been reported.
    `defect` makes the diagnostic of an internal error.
    """

    loop: LiveLoop
    write: Callable[[bytes], object]
    name: str = ""
    clock: LiveClock = field(default_factory=LiveClock)
    journal: Journal | None = None
    report_from: int | None = None
    defect: Defect = plain_defect

    def __post_init__(self) -> None:
        self._record: Journal | _Memory = _Memory() if self.journal is None else self.journal
        self._batch = 1
        self._batch_events: list[AcceptedEvent] = []  # applied on trial, in order
        self._ids: dict[str, External] = {}  # of these events
        self._refused: dict[str, Diagnostic] = {}  # events of the batch that were on trial and are not taken
        self._before: object = None  # the state of the loop before them
        self._answers: list[tuple[int, Acknowledged | Failed]] = []  # to their lines, once they are planned for
        self._quarantined: dict[str, str] = {}  # by event, with the reason
        self._decoded: tuple[bytes, dict[str, Any], AnyEvent] | None = None  # the line that was read last
        self._ended = False
        self._steps = 0

    def run(self, lines: LineSource) -> bool:
        """Continue after the recorded steps, then read all lines; return whether the run has ended, else it can be
        resumed.

        Raises DiagnosticError where the journal fails.
        """
        self._resume()
        while not self._ended and self._gather(lines):
            self._settle()
            self._report(self._take_decisions())
        if self._ended:
            self._finish()
        return self._ended

    # --- recorded steps ----------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        """Repeat the recorded steps, without the quarantined events."""
        last_reported, earlier = self._record.last_reported, len(self._record)
        recorded, self._quarantined = split_quarantined(self._record.external())
        warnings = [Quarantined(id=id, message=message) for id, message in self._quarantined.items()]
        taken = [AcceptedEvent(event_of(e.content), e) for e in recorded if e.id not in self._quarantined]
        decided: list[Decided] = []
        planned = 0  # how many events a recorded step follows
        for _, batch in groupby(taken, key=lambda one: one.external.batch):
            if self._steps >= earlier:
                break
            for one in batch:
                self.loop.apply(self.loop.check(one.event), one.external.time)
                planned += 1
            self.loop.decide()
            decided += self._take_decisions()
        warnings += self._resume_unplanned(taken[planned:])
        decided += self._take_decisions()
        last = max((event.batch for event in recorded), default=0)
        self._batch = last + 1
        self._ended = any(isinstance(one.event, End) and one.external.id not in self._quarantined for one in taken)
        self._send(
            Started(
                online=self.name, time=self.loop.now, unit=self.clock.unit, steps=earlier, events=len(recorded)
            )
        )  # fmt: skip
        for warning in warnings:
            self._send(warning)
        first = last_reported + 1 if self.report_from is None else self.report_from
        for decision in decided:
            decision.again = decision.step <= earlier
        at_borders = self.report_from is None  # those of the last reported plan may not have been reported
        self._report(d for d in decided if d.step >= first or (at_borders and d.step == last_reported and d.is_border))

    def _resume_unplanned(self, rest: list[AcceptedEvent]) -> list[Quarantined]:
        """Apply recorded events without a step; quarantine those that cannot be planned for.

        Their run ended because of them, with an older version, or was killed before its step was recorded.
        """
        if not rest:
            return []
        trial = self._trial(self.loop.state())
        trial.plan_batch(rest, applied=False)
        found = [(one.external, diagnostic) for one, diagnostic in trial.refused]
        self._quarantined.update((external.id, diagnostic.message) for external, diagnostic in found)
        batch = rest[-1].external.batch
        self._record.commit([quarantine_of(external, d.message, self.loop.now, batch) for external, d in found])
        helps = [None if d.help is None else str(d.help) for _, d in found]
        return [Quarantined(id=e.id, message=d.message, help=h) for (e, d), h in zip(found, helps, strict=True)]

    # --- events in ---------------------------------------------------------------------------------------------------

    def _gather(self, lines: LineSource) -> bool:
        """Apply the next events: those at one time that are available together. Return False at the end of
        the lines.
        """
        while not self._batch_events or (lines.is_ready() and self._is_due(lines.peek())):
            line = lines.next()
            if line is None:
                break
            self._answers.append((lines.number, self._answer(line, lines.number)))
            if not self._batch_events:
                self._send_answers()
            elif isinstance(self._batch_events[-1].event, End):
                break
        return bool(self._batch_events)

    def _is_due(self, line: bytes | None) -> bool:
        """Whether the next line belongs to the current time of the loop; lines that will be rejected do."""
        if line is None:
            return False
        try:
            return self.clock.read(self._decode(line)[1].time, self.loop.now) <= self.loop.now
        except DiagnosticError:
            return True

    def _decode(self, line: bytes) -> tuple[dict[str, Any], AnyEvent]:
        """The content of a line and its event, decoded once; raises `Refused`."""
        if self._decoded is None or self._decoded[0] is not line:
            content = content_of(line)
            self._decoded = line, content, event_of(content)
        return self._decoded[1:]

    def _answer(self, line: bytes, number: int) -> Acknowledged | Failed:
        """Apply the event of a line on trial, unless it is known or rejected; return the answer."""
        try:
            content, event = self._decode(line)
        except Refused as refused:
            return failure_record(refused.diagnostic, number, refused.id)
        id = event.id
        known = self._record.find_external(id) or self._ids.get(id)
        try:
            if known is not None:
                _check_same_event(known, content)
                if id in self._quarantined:
                    _refuse_quarantined(id, self._quarantined[id])
                return Acknowledged(id=id, time=known.time, duplicate=True)
            stated = self.clock.read(event.time, self.loop.now)
            candidate = self.loop.check(event)
        except DiagnosticError as refused:
            return failure_record(refused.diagnostics[0], number, id)
        except Exception as failure:
            return failure_record(self.defect(failure), number, id)
        if not self._batch_events:
            self._before = self.loop.state()
            self._record.begin()
        time = max(stated, self.loop.now)
        external = External(id, time, content, self._batch)
        self._batch_events.append(AcceptedEvent(event, external))
        self._ids[id] = external
        trial = self._trial(self._before)
        self._batch_events = trial.apply_last(self._batch_events, candidate)
        self._note_refusals(trial)
        return Acknowledged(id=id, time=time, late=stated < time)

    def _note_refusals(self, trial: TrialRun) -> None:
        for one, diagnostic in trial.refused:
            self._refused[one.external.id] = diagnostic
            self._ids.pop(one.external.id, None)

    def _settle(self) -> None:
        """Plan for the batch, record it with its step, and answer its lines."""
        trial = self._trial(self._before)
        kept = trial.plan_batch(self._batch_events, applied=True)
        if kept:
            self._record.commit([one.external for one in kept])
        else:
            self._record.discard()
        self._ended = any(isinstance(one.event, End) for one in kept)
        self._note_refusals(trial)
        self._send_answers()
        self._batch_events, self._ids, self._before = [], {}, None
        self._batch += 1

    def _trial(self, before: object) -> TrialRun:
        return TrialRun(self.loop, before, self._record.begin, self.defect)

    def _take_decisions(self) -> Sequence[Decided]:
        decided = self.loop.decisions()
        self._steps = max((self._steps, *(decision.step for decision in decided)))
        return decided

    # --- records out -------------------------------------------------------------------------------------------------

    def _send_answers(self) -> None:
        """Answer the lines that wait for it, in order."""
        answers, self._answers = self._answers, []
        refused, self._refused = self._refused, {}
        for number, answer in answers:
            if isinstance(answer, Acknowledged) and answer.id in refused:
                answer = failure_record(refused[answer.id], number, answer.id)
            self._send(answer)

    def _report(self, decisions: Iterable[Decided]) -> None:
        for decision in decisions:
            self._send(decision)
            self._record.mark_reported(decision.step)

    def _finish(self) -> None:
        result = self.loop.finish()
        if not self._record.finished:
            self._record.finish(result)
        self._send(Finished(time=self.loop.now, steps=self._steps, result=result))

    def _send(self, record: AnyRecord) -> None:
        self.write(line_of(record))


def _check_same_event(known: External, content: Any) -> None:
    """Raise GSM5206 if an event has the id of another event."""
    if not _is_same(known.content, content):
        raise DiagnosticError([other_event(known.id)])


def _is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; `true` is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _refuse_quarantined(id: str, reason: str) -> None:
    """Raise GSM5210: the event is in the journal, and the run continues without it."""
    help = "send the correct values as another event, with a new id"
    raise DiagnosticError([Diagnostic("GSM5210", f"the event `{id}` is quarantined: {reason}", help=help)])
