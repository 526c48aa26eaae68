"""Source text shortened for a message or a name."""

from __future__ import annotations


def shorten(text: str, width: int = 80) -> str:
    """Source text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 4] + " ..."
