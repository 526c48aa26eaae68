"""A problem grounded for one element of every class of interchangeable ones."""

from __future__ import annotations

from collections.abc import Iterator as Iterates

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
from gpusched_dsl.compiling.interchangeable.equivalence_classes import Classes, classes_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.domains import Domain, IntervalDomain, Scalar, TupleDomain, Universe
from gpusched_dsl.ir.problem import Family, Problem, Size
from gpusched_dsl.language.checked import CheckedModel, CheckedSet, Element
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


class Quotient(Struct, frozen=True, eq=False):
    """`problem` has the columns and rows of representatives, `classes.first`, only.

    `column_class` and `row_class` give the class of the element that indexes a column or row, -1 where none does. In
    rows of no element and in objectives the coefficient of a column of class c is that of one element times
    `classes.sizes[c]`: the column stands there for the mean over the class. In rows of an element it is that element's.
    """

    root: str
    universe: Universe
    classes: Classes
    problem: Problem
    column_class: Codes
    row_class: Codes

    @property
    def full_size(self) -> Size:
        """The size of the problem of all elements, which was not grounded."""
        sizes, matrix = self.classes.sizes, self.problem.matrix
        own = self.row_class >= 0
        of_elements = int((np.diff(matrix.starts)[own] * sizes[self.row_class[own]]).sum())
        shared = self.column_class[matrix.columns[~own[matrix.row_of]]]
        return Size(
            _count(self.column_class, sizes),
            _count(self.column_class[self.problem.integer], sizes),
            _count(self.row_class, sizes),
            of_elements + _count(shared, sizes),
        )


def _count(kinds: Codes, sizes: Codes) -> int:
    """Count elements: as many as a class has, one where the class is -1."""
    return int(np.where(kinds >= 0, sizes[np.maximum(kinds, 0)], 1).sum())


def candidates(model: CheckedModel) -> Iterates[CheckedSet]:
    """Return the sets with possibly interchangeable elements that index decisions; declared ones first."""
    roots = {v.type.root for x in model.variables.values() for v in x.indexing.variables if isinstance(v.type, Element)}
    found = [s for n, s in model.sets.items() if n in roots and s.root == n and not s.ordered]
    yield from sorted(found, key=lambda s: not s.identical)


def refuse_contradictions(model: CheckedModel, store: ValueStore) -> None:
    """Raise DiagnosticError (GSM3013) if data distinguish elements that are declared identical."""
    found: list[Diagnostic] = []
    for declared in model.sets.values():
        if declared.identical and declared.name in store.universes and declared.root == declared.name:
            try:
                classes = classes_of(model, store, declared.name)
            except Obstacle:
                continue  # not usable, but no contradiction of the data: `explain` reports it
            stated = np.zeros(len(classes.of), dtype=np.int64)
            if declared.identical_by is not None:
                stated = np.unique(store.params[declared.identical_by].values, return_inverse=True)[1].reshape(-1)
            order = np.lexsort((classes.of, stated))
            split = np.flatnonzero((np.diff(stated[order]) == 0) & (np.diff(classes.of[order]) != 0))
            if len(split):
                labels = store.universes[declared.name].labels
                first = int(split[0])
                found.append(_contradiction(declared, classes, labels[order[first]], labels[order[first + 1]]))
    if found:
        raise DiagnosticError(found)


def _contradiction(declared: CheckedSet, classes: Classes, one: Scalar, other: Scalar) -> Diagnostic:
    where = f" of the same `{declared.identical_by}`" if declared.identical_by else ""
    names = " or ".join(f"`{n}`" for n, _ in classes.reasons if n != declared.identical_by)
    return Diagnostic(
        "GSM3013",
        f"`{declared.name}` is declared `identical`, but `{one}` and `{other}`{where} differ in {names}",
        declared.span,
        "not interchangeable with these data",
        help="remove `identical` (elements with equal data are detected anyway), or give them equal data",
    )


def quotient(model: CheckedModel, store: ValueStore, root: str, classes: Classes, limits: MemoryLimits) -> Quotient:
    """Ground `model` for one element of every class; raise Obstacle and the errors of `ground`."""
    from gpusched_dsl.compiling.interchangeable.orbit_representatives import MEMBERS, REPRESENTATIVES, Representing

    universe = store.universes[root]
    small = Representing(model, root).run()
    everything = IntervalDomain(0, len(universe.labels) - 1, component=universe)
    members = classes.sizes[classes.of].astype(np.float64)
    own = structs.replace(
        store,
        sets=store.sets | {REPRESENTATIVES: TupleDomain((universe,), (classes.first,))},
        params=store.params | {MEMBERS: Param(everything, members)},
        variables={},
    )
    problem = ground(small, own, limits)
    return Quotient(
        root,
        universe,
        classes,
        problem,
        _classes(problem.column_families, problem.columns, universe, classes),
        _classes(problem.constraints, problem.rows, universe, classes),
    )


def place_of(domain: Domain, universe: Universe) -> int | None:
    """Which component of index tuples is an element of `universe`."""
    return next((at for at, component in enumerate(domain.components) if component is universe), None)


def _classes(families: tuple[Family, ...], count: int, universe: Universe, classes: Classes) -> Codes:
    kinds = np.full(count, -1, dtype=np.int64)
    for family in families:
        at = place_of(family.domain, universe)
        if at is not None:
            kinds[family.slice] = classes.of[family.domain.columns()[at]]
    return kinds
