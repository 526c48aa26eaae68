"""Extends bases: jobs of events, and changed parameters, as arrays next to the existing ones."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NoReturn

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues, LawSlice, ParamSlice, Ready, SetSlice
from gpusched_dsl.compiling.evaluation.store import Param, RandomLaws, ValueStore
from gpusched_dsl.data.chunks import DataChunk, label_chunk
from gpusched_dsl.ir.arrays import Codes, Values
from gpusched_dsl.ir.distributions.stacked import DistinctLaws
from gpusched_dsl.ir.domains import Component, Domain, IntervalDomain, TupleDomain, Universe
from gpusched_dsl.language.checked import Element, IndexRef, NamedSet, Numeric
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.scenarios.assignments import ExpressionAssignment
from gpusched_dsl.online.data.base import Base

_MOST_INTEGER = 2**62


def with_jobs(base: Base, root: str, replaced: Mapping[str, Sequence[DataChunk]]) -> tuple[Base, int]:
    """The base with the jobs that `replaced` gives (the root set among it), and how many there are now.

    What is not told of them is what the scenario states for all jobs, or the default. Raises DiagnosticError with
    everything that is wrong with them, as a build does.
    """
    new = _build_new_jobs(base, root, replaced).store
    joined = _with_new_jobs(base, root, new, new.universes[root].labels, replaced)
    return joined, len(joined.store.universes[root].labels)


def with_jobs_of(base: Base, root: str, other: Base) -> Base:
    """The base with all jobs of another one after its own, with new labels where these are taken.

    Raises DiagnosticError (GSM7016) where the other data have other elements of another root set.
    """
    universe, new = base.store.universes[root], other.store.universes[root]
    for name, others in other.store.universes.items():
        if name != root and others.labels != base.store.universes[name].labels:
            help = "take from generators with a seed only what belongs to jobs"
            raise DiagnosticError([Diagnostic("GSM7016", f"other seeds draw other elements of `{name}`", help=help)])
    return _with_new_jobs(base, root, other.store, new_labels(universe, new.labels), ())


def new_labels(universe: Universe, labels: Sequence[str | int]) -> list[str | int]:
    """Return a label for each of these that the universe does not have; of copies `a (2)`, or the next numbers."""
    integers = universe.integer_labels
    if integers is not None:
        first = int(integers.max(initial=0)) + 1
        return list(range(first, first + len(labels)))
    taken, found = set(universe.labels), list[str | int]()
    for original in labels:
        number, label = 2, original
        while label in taken:
            label, number = f"{original} ({number})", number + 1
        taken.add(label)
        found.append(label)
    return found


def _with_new_jobs(
    base: Base, root: str, new: ValueStore, labels: Sequence[str | int], replaced: Container[str]
) -> Base:
    """The base with the jobs of a store after its own, by these labels."""
    old = base.store
    universe = Universe(root, (*old.universes[root].labels, *labels))
    first = len(old.universes[root].labels)
    ready: dict[str, Ready] = {}
    whole = InstanceView({**old.universes, root: universe}, {})
    for name in base.model.data_order:
        if name not in base.input_names and name not in replaced:
            continue
        if name in base.model.sets and base.model.sets[name].root == name:
            ready[name] = universe if name == root else old.universes[name]
        elif name in base.model.sets:
            ready[name] = SetSlice(_join(old.sets[name], new.sets[name], root, universe, first), whole)
        elif name in base.model.params:
            ready[name] = ParamSlice(base.model.params[name], _param(name, base, new, universe, first), whole)
        else:
            ready[name] = LawSlice(_laws(old.randoms[name], new.randoms[name], root, universe, first), whole)
    return rebuild(base, ready)


def with_only(base: Base, part: InstanceView) -> Base:
    """The base with only the elements of a part. Raises DiagnosticError as a build does."""
    ready = {name: base.given(name, part) for name in base.model.data_order if name in base.input_names}
    for name, given in ready.items():
        if isinstance(given, LawSlice) and given.full.domain.arity:
            domain = part.slice_domain(given.full.domain)
            laws = given.full.at(domain, part.rows(domain, given.full.domain))
            ready[name] = LawSlice(laws, InstanceView({**part.universes, **part.small}, {}))
    return rebuild(base, ready)


def with_values(base: Base, changes: Mapping[str, Sequence[tuple[tuple[str | int, ...], float | str]]]) -> Base:
    """The base with other values of some parameters at some keys.

    Raises DiagnosticError (GSM5207) for a key that its parameter does not have, and as a build does.
    """
    whole = InstanceView(base.store.universes, {})
    ready: dict[str, Ready] = {n: base._slice(n, whole) for n in base.model.data_order if n in base.input_names}
    for name, pairs in changes.items():
        ready[name] = _change_values(base, name, [key for key, _ in pairs], [value for _, value in pairs])
    return rebuild(base, ready)


def _change_values(
    base: Base, name: str, keys: Sequence[tuple[str | int, ...]], values: Sequence[float | str]
) -> KnownValues:
    """All values of a parameter, with others at some keys; its bounds are checked as for values given at first."""
    param = base.store.params[name]
    components = param.domain.components
    if any(len(key) != len(components) for key in keys):
        key = next(key for key in keys if len(key) != len(components))
        message = f"`{name}` has {len(components)} subscript{'' if len(components) == 1 else 's'}, {len(key)} given"
        _raise(f"{message}: `{', '.join(map(str, key))}`", "write the subscripts of the declaration")
    codes = []
    for at, component in enumerate(components):
        labels = [key[at] for key in keys]
        codes.append(np.array([_code(component, label, name) for label in labels], dtype=np.int64))
    place = param.domain.locate(codes) if components else np.zeros(1, dtype=np.int64)
    if (place < 0).any():
        _refuse(name, keys[int(np.flatnonzero(place < 0)[0])])
    changed: Values = param.values.copy()
    kind = base.model.params[name].type
    if isinstance(kind, Element):
        universe = base.store.universes[kind.root]
        changed[place] = [_code(universe, v, name) for v in values]
    else:
        changed[place] = [_number(v, name, kind) for v in values]
    return KnownValues(lambda domain: changed)


def _number(value: float | str, name: str, kind: object) -> float | str:
    if isinstance(kind, Numeric) and (isinstance(value, bool | str)):
        _raise(f"`{name}` needs a number, `{value}` is not a number", "write a number in the unit of the declaration")
    return value


def _code(component: Component, label: str | int | float, name: str) -> int:
    if component is None:
        if isinstance(label, bool | str) or abs(label) >= _MOST_INTEGER or label != int(label):
            _refuse(name, (label,))
        return int(label)
    code = component.code_of.get(label)  # type: ignore[arg-type]
    if code is None:
        _refuse(name, (label,))
    return code


def _refuse(name: str, key: tuple[str | int | float, ...]) -> NoReturn:
    shown = ", ".join(map(str, key))
    message = f"`{name}` has no value for `{shown}`: it is not an element of its index set"
    _raise(message, "only existing values can change")


def _raise(message: str, help: str) -> NoReturn:
    raise DiagnosticError([Diagnostic("GSM5207", message, help=help)])


def _build_new_jobs(base: Base, root: str, replaced: Mapping[str, Sequence[DataChunk]]) -> Instance:
    """Return the new jobs separately, in the same cluster, with only the given values."""
    model, scenario = base.model, base.instance.scenario
    of_jobs = {n for n, d in model.sets.items() if d.root != n and any(_is(t, root) for t in d.types)}
    for name, declared in model.params.items():
        if any(_is(v.type, root) for i in declared.indexing.iterators for v in i.variables):
            of_jobs.add(name)
    empty = {
        n: [label_chunk([], len(d.types), d.span)]
        for n, d in model.sets.items()
        if d.is_indexed and d.value is None and n in of_jobs and n not in replaced
    }
    replaced = {**empty, **replaced}
    given = {
        name: tuple(
            g for g in givens if name not in of_jobs or (isinstance(g, ExpressionAssignment) and _for_all_keys(g))
        )
        for name, givens in scenario.assignments.items()
        if name not in replaced
    }
    whole = InstanceView(base.store.universes, {})
    ready = {
        name: base._slice(name, whole)
        for name in base.input_names
        if name not in of_jobs and name not in replaced and name in model.data_order and name not in model.randoms
    }
    return build_instance(
        structs.replace(scenario, assignments=given),
        folder=base.instance.reader.folder,
        limits=base.limits,
        replaced=replaced,
        reader=base.instance.reader,
        ready=ready,
        on_demand=True,
    )


def _for_all_keys(given: ExpressionAssignment) -> bool:
    """Whether a statement of the scenario gives a value for every key, so for new jobs too."""
    if given.indexing is None:
        return not given.subscripts
    domains = [iterator.domain for iterator in given.indexing.iterators]
    return all(isinstance(s, IndexRef) for s in given.subscripts) and all(isinstance(d, NamedSet) for d in domains)


def _is(kind: object, root: str) -> bool:
    return isinstance(kind, Element) and kind.root == root


def rebuild(base: Base, ready: Mapping[str, Ready]) -> Base:
    """Return the base with these values in place of the given ones. Raises DiagnosticError as a build does."""
    instance = build_instance(
        structs.replace(base.instance.scenario, assignments={}),
        folder=base.instance.reader.folder,
        limits=base.limits,
        reader=base.instance.reader,
        ready=ready,
        on_demand=True,
    )
    return Base(structs.replace(instance, scenario=base.instance.scenario), base.limits)


def _shift(domain: Domain, root: str, first: int) -> tuple[Codes, ...]:
    """The columns of a domain of new jobs, in codes of all."""
    return tuple(
        column + first if component is not None and component.name == root else column
        for component, column in zip(domain.components, domain.columns(), strict=True)
    )


def _components(domain: Domain, root: str, universe: Universe) -> tuple[Component, ...]:
    return tuple(universe if c is not None and c.name == root else c for c in domain.components)


def _join(old: Domain, new: Domain, root: str, universe: Universe, first: int) -> Domain:
    """Concatenate existing elements and those of new jobs; values without jobs do not change."""
    if not any(c is not None and c.name == root for c in old.components):
        return old
    columns = tuple(np.concatenate(pair) for pair in zip(old.columns(), _shift(new, root, first), strict=True))
    return TupleDomain(_components(old, root, universe), columns)


def _param(name: str, base: Base, new: ValueStore, universe: Universe, first: int) -> Param:
    old, root = base.store.params[name], universe.name
    kind = base.model.params[name].type
    added = new.params[name]
    if not any(c is not None and c.name == root for c in old.domain.components):
        return old
    values = added.values + first if isinstance(kind, Element) and kind.root == root else added.values
    if old.domain.arity == 1:
        every = IntervalDomain(0, len(universe.labels) - 1, 1, universe)
        if old.domain.size == first:
            return Param(every, np.concatenate((old.values, values)))
    return Param(_join(old.domain, added.domain, root, universe, first), np.concatenate((old.values, values)))


def _laws(old: RandomLaws, new: RandomLaws, root: str, universe: Universe, first: int) -> RandomLaws:
    if not any(c is not None and c.name == root for c in old.domain.components):
        return old
    domain = _join(old.domain, new.domain, root, universe, first)
    laws, known = list(old.laws), {law.content: number for number, law in enumerate(old.laws)}
    numbers = np.zeros(len(new.laws), dtype=np.int64)
    for number, law in enumerate(new.laws):  # equal laws stay one, however many jobs come
        same = None if law.content is None else known.get(law.content)
        if same is None:
            same = known[law.content] = len(laws)
            laws.append(law)
        numbers[number] = same
    return RandomLaws(domain, DistinctLaws(laws), np.concatenate((old.which, numbers[new.which])))
