"""Lines from a file, a pipe or standard input, and whether more are there already."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.live.messages import LONGEST_LINE

_CHUNK = 1 << 16  # bytes


class LineSource(Protocol):
    """Lines for a live run; `number` is that of the last line that was given."""

    number: int

    def next(self) -> bytes | None:
        """Wait for the next line and return it; None at the end."""
        ...

    def is_ready(self) -> bool:
        """Return whether the next line, or the end, is available without waiting."""
        ...

    def peek(self) -> bytes | None:
        """The next line without taking it, after `is_ready`; None at the end."""
        ...


class LineReader:
    """The lines of an open file descriptor, without their ends; blank ones are left out but counted."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._over = False
        self.number = 0  # of the last line that was given

    def next(self) -> bytes | None:
        """Wait for the next line and return it; None at the end. Lines that are too long are cut."""
        while True:
            while self._lines:
                self.number += 1
                line = self._lines.popleft()
                if line.strip():
                    return line
            if self._over:
                return None
            self._fill()

    def is_ready(self) -> bool:
        """Return whether the next line, or the end, is available without waiting."""
        while not any(line.strip() for line in self._lines) and not self._over:
            if not _readable(self._descriptor):
                return False
            self._fill()
        return True

    def peek(self) -> bytes | None:
        """The next line without taking it, after `is_ready`; None at the end."""
        return next((line for line in self._lines if line.strip()), None)

    def _fill(self) -> None:
        chunk = os.read(self._descriptor, _CHUNK)
        if not chunk:
            self._over = True
            if self._rest:
                self._lines.append(bytes(self._rest))
                self._rest.clear()
            return
        first, *others = chunk.split(b"\n")
        room = LONGEST_LINE + 1 - len(self._rest)
        self._rest += first[: max(room, 0)]
        for other in others:
            self._lines.append(bytes(self._rest))
            self._rest = bytearray(other)


def _readable(descriptor: int) -> bool:
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):  # Windows knows no select for files
        return stat.S_ISREG(os.fstat(descriptor).st_mode)


@contextmanager
def open_lines(source: str) -> Iterator[LineReader]:
    """Lines of `-` (standard input), a file or a named pipe; raises GSM5208.

    A pipe is opened for writing too, so that it does not end when one of its writers does.
    """
    if source == "-":
        yield LineReader(sys.stdin.fileno())
        return
    try:
        pipe = stat.S_ISFIFO(os.stat(source).st_mode)
        descriptor = os.open(source, os.O_RDWR if pipe else os.O_RDONLY)
        os.read(descriptor, 0)  # folders can be opened, but not read
    except OSError as failure:
        diagnostic = Diagnostic(
            "GSM5208",
            f"events cannot be read from `{source}`: {failure.strerror}",
            help="name a file or a named pipe (`mkfifo`), or `-` for standard input",
        )
        raise DiagnosticError([diagnostic]) from failure
    try:
        yield LineReader(descriptor)
    finally:
        os.close(descriptor)
