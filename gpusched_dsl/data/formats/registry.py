"""The formats and generators there are, by name; each is imported only when it is used.

All are entry points of the groups `gpusched_dsl.formats` and `gpusched_dsl.generators`. Those of other packages name a
`Format`, ours a mapping of formats by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.data.formats.shape import Format
from gpusched_dsl.language.entry_points import entry_points, load_entry_points, own_entry_points

FORMATS_GROUP, GENERATORS_GROUP = "gpusched_dsl.formats", "gpusched_dsl.generators"


def shipped(generated: bool) -> tuple[str, ...]:
    """The formats of files, or the generators, of gsdsl itself. Imports none of them."""
    return tuple(own_entry_points(GENERATORS_GROUP if generated else FORMATS_GROUP))


def names(generated: bool) -> tuple[str, ...]:
    """The formats of files, or the generators, there are. Imports none of them."""
    return tuple(sorted({*shipped(generated), *entry_points(GENERATORS_GROUP if generated else FORMATS_GROUP)}))


def reader(name: str) -> Format:
    """The format of files of this name; raises KeyError."""
    return _find(FORMATS_GROUP, name)


def generator(name: str) -> Format:
    """The generator of this name; raises KeyError."""
    return _find(GENERATORS_GROUP, name)


def _find(group: str, name: str) -> Format:
    own = own_entry_points(group)
    if name not in own:
        return load_entry_points(group, Format, own)[name]
    formats: Mapping[str, Format] = own[name].load()
    return formats[name]
