"""Hostile texts, the places of a type that can have one, and a watch on what they reach of the system."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import inspect

TOKEN = "hostile7f3"
VALUES = (
    f"program:touch {TOKEN}",
    f"program:sh -c 'touch {TOKEN}'",
    f" program:touch {TOKEN}",
    f"highs+program:touch {TOKEN}",
    f"$(touch {TOKEN})",
    f"; touch {TOKEN} #",
    f"-o{TOKEN}",
    f"../../{TOKEN}",
    f"/tmp/{TOKEN}.db",
    f"gsdsl:../{TOKEN}.gsm",
    f"{TOKEN}.module:function",
    f"http://localhost/{TOKEN}",
    f"{TOKEN}\n",
    f"{TOKEN}\0",
    f"{TOKEN}\u202e\x1b[2J",
    TOKEN * 1000,
)
WATCHED = ("open", "subprocess.", "os.", "shutil.", "socket.", "sqlite3.", "ctypes.", "import", "tempfile.", "glob.")
_reached: list[str] | None = None
_allowed: Callable[[str, tuple[Any, ...]], bool]


def _observe(event: str, arguments: tuple[Any, ...]) -> None:
    if _reached is None or not event.startswith(WATCHED) or TOKEN not in (shown := repr(arguments)):
        return
    if not _allowed(event, arguments):
        _reached.append(f"{event} {shown[:300]}")


sys.addaudithook(_observe)  # for the life of the process: Python removes none


@contextmanager
def nothing_reached(allowed: Callable[[str, tuple[Any, ...]], bool] | None = None) -> Iterator[None]:
    """Fail if a hostile text reaches a file, a process, a socket, a database or an import of this process.

    `allowed` is asked about each such operation, an audit event of Python with its arguments.
    """
    global _reached, _allowed
    _reached, _allowed = [], allowed or (lambda event, arguments: False)
    try:
        yield
        assert not _reached, _reached
    finally:
        _reached = None


def hostile(kind: Any) -> Iterator[Any]:
    """Yield values of a type with a hostile text in each place, one at a time, found from the type itself.

    All other places have the least value that the type allows.
    """
    yield from _hostile(inspect.type_info(kind))


def _hostile(kind: Any) -> Iterator[Any]:
    match kind:
        case inspect.Metadata():
            yield from _hostile(kind.type)
        case inspect.StrType() | inspect.AnyType():
            yield from VALUES
        case inspect.UnionType():
            for one in kind.types:
                yield from _hostile(one)
        case inspect.ListType():
            for value in _hostile(kind.item_type):
                yield [value]
        case inspect.DictType():
            for value in _hostile(kind.value_type):
                yield {"weight": value}
            for key in _hostile(kind.key_type):
                yield {key: least(kind.value_type)}
        case inspect.StructType():
            for field in kind.fields:
                for value in _hostile(field.type):
                    yield {**_least_struct(kind), field.encode_name: value}


def least(kind: Any) -> Any:
    """Return a small value of a type."""
    match kind:
        case inspect.Metadata():
            return least(kind.type)
        case inspect.UnionType():
            return None if any(isinstance(one, inspect.NoneType) for one in kind.types) else least(kind.types[0])
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.StrType():
            return "a"
        case inspect.BoolType():
            return True
        case inspect.IntType() | inspect.FloatType():
            return 1
        case inspect.ListType():
            return []
        case inspect.DictType():
            return {}
        case inspect.StructType():
            return _least_struct(kind)
    return None


def _least_struct(kind: inspect.StructType) -> dict[str, Any]:
    made = {field.encode_name: least(field.type) for field in kind.fields if field.required}
    return made if kind.tag_field is None else {kind.tag_field: kind.tag, **made}


def wrong(kind: Any) -> Iterator[Any]:
    """Yield values of a struct in which one field has a value that its type does not allow."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        for value in (5, -5, 1.5, 10**30, 1e300, True, None, "x", [], ["x"], {}, {"x": 1}):
            made = {**_least_struct(info), field.encode_name: value}
            try:
                msgspec.json.decode(msgspec.json.encode(made), type=kind)
            except msgspec.ValidationError:
                yield made
