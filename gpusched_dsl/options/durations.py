"""Durations as people write them: `90`, `90s`, `5m`, `1h30m`, `11.7[h]`."""

from __future__ import annotations

import re

SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "day": 86400.0}
SHORT_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "%": 0.01}  # in one word
_PART = re.compile(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) ?(\[[a-z]+\]|[a-z]+)", re.ASCII)
_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([a-z%]*)\s*", re.ASCII)
_PARTS = re.compile(rf"(?:{_PART.pattern} ?)+", re.ASCII)


def has_unit(text: str) -> bool:
    """Whether a text is a sequence of numbers with units (known or not), such as `1h30m`."""
    return _PARTS.fullmatch(text.strip()) is not None


def seconds_of(text: str) -> float:
    """Return a duration with units in seconds; raise ValueError with the reason."""
    total = 0.0
    for amount, unit in _PART.findall(text):
        seconds = SECONDS.get(unit.strip("[]"))
        if seconds is None:
            raise ValueError(f"`{unit}` in `{text}` is not a unit of time: write s, m, h or d")
        total += float(amount) * seconds
    return total


def looks_like_date(text: str) -> bool:
    """Whether a text begins as a date does, `2026-10-...`: neither a number nor a duration does."""
    first, _, rest = text.strip().partition("-")
    return bool(first.isdigit() and rest[:1].isdigit())


def number_and_unit(text: str) -> tuple[float, str] | None:
    """Return the number and the word of a text such as `1.5 h` or `2%`; None for any other text."""
    found = _NUMBER.fullmatch(text)
    return None if found is None else (float(found[1]), found[2])
