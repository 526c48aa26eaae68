"""Source texts and the places in them that diagnostics point at."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

_LINE_END = re.compile("\n")


@dataclass(frozen=True, eq=False)
class Source:
    """One text: a `.gsm` file or a string handed to the compiler.

    `name` is what diagnostics print; `path` is None for a text that is no file.
    """

    name: str
    text: str
    path: Path | None = None
    _line_starts: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_line_starts", [0, *(found.end() for found in _LINE_END.finditer(self.text))])

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both counted from 1, of a character offset."""
        line = bisect_right(self._line_starts, offset) - 1
        return line + 1, offset - self._line_starts[line] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, end)


class Span(Struct, frozen=True):
    """A stretch of one source, by character offsets; `end` is exclusive."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """The stretch from the start of this span to the end of `other`."""
        return Span(self.source, self.start, max(self.end, other.end))

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"
