"""Classes of elements with equal numbers in everything that the problem reads."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.interchangeable.generic import Obstacle, names_read_by_decisions
from gpusched_dsl.ir.arrays import Codes, numbered_by_first, unique
from gpusched_dsl.ir.domains import Domain, Packing, ProductDomain, Universe
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.source import Span


class Classes(Struct, frozen=True, eq=False):
    """A partition of the elements of a set: `of[code]` is the class of an element.

    Classes are numbered by their first element; `first` holds that code, `sizes` how many elements each has. `reasons`
    names the data that distinguish elements, in the order of their use.
    """

    of: Codes
    reasons: tuple[tuple[str, Span | None], ...] = ()

    @property
    def count(self) -> int:
        return int(self.of.max()) + 1 if len(self.of) else 0

    @property
    def sizes(self) -> Codes:
        return np.bincount(self.of, minlength=self.count).astype(np.int64)

    @property
    def first(self) -> Codes:
        _, first = np.unique(self.of, return_index=True)
        return first.astype(np.int64)

    def members(self) -> tuple[Codes, Codes]:
        """Return all codes, class by class in ascending order, and the start of each class (with the end last)."""
        order = np.argsort(self.of, kind="stable").astype(np.int64)
        return order, np.concatenate(([0], np.cumsum(self.sizes)))


def classes_of(model: CheckedModel, store: ValueStore, root: str) -> Classes:
    """The coarsest classes within which every parameter and set that the problem reads is the same for all elements.

    Raises Obstacle if the text distinguishes elements of the set, or data relate them to each other.
    """
    reading, universe = names_read_by_decisions(model, root), store.universes[root]
    of = np.zeros(len(universe.labels), dtype=np.int64)
    because: list[tuple[str, Span | None]] = []
    for name, span in reading.randoms.items():
        if _places(store.randoms[name].domain, universe):
            raise Obstacle(f"the random quantity `{name}` has a separate value for each element", span)
    domains: dict[str, Domain] = {name: store.params[name].domain for name in reading.params}
    domains |= {name: store.sets[name] for name in reading.sets if name in store.sets}
    spans = {**reading.params, **reading.sets}
    for name, domain in domains.items():
        if len(_places(domain, universe)) > 1:
            raise Obstacle(f"`{name}` relates elements to each other", spans[name])
    for name in sorted(domains, key=lambda n: domains[n].size):  # small ones may tell all apart
        domain = domains[name]
        if len(of) and int(of.max()) + 1 == len(of):
            break  # all are in different classes already
        places = _places(domain, universe)
        if not places:
            continue
        values = store.params[name].values if name in reading.params else None
        if values is None and domain.arity == 1 and domain.size == len(universe.labels):
            continue  # the whole set
        finer = split_by_entries(of, domain, places[0], values)
        if int(finer.max(initial=0)) > int(of.max(initial=0)):
            because.append((name, spans[name]))
            of = finer
    return Classes(of, tuple(because))


def _places(domain: Domain, universe: Universe) -> list[int]:
    return [at for at, component in enumerate(domain.components) if component is universe]


def split_by_entries(of: Codes, domain: Domain, at: int, values: np.ndarray | None) -> Codes:
    """The classes split so that all elements of a class have the same entries in a table.

    Elements with as many entries lie as equal rows of an array (entries sorted by their other keys), and are told apart
    by those rows.
    """
    table = _table_by_element(domain, at, values)
    if table is not None and len(table) == len(of):
        return _in_order(of, distinct_rows(table)[1])
    columns = domain.columns()
    element = columns[at]
    entries = np.zeros(len(of), dtype=np.int64)  # which set of entries an element has
    if domain.arity == 1:  # at most one entry each
        entries[element] = 1 if values is None else 1 + _number_values(values)
        return _in_order(of, entries)
    others = tuple(c for place, c in enumerate(columns) if place != at)
    key = Packing.of(others).keys(others) if others else np.zeros(domain.size, dtype=np.int64)
    value = np.zeros(domain.size, dtype=np.int64) if values is None else _number_values(values)
    order = np.lexsort((key, element))
    key, value = key[order], value[order]
    counts = np.bincount(element, minlength=len(of))
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
    known = 0
    for count in unique(counts).tolist():
        elements = np.flatnonzero(counts == count)
        rows = starts[elements][:, None] + np.arange(count)
        table = np.concatenate((key[rows], value[rows]), axis=1)
        entries[elements] = known + distinct_rows(table)[1]
        known += len(elements)
    return _in_order(of, entries)


def _table_by_element(domain: Domain, at: int, values: np.ndarray | None) -> np.ndarray | None:
    """A row of numbers for each element, where a table has all combinations of several indices; None where not."""
    if not isinstance(domain, ProductDomain) or any(factor.arity != 1 for factor in domain.factors):
        return None
    own = domain.factors[at]
    if (
        not domain.size
        or values is None
        or values.dtype.kind != "f"
        or not (own.columns()[0] == np.arange(own.size)).all()
    ):
        return None
    plain = values.reshape([factor.size for factor in domain.factors]) + 0.0  # 0.0: -0.0 has other bytes
    return np.moveaxis(plain, at, 0).reshape(own.size, -1)


def _number_values(values: np.ndarray) -> Codes:
    """Equal values by equal numbers."""
    _, numbers = np.unique(values, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64)


def _in_order(of: Codes, entries: Codes) -> Codes:
    """Equal pairs by equal numbers, numbered by first occurrence; both are below a few times the number of pairs."""
    return numbered_by_first(of * (int(entries.max(initial=0)) + 1) + entries)[1]


def distinct_rows(rows: np.ndarray) -> tuple[Codes, Codes]:
    """The first row of each kind, and the number of the kind of every row.

    Rows are compared as bytes: `np.unique` along an axis makes a record type with a field per column, which takes
    longer than the sorting.
    """
    plain = np.ascontiguousarray(rows)
    if not plain.size:
        return np.zeros(min(len(plain), 1), dtype=np.int64), np.zeros(len(plain), dtype=np.int64)
    whole = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).reshape(-1)
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    return first.astype(np.int64), which.reshape(-1).astype(np.int64)
