"""Bases with other elements: copies of elements of a root set, and sets of tuples with fewer rows."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView, LawSlice, ParamSlice, Ready, SetSlice
from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.compiling.evaluation.store import Param, RandomLaws
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import Domain, IntervalDomain, TupleDomain, Universe
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.updates import new_labels, rebuild


def with_copies(base: Base, root: str, codes: Codes) -> Base:
    """Return the base with a copy of each of these elements of a root set, in this order, after all others.

    Copies have the values of their originals, and labels of their own. Raises ValueError for a set or parameter of
    pairs of such elements, and DiagnosticError as a build does.
    """
    store, model = base.store, base.model
    universe = store.universes[root]
    grown = Universe(
        root, (*universe.labels, *new_labels(universe, [universe.labels[code] for code in codes.tolist()]))
    )
    whole = InstanceView({**store.universes, root: grown}, {})
    ready: dict[str, Ready] = {}
    for name in model.data_order:
        if name not in base.input_names:
            continue
        if name in model.sets and model.sets[name].root == name:
            ready[name] = grown if name == root else store.universes[name]
        elif name in model.sets:
            ready[name] = SetSlice(_grown_domain(store.sets[name], grown, codes)[0], whole)
        elif name in model.params:
            param = store.params[name]
            domain, rows = _grown_domain(param.domain, grown, codes)
            ready[name] = ParamSlice(model.params[name], Param(domain, param.values[rows]), whole)
        else:
            laws = store.randoms[name]
            domain, rows = _grown_domain(laws.domain, grown, codes)
            ready[name] = LawSlice(RandomLaws(domain, laws.laws, laws.which[rows]), whole)
    return rebuild(base, ready)


def with_rows(base: Base, name: str, kept: Bools) -> Base:
    """Return the base with these elements of a set of tuples only. Raises DiagnosticError as a build does."""
    whole = InstanceView(base.store.universes, {})
    ready: dict[str, Ready] = {n: base.given(n, whole) for n in base.model.data_order if n in base.input_names}
    domain = base.store.sets[name]
    ready[name] = SetSlice(TupleDomain(domain.components, tuple(column[kept] for column in domain.columns())), whole)
    return rebuild(base, ready)


def _grown_domain(domain: Domain, universe: Universe, codes: Codes) -> tuple[Domain, Codes]:
    """Return a domain with copies of the rows of some elements, and the original row of each of its rows."""
    at = [i for i, c in enumerate(domain.components) if c is not None and c.name == universe.name]
    every = np.arange(domain.size if domain.arity else 1, dtype=np.int64)
    if not at:
        return domain, every
    if len(at) > 1:
        raise ValueError(f"data have pairs of elements of `{universe.name}`")
    first = len(universe.labels) - len(codes)
    columns, own = domain.columns(), domain.columns()[at[0]]
    order = np.argsort(own, kind="stable")
    low = np.searchsorted(own[order], codes)
    counts = np.searchsorted(own[order], codes, side="right") - low
    rows = order[np.repeat(low, counts) + ranges(counts)]
    if domain.arity == 1 and domain.size == first and (own == every).all():
        return IntervalDomain(0, len(universe.labels) - 1, 1, universe), np.concatenate((every, rows))
    copies = np.repeat(first + np.arange(len(codes), dtype=np.int64), counts)
    added = [copies if i == at[0] else column[rows] for i, column in enumerate(columns)]
    joined = tuple(np.concatenate(pair) for pair in zip(columns, added, strict=True))
    components = tuple(universe if i == at[0] else c for i, c in enumerate(domain.components))
    return TupleDomain(components, joined), np.concatenate((every, rows))
