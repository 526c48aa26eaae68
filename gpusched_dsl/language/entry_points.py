"""Additions of other packages by entry points of a group; nothing is imported before its use."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import importlib.metadata

_Added = TypeVar("_Added")


_DISTRIBUTION = "gpusched-dsl"


def own_entry_point(group: str, name: str) -> importlib.metadata.EntryPoint | None:
    """Return an entry point of gsdsl itself; None if its installed metadata has none of this name."""
    return own_entry_points(group).get(name)


def load_own(group: str, name: str) -> Any:
    """Load an entry point of gsdsl itself; raise ImportError if the installed metadata lack it."""
    point = own_entry_point(group, name)
    if point is None:
        raise ImportError(f"gsdsl is installed without `{name}` of `{group}`: install it again")
    return point.load()


@cache
def own_entry_points(group: str) -> Mapping[str, importlib.metadata.EntryPoint]:
    """Return the entry points of gsdsl itself of a group by name, in alphabetical order.

    The metadata of other packages are not read, which takes longer than most commands.
    """
    from importlib import metadata

    try:
        own = metadata.distribution(_DISTRIBUTION).entry_points
    except metadata.PackageNotFoundError:
        return {}
    return {point.name: point for point in sorted(own, key=lambda point: point.name) if point.group == group}


def entry_points(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """Return the entry points of other packages of a group by name, in alphabetical order."""
    from importlib import metadata  # here, as most commands need no additions

    own = {*own_entry_points(group).values()}
    found = (point for point in metadata.entry_points(group=group) if point not in own)
    return {point.name: point for point in sorted(found, key=lambda point: point.name)}


def providers(group: str) -> dict[str, tuple[str, str]]:
    """Return the name and the version of the package of each entry point of a group."""
    found: dict[str, tuple[str, str]] = {}
    for name, point in entry_points(group).items():
        if point.dist is not None:
            found[name] = (point.dist.name, point.dist.version)
    return found


def load_entry_points(
    group: str, expected_type: type[_Added], existing_names: Collection[str] = ()
) -> dict[str, _Added]:
    """Return the objects of the entry points of a group, by name.

    Raises ValueError for an object of another type than `expected_type`, and for a name in `existing_names`.
    """
    found: dict[str, _Added] = {}
    for name, point in entry_points(group).items():
        if name in existing_names:
            raise ValueError(f"an entry point of {group} adds `{name}`, but this name exists already")
        thing = point.load()
        if not isinstance(thing, expected_type):
            raise ValueError(f"entry point `{name}` of {group} is not a {expected_type.__name__}")
        found[name] = thing
    return found
