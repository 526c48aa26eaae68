"""Places of a text as clients count them: lines end at `\\n`, `\\r\\n` or `\\r`, and columns count code units."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate

from lsprotocol import types

_LINE_END = re.compile(r"\r\n|\n|\r")
_BEYOND = re.compile("[\U00010000-\U0010ffff]")
_NOT_ASCII = re.compile("[^\x00-\x7f]")


class ClientPositions:
    """Offsets in a text to positions of the protocol and back, in one encoding of columns."""

    def __init__(self, text: str, encoding: types.PositionEncodingKind | str = "utf-16") -> None:
        self.text = text
        self.encoding = types.PositionEncodingKind(encoding)

    @cached_property
    def starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def _longer(self) -> tuple[list[int], list[int]]:
        """The offsets of the characters of several code units, and the surplus of all units before each and the end."""
        if self.text.isascii() or self.encoding is types.PositionEncodingKind.Utf32:
            return [], [0]
        pattern = _BEYOND if self.encoding is types.PositionEncodingKind.Utf16 else _NOT_ASCII
        found = [(match.start(), match.group()) for match in pattern.finditer(self.text)]
        surplus = accumulate((self._units(character) - 1 for _, character in found), initial=0)
        return [at for at, _ in found], list(surplus)

    def position(self, offset: int) -> types.Position:
        """Return the position of an offset; the time does not depend on the length of its line."""
        line = bisect_right(self.starts, offset) - 1
        start = self.starts[line]
        offsets, surplus = self._longer
        more = surplus[bisect_left(offsets, offset)] - surplus[bisect_left(offsets, start)]
        return types.Position(line, min(offset, len(self.text)) - start + more)

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
