"""One session: a live run in a thread of its own, which answers requests one after the other.

The run pulls its events from `SessionLines`. When it has planned for all events of a request and asks for the next one,
the request is answered; then, and only then, other questions about the run are answered, in the same thread.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.checkpoints.state_files import CheckpointedSteps
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.live.messages import AnyRecord, Decided, Finished, Started
from gpusched_dsl.online.live.session import LiveRun
from gpusched_dsl.online.live.trial import Defect, plain_defect
from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.live import live_parts

T = TypeVar("T")
OnRecord = Callable[[AnyRecord], None]
_decode = msgspec.json.Decoder(AnyRecord).decode


class SessionClosed(Exception):
    """The session does not accept requests any more: it was stopped, has ended or has failed."""


@dataclass
class _Events:
    """Lines of one request, and the records that answer them."""

    lines: Sequence[bytes]
    answer: Future[bytes]
    records: list[bytes] = field(default_factory=list)


@dataclass
class _Question:
    """Something to compute between two requests with events."""

    compute: Callable[[AnyExternalLoop], Any]
    answer: Future[Any]


@dataclass
class SessionLines:
    """Implements `LineSource` over requests. `on_settled` is called before a request is answered."""

    loop: Callable[[], AnyExternalLoop]
    inbox: queue.SimpleQueue[_Events | _Question | None]
    on_settled: Callable[[], None] = lambda: None
    number: int = 0
    current: _Events | None = None
    _lines: deque[bytes] = field(default_factory=deque)

    def next(self) -> bytes | None:
        """Wait for the next event; None if the session is stopped."""
        while not self._lines:
            self.settle()
            wanted = self.inbox.get()
            if wanted is None:
                return None
            if not wanted.answer.set_running_or_notify_cancel():
                continue
            if isinstance(wanted, _Question):
                _answer(wanted, self.loop())
            else:
                self.current = wanted
                self._lines.extend(wanted.lines)
                self.number = 0
        self.number += 1
        return self._lines.popleft()

    def is_ready(self) -> bool:
        return bool(self._lines)

    def peek(self) -> bytes | None:
        return self._lines[0] if self._lines else None

    def settle(self) -> None:
        """Answer the current request with its records."""
        self.on_settled()
        current, self.current = self.current, None
        if current is not None:
            current.answer.set_result(b"".join(current.records))

    def fail(self, failure: BaseException) -> None:
        """Answer the current request and all that wait with an error."""
        waiting: list[_Events | _Question] = [] if self.current is None else [self.current]
        self.current = None
        while True:
            try:
                wanted = self.inbox.get_nowait()
            except queue.Empty:
                break
            if wanted is not None and wanted.answer.set_running_or_notify_cancel():
                waiting.append(wanted)
        for one in waiting:
            one.answer.set_exception(failure)


def _answer(question: _Question, loop: AnyExternalLoop) -> None:
    try:
        question.answer.set_result(question.compute(loop))
    except Exception as failure:  # the one who asks gets it
        question.answer.set_exception(failure)


class ServedSession:
    """A live run under a name. `state` is `starting`, `open`, `ended`, `stopped` or `failed`.

    `on_record` is called with every record; `most_waiting` limits the requests that wait. A session with a `journal`
    continues the run in it; one that is `recorded` fails without it, instead of starting again with nothing.
    """

    def __init__(
        self,
        name: str,
        workspace: Workspace,
        config: RunConfig,
        start: str | None,
        *,
        on_record: OnRecord = lambda record: None,
        defect: Defect = plain_defect,
        most_waiting: int = 64,
        recorded: bool = False,
    ) -> None:
        self.name, self.start, self.config = name, start, config
        self.state = "starting"
        self.failure: tuple[Diagnostic, ...] = ()
        self.started: Started | None = None
        self.decision: Decided | None = None
        self.result: Any = None
        self._workspace, self._on_record, self._defect = workspace, on_record, defect
        self._inbox: queue.SimpleQueue[_Events | _Question | None] = queue.SimpleQueue()
        self._most_waiting, self._recorded = most_waiting, recorded
        self._lock = threading.Lock()
        self._opened = threading.Event()
        self._loop: AnyExternalLoop | None = None
        self._lines = SessionLines(self._get_loop, self._inbox, self._note_decision)
        self._thread = threading.Thread(target=self._run, name=f"session {name}", daemon=True)

    @property
    def journal(self) -> Path | None:
        return self.config.journal

    @property
    def waiting(self) -> int:
        return self._inbox.qsize()

    def open(self) -> None:
        """Start the run and wait until it accepts events, or has failed: then raise DiagnosticError."""
        self._thread.start()
        self._opened.wait()
        if self.state == "failed":
            raise DiagnosticError(list(self.failure))

    def send(self, lines: Sequence[bytes]) -> Future[bytes]:
        """Give events to the run; the answer is its records, as lines. Raises SessionClosed, and queue.Full."""
        future: Future[bytes] = Future()
        self._put(_Events(lines, future))
        return future

    def ask(self, compute: Callable[[AnyExternalLoop], T]) -> Future[T]:
        """Compute something of the run between its events; it must not change the run."""
        future: Future[T] = Future()
        self._put(_Question(compute, future))
        return future

    def stop(self) -> None:
        """Finish the requests that wait, then end the thread."""
        with self._lock:
            if self.state in ("starting", "open"):
                self.state = "stopped"
                self._inbox.put(None)

    def join(self, seconds: float | None = None) -> bool:
        """Wait for the end of the thread; return whether it has ended."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _put(self, wanted: _Events | _Question) -> None:
        with self._lock:
            if self.state not in ("starting", "open"):
                raise SessionClosed(f"the session `{self.name}` is {self.state}")
            if self._inbox.qsize() >= self._most_waiting:
                raise queue.Full
            self._inbox.put(wanted)

    # --- the thread --------------------------------------------------------------------------------------------------

    def _get_loop(self) -> AnyExternalLoop:
        assert self._loop is not None
        return self._loop

    def _run(self) -> None:
        failure: BaseException = SessionClosed(f"the session `{self.name}` has ended")
        try:
            self._run_live()
        except DiagnosticError as error:
            failure = error
            self._end("failed", tuple(error.diagnostics))
        except BaseException as error:  # a defect of ours ends this session, not the service
            failure = DiagnosticError([self._defect(error)]) if isinstance(error, Exception) else error
            self._end("failed", (self._defect(error),) if isinstance(error, Exception) else ())
        finally:
            self._lines.fail(failure)
            self._opened.set()

    def _run_live(self) -> None:
        parts = live_parts(self._workspace, self.config, start=self.start)
        if self._recorded and self.journal is not None:
            Journal.read(self.journal).close()  # it raises for a file that is missing
        journal = None if self.journal is None else Journal.open(self.journal, parts.header)
        try:
            self._loop = parts.make_loop(None if journal is None else CheckpointedSteps(journal))
            run = LiveRun(
                self._loop, self._receive, parts.name, parts.clock, journal, report_from=1, defect=self._defect
            )
            has_ended = run.run(self._lines)
            self._lines.settle()
            self._end("ended" if has_ended else "stopped")
        finally:
            if journal is not None:
                journal.close()

    def _end(self, state: str, failure: tuple[Diagnostic, ...] = ()) -> None:
        with self._lock:
            self.state, self.failure = state, failure

    def _note_decision(self) -> None:
        """Keep the decision for those who ask: without the jobs that have ended since it was made."""
        self.decision = self._get_loop().decision()

    def _receive(self, line: bytes) -> None:
        record = _decode(line)
        match record:
            case Started():
                self.started = record
                with self._lock:
                    if self.state == "starting":
                        self.state = "open"
                self._opened.set()
            case Finished():
                self.result = record.result
        self._on_record(record)
        if self._lines.current is not None:
            self._lines.current.records.append(line)
