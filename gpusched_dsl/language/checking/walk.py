"""Traversal of the parts of an expression of any class."""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from typing import TypeAlias

from gpusched_dsl.language.checked import (
    IndexRef,
    Iterator,
    LetRef,
    SampleFile,
    TypedExpr,
    TypedIndexing,
    TypedLaw,
    TypedList,
    TypedSet,
    VariableRef,
)

Part: TypeAlias = TypedExpr | TypedSet | TypedIndexing | Iterator | TypedLaw | TypedList | SampleFile


_PARTS: dict[type, tuple[str, ...]] = {}
_NO_PARTS = ("span", "type", "types", "decision")


def _field_names(part: Part) -> tuple[str, ...]:
    kind = type(part)
    if kind not in _PARTS:
        _PARTS[kind] = tuple(name for name in kind.__struct_fields__ if name not in _NO_PARTS)
    return _PARTS[kind]


def children(part: Part) -> Iterates[Part]:
    """Yield the direct parts of an expression, a set, an index list, an iterator or a law, in the order of the text."""
    for name in _field_names(part):
        yield from _parts(getattr(part, name))


def _parts(value: object) -> Iterates[Part]:
    if isinstance(value, (TypedExpr, TypedSet, TypedIndexing, Iterator, TypedLaw, TypedList, SampleFile)):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _parts(item)


def walk(part: Part, *, around: tuple[type[Part], ...] = ()) -> Iterates[Part]:
    """Yield a part and its descendants, outer before inner, in the order of the text; `around` are skipped
    completely.
    """
    waiting = [part]
    while waiting:
        current = waiting.pop()
        if isinstance(current, around):
            continue
        yield current
        waiting.extend(reversed(list(children(current))))


def first_decision(expr: TypedExpr) -> VariableRef | LetRef | None:
    """Return the first reference that makes an expression depend on a variable."""
    for part in walk(expr):
        if isinstance(part, VariableRef) or (isinstance(part, LetRef) and part.decision):
            return part
    return None


def indices_in(part: Part) -> frozenset[str]:
    """Return the names of the index variables in a part."""
    return frozenset(p.variable.name for p in walk(part) if isinstance(p, IndexRef))
