"""Which index variables an expression needs from its surroundings; the planner of joins lives on it."""

from __future__ import annotations

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


_MOST_KNOWN = 100_000
_known: dict[int, tuple[object, Variables]] = {}  # by identity: every plan of a run asks for the same expressions


def free_variables(node: object) -> Variables:
    """The variables that occur in `node` and are not bound inside it."""
    if type(node) is tuple:  # made by the caller
        return frozenset().union(*map(free_variables, node)) if node else NONE
    known = _known.get(id(node))
    if known is None or known[0] is not node:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        known = _known[id(node)] = (node, _variables(node))
    return known[1]


@singledispatch
def _variables(node: object) -> Variables:
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
        known = _PARTS[type(node)] = tuple(n for n in node.__struct_fields__ if n not in _NO_PARTS)
    return known


@_variables.register
def _(node: NamedSet) -> Variables:
    return NONE


@_variables.register
def _(node: IndexRef) -> Variables:
    return frozenset((node.variable,))


@_variables.register
def _(node: RandomRef) -> Variables:
    return free_variables(node.subscripts) | {SITUATION, OUTCOME}


@_variables.register
def _(node: Expected) -> Variables:
    return (free_variables(node.body) | free_variables(node.given)) - {SITUATION, OUTCOME}


@_variables.register
def _(node: TypedIndexing) -> Variables:
    return (free_variables(node.iterators) | free_variables(node.conditions)) - frozenset(node.variables)


@_variables.register
def _(node: TypedList) -> Variables:
    if node.indexing is None:
        return free_variables(node.rows)
    return free_variables(node.indexing) | (free_variables(node.rows) - frozenset(node.indexing.variables))


@_variables.register
def _(node: Iterator) -> Variables:
    return free_variables(node.domain)
