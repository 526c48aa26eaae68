"""Paragraphs and tables in Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 130


def paragraph(text: str) -> str:
    """Text in lines of moderate length; ends with a line break."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; `|` within cells is escaped."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def code(words: Iterable[str], between: str = " ") -> str:
    """Words as code."""
    return between.join(f"`{word}`" for word in words)
