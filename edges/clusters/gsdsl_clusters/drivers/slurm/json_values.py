"""Values in the JSON of Slurm, whose spelling differs between releases.

Release 22.05 writes plain numbers and one state; from 23.02 on numbers are `{"set", "infinite", "number"}`, and from
23.11 on states are lists with flags. Both are read, anything else is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gsdsl_clusters.drivers.slurm.hostlist import expand

_UNSET = (4294967294, 18446744073709551614)  # NO_VAL
_INFINITE = (4294967295, 18446744073709551615)
_LARGEST = _INFINITE[-1]
_MOST = 2**53
_LAST_DATE = 253402300800.0  # the year 10000


class UnknownJson(ValueError):
    """A value has a form that no known release of Slurm writes."""


def number(record: Mapping[str, Any], name: str) -> float | None:
    """A number; None if it is unset, missing or null; infinite numbers are `inf`."""
    stated = value = record.get(name)
    if isinstance(value, dict):
        if "number" not in value:
            raise UnknownJson(f"`{name}` is {_shown(stated)}, which is not a number of Slurm")
        if value.get("infinite"):
            return math.inf
        if not value.get("set", True):
            return None
        value = value["number"]
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise UnknownJson(f"`{name}` is {_shown(stated)}, which is not a number of Slurm")
    if value in _UNSET:
        return None
    return math.inf if value in _INFINITE or math.isinf(value) else float(value)


def whole(record: Mapping[str, Any], name: str) -> int | None:
    """A finite integer that is not negative; None if it is unset, missing or null."""
    value = number(record, name)
    if value is not None and not (0 <= value < _MOST and value.is_integer()):
        raise UnknownJson(f"`{name}` is {_shown(record.get(name))}, which is not a number of things")
    return None if value is None else int(value)


def date(record: Mapping[str, Any], name: str) -> float | None:
    """Seconds since 1970; None without a date (0)."""
    value = number(record, name)
    return value if value is not None and 0 < value < _LAST_DATE else None


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


def items(record: Mapping[str, Any], name: str) -> list[str]:
    """The items of a text with commas, or of a list of texts."""
    return [item for item in text(record, name).split(",") if item]


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


def hosts(text: str) -> tuple[str, ...]:
    """The names in a list of nodes."""
    try:
        return expand(text)
    except ValueError as failure:
        raise UnknownJson(str(failure)) from failure


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
