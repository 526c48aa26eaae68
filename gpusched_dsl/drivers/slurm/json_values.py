"""Values in the JSON of Slurm, whose spelling differs between releases.

Release 22.05 writes plain numbers and one state; from 23.02 on numbers are `{"set", "infinite", "number"}`, and from
23.11 on states are lists with flags. Both are read, anything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_UNSET = (4294967294, 18446744073709551614)  # NO_VAL
_INFINITE = (4294967295, 18446744073709551615)


class UnknownJson(ValueError):
    """A value has a form that no known release of Slurm writes."""


def number(record: Mapping[str, Any], name: str) -> float | None:
    """A number; None if it is unset, missing or null; infinite numbers are `inf`."""
    value = record.get(name)
    if isinstance(value, dict):
        if "number" not in value:
            raise UnknownJson(f"`{name}` is {_shown(value)}, which is not a number of Slurm")
        if value.get("infinite"):
            return float("inf")
        return float(value["number"]) if value.get("set", True) else None
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnknownJson(f"`{name}` is {_shown(value)}, which is not a number of Slurm")
    if value in _UNSET:
        return None
    return float("inf") if value in _INFINITE else float(value)


def date(record: Mapping[str, Any], name: str) -> float | None:
    """Seconds since 1970; None without a date (0)."""
    value = number(record, name)
    return value if value is not None and 0 < value < float("inf") else None


def text(record: Mapping[str, Any], name: str) -> str:
    """A text, "" if it is missing or null; a list of texts is joined with commas."""
    value = record.get(name)
    if value is None:
        return ""
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, dict):
        for inner in ("list", "string", "comment", "nodes"):
            if isinstance(value.get(inner), str):
                return str(value[inner])
    raise UnknownJson(f"`{name}` is {_shown(value)}, which is not a text of Slurm")


def names(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of names in upper case: a list, or a text of names joined with `+` or commas."""
    value = record.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.replace("+", ",").split(",")
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UnknownJson(f"`{name}` is {_shown(value)}, which is not a list of names")
    return tuple(item.strip().upper() for item in value if item.strip())


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
