"""Keeps the results of the checks of single statements, for the next check of a model after an edit.

A result depends on its statement, as an object, and on the names that its check looked up. If neither has changed since
the last check of the model, the result is taken over. So what depends on an edited declaration is checked again, and
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct, field

from gpusched_dsl.language import tree
from gpusched_dsl.language.checking.dependencies import NamedPlaces, Ordered
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
_MISSING = object()


class Reads(Struct):
    """The names that a check looked up; `all_names` if it looked at all of them, as a suggestion does."""

    names: set[str] = field(default_factory=set)
    all_names: bool = False


class TrackedNames(dict[str, V]):
    """A table of names that remembers which ones were looked up."""

    def __init__(self, names: Mapping[str, V], memo: StatementMemo) -> None:
        super().__init__(names)
        self._memo = memo

    def __getitem__(self, name: str) -> V:
        self._memo.reads.names.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._memo.reads.names.add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self._memo.reads.names.add(str(name))
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self._memo.reads.all_names = True
        return super().__iter__()

    def __len__(self) -> int:
        self._memo.reads.all_names = True
        return super().__len__()

    def keys(self) -> Any:
        self._memo.reads.all_names = True
        return super().keys()

    def values(self) -> Any:
        self._memo.reads.all_names = True
        return super().values()

    def items(self) -> Any:
        self._memo.reads.all_names = True
        return super().items()


class _Entry(Struct, frozen=True):
    """One result with its diagnostics; `statement` is kept so that no other object gets its identity."""

    statement: tree.Node
    names: frozenset[str]
    all_names: bool
    result: Any
    diagnostics: tuple[Diagnostic, ...]


class StatementMemo:
    """The results of one model under some choices of its options."""

    def __init__(self) -> None:
        self.reads = Reads()
        self._before: dict[tuple[int, str], _Entry] = {}
        self._now: dict[tuple[int, str], _Entry] = {}
        self._needed_before: dict[int, tuple[tree.Node, NamedPlaces]] = {}
        self._needed_now: dict[int, tuple[tree.Node, NamedPlaces]] = {}
        self._names: Mapping[str, object] = {}
        self._changed: set[str] = set()

    def names(self, declaration: Ordered, read: Callable[[Ordered], NamedPlaces]) -> NamedPlaces:
        """The names in a declaration, which are read once; asked before `begin`."""
        known = self._needed_before.get(id(declaration)) or (declaration, read(declaration))
        self._needed_now[id(declaration)] = known
        return known[1]

    def begin(self, names: Mapping[str, object]) -> None:
        """Start a check; `names` are all names with what is known of them before it."""
        self._needed_before, self._needed_now = self._needed_now, {}
        self._before, self._now = self._now, {}
        keys = self._names.keys() | names.keys()
        self._changed = {k for k in keys if self._names.get(k, _MISSING) != names.get(k, _MISSING)}
        self._names = dict(names)

    def check(
        self,
        statement: tree.Node,
        step: str,
        diagnostics: Diagnostics,
        run: Callable[[Diagnostics], T],
        declares: str | None = None,
    ) -> T:
        """The result of `run`, or that of the last check; its diagnostics are added in both cases.

        `declares` is the name whose meaning is the result: if the result is another object, the name has changed.
        """
        key = id(statement), step
        entry = self._before.get(key)
        if entry is None or not self._holds(entry):
            before, self.reads = self.reads, Reads()
            found = Diagnostics()
            result = run(found)
            own, self.reads = self.reads, before
            if declares is not None and (entry is None or entry.result is not result):
                self._changed.add(declares)
            entry = _Entry(statement, frozenset(own.names), own.all_names, result, tuple(found))
        self._now[key] = entry
        diagnostics.extend(entry.diagnostics)
        checked: T = entry.result
        return checked

    def _holds(self, entry: _Entry) -> bool:
        return entry.names.isdisjoint(self._changed) and not (entry.all_names and self._changed)
