"""Numbers of reports with few digits."""

from __future__ import annotations

DIGITS = 5


def short(value: float | int | None, digits: int = DIGITS) -> str:
    """Return a number with few digits: `0.66667`, `1234.5`, `12`; `-` for None."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
