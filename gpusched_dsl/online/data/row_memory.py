"""Keeps the values of derived parameters during a run, and computes them again only for elements with changed data.

A plan for 4,000 present jobs follows an event that concerns one of them. What depends on carried values of the same
job (`own_rows.py`) is kept for the jobs of the complete run, with the carried values that it was computed from.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
from gpusched_dsl.data.ranges import in_range
from gpusched_dsl.ir.arrays import Codes, Floats, Values, spread
from gpusched_dsl.ir.domains import Domain, TupleDomain
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.own_rows import OwnRowsFinder

LARGE = 4096  # values of the complete run; fewer are updated in less time than it takes to ask for them


class RowMemory:
    """What is kept for one base, while parts cut the same root sets and the same parameters are carried."""

    def __init__(
        self,
        model: CheckedModel,
        store: ValueStore,
        limits: MemoryLimits,
        given: Container[str],
        carried: Container[str],
        roots: Container[str],
    ) -> None:
        found = OwnRowsFinder(model, given, carried, roots)
        self.model, self.rows, self.carried_places = model, found.found, found.carried_places
        kept = [*self.carried_places, *(name for name, rows in self.rows.items() if rows.reads)]
        own = {name: Param(store.params[name].domain, store.params[name].values.copy()) for name in kept}
        self.store = ValueStore(store.universes, store.sets, store.params | own, store.randoms, calendar=store.calendar)
        self.evaluator = Evaluator(model, self.store, limits)
        # Of each element: whether the values kept are those for the carried values that are kept.
        sizes = {name: len(store.universes[rows.root].labels) for name, rows in self.rows.items()}
        self.valid = {name: np.ones(size, dtype=np.bool_) for name, size in sizes.items()}
        self.parts = 0

    def in_part(self, part: InstanceView) -> PartMemory:
        """Return the interface of one instance to what is kept; those of earlier instances keep nothing any more."""
        self.parts += 1
        return PartMemory(self, part, self.parts, {})


class PartMemory(Struct, eq=False):
    """The kept values in one part; `changed` counts the elements for which values changed with this part."""

    memory: RowMemory
    part: InstanceView
    number: int
    changed: dict[str, int]

    @property
    def names(self) -> Container[str]:
        """The derived parameters whose values are kept."""
        return self.memory.rows

    def compared(self, carried: Mapping[str, KnownValues]) -> dict[str, KnownValues]:
        """Return carried values that are compared with the earlier ones once they are made."""
        places = self.memory.carried_places
        return {name: KnownValues(_Comparison(self, name, v)) if name in places else v for name, v in carried.items()}

    def note(self, name: str, domain: Domain, values: Values) -> None:
        """Keep the values of a carried parameter; what was computed from other values is no longer valid."""
        memory, known = self.memory, self.memory.store.params[name]
        at = self.part.rows(domain, known.domain) if domain.arity else np.zeros(1, dtype=np.int64)
        differ = known.values[at] != values
        known.values[at] = values
        place = memory.carried_places[name]
        changed = None if place is None else known.domain.columns()[place][at[differ]]
        for reader, rows in memory.rows.items():
            if name in rows.reads and differ.any():
                memory.valid[reader][slice(None) if changed is None else changed] = False
                count = len(memory.valid[reader]) if changed is None else len(changed)
                self.changed[reader] = max(self.changed.get(reader, 0), count)

    def values(self, name: str, domain: Domain) -> Floats | None:
        """The values over the domain in the part; None where the usual way has to compute all of them.

        It does so if most of them are stale, if some are not finite or break a bound, to report them, and for readers
        of an instance that is not the latest one.
        """
        if not self._is_latest or not self._update(name):
            return None
        known = self.memory.store.params[name]
        found: Floats = self.part.values_on(domain, known.domain, known.values)
        return found

    def _update(self, name: str) -> bool:
        """Compute what is stale, after what it reads; return whether it could be computed and was little."""
        memory, rows, elements = self.memory, self.memory.rows[name], self._elements(name)
        valid, known = memory.valid[name], memory.store.params[name]
        stale = elements[~valid[elements]]
        if 2 * len(stale) > len(elements):
            return False
        if len(stale):
            if not all(self._update(other) for other in rows.through):
                return False
            of_element = memory.evaluator.join_index(known.domain, (rows.place,))
            changed = of_element.rows(*of_element.match((stale,)))
            fresh = self._compute(name, changed)
            if fresh is None:
                return False
            known.values[changed] = fresh
            valid[stale] = True
        return True

    @property
    def _is_latest(self) -> bool:
        return self.number == self.memory.parts

    def keep(self, name: str, domain: Domain, values: Values) -> None:
        """Keep values that were all computed anew, unless most of them change with every plan."""
        elements = self._elements(name)
        if self._is_latest and self.memory.rows[name].reads and not self.change_often(name):
            known = self.memory.store.params[name]
            known.values[self.part.rows(domain, known.domain)] = values
            self.memory.valid[name][elements] = True

    def may_wait(self, name: str) -> bool:
        """Whether values are updated when they are first read: they are many, or most are others with every plan."""
        return self.memory.store.params[name].domain.size >= LARGE or self.change_often(name)

    def change_often(self, name: str) -> bool:
        """Whether most values of this part are others than before it."""
        return 2 * self.changed.get(name, 0) > len(self._elements(name))

    def _elements(self, name: str) -> Codes:
        return self.part.kept[self.memory.rows[name].root]

    def _compute(self, name: str, at: Codes) -> Floats | None:
        memory, ev = self.memory, self.memory.evaluator
        declared, domain = memory.model.params[name], memory.store.params[name].domain
        frame = ev.domain_frame(declared.indexing, TupleDomain(domain.components, domain.columns_at(at)))
        columns = [frame.columns[v] for v in declared.indexing.variables]
        try:
            with ev.known_places(domain, columns, at):
                values = spread(ev.numbers(memory.rows[name].formula, frame), frame.size)
                limits = [ev.numbers(bound.value, frame) for bound in declared.bounds]
        except DiagnosticError:
            return None
        pairs = zip(declared.bounds, limits, strict=True)
        sound = np.isfinite(values).all() and all(in_range(bound, values, limit).all() for bound, limit in pairs)
        return values if sound else None


class _Comparison(Struct, frozen=True, eq=False):
    part: PartMemory
    name: str
    known: KnownValues

    def __call__(self, domain: Domain) -> Values:
        values = self.known.values(domain)
        self.part.note(self.name, domain, values)
        return values
