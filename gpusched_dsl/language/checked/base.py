"""The bases of checked expressions and sets, and index lists of them."""

from __future__ import annotations

from msgspec import Struct

from gpusched_dsl.language.checked.types import ValueType
from gpusched_dsl.language.source import Span


class IndexVar(Struct, frozen=True, eq=False):
    """One bound index. Compared by identity: two `j` of different iterators are different variables."""

    name: str
    type: ValueType
    span: Span


class TypedSet(Struct, frozen=True, kw_only=True):
    """A set expression; `types` are the types of its components (its arity is their number)."""

    span: Span
    types: tuple[ValueType, ...]


class TypedExpr(Struct, frozen=True, kw_only=True):
    """`decision` states whether a variable occurs in it (so it is not a number before the solve)."""

    span: Span
    type: ValueType
    decision: bool = False


class Iterator(Struct, frozen=True):
    """`(v, g) in Configs`: one variable per component of the set (generated if the model names none)."""

    variables: tuple[IndexVar, ...]
    domain: TypedSet
    span: Span


class TypedIndexing(Struct, frozen=True):
    """Iterators in order, later ones may use variables of earlier ones; `conditions` is the `where` split at `and`."""

    iterators: tuple[Iterator, ...] = ()
    conditions: tuple[TypedExpr, ...] = ()

    @property
    def variables(self) -> tuple[IndexVar, ...]:
        return tuple(v for i in self.iterators for v in i.variables)
