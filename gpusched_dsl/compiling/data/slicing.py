"""A part of an instance: some elements of some root sets, and all that is given for them, without reading anything.

The loop plans on jobs that are there, nodes that are up and slots of a window. Their labels stay; their codes are
places among those that are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.compiling.evaluation.store import MISSING, Param, RandomLaws, ValueStore
from gpusched_dsl.ir.arrays import Codes, Values
from gpusched_dsl.ir.domains import Component, Domain, IntervalDomain, TupleDomain, Universe, are_all_within
from gpusched_dsl.language.checked import CheckedParam, Element

_SHORT = 128  # positions per piece below which values are gathered
_LARGE = 4096  # tuples from which copying pieces is faster


@dataclass(frozen=True, eq=False)
class InstanceView:
    """The kept elements of universes: their codes, ascending. All elements of other universes are kept.

    What is left of a universe is the same object as in an `earlier` part that keeps the same of it.
    """

    universes: Mapping[str, Universe]  # those of the whole
    kept: Mapping[str, Codes]
    small: dict[str, Universe] = field(default_factory=dict)
    earlier: InitVar[InstanceView | None] = None
    _place: dict[str, Codes] = field(default_factory=dict)
    _rows: dict[int, tuple[Domain, Domain, Codes | Pieces]] = field(default_factory=dict)  # by identity of what is left

    def __post_init__(self, earlier: InstanceView | None) -> None:
        for root, codes in self.kept.items():
            if earlier is not None and root in earlier.kept and np.array_equal(earlier.kept[root], codes):
                self.small[root], self._place[root] = earlier.small[root], earlier._place[root]
                continue
            universe = self.universes[root]
            labels = tuple(universe.label_array[codes].tolist()) if len(codes) else ()
            self.small[root] = Universe(root, labels)
            place = np.full(len(universe.labels), -1, dtype=np.int64)
            place[codes] = np.arange(len(codes))
            self._place[root] = place

    def is_restricted(self, components: Sequence[Component]) -> bool:
        """Whether some component is of a restricted universe."""
        return any(c is not None and c.name in self.kept for c in components)

    def component(self, component: Component) -> Component:
        return component if component is None else self.small.get(component.name, component)

    def slice_domain(self, full: Domain) -> Domain:
        """Return the elements of a domain with all components kept, in their order."""
        components = full.components
        if (in_pieces := self._slice_in_pieces(full)) is not None:
            return in_pieces
        columns = self.inner_codes(components, full.columns())
        cut = [c for u, c in zip(components, columns, strict=True) if self.is_restricted((u,))]
        rows = np.flatnonzero(np.logical_and.reduce([c >= 0 for c in cut])) if cut else np.arange(full.size)
        left = columns if len(rows) == full.size else tuple(c[rows] for c in columns)
        found = TupleDomain(tuple(self.component(c) for c in components), left)
        self._rows[id(found)] = (found, full, rows)
        return found

    def _slice_in_pieces(self, full: Domain) -> Domain | None:
        """Slice a large domain in which the tuples of each element are neighbours, as those of a job usually are."""
        components = full.components
        restricted = [at for at, component in enumerate(components) if self.is_restricted((component,))]
        if len(restricted) != 1 or full.size < _LARGE or not isinstance(full, TupleDomain):
            return None
        [place] = restricted
        component, starts = components[place], full.starts_by(place)
        if component is None or starts is None:
            return None
        kept = self.kept[component.name]
        pieces = Pieces.of_groups(starts, kept)
        columns = full.columns() if pieces.size == full.size else tuple(map(pieces.take, full.columns()))
        inner = np.repeat(np.arange(len(kept)), np.diff(starts)[kept])
        left = (*columns[:place], inner, *columns[place + 1 :])
        found = TupleDomain(tuple(self.component(c) for c in components), left)
        self._rows[id(found)] = (found, full, pieces)
        return found

    def rows(self, domain: Domain, full: Domain) -> Codes:
        """Return the positions in the full domain of the elements of a domain of the part; -1 for missing ones."""
        found = self._positions(domain, full)
        return found.positions if isinstance(found, Pieces) else found

    def values_on(self, domain: Domain, full: Domain, values: Values) -> Values:
        """Return the values over the full domain for the elements of a domain of the part, as a copy."""
        at = self._positions(domain, full)
        found: Values = at.take(values) if isinstance(at, Pieces) else values[at]
        return found

    def _positions(self, domain: Domain, full: Domain) -> Codes | Pieces:
        _, origin, rows = self._rows.get(id(domain), (None, None, None))
        if origin is full and rows is not None:
            return rows
        if isinstance(full, IntervalDomain) and (full.low, full.step) == (0, 1):
            codes = self._codes_of_root(domain)
            if codes is not None:
                return codes
        return full.locate(self.outer_codes(domain.components, domain.columns()))

    def _codes_of_root(self, domain: Domain) -> Codes | None:
        """Return the codes in the full data of a restricted root set as declared; None for other domains."""
        if not isinstance(domain, IntervalDomain) or domain.component is None or (domain.low, domain.step) != (0, 1):
            return None
        name = domain.component.name
        is_restricted = domain.component is self.small.get(name) and name in self.kept
        return self.kept[name] if is_restricted and domain.size == len(self.kept[name]) else None

    def outer_codes(self, components: Sequence[Component], columns: Sequence[Codes]) -> tuple[Codes, ...]:
        """Convert codes of the part to codes of the full data; codes without an element stay."""
        found = []
        for component, column in zip(components, columns, strict=True):
            if component is None or component.name not in self.kept:
                found.append(column)
            else:
                kept = self.kept[component.name]
                if are_all_within(column, len(kept)):
                    found.append(kept[column])
                    continue
                inside = (column >= 0) & (column < len(kept))
                found.append(np.where(inside, kept[np.where(inside, column, 0)], column) if len(kept) else column)
        return tuple(found)

    def inner_codes(self, components: Sequence[Component], columns: Sequence[Codes]) -> tuple[Codes, ...]:
        """Convert codes of the full data to codes of the part, -1 for removed elements."""
        found = []
        for component, column in zip(components, columns, strict=True):
            if component is None or component.name not in self.kept:
                found.append(column)
            else:
                found.append(self._place[component.name][column])
        return tuple(found)


class SetSlice(Struct, frozen=True, eq=False):
    """The elements of a given set with all components kept, in their order."""

    full: Domain
    part: InstanceView

    def domain(self) -> Domain:
        return self.part.slice_domain(self.full) if self.part.is_restricted(self.full.components) else self.full


class ParamSlice(Struct, frozen=True, eq=False):
    """The values of a given parameter on a part of its domain."""

    declared: CheckedParam
    full: Param
    part: InstanceView

    def values(self, domain: Domain) -> Values:
        if not domain.arity:
            found: Values = self.full.values
        else:
            found = self.part.values_on(domain, self.full.domain, self.full.values)
        kind = self.declared.type
        if isinstance(kind, Element) and kind.root in self.part.kept:
            inner = self.part.inner_codes((self.part.universes[kind.root],), (found,))[0]
            found = np.where(inner >= 0, inner, MISSING)
        return found


class LawSlice(Struct, frozen=True, eq=False):
    """The laws of a random on a part of its domain: the same objects."""

    full: RandomLaws
    part: InstanceView

    def laws(self, domain: Domain) -> RandomLaws:
        if not domain.arity:
            return self.full
        which = self.part.values_on(domain, self.full.domain, self.full.which)
        return RandomLaws(domain, self.full.laws, which)


class KnownValues(Struct, frozen=True, eq=False):
    """Values of a parameter from elsewhere: `make` returns them on the domain of the parameter in the part."""

    make: Callable[[Domain], Values]

    @staticmethod
    def of(values: Values) -> KnownValues:
        """Return values that are already on the domain of the parameter in the part."""
        return KnownValues(lambda domain: values)

    def values(self, domain: Domain) -> Values:
        return self.make(domain)


Ready = Universe | SetSlice | ParamSlice | LawSlice | KnownValues


class KeptRows(Protocol):
    """Values of derived parameters that an earlier instance computed for the same elements."""

    @property
    def names(self) -> Container[str]: ...

    def values(self, name: str, domain: Domain) -> Values | None:
        """The values over the domain of the parameter; None where all of them have to be computed."""

    def keep(self, name: str, domain: Domain, values: Values) -> None:
        """Keep values that were computed."""

    def may_wait(self, name: str) -> bool:
        """Whether values are better updated when they are first read."""


def put(name: str, ready: Ready, store: ValueStore) -> bool:
    """Put a finished set into a store; return False for parameters and distributions, which need their
    domains first.
    """
    if isinstance(ready, Universe):
        store.universes[name] = ready
        store.sets[name] = IntervalDomain(0, len(ready.labels) - 1, 1, ready)
        return True
    if isinstance(ready, SetSlice):
        store.sets[name] = ready.domain()
        return True
    return False


class Pieces(Struct, frozen=True, eq=False, dict=True):
    """Ascending positions `starts[i], ..., stops[i] - 1` of all pieces, none of them empty.

    A piece is copied much faster than its values are gathered.
    """

    starts: Codes
    stops: Codes

    @staticmethod
    def of_groups(starts: Codes, groups: Codes) -> Pieces:
        """Return the positions of some groups, ascending; group g has those from `starts[g]` up to `starts[g + 1]`."""
        first, end = starts[groups], starts[groups + 1]
        filled = first < end
        first, end = first[filled], end[filled]
        is_gap = first[1:] != end[:-1]
        return Pieces(first[np.append(True, is_gap)[: len(first)]], end[np.append(is_gap, True)[: len(end)]])

    @cached_property
    def size(self) -> int:
        return int((self.stops - self.starts).sum())

    @cached_property
    def positions(self) -> Codes:
        counts = self.stops - self.starts
        return np.repeat(self.starts, counts) + ranges(counts)

    def take(self, values: Values) -> Values:
        """Return the values at these positions, as a copy."""
        if self.size < _SHORT * len(self.starts) or not self.size:
            gathered: Values = values[self.positions]
            return gathered
        pieces = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return np.concatenate([values[start:stop] for start, stop in pieces])
