"""Which index variables an expression needs from its surroundings; the planner of joins lives on it."""

from __future__ import annotations

import dataclasses
from functools import singledispatch

from gpusched_dsl.language.checked import (
    Expected,
    IndexRef,
    IndexVar,
    Iterator,
    NamedSet,
    Numeric,
    RandomRef,
    TypedExpr,
    TypedIndexing,
    TypedList,
    TypedSet,
)
from gpusched_dsl.language.source import Source, Span

Variables = frozenset[IndexVar]
NONE: Variables = frozenset()

# What the value of a random quantity depends on: an expectation binds them as it goes through the outcomes.
_NOWHERE = Span(Source("", ""), 0, 0)
SITUATION = IndexVar("situation", Numeric(integer=True), _NOWHERE)
OUTCOME = IndexVar("outcome", Numeric(integer=True), _NOWHERE)


@singledispatch
def free_variables(node: object) -> Variables:
    """The variables that occur in `node` and are not bound inside it."""
    if isinstance(node, TypedExpr | TypedSet):
        indexing = getattr(node, "indexing", None)
        found = free_variables(tuple([getattr(node, name) for name in _parts_of(node)]))
        return found - frozenset(indexing.variables) if isinstance(indexing, TypedIndexing) else found
    return NONE


_NO_PARTS = {"span", "type", "types", "decision", "name", "op", "ops", "text", "value", "ordering", "negated"}


_PARTS: dict[type, tuple[str, ...]] = {}  # looked up for each kind of node once


def _parts_of(node: TypedExpr | TypedSet) -> tuple[str, ...]:
    known = _PARTS.get(type(node))
    if known is None:
        known = _PARTS[type(node)] = tuple(f.name for f in dataclasses.fields(node) if f.name not in _NO_PARTS)
    return known


@free_variables.register
def _(node: tuple) -> Variables:  # type: ignore[type-arg]
    return frozenset().union(*map(free_variables, node)) if node else NONE


@free_variables.register
def _(node: NamedSet) -> Variables:
    return NONE


@free_variables.register
def _(node: IndexRef) -> Variables:
    return frozenset((node.variable,))


@free_variables.register
def _(node: RandomRef) -> Variables:
    return free_variables(node.subscripts) | {SITUATION, OUTCOME}


@free_variables.register
def _(node: Expected) -> Variables:
    return (free_variables(node.body) | free_variables(node.given)) - {SITUATION, OUTCOME}


@free_variables.register
def _(node: TypedIndexing) -> Variables:
    return (free_variables(node.iterators) | free_variables(node.conditions)) - frozenset(node.variables)


@free_variables.register
def _(node: TypedList) -> Variables:
    if node.indexing is None:
        return free_variables(node.rows)
    return free_variables(node.indexing) | (free_variables(node.rows) - frozenset(node.indexing.variables))


@free_variables.register
def _(node: Iterator) -> Variables:
    return free_variables(node.domain)
