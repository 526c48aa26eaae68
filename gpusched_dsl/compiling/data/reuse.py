"""The sets and parameters of an earlier instance that remain valid: those with identical inputs."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import Struct
from msgspec import field as struct_field

from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.data.sources.reader import FileReader
from gpusched_dsl.language.checked import CheckedCheck, CheckedModel
from gpusched_dsl.language.scenarios.assignments import ArrayAssignment, Assignment, ExpressionAssignment, LawAssignment
from gpusched_dsl.language.scenarios.scenario import CheckedScenario

T = TypeVar("T")

_NO_INPUTS = ("span", "doc", "identical_by")  # fields that values do not depend on


class Inputs(Struct, frozen=True, eq=False):
    """The inputs of an instance: `replaced` overrides values of the scenario, `reader` caches files."""

    scenario: CheckedScenario
    reader: FileReader
    replaced: Mapping[str, Sequence[object]]
    _reads: dict[str, frozenset[str]] = struct_field(default_factory=dict)
    _read_by: dict[int, frozenset[str]] = struct_field(default_factory=dict)  # by identity of parts of the model

    @property
    def model(self) -> CheckedModel:
        return self.scenario.model

    def input_of(self, name: str) -> tuple[object, ...]:
        """Return the input of a set, parameter or random quantity: chunks from Python, or the scenario's statements."""
        return tuple(self.replaced[name]) if name in self.replaced else self.scenario.assignments.get(name, ())

    def names_read(self, name: str, alike: Inputs) -> frozenset[str]:
        """All names that occur in the declaration of something and in the formulas given for it.

        `alike` are earlier inputs in which the same is given for it: their answer is this one.
        """
        if name in alike._reads:
            self._reads[name] = alike._reads[name]
        if name not in self._reads:
            model = self.model
            declared = [m[name] for m in (model.sets, model.params, model.randoms) if name in m]
            self._reads[name] = _names((*declared, *map(_formula, self.scenario.assignments.get(name, ()))), self._all)
        return self._reads[name] - {name}

    @property
    def _all(self) -> Container[str]:
        model = self.model
        return model.sets.keys() | model.params.keys() | model.randoms.keys() | model.lets.keys()

    def names_in_check(self, check: CheckedCheck) -> frozenset[str]:
        """All names that occur in a check of the model."""
        if id(check) not in self._read_by:
            self._read_by[id(check)] = _names(check, self._all)
        return self._read_by[id(check)]


@dataclass(eq=False)
class ReusedValues:
    """Values reused from an earlier instance, decided name by name in the order of dependencies.

    Something holds still when what is given for it is the same, object by object, and everything that its declaration
    and formulas name holds still too. Names are looked for in whatever the checked model holds, so a name that only
    looks like a reference makes something be computed again, never the reverse.
    """

    now: Inputs
    before: Inputs | None = None
    store: ValueStore | None = None
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.before is not None and (
            self.before.model is not self.now.model or self.before.reader is not self.now.reader
        ):
            self.before = None
        elif self.before is not None:
            self.now._read_by.update(self.before._read_by)

    def take_over(self, order: Sequence[str], into: ValueStore) -> None:
        """Reuse the valid sets, parameters and random quantities in the order of dependencies."""
        if self.before is None or self.store is None:
            return
        for name in order:
            if self._same(name):
                _copy(name, self.store.universes, into.universes)
                _copy(name, self.store.sets, into.sets)
                _copy(name, self.store.params, into.params)
                _copy(name, self.store.randoms, into.randoms)
                self.names.add(name)

    def is_unchanged(self, check: CheckedCheck) -> bool:
        """Whether a check reads only reused values, so that its result is unchanged."""
        return self.before is not None and self.now.names_in_check(check) <= self.names

    def _same(self, name: str) -> bool:
        assert self.before is not None
        if (name in self.now.replaced) != (name in self.before.replaced):
            return False
        current, earlier = self.now.input_of(name), self.before.input_of(name)
        if len(current) != len(earlier) or any(a is not b for a, b in zip(current, earlier, strict=True)):
            return False
        return self.now.names_read(name, self.before) <= self.names


def _copy(name: str, earlier: dict[str, T], current: dict[str, T]) -> None:
    """Take over what has been made; what waits in the earlier instance is not made for this."""
    if dict.__contains__(earlier, name):
        current[name] = earlier[name]


def _formula(given: Assignment) -> object:
    """Return the part of a data statement that may refer to names; tables and files have labels and numbers."""
    if isinstance(given, ExpressionAssignment):
        return (given.value, given.subscripts, given.indexing)
    if isinstance(given, ArrayAssignment):
        return given.values
    return given.law if isinstance(given, LawAssignment) else ()


def _names(node: object, known: Container[str]) -> frozenset[str]:
    found: set[str] = set()
    seen: set[int] = set()
    open_: list[object] = [node]
    while open_:
        part = open_.pop()
        if isinstance(part, str):
            if part in known:
                found.add(str(part))
        elif isinstance(part, tuple | list | set | frozenset):
            open_.extend(part)
        elif isinstance(part, Mapping):
            open_.extend((*part.keys(), *part.values()))
        elif isinstance(part, Struct) and id(part) not in seen:
            seen.add(id(part))
            open_.extend(getattr(part, name) for name in part.__struct_fields__ if name not in _NO_INPUTS)
    return frozenset(found)
