"""A library that meets a damaged file may panic: it then writes to the error stream by itself, past Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

STDERR = 2


class Panic(Exception):
    """A failure of the library; its message is for the developers."""


@contextmanager
def guard() -> Iterator[None]:
    """Turn a panic of the library into `Panic`.

    What is written to the error stream meanwhile is buffered and passed on, unless an exception ends the block.
    """
    with _buffer_error_stream():
        try:
            yield
        except BaseException as failure:  # a panic is no Exception, and its class has no public name
            if type(failure).__name__ != "PanicException":
                raise
            raise Panic("the library for this format cannot read its contents") from failure


@contextmanager
def _buffer_error_stream() -> Iterator[None]:
    try:
        original = os.dup(STDERR)
    except OSError:  # there is no error stream
        yield
        return
    try:
        with _buffer() as buffer:
            os.dup2(buffer.fileno(), STDERR)
            try:
                yield
            finally:
                os.dup2(original, STDERR)
            buffer.seek(0)
            if content := buffer.read():
                os.write(STDERR, content)
    finally:
        os.close(original)


def _buffer() -> IO[bytes]:
    """Return a file for suppressed output; output that cannot be stored is lost."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        return open(os.devnull, "r+b")
