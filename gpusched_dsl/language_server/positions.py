"""Places of a text as clients count them: lines end at `\\n`, `\\r\\n` or `\\r`, and columns count code units."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from lsprotocol import types

_LINE_END = re.compile(r"\r\n|\n|\r")
_BEYOND = re.compile("[\U00010000-\U0010ffff]")


class ClientPositions:
    """Offsets in a text to positions of the protocol and back, in one encoding of columns."""

    def __init__(self, text: str, encoding: types.PositionEncodingKind | str = "utf-16") -> None:
        self.text = text
        self.encoding = types.PositionEncodingKind(encoding)

    @cached_property
    def starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    def position(self, offset: int) -> types.Position:
        line = bisect_right(self.starts, offset) - 1
        return types.Position(line, self._units(self.text[self.starts[line] : offset]))

    def range(self, start: int, end: int) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    def offset(self, position: types.Position) -> int:
        """The offset of a position; a place behind the end of a line is the end of that line."""
        if position.line >= len(self.starts):
            return len(self.text)
        start = self.starts[position.line]
        end = self.starts[position.line + 1] if position.line + 1 < len(self.starts) else len(self.text)
        line = self.text[start:end].rstrip("\r\n")
        return start + self._characters(line, position.character)

    def _units(self, text: str) -> int:
        """The number of code units of a text."""
        match self.encoding:
            case types.PositionEncodingKind.Utf8:
                return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
            case types.PositionEncodingKind.Utf16:
                return len(text) if text.isascii() else len(text) + len(_BEYOND.findall(text))
            case _:
                return len(text)

    def _characters(self, line: str, units: int) -> int:
        """The number of characters of the first code units of a line."""
        if units <= 0:
            return 0
        if line.isascii() or self.encoding is types.PositionEncodingKind.Utf32:
            return min(units, len(line))
        counted = 0
        for at, character in enumerate(line):
            if counted >= units:
                return at
            counted += self._units(character)
        return len(line)


def common_length(one: str, other: str) -> int:
    """The number of equal characters at the start of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
