"""Where a variable over a set of tuples reads 0: at other tuples of the elements that the set could have.

`var x[Arcs]` with `set Arcs within Nodes cross Nodes` is like `var x[i in Nodes, j in Nodes where (i, j) in Arcs]`. The
elements that a set could have are those of its root sets, and integers within the ranges of its declaration.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.store import is_element
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.language.checked import (
    CheckedModel,
    ComprehensionSet,
    Element,
    IndexedSetRef,
    IndexRef,
    Iterator,
    NamedSet,
    SetOperation,
    TypedIndexing,
    TypedSet,
)

Ends = tuple[int, int]
ANY: Ends = (-(1 << 60), 1 << 60)  # of codes of elements, and of integers without known ends
NONE: Ends = (1 << 60, -(1 << 60))


def has_tuple_set(indexing: TypedIndexing) -> bool:
    return any(is_of_tuples(iterator) for iterator in indexing.iterators)


def is_of_tuples(iterator: Iterator) -> bool:
    """Whether an iterator goes through tuples; an indexed set is a set of tuples of indices and elements."""
    domain = iterator.domain
    return isinstance(domain, IndexedSetRef) or (len(iterator.variables) > 1 and not free_variables(domain))


def reads_zero(ev: BaseEvaluator, model: CheckedModel, indexing: TypedIndexing, columns: Sequence[Codes]) -> Bools:
    """Which index tuples are outside of a set of tuples in an index list, but could be elements of it."""
    size = len(columns[0])
    frame = Frame(size, dict(zip(indexing.variables, columns, strict=True)))
    missed, possible = np.zeros(size, dtype=np.bool_), np.ones(size, dtype=np.bool_)
    for iterator in indexing.iterators:
        own = [frame.columns[v] for v in iterator.variables]
        if is_of_tuples(iterator):
            for codes, (low, high) in zip(own, ends_of(ev, model, iterator.domain), strict=True):
                possible &= is_element(codes) & (low <= codes) & (codes <= high)
        rows = np.flatnonzero(possible & ~missed)  # the sets of the others may depend on missing tuples
        inside = ev.contains(iterator.domain, [codes[rows] for codes in own], frame.take(rows))
        (missed if is_of_tuples(iterator) else possible)[rows[~inside]] = is_of_tuples(iterator)
    return missed & possible


def ends_of(ev: BaseEvaluator, model: CheckedModel, domain: TypedSet) -> tuple[Ends, ...]:
    """For each component of a set the smallest and the largest integer that it could have; ANY for elements."""
    match domain:
        case NamedSet(name=name):
            declared = model.sets[name]
            source = declared.within if declared.within is not None else declared.value
            if source is not None:
                return ends_of(ev, model, source)
        case IndexedSetRef(name=name, subscripts=subscripts):
            declared = model.sets[name]
            source = declared.within if declared.within is not None else declared.value
            if source is not None:
                return ends_of(ev, model, source)[len(subscripts) :]
        case ComprehensionSet():
            return _ends_of_comprehension(ev, model, domain)
        case SetOperation(op="cross"):
            return (*ends_of(ev, model, domain.left), *ends_of(ev, model, domain.right))
        case SetOperation(op="union"):
            both = zip(ends_of(ev, model, domain.left), ends_of(ev, model, domain.right), strict=True)
            return tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in both)
        case SetOperation():
            return ends_of(ev, model, domain.left)
    return _ends_of_elements(ev, domain)


def _ends_of_comprehension(ev: BaseEvaluator, model: CheckedModel, domain: ComprehensionSet) -> tuple[Ends, ...]:
    known: dict[object, Ends] = {}
    for iterator in domain.indexing.iterators:
        if not free_variables(iterator.domain) or isinstance(iterator.domain, IndexedSetRef):
            known.update(zip(iterator.variables, ends_of(ev, model, iterator.domain), strict=True))
    found = [known.get(e.variable) if isinstance(e, IndexRef) else None for e in domain.element]
    if None not in found or free_variables(domain):
        return tuple(ends or ANY for ends in found)
    return tuple(ends or own for ends, own in zip(found, _ends_of_elements(ev, domain), strict=True))


def _ends_of_elements(ev: BaseEvaluator, domain: TypedSet) -> tuple[Ends, ...]:
    if all(isinstance(kind, Element) for kind in domain.types) or free_variables(domain):
        return (ANY,) * len(domain.types)
    columns = ev.domain(domain).columns()
    return tuple(
        ANY if isinstance(kind, Element) else (int(column.min()), int(column.max())) if len(column) else NONE
        for kind, column in zip(domain.types, columns, strict=True)
    )
