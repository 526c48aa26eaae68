"""Reads Parquet files first in another process: only harmless files are read in this process.

Reading is the same there and here, so no damage of a file ends this process. The other one starts with the first file
and lasts; where a file ends it, the next file gets a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

MEMORY = 8 << 30  # bytes that the process may take above those it starts with
END_SECONDS = 5.0
# A sound file of 1 GiB takes seconds; contents that keep the library busy for ever are damage too.
PATIENCE_SECONDS = 600.0

PROGRAM = """import sys
sys.path[:] = {path!r}
from gpusched_dsl.data.sources.parquet_process import main
main({memory})"""


class UnreadableFile(Exception):
    """The file cannot be read, with the reason."""


@dataclass(frozen=True, slots=True)
class ParquetContent:
    """`names` of all columns; `rows` of the requested columns, None if one is missing or they are `too_large`."""

    names: tuple[str, ...]
    rows: int | None = None
    too_large: bool = False


def column_names(data: bytes) -> tuple[str, ...]:
    """The names of the columns of a Parquet file. Raises UnreadableFile."""
    return reader().read(data, None, 0).names


def try_reading(data: bytes, columns: Sequence[str], cells: int) -> ParquetContent:
    """Read columns of a Parquet file elsewhere, unless they have more than so many cells. Raises UnreadableFile."""
    return reader().read(data, list(columns), cells)


def try_sheet(data: bytes, sheet: str) -> tuple[int, int]:
    """Read a sheet of an Excel file elsewhere: its rows and columns. Raises UnreadableFile."""
    return reader().read_sheet(data, sheet)


def prepare() -> None:
    """Start the process, without waiting for it."""
    reader().start()


@cache
def reader() -> ParquetReader:
    """The one of this process."""
    return ParquetReader()


class ParquetReader:
    """The process that reads, one file after another."""

    def __init__(self, memory: int = MEMORY) -> None:
        self.memory = memory
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._owner = os.getpid()
        atexit.register(self.close)

    def read(self, data: bytes, columns: list[str] | None, cells: int) -> ParquetContent:
        """Raises UnreadableFile."""
        with self._own_lock():
            answer = self._ask({"size": len(data), "columns": columns, "cells": cells}, data)
        if "damaged" in answer:
            raise UnreadableFile(answer["damaged"])
        return ParquetContent(tuple(answer["names"]), answer.get("rows"), "too_large" in answer)

    def read_sheet(self, data: bytes, sheet: str) -> tuple[int, int]:
        """Raises UnreadableFile."""
        with self._own_lock():
            answer = self._ask({"size": len(data), "sheet": sheet}, data)
        if "damaged" in answer:
            raise UnreadableFile(answer["damaged"])
        return answer["rows"], answer["columns"]

    def start(self) -> None:
        """Start the process in the background."""
        with self._own_lock():
            self._ensure_started()

    def close(self) -> None:
        """End the process, whatever it does."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return
        child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(END_SECONDS)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _own_lock(self) -> threading.Lock:
        if self._owner != os.getpid():  # forked: the pipes belong to the parent
            self._owner, self._child, self._lock = os.getpid(), None, threading.Lock()
        return self._lock

    def _ask(self, wanted: dict[str, Any], data: bytes) -> dict[str, Any]:
        child = self._ensure_started()
        assert child.stdin is not None
        assert child.stdout is not None
        late = threading.Timer(PATIENCE_SECONDS, child.kill)
        late.daemon = True
        late.start()
        try:
            with contextlib.suppress(OSError):  # it ended: there is no answer
                child.stdin.write(json.dumps(wanted).encode() + b"\n")
                child.stdin.write(data)
                child.stdin.flush()
            line = child.stdout.readline()
        except BaseException:  # Ctrl-C: its answer would be taken for that to the next request
            self.close()
            raise
        finally:
            late.cancel()
        if line.endswith(b"\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        return {"damaged": self._describe_end(child)}

    def _ensure_started(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self.close()
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM.format(path=sys.path, memory=self.memory)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=os.name == "posix",  # Ctrl-C is for this process alone
            )  # fmt: skip
        return self._child

    def _describe_end(self, child: subprocess.Popen[bytes]) -> str:
        try:
            code = child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        self.close()
        if code == -signal.SIGABRT:
            return "it requests more memory than available, or its contents are invalid"
        return "its contents crash the process that reads it"
