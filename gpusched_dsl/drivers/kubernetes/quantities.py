"""Quantities and dates of Kubernetes as numbers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$")
_SUFFIXES = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "k": Decimal(10**3), "M": Decimal(10**6),
    "G": Decimal(10**9), "T": Decimal(10**12), "P": Decimal(10**15), "E": Decimal(10**18), "Ki": Decimal(2**10),
    "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50), "Ei": Decimal(2**60),
}  # fmt: skip


class UnknownValue(Exception):
    """A field has a form that is not known."""


def quantity(value: Any) -> Decimal:
    """The number of a quantity such as `500m`, `16Gi` or 4. Raises UnknownValue."""
    found = _QUANTITY.match(str(value))
    if found is None or isinstance(value, bool):
        raise UnknownValue(f"`{value}` is not a quantity")
    number, exponent, suffix = found.groups()
    return Decimal(number + (exponent or "")) * _SUFFIXES.get(suffix or "", Decimal(1))


def whole(value: Any) -> int:
    """A number of devices. Raises UnknownValue."""
    number = quantity(value)
    if number != int(number) or number < 0:
        raise UnknownValue(f"`{value}` is not a number of GPUs")
    return int(number)


def seconds(text: Any) -> float | None:
    """A date in seconds since 1970, None without one. Raises UnknownValue."""
    if text is None or text == "":
        return None
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        raise UnknownValue(f"`{text}` is not a date") from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


def date_text(time: float) -> str:
    """Seconds since 1970 as the API server writes dates."""
    return datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
