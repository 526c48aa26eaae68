"""Counts with their noun, wherever a message or a report has one."""

from __future__ import annotations


def count_text(count: int, one: str, many: str | None = None) -> str:
    """`1 row`, `1,024 rows`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
