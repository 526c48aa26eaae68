"""The protocol of engines: content-keyed work in, results out, in any order and at least once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Protocol, TypeAlias

from msgspec import Struct

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

Stop: TypeAlias = Callable[[], bool]

ATTEMPTS = 3  # of work whose worker dies
KEY_LENGTH = 32  # characters of a hash
DIED, MEMORY, BROKEN = "died", "memory", "broken"  # kinds of failures


class Work(Struct, frozen=True):
    """One call: `key` determines the result, `message` is the argument of the function."""

    key: str
    message: bytes

    @staticmethod
    def of(function: str, message: bytes, shared: Shared | None = None) -> Work:
        """Return the call of a function with the hash of all that it reads as the key."""
        parts = (function.encode(), b"" if shared is None else shared.key.encode(), message)
        return Work(hashlib.sha256(b"\0".join(parts)).hexdigest()[:KEY_LENGTH], message)


class Shared(Struct, frozen=True):
    """Data that several pieces of work read, by `shared_data.latest`; equal keys mean equal data."""

    key: str
    data: bytes


class Failure(Struct, frozen=True):
    """The work has no result: its worker `died`, needed too much `memory`, or the function raised (`broken`)."""

    kind: str
    reason: str


class Done(Struct, frozen=True):
    """The result of a piece of work, bytes or a failure, after `attempts` starts."""

    key: str
    result: bytes | Failure
    attempts: int = 1


class Engine(Protocol):
    """Executes functions of bytes, named `module:function`, on workers.

    The result of work must depend only on its message and the shared data: an engine may start it several times, and
    returns the first result. Workers last from one call of `run` to the next. Use an engine as a context manager.
    """

    @property
    def name(self) -> str: ...

    @property
    def workers(self) -> int:
        """Return the number of workers at present."""
        ...

    def run(
        self, function: str, work: Sequence[Work], stop: Stop = lambda: False, shared: Shared | None = None
    ) -> Iterator[Done]:
        """Yield each result as it becomes known; end early, and stop the workers, if `stop` returns True.

        Each worker gets `shared` at most once, as long as no work with other shared data is between.
        Raises DiagnosticError (GSM5309) if there are no workers.
        """
        ...

    def close(self) -> None:
        """End the workers that this engine started."""
        ...

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


def failure_diagnostic(done: Done, failure: Failure, what: str, again: str, more_memory: str) -> Diagnostic:
    """Return why a piece of work has no result: GSM6014, GSM9999 or GSM5308.

    `what` is the work in words, such as `the run`; `again` is the help if its worker died, `more_memory` if it needed
    too much.
    """
    if failure.kind == MEMORY:
        return Diagnostic("GSM6014", f"{what} was ended: {failure.reason}", help=more_memory)
    if failure.kind == BROKEN:
        return Diagnostic("GSM9999", f"internal error: {failure.reason}")
    return Diagnostic("GSM5308", f"the worker of {what} died {done.attempts} times: {failure.reason}", help=again)
