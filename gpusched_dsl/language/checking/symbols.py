"""The names an expression may refer to: the checked declarations of a model, and names given by the place itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from msgspec import Struct, field

from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedModel,
    CheckedParam,
    CheckedRandom,
    CheckedSet,
    CheckedVariable,
    TypedSet,
    ValueType,
)
from gpusched_dsl.language.source import Span

Valued: TypeAlias = CheckedParam | CheckedLet | CheckedVariable | CheckedRandom
Subscripted: TypeAlias = Valued | CheckedSet


class ExtraName(Struct, frozen=True):
    """A name that only the place gives: `status` in an `expect`, `now` or `remaining[j]` in an online block.

    A reference becomes a `KnownValue` of `type`, or, when `text` is given (`optimal`), the text itself. `type` None:
    what it is depends on more than is known here, so expressions with it are not checked further. `indices` are the
    types of its subscripts, None for one of any type.
    """

    type: ValueType | None
    indices: tuple[ValueType | None, ...] = ()
    text: str | None = None
    span: Span | None = None


class SubscriptSlot(Struct, frozen=True):
    """One subscript position of a declaration: component `component` of iterator `iterator`'s `domain`."""

    type: ValueType
    domain: TypedSet
    component: int
    iterator: int


class Symbols(Struct):
    """Everything that has a name.

    `others` are names that are no values, with what they are: `("constraint", span)`. `poisoned` are names whose
    declaration is in error; references to them are silent. `upcoming` are names that are declared, read or not yet.
    `extras` come before the declarations of the model.
    `circles` are the parameters that are evaluated together, by the name of each.
    """

    sets: dict[str, CheckedSet] = field(default_factory=dict)
    values: dict[str, Valued] = field(default_factory=dict)
    others: dict[str, tuple[str, Span]] = field(default_factory=dict)
    extras: Mapping[str, ExtraName] = field(default_factory=dict)
    poisoned: dict[str, Span] = field(default_factory=dict)
    upcoming: dict[str, Span] = field(default_factory=dict)
    circles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: CheckedModel, extras: Mapping[str, ExtraName] | None = None) -> Symbols:
        """Return the names of a checked model, with `extras` on top (which may make terms or objectives values)."""
        others: dict[str, tuple[str, Span]] = {}
        for objective in model.objectives:
            for term in objective.terms:
                if term.name is not None:
                    others[term.name] = ("term", term.span)
            if objective.name is not None:
                others[objective.name] = ("objective", objective.span)
        others.update({c.name: ("constraint", c.span) for c in model.constraints.values()})
        others.update({r.name: ("report", r.span) for r in model.reports.values()})
        others.update(dict.fromkeys(model.options, ("option", model.span)))
        values: dict[str, Valued] = {**model.params, **model.lets, **model.variables, **model.randoms}
        return cls(dict(model.sets), values, others, extras or {})

    def quantity_span(self, name: str) -> Span | None:
        """Return the declaration of a set or value, read or not, that an index must not hide."""
        if name in self.sets:
            return self.sets[name].span
        if name in self.values:
            return self.values[name].span
        return self.poisoned.get(name) or self.upcoming.get(name)

    def span_of(self, name: str) -> Span | None:
        """Where a name is declared."""
        if name in self.sets:
            return self.sets[name].span
        if name in self.values:
            return self.values[name].span
        if name in self.others:
            return self.others[name][1]
        if name in self.extras:
            return self.extras[name].span
        return self.poisoned.get(name)

    def sort_of(self, name: str) -> str:
        """Return the kind of a name, with an article."""
        if name in self.sets:
            return "a set"
        if name in self.values:
            return _SORTS[type(self.values[name])]
        what = self.others[name][0] if name in self.others else "name"
        return f"an {what}" if what[0] in "aeiou" else f"a {what}"

    def usable(self) -> Iterator[str]:
        """Return the names that are valid as values."""
        return chain(self.extras, self.values, self.poisoned)


_SORTS: dict[type, str] = {
    CheckedParam: "a parameter",
    CheckedLet: "a `let`",
    CheckedVariable: "a variable",
    CheckedRandom: "a random quantity",
}


def slots_of(declared: Subscripted) -> list[SubscriptSlot]:
    """The subscript positions of a declaration, tuple sets flattened."""
    return [
        SubscriptSlot(variable.type, iterator.domain, component, number)
        for number, iterator in enumerate(declared.indexing.iterators)
        for component, variable in enumerate(iterator.variables)
    ]
