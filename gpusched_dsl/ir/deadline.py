"""Time limits and interruption: a deadline that every stage of a solve checks.

A deadline belongs to the context of a thread, so that functions deep inside need no argument for it. Long work calls
`checkpoint()` between its steps; without an active deadline that does nothing. What is beyond the end of an inner
deadline only is abandoned there (`ShareOfTime`); what is beyond the end of all of them ends the solve.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token

from gpusched_dsl.ir.log import log_phase

TIME, INTERRUPT = "time", "interrupt"

POLL = 0.001  # seconds between two checks for a request to stop: a checkpoint in between costs a clock

READING, GROUNDING, AGGREGATION = "reading data", "grounding", "aggregation"
REFORMULATION, TIGHTENING, SOLVING = "reformulation", "tightening", "solving"


class StoppedEarly(Exception):
    """Work ended early: `reason` is `time` or `interrupt`, `stage` is the stage of work ("" if unknown)."""

    def __init__(self, reason: str, stage: str = "") -> None:
        super().__init__(f"stopped by {reason}{f' while {stage}' if stage else ''}")
        self.reason, self.stage = reason, stage


class Abandoned(KeyboardInterrupt):
    """Unfinished work is dropped after a request to stop; finished work is kept."""


class Deadline:
    """`seconds` from now (None: no limit), within those of an `outer` deadline.

    `stop` returns whether the work should end; `on_stage` is called with the name of every stage that begins.
    """

    def __init__(
        self,
        seconds: float | None = None,
        stop: Callable[[], bool] | None = None,
        on_stage: Callable[[str], None] | None = None,
        outer: Deadline | None = None,
    ) -> None:
        self.began = time.perf_counter()
        self.outer = outer
        self.until = float("inf") if seconds is None else self.began + max(0.0, seconds)
        if outer is not None:
            self.until = min(self.until, outer.until)
        self.stage: str = "" if outer is None else outer.stage
        self._stop, self._on_stage = stop, on_stage
        self._announced_stage = ""
        self._interrupted = False
        self.next = 0.0  # when a checkpoint asks again

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self.began

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds that remain, at least 0; None without a limit."""
        return None if self.until == float("inf") else max(0.0, self.until - time.perf_counter())

    def rest_of(self, limit: float | None) -> float | None:
        """Return the remaining part of a limit that counts from the beginning of this; None without one."""
        return None if limit is None else max(0.0, limit - self.seconds)

    @property
    def reason(self) -> str:
        """Why the work is to end now: `interrupt`, `time`, or "" while it may go on."""
        if self.is_interrupted:
            return INTERRUPT
        return TIME if time.perf_counter() >= self.until else ""

    @property
    def is_interrupted(self) -> bool:
        if not self._interrupted:
            self._interrupted = (self._stop is not None and self._stop()) or (
                self.outer is not None and self.outer.is_interrupted
            )
        return self._interrupted

    def interrupt(self) -> None:
        """End the work at its next checkpoint, and that of all outer deadlines."""
        self._interrupted = True
        self.next = 0.0
        if self.outer is not None:
            self.outer.interrupt()

    def check(self) -> None:
        """Raise StoppedEarly where the work is to end."""
        reason = self.reason
        if reason:
            raise StoppedEarly(reason, self.stage)

    def poll(self) -> None:
        """`check`, and set the time of the next checkpoint: at the end of the time, and within `POLL` seconds."""
        self.check()
        self.next = min(self.until, time.perf_counter() + POLL)

    def begin(self, stage: str) -> None:
        """A stage begins. Stages of the smaller problems that a solver of ours solves are not announced."""
        self.stage = stage
        if self._on_stage is not None and self._announced_stage not in (stage, SOLVING):
            self._announced_stage = stage
            self._on_stage(stage)
        elif self._on_stage is None and self.outer is not None:
            self.outer.begin(stage)


_ACTIVE: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def active_deadline() -> Deadline | None:
    """The innermost deadline of this thread."""
    return _ACTIVE.get()


def checkpoint() -> None:
    """Raise StoppedEarly if the active deadline is over. Call it often: it takes a fraction of a microsecond."""
    deadline = _ACTIVE.get()
    if deadline is not None and time.perf_counter() >= deadline.next:
        deadline.poll()


@contextmanager
def limit(
    seconds: float | None = None, stop: Callable[[], bool] | None = None, on_stage: Callable[[str], None] | None = None
) -> Iterator[Deadline]:
    """Limit the time of work, within the active deadline."""
    with _activate(Deadline(seconds, stop, on_stage, _ACTIVE.get())) as deadline:
        yield deadline  # type: ignore[misc]


@contextmanager
def grace(seconds: float | None = None) -> Iterator[None]:
    """Work that keeps results, such as postsolve: no earlier deadline ends it."""
    with _activate(None if seconds is None else Deadline(seconds)):
        yield


@contextmanager
def stage(name: str) -> Iterator[None]:
    """A stage of building: the deadline is checked first, and Ctrl-C ends it like a request to stop.

    Without an active deadline, and after an earlier request to stop, KeyboardInterrupt is raised unchanged.
    """
    deadline = _ACTIVE.get()
    if deadline is None:
        with log_phase(name):
            yield
        return
    deadline.begin(name)
    deadline.check()
    try:
        with log_phase(name):
            yield
    except KeyboardInterrupt:
        if deadline.is_interrupted:  # it is the second one: leave at once
            raise
        deadline.interrupt()
        raise StoppedEarly(INTERRUPT, name) from None


def remaining_share(share: float) -> float | None:
    """Return the seconds of a share of the time until the active deadline; None without a limit."""
    deadline = _ACTIVE.get()
    left = None if deadline is None else deadline.remaining_seconds
    return None if left is None else share * left


class ShareOfTime:
    """A `with` block that ends early if it takes longer than a share of the remaining time; never without a limit.

    Raises StoppedEarly if the outer deadline is over, or after a request to stop.
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self._token: Token[Deadline | None] | None = None

    def __enter__(self) -> None:
        seconds = remaining_share(self.share)
        if seconds is not None:
            self._token = _ACTIVE.set(Deadline(seconds, outer=_ACTIVE.get()))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if self._token is None:
            return False
        _ACTIVE.reset(self._token)
        if not isinstance(error, StoppedEarly):
            return False
        outer = _ACTIVE.get()
        assert outer is not None, "without a deadline there is no share"
        outer.check()
        return True


@contextmanager
def _activate(deadline: Deadline | None) -> Iterator[Deadline | None]:
    token = _ACTIVE.set(deadline)
    try:
        yield deadline
    finally:
        _ACTIVE.reset(token)
