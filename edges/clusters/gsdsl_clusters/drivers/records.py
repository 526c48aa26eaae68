"""Durable records of a driver run, as lines of JSON: actions with their outcomes, and what the cluster did.

Every line is on the disk before the run goes on. A line that a crash left incomplete is cut off.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

RECORD = "GSM5409"
_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class RecordFile:
    """A file to which lines are appended. Raises DiagnosticError (GSM5409) where it is damaged or cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab+")
            self._cut_incomplete_line()
        except OSError as failure:
            raise _unusable(path, failure.strerror or str(failure)) from failure

    def append(self, *contents: dict[str, Any]) -> None:
        try:
            self._file.write(b"".join(_encode(content) + b"\n" for content in contents))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as failure:
            raise _unusable(self.path, failure.strerror or str(failure)) from failure

    def lines(self) -> Iterator[dict[str, Any]]:
        """All lines from the beginning."""
        yield from read_records(self.path)

    def close(self) -> None:
        self._file.close()

    def _cut_incomplete_line(self) -> None:
        size = self._file.seek(0, os.SEEK_END)
        if size == 0:
            return
        position = size
        while position > 0:
            start = max(0, position - 65536)
            self._file.seek(start)
            at = self._file.read(position - start).rfind(b"\n")
            if at >= 0:
                self._file.truncate(start + at + 1)
                return
            position = start
        self._file.truncate(0)


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file, without an incomplete last one. Raises DiagnosticError (GSM5409) for a damaged line."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    yield _decoder.decode(line)
                except msgspec.MsgspecError as failure:
                    raise _unusable(path, f"line {number} is damaged: {failure}") from failure
    except FileNotFoundError:
        return


def _unusable(path: Path, reason: str) -> DiagnosticError:
    help = "repair the file, or use another `folder` in the cluster file"
    return DiagnosticError([Diagnostic(RECORD, f"the record `{path}` cannot be used: {reason}", help=help)])
