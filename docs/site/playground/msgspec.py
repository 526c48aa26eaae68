"""Structs of msgspec as dataclasses, for the browser: there is no compiled module of msgspec for Pyodide on npm."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

field = dataclasses.field
structs = SimpleNamespace(replace=dataclasses.replace)


class _StructMeta(type):
    __struct_fields__: tuple[str, ...]

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any], **options: bool) -> _StructMeta:
        made = super().__new__(cls, name, bases, members)
        if bases:  # all but Struct
            known = {name: value for name, value in options.items() if name not in ("dict", "weakref")}  # always so
            made = dataclasses.dataclass(**known)(made)
            made.__struct_fields__ = tuple(f.name for f in dataclasses.fields(made))  # type: ignore[arg-type]
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any], **options: bool) -> None:
        super().__init__(name, bases, members)


class Struct(metaclass=_StructMeta):
    """The base of all structs."""
