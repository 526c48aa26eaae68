"""Where the body of a sum can be nonzero: at the elements of its sparse variables.

    var x[j in J, n in N where kind[j] == type[n]];    sum[n in N] cost[j, n] * x[j, n]

`x` reads 0 where its condition, its set of tuples, or a given plan leaves it out. A sum then needs only the rows at
elements of `x`: `joins.py` joins these instead of visiting the full product. This is valid where a row without `x` adds
0 and has no error, which `possible_values.py` proves for the data of the body and of the index list. Otherwise the sum
visits the full product.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.frames import Frame, JoinIndex, ranges
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.zero_reads import has_tuple_set
from gpusched_dsl.ir.arrays import Codes, spread, unique
from gpusched_dsl.ir.domains import Domain, Packing
from gpusched_dsl.language.checked import (
    Arithmetic,
    Constant,
    Fallback,
    IfThenElse,
    IndexRef,
    IndexVar,
    Iterator,
    LetRef,
    Negate,
    Reduction,
    Shift,
    TypedExpr,
    TypedIndexing,
    VariableRef,
    has_decided_subscripts,
)
from gpusched_dsl.language.checking.walk import Part, children
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.possible_values import PossibleValues


FEW = 1 << 14  # rows: so many are visited without asking whether they are needed


class SparseReference(Struct, frozen=True, eq=False):
    """A reference that is 0 outside of `domain`; a subscript is None if it is not an expression of the caller."""

    domain: Domain
    subscripts: tuple[TypedExpr | None, ...]


SparseReferences = tuple[SparseReference, ...]


def sparse_references(
    ev: BaseEvaluator, frame: Frame, indexing: TypedIndexing, body: TypedExpr
) -> SparseReferences | None:
    """Return references that are all 0 in a row only if `body` is 0 there; None if a row without them might matter."""
    from gpusched_dsl.compiling.evaluation.possible_values import PossibleValues

    if not body.decision:
        return None
    rows = frame.size * _product_size(ev, indexing)
    if rows <= FEW or rows <= 2 * (_elements(ev, body) or rows):
        return None
    with suppress(DiagnosticError):  # the evaluation of all rows reports it, if it is an error there
        known = PossibleValues(ev, _codes_of(frame, ev.needs(body, *indexing.conditions) | free_variables(indexing)))
        inside = known.inside_list(indexing)
        return None if inside is None else _references(ev, body, inside) or None
    return None


def _elements(ev: BaseEvaluator, part: Part) -> int:
    """How many elements the sparse variables of a body have, each as often as it is named."""
    if isinstance(part, LetRef):
        return _elements(ev, ev.model.lets[part.name].value)
    if isinstance(part, VariableRef):
        return ev.store.variables[part.name].domain.size if _is_sparse(ev, part) else 0
    return sum(_elements(ev, child) for child in children(part))


def _is_sparse(ev: BaseEvaluator, expr: VariableRef) -> bool:
    family = ev.store.variables[expr.name]
    return family.domain is not family.indexed_domain or has_tuple_set(ev.model.variables[expr.name].indexing)


def _product_size(ev: BaseEvaluator, indexing: TypedIndexing) -> int:
    size = 1
    for iterator in indexing.iterators:
        if not free_variables(iterator.domain):
            size *= ev.domain(iterator.domain).size
    return size


def _codes_of(frame: Frame, needed: frozenset[IndexVar]) -> dict[IndexVar, Codes]:
    """The distinct codes of some variables of a frame, on a grid without its complete columns."""
    if frame.axes:
        columns = {v: c for axis in frame.axes for v, c in zip(axis.variables, axis.columns, strict=True)}
        return {v: unique(c) for v, c in columns.items() if v in needed}
    return {v: unique(c) for v, c in frame.columns.items() if v in needed}


def _references(ev: BaseEvaluator, expr: TypedExpr, known: PossibleValues) -> SparseReferences | None:
    if not expr.decision:
        return () if isinstance(expr, Constant) and expr.value == 0 else None
    if has_decided_subscripts(expr):
        return None
    match expr:
        case VariableRef():
            return _of_variable(ev, expr, known, may_be_outside=False)
        case Fallback(reference=VariableRef() as reference) if not has_decided_subscripts(reference):
            found = _of_variable(ev, reference, known, may_be_outside=True)
            return _union(found, _references(ev, expr.fallback, known))
        case Negate():
            return _references(ev, expr.operand, known)
        case Arithmetic(op="+" | "-"):
            return _union(_references(ev, expr.left, known), _references(ev, expr.right, known))
        case Arithmetic(op="*") if not (expr.left.decision and expr.right.decision):
            factor, operand = (expr.right, expr.left) if expr.left.decision else (expr.left, expr.right)
            found = _references(ev, operand, known)
            return found if found is not None and known.sizes(factor) is not None else None
        case Arithmetic(op="/") if not expr.right.decision:
            found = _references(ev, expr.left, known)
            sizes = None if found is None else known.sizes(expr.right)
            return found if sizes is not None and sizes[0] > 0 else None
        case IfThenElse() if not expr.condition.decision:
            found = _union(_references(ev, expr.then, known), _references(ev, expr.otherwise, known))
            return found if found is not None and known.is_known(expr.condition) else None
        case LetRef():
            return _of_let(ev, expr, known)
        case Reduction(op="sum"):
            inside = known.inside_list(expr.indexing)
            return None if inside is None else _references(ev, expr.body, inside)
    return None


def _union(left: SparseReferences | None, right: SparseReferences | None) -> SparseReferences | None:
    return None if left is None or right is None else left + right


def _of_variable(
    ev: BaseEvaluator, expr: VariableRef, known: PossibleValues, *, may_be_outside: bool
) -> SparseReferences | None:
    family, indexing = ev.store.variables[expr.name], ev.model.variables[expr.name].indexing
    if not _is_sparse(ev, expr):
        return None
    if may_be_outside:
        is_safe = all(known.codes(s) is not None for s in expr.subscripts)
    else:
        is_safe = known.exist_or_read_zero(indexing, family.indexed_domain, expr.subscripts)
    return (SparseReference(family.domain, expr.subscripts),) if is_safe else None


def _of_let(ev: BaseEvaluator, expr: LetRef, known: PossibleValues) -> SparseReferences | None:
    let = ev.model.lets[expr.name]
    inside = known.called(let.indexing, expr.subscripts)
    found = None if inside is None else _references(ev, let.value, inside)
    if found is None:
        return None
    of_caller = dict(zip(let.indexing.variables, expr.subscripts, strict=True))
    return tuple(
        structs.replace(f, subscripts=tuple(_subscript_of_caller(s, of_caller) for s in f.subscripts)) for f in found
    )


def _subscript_of_caller(subscript: TypedExpr | None, of_caller: Mapping[IndexVar, TypedExpr]) -> TypedExpr | None:
    """A subscript inside a `let` by the indices of its caller; None if it has another form than `h + 1`."""
    match subscript:
        case IndexRef():
            return of_caller.get(subscript.variable)
        case Shift(operand=first, offset=second) | Arithmetic(left=first, right=second):
            one, other = _subscript_of_caller(first, of_caller), _subscript_of_caller(second, of_caller)
            if one is None or other is None:
                return None
            if isinstance(subscript, Shift):
                return structs.replace(subscript, operand=one, offset=other)
            return structs.replace(subscript, left=one, right=other)
    return subscript if subscript is not None and not free_variables(subscript) else None


# --- the join -------------------------------------------------------------------------------------------------------


class ElementsByRow(Struct, frozen=True, eq=False):
    """For each row of a frame `counts` elements of an iterator, from `starts` on in `places`; they may repeat."""

    counts: Codes
    starts: Codes
    places: Codes

    def rows(self) -> tuple[Codes, Codes]:
        """The rows of the frame, and the place of an element in each: in the order of the full product."""
        parent = np.repeat(np.arange(len(self.counts), dtype=np.int64), self.counts)
        return parent, self.places[np.repeat(self.starts, self.counts) + ranges(self.counts)]


class NeededRows(Struct, frozen=True, eq=False):
    """The rows of a frame grown by an iterator at which at least one reference can be nonzero; `count` at most."""

    parts: tuple[ElementsByRow, ...]
    size: int  # of the set

    @property
    def count(self) -> int:
        return sum(int(part.counts.sum()) for part in self.parts)

    def rows(self) -> tuple[Codes, Codes]:
        """The rows of the frame, and the place of an element in each: in the order of the full product."""
        if len(self.parts) == 1:
            return self.parts[0].rows()
        pairs = [part.rows() for part in self.parts]
        keys = unique(np.concatenate([parent * self.size + place for parent, place in pairs]))
        return keys // self.size, keys % self.size


class SparseBody:
    """The body of a sum over an index list, for rows of a frame; looked at when a product turns out to be large."""

    def __init__(self, ev: BaseEvaluator, frame: Frame, indexing: TypedIndexing, body: TypedExpr) -> None:
        self._ev = ev
        self._of = (frame, indexing, body)

    @cached_property
    def _references(self) -> SparseReferences | None:
        return sparse_references(self._ev, *self._of)

    def needed_rows(self, frame: Frame, iterator: Iterator, domain: Domain, rows: int) -> NeededRows | None:
        """The elements of an iterator at which the body can be nonzero, row by row; None if that saves little.

        `rows` is the number of rows without it.
        """
        if rows <= FEW or self._references is None:
            return None
        if rows <= 2 * sum(reference.domain.size for reference in self._references):
            return None
        elements = Frame(domain.size, dict(zip(iterator.variables, domain.columns(), strict=True)))
        parts: list[ElementsByRow] = []
        for reference in self._references:
            part = _elements_by_row(self._ev, reference, frame, elements)
            if part is None:
                return None
            parts.append(part)
        needed = NeededRows(tuple(parts), domain.size)
        return needed if 2 * needed.count <= rows else None


def _elements_by_row(
    ev: BaseEvaluator, reference: SparseReference, frame: Frame, elements: Frame
) -> ElementsByRow | None:
    """The elements by the tuples of the reference that agree with the bound subscripts of each row."""
    bound, new = frozenset(frame.columns), frozenset(elements.columns)
    on_frame: dict[int, TypedExpr] = {}
    on_elements: dict[int, TypedExpr] = {}
    for at, subscript in enumerate(reference.subscripts):
        if subscript is None:
            continue
        needed = ev.needs(subscript)
        if needed <= bound:
            on_frame[at] = subscript
        elif needed <= new:
            on_elements[at] = subscript
    if not on_elements:
        return None
    columns = reference.domain.columns()
    of_element = JoinIndex(tuple(spread(ev.codes(s, elements), elements.size) for s in on_elements.values()))
    counts, starts = of_element.match(tuple(columns[at] for at in on_elements))
    places = of_element.rows(counts, starts)
    if not on_frame:
        places = unique(places)
        every = np.full(frame.size, len(places), dtype=np.int64)
        return ElementsByRow(every, np.zeros(frame.size, dtype=np.int64), places)
    keys = (*(np.repeat(columns[at], counts) for at in on_frame), places)
    packing = Packing.of(keys)
    _, first = np.unique(packing.keys(keys), return_index=True)  # sorted by the bound subscripts, then by places
    keys = tuple(key[first] for key in keys)
    by_row = JoinIndex(keys[:-1])
    counts, starts = by_row.match(tuple(spread(ev.codes(s, frame), frame.size) for s in on_frame.values()))
    return ElementsByRow(counts, starts, keys[-1])
