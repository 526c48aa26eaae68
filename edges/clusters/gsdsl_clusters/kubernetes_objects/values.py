"""Fields of objects of Kubernetes: absent ones are empty, those of another form raise UnknownValue."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)", re.ASCII)
_SUFFIXES = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "k": Decimal(10**3), "M": Decimal(10**6),
    "G": Decimal(10**9), "T": Decimal(10**12), "P": Decimal(10**15), "E": Decimal(10**18), "Ki": Decimal(2**10),
    "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50), "Ei": Decimal(2**60),
}  # fmt: skip
_LONGEST = 64  # characters of a quantity
_LARGEST = Decimal(2**63 - 1)  # of a quantity, by the documentation of Kubernetes
_EXPONENT = 30  # beyond it a quantity is 0 or larger than the largest


class UnknownValue(Exception):
    """A field has a form that is not known."""


def table(value: Any) -> Json:
    """An object; an empty one if it is absent. Raises UnknownValue."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnknownValue(f"`{_short(value)}` is not an object")
    return value


def tables(value: Any) -> list[Json]:
    """A list of objects; an empty one if it is absent. Raises UnknownValue."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise UnknownValue(f"`{_short(value)}` is not a list of objects")
    return value


def texts(value: Any) -> dict[str, str]:
    """An object whose values are texts, such as labels; absent ones are "". Raises UnknownValue."""
    return {key: text(one) for key, one in table(value).items()}


def text(value: Any) -> str:
    """A text; "" if it is absent. Raises UnknownValue."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnknownValue(f"`{_short(value)}` is not a text")
    return value


def integer(value: Any, absent: int = 0) -> int:
    """An integer of 64 bits; `absent` without one. Raises UnknownValue."""
    if value is None:
        return absent
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise UnknownValue(f"`{_short(value)}` is not an integer")
    return value


def count(value: Any, absent: int = 0) -> int:
    """An integer of at least 0; `absent` without one. Raises UnknownValue."""
    found = integer(value, absent)
    if found < 0:
        raise UnknownValue(f"`{found}` is less than 0")
    return found


def quantity(value: Any) -> Decimal:
    """The number of a quantity such as `500m`, `16Gi` or 4. Raises UnknownValue."""
    if isinstance(value, Decimal):
        return value
    written = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    found = _QUANTITY.fullmatch(written) if len(written) <= _LONGEST else None
    if found is None:
        raise UnknownValue(f"`{_short(value)}` is not a quantity")
    digits, exponent, suffix = found.groups()
    power = int(exponent[1:]) if exponent else 0
    if abs(power) > _EXPONENT and Decimal(digits):
        raise UnknownValue(f"`{_short(value)}` is beyond the quantities of Kubernetes")
    number = Decimal(digits).scaleb(power) if Decimal(digits) else Decimal(0)
    number *= _SUFFIXES.get(suffix or "", Decimal(1))
    if abs(number) > _LARGEST:
        raise UnknownValue(f"`{_short(value)}` is beyond the quantities of Kubernetes")
    return number


def devices(value: Any) -> int:
    """A number of devices. Raises UnknownValue."""
    number = quantity(value)
    if number != int(number) or number < 0:
        raise UnknownValue(f"`{_short(value)}` is not a number of GPUs")
    return int(number)


def _short(value: Any) -> str:
    found = str(value)[:41] if not isinstance(value, dict | list) else f"{type(value).__name__} of {len(value)}"
    return found if len(found) <= 40 else f"{found[:37]}..."
