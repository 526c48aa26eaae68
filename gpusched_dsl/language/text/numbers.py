"""Numbers as people read them: short, never in a misleading precision."""

from __future__ import annotations

import math
from collections.abc import Sequence

NOISE = 1e-9  # what a solver leaves behind where it means zero


def count_text(count: int, one: str, many: str | None = None) -> str:
    """`1 row`, `1,024 rows`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def number_text(value: float | None) -> str:
    """Up to eight significant digits without trailing zeros: `4.4279`, `12`, `1.5e-07`; `-` for None."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    text = f"{value:.8g}"
    return "0" if text == "-0" else text


def percent_text(fraction: float | None) -> str:
    """Return a relative gap: `0 %` also below rounding, `0.012 %`, `3.4 %`; `-` for None."""
    if fraction is None:
        return "-"
    if abs(fraction) < NOISE:
        return "0 %"
    percent = 100 * fraction
    text = f"{percent:.3g}" if abs(percent) >= 1e-4 else f"{percent:.1e}"
    return f"{text} %" if fraction < 10 else "above 1000 %"


def percent_number(fraction: float | None) -> str:
    """Return a share for a column with the heading `[%]`: `0`, `0.012`, `3.4`; `-` for None."""
    return percent_text(fraction).removesuffix(" %").replace("above ", ">")


def seconds_text(seconds: float) -> str:
    """`0.03 s`, `12.4 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def column_texts(values: Sequence[float | None], digits: int = 4, least: int = 2) -> list[str]:
    """Return the numbers of a table column with equal numbers of decimals, so that the points align.

    The largest number gets about `digits` digits; `least` decimals stay where there are any.
    """
    known = [v for v in values if v is not None and math.isfinite(v)]
    largest = max((abs(v) for v in known), default=0.0)
    if all(v == round(v) for v in known) and largest < 1e15:
        decimals = 0
    elif largest >= 1e9 or largest < 1e-4:
        return [number_text(v) for v in values]
    else:
        decimals = min(max(digits, 6), max(least, digits - 1 - math.floor(math.log10(largest))))
    return [f"{v + 0.0:.{decimals}f}" if v is not None and math.isfinite(v) else number_text(v) for v in values]


def align(values: Sequence[float | None]) -> list[str]:
    """Numbers of one sum below each other: up to eight digits of the largest, no zeros that all of them end in."""
    texts = column_texts(values, digits=8, least=0)
    spare = min((len(t) - len(t.rstrip("0")) for t in texts if "." in t), default=0)
    texts = [t[: len(t) - spare].removesuffix(".") if "." in t else t for t in texts]
    width = max((len(t) for t in texts), default=0)
    return [t.rjust(width) for t in texts]


def with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text


SHORT_DIGITS = 5


def short(value: float | int | None, digits: int = SHORT_DIGITS) -> str:
    """Return a number of a report with few digits: `0.66667`, `1234.5`, `12`; `-` for None."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
