"""The bindings at a place in an expression: indices, conditions on them, and whether it is inside `E(...)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field, structs

from gpusched_dsl.language.checked import IndexVar, TypedSet


class Binding(Struct, frozen=True):
    """An index variable and its domain: component `component` of the elements of `domain`."""

    variable: IndexVar
    domain: TypedSet
    component: int = 0


class Scope(Struct, frozen=True):
    """`bindings` has None for an index with an invalid set: references to it are not reported.

    `guarded` names the indices that an enclosing `where`, `if` or premise speaks of: whether a shifted subscript of
    such an index falls outside is known only with data. `expecting` is true inside `E(...)` and `P(...)`. `unnamed`
    are sets that are iterated without naming the index, for the help on an unknown name.
    """

    bindings: Mapping[str, Binding | None] = field(default_factory=dict)
    guarded: frozenset[str] = frozenset()
    expecting: bool = False
    unnamed: tuple[str, ...] = ()

    def bind(self, name: str, binding: Binding | None) -> Scope:
        return structs.replace(self, bindings={**self.bindings, name: binding})

    def guard(self, names: Iterable[str]) -> Scope:
        return structs.replace(self, guarded=self.guarded | frozenset(names))

    def without_name(self, domain: str) -> Scope:
        return structs.replace(self, unnamed=(*self.unnamed, domain))

    def expect(self) -> Scope:
        return structs.replace(self, expecting=True)


EMPTY = Scope()
