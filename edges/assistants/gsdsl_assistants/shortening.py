"""Cuts long lists in answers, and counts what is left out."""

from __future__ import annotations

from typing import Any


def shorten(document: Any, most: int) -> tuple[Any, dict[str, int]]:
    """Return a JSON document whose lists have at most `most` entries, and the number left out of each by its path."""
    left_out: dict[str, int] = {}
    return _shorten(document, most, "", left_out), left_out


def _shorten(value: Any, most: int, path: str, left_out: dict[str, int]) -> Any:
    if isinstance(value, dict):
        return {
            key: _shorten(each, most, f"{path}.{key}" if path else str(key), left_out) for key, each in value.items()
        }
    if isinstance(value, list):
        if len(value) > most:
            left_out[path] = len(value) - most
        return [_shorten(each, most, f"{path}[{at}]", left_out) for at, each in enumerate(value[:most])]
    return value
