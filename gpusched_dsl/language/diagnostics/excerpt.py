"""Pieces of author's text on a terminal: tabs, wide and unprintable characters, very long lines."""

from __future__ import annotations

import unicodedata

LONGEST_LINE = 160
TAB = 4
_BEFORE = 40


def printable(text: str) -> str:
    """Return the text without characters that control a terminal; line breaks stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def clip(line: str, offset: int) -> tuple[str, int]:
    """A line cut to a window around an offset, and how far offsets move to the left in it."""
    if len(line) <= LONGEST_LINE:
        return line, 0
    start = max(0, min(offset - _BEFORE, len(line) - LONGEST_LINE))
    window = line[start : start + LONGEST_LINE]
    if start + LONGEST_LINE < len(line):
        window += "…"
    return ("…" + window, start - 1) if start else (window, 0)


def display(line: str) -> str:
    """A line as it is shown: tabs as blanks to the next multiple of four, unprintable characters replaced."""
    if line.isascii() and line.isprintable():
        return line
    parts: list[str] = []
    column = 0
    for c in line:
        shown = " " * (TAB - column % TAB) if c == "\t" else c if c.isprintable() else "�"
        parts.append(shown)
        column += len(shown) if c == "\t" else _width(shown)
    return "".join(parts)


def width(line: str) -> int:
    """Return the number of displayed columns of the beginning of a line."""
    if line.isascii() and "\t" not in line:
        return len(line)
    column = 0
    for c in line:
        column += TAB - column % TAB if c == "\t" else _width(c)
    return column


def _width(c: str) -> int:
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1
