"""Additions of other packages by entry points of a group; nothing is imported before its use."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Collection
from typing import TypeVar

_Added = TypeVar("_Added")


def points_of(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """The entry points of a group by name, in alphabetical order."""
    found = importlib.metadata.entry_points(group=group)
    return {point.name: point for point in sorted(found, key=lambda point: point.name)}


def added(group: str, wanted: type[_Added], taken: Collection[str] = ()) -> dict[str, _Added]:
    """Return the objects of the entry points of a group, by name.

    Raises ValueError for what is no `wanted`, and for a name that is `taken`.
    """
    found: dict[str, _Added] = {}
    for name, point in points_of(group).items():
        if name in taken:
            raise ValueError(f"an entry point of {group} adds `{name}`, but this name exists already")
        thing = point.load()
        if not isinstance(thing, wanted):
            raise ValueError(f"entry point `{name}` of {group} is not a {wanted.__name__}")
        found[name] = thing
    return found
