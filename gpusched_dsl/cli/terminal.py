"""Keeps what is printed from controlling a terminal: the one place where characters that could are replaced.

Names from data, documentation strings and messages may contain escape sequences that move the cursor, change the title
or hide text. On a terminal, `protect_terminals` replaces them in everything that the process prints, by any function.
Pipes and files get documents, such as formatted text and CSV, byte by byte.
"""

from __future__ import annotations

import codecs
import re
import sys
from io import TextIOWrapper
from typing import Any, TextIO

REPLACEMENT = "\ufffd"
_OWN = r"\x1b\[(?:[0-4]|3[1-6])?(?:;(?:[0-4]|3[1-6]))*m"  # bold, dim, italic, underlined, and colours that can be read
# Tabs and line breaks stay. The directions of text that C1 and bidirectional controls set could show other text.
_CONTROL = re.compile(
    rf"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)|\x1b(?!{_OWN[4:]})"
)


def harmless(text: str) -> str:
    """Return a text without characters that control a terminal, except tabs, line breaks and our own colours."""
    return text if text.isprintable() else _CONTROL.sub(REPLACEMENT, text)


class TerminalStream:
    """A text stream to a terminal, which writes only harmless text; `inner` is the stream itself."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner
        self.buffer = _Bytes(self)

    def write(self, text: str) -> int:
        self.inner.write(harmless(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class _Bytes:
    """The bytes of such a stream: documents that are written as bytes pass it, too."""

    def __init__(self, stream: TerminalStream) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: bytes) -> int:
        self._stream.write(self._decoder.decode(bytes(data)))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


def protect_terminals() -> None:
    """Let standard output and standard error, where they are terminals, write only harmless text."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, TextIOWrapper) and stream.isatty():
            setattr(sys, name, TerminalStream(stream))
