"""Standard streams that are closed, or whose reader has left: the files of a command are written all the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import argparse

# Options that name files or folders to write.
OUTPUTS = ("csv", "figures", "html", "init", "journal", "json", "out", "parquet", "report", "store", "write")
STDOUT = "-"


class ClosedOutput(Exception):
    """Standard output is closed, and the command has something to print there."""


class _Closed:
    """Takes the place of a closed standard output; `inner` writes to nowhere."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner
        self.discards = False

    def write(self, text: str) -> int:
        if not self.discards:
            raise ClosedOutput
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> _Closed:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class _Kept:
    """A stream that goes on writing, to nowhere, when its reader has left."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner
        self.is_broken = False

    def write(self, text: str) -> int:
        try:
            return self.inner.write(text)
        except BrokenPipeError:
            self._leave()
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self.inner.flush()
        except BrokenPipeError:
            self._leave()
            self.inner.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _leave(self) -> None:
        """Let the stream write to nowhere from now on, with what it still has to write."""
        self.is_broken = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.inner.fileno())
        os.close(nowhere)


def open_closed_streams() -> None:
    """Give closed standard streams a place: else the next file that is opened would take it."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
        stream: Any = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 (until the end of the process)
        setattr(sys, name, _Closed(stream) if name == "stdout" else stream)


def keep_writing(options: argparse.Namespace) -> None:
    """If a command was asked for files, let it write them although nobody reads what it prints."""
    if not writes_files(options):
        return
    if isinstance(sys.stdout, _Closed):
        sys.stdout.discards = True
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, _Closed) and not _is_terminal(stream):
            setattr(sys, name, _Kept(stream))


def writes_files(options: argparse.Namespace) -> bool:
    """Whether options name files to write."""
    return any(getattr(options, name, None) not in (None, STDOUT, [], ()) for name in OUTPUTS)


def release() -> bool:
    """Put the standard streams back; return whether the reader of one has left."""
    is_broken = False
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Kept):
            stream.flush()
            is_broken |= stream.is_broken
            setattr(sys, name, stream.inner)
    return is_broken


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return True
