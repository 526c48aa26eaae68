"""The bases of checked expressions and sets, and index lists of them."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.checked.types import ValueType
from gpusched_dsl.language.source import Span


@dataclass(frozen=True, eq=False, slots=True)
class IndexVar:
    """One bound index. Compared by identity: two `j` of different iterators are different variables."""

    name: str
    type: ValueType
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedSet:
    """A set expression; `types` are the types of its components (its arity is their number)."""

    span: Span
    types: tuple[ValueType, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedExpr:
    """`decision` states whether a variable occurs in it (so it is not a number before the solve)."""

    span: Span
    type: ValueType
    decision: bool = False


@dataclass(frozen=True, slots=True)
class Iterator:
    """`(v, g) in Configs`: one variable per component of the set (generated if the model names none)."""

    variables: tuple[IndexVar, ...]
    domain: TypedSet
    span: Span


@dataclass(frozen=True, slots=True)
class TypedIndexing:
    """Iterators in order, later ones may use variables of earlier ones; `conditions` is the `where` split at `and`."""

    iterators: tuple[Iterator, ...] = ()
    conditions: tuple[TypedExpr, ...] = ()

    @property
    def variables(self) -> tuple[IndexVar, ...]:
        return tuple(v for i in self.iterators for v in i.variables)
