"""More slots for a live run: the set of slots grows, and values beyond the last known slot repeat it.

The set of slots has consecutive numbers. A slot of a parameter is known if the scenario has it, or once an event gives
a value in it. All values in an unknown slot equal those in the last known slot before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues, LawSlice, ParamSlice, Ready, SetSlice
from gpusched_dsl.compiling.evaluation.store import Param, RandomLaws
from gpusched_dsl.ir.arrays import Bools, Codes, Ints
from gpusched_dsl.ir.domains import Domain, IntervalDomain, TupleDomain, Universe
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.updates import rebuild


@dataclass(frozen=True, eq=False)
class KnownSlots:
    """For each parameter that data give by slot: which slots are known. Parameters that a run carries are omitted.

    `before` has the last known slot before the first one, if the run has forgotten slots.
    """

    root: str
    known: Mapping[str, Bools]
    before: Mapping[str, int | str] = field(default_factory=dict)

    @staticmethod
    def of(base: Base, root: str, carried: Iterable[str]) -> KnownSlots:
        """All slots of the data are known."""
        count, left_out = len(base.store.universes[root].labels), frozenset(carried)
        names = (n for n in base.model.data_order if n in base.model.params and n in base.input_names - left_out)
        by_slot = (n for n in names if slot_place(base.store.params[n].domain, root) is not None)
        return KnownSlots(root, {name: np.ones(count, dtype=np.bool_) for name in by_slot})

    def last_known(self, base: Base, slots: Codes) -> dict[str, int | str | None]:
        """Return the parameters with unknown values in some of the slots, with the label of the last known slot."""
        labels = base.store.universes[self.root].labels
        found: dict[str, int | str | None] = {}
        for name, known in self.known.items():
            if not known[slots].all():
                before = np.flatnonzero(known)
                found[name] = labels[int(before[-1])] if len(before) else self.before.get(name)
        return found

    def without(self, base: Base, first: int) -> KnownSlots:
        """Return the known slots of a run that forgets those before `first`."""
        labels, before = base.store.universes[self.root].labels, dict(self.before)
        for name, known in self.known.items():
            passed = np.flatnonzero(known[:first])
            if len(passed):
                before[name] = labels[int(passed[-1])]
        return KnownSlots(self.root, {name: known[first:] for name, known in self.known.items()}, before)


def slot_place(domain: Domain, root: str) -> int | None:
    """Return the first component of a domain that is the set of slots; None without one."""
    return next((at for at, c in enumerate(domain.components) if c is not None and c.name == root), None)


def check_slots(base: Base, root: str, span: Span) -> None:
    """Raise DiagnosticError (GSM5230) if the slots are not consecutive numbers: a live run needs more of them."""
    numbers = base.store.universes[root].integer_labels
    if numbers is not None and len(numbers) and (np.diff(numbers) == 1).all():
        return
    message = f"`{root}` does not consist of consecutive numbers, so a live run cannot add slots to it"
    help = "number the slots in the scenario, such as `0 .. 23`; their times follow from the start of the run"
    raise DiagnosticError([Diagnostic("GSM5230", message, span, help=help)])


def with_slots(base: Base, known: KnownSlots, count: int) -> tuple[Base, KnownSlots]:
    """Return the base with at least `count` slots; values in the new ones repeat those of the last slot.

    Raises DiagnosticError as a build does.
    """
    root = known.root
    universe = base.store.universes[root]
    before = len(universe.labels)
    if count <= before:
        return base, known
    numbers = universe.integer_labels
    assert numbers is not None
    first = int(numbers[-1]) + 1
    more = count - before
    grown = Universe(root, (*universe.labels, *range(first, first + more)))
    whole = InstanceView({**base.store.universes, root: grown}, {})
    ready: dict[str, Ready] = {}
    for name in base.model.data_order:
        if name not in base.input_names:
            continue
        if name in base.model.sets and base.model.sets[name].root == name:
            ready[name] = grown if name == root else base.store.universes[name]
        elif name in base.model.sets:
            ready[name] = SetSlice(_longer(base.store.sets[name], root, grown, before)[0], whole)
        elif name in base.model.params:
            param = base.store.params[name]
            domain, rows = _longer(param.domain, root, grown, before)
            values = param.values if rows is None else param.values[rows]
            ready[name] = ParamSlice(base.model.params[name], Param(domain, values), whole)
        else:
            laws = base.store.randoms[name]
            domain, rows = _longer(laws.domain, root, grown, before)
            which = laws.which if rows is None else laws.which[rows]
            ready[name] = LawSlice(RandomLaws(domain, laws.laws, which), whole)
    unknown = np.zeros(more, dtype=np.bool_)
    more_known = {n: np.concatenate((k, unknown)) for n, k in known.known.items()}
    return rebuild(base, ready), KnownSlots(root, more_known, known.before)


def with_known(base: Base, known: KnownSlots, given: Mapping[str, Iterable[int | str]]) -> tuple[Base, KnownSlots]:
    """Return the base and the known slots after events gave values in slots (labels by parameter).

    Unknown slots after these repeat them. Raises DiagnosticError as a build does.
    """
    universe, flags = base.store.universes[known.root], dict(known.known)
    ready: dict[str, Ready] = {}
    for name, labels in given.items():
        if name not in flags:
            continue
        now = flags[name] = flags[name].copy()
        now[[universe.code_of[label] for label in labels]] = True
        source = np.maximum.accumulate(np.where(now, np.arange(len(now)), 0))
        if now.all():
            continue
        param = base.store.params[name]
        place = slot_place(param.domain, known.root)
        assert place is not None
        columns = list(param.domain.columns())
        columns[place] = source[columns[place]]
        rows = param.domain.locate(tuple(columns))
        kept = np.where(rows >= 0, rows, np.arange(len(rows)))
        ready[name] = KnownValues.of(param.values[kept])
    if not ready:
        return base, KnownSlots(known.root, flags, known.before)
    whole = InstanceView(base.store.universes, {})
    others = {name: base.given(name, whole) for name in base.model.data_order if name in base.input_names}
    return rebuild(base, {**others, **ready}), KnownSlots(known.root, flags, known.before)


def _longer(domain: Domain, root: str, universe: Universe, before: int) -> tuple[Domain, Ints | None]:
    """Return a domain in which the tuples of the last slot also occur with each new slot, in ascending order, and for
    each element the old one with the same values; None if nothing changes.
    """
    place = slot_place(domain, root)
    if place is None:
        return domain, None
    more = len(universe.labels) - before
    if domain.arity == 1 and domain.size == before:
        rows = np.minimum(np.arange(before + more), before - 1)
        return IntervalDomain(0, before + more - 1, 1, universe), rows
    columns = domain.columns()
    last = np.flatnonzero(columns[place] == before - 1)
    rows = np.concatenate((np.arange(domain.size), np.tile(last, more)))
    longer = [column[rows] for column in columns]
    longer[place][domain.size :] = np.repeat(np.arange(before, before + more), len(last))
    order = np.lexsort(longer[::-1])
    components = tuple(universe if c is not None and c.name == root else c for c in domain.components)
    return TupleDomain(components, tuple(column[order] for column in longer)), rows[order]
