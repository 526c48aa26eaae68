"""Sets that depend on other indices: a set of its own for every row of a frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.frames import Frame, ranges
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.store import MISSING
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import Packing
from gpusched_dsl.language.checked import (
    ComprehensionSet,
    IndexedSetRef,
    IntegerRange,
    LiteralSet,
    NamedSet,
    SetOperation,
    SliceSet,
    TypedExpr,
    TypedSet,
)

Grown = tuple[Codes, tuple[Codes, ...]]  # for each element the row of the frame it belongs to, and its components


def elements(ev: BaseEvaluator, expr: TypedSet, frame: Frame) -> Grown:
    """The distinct elements of the set of every row, row by row, in the order of the set."""
    if not free_variables(expr):
        domain = ev.domain(expr)
        ev.budget.frame(frame.size * domain.size, domain.arity, expr.span, "this set")
        parent = np.repeat(np.arange(frame.size, dtype=np.int64), domain.size)
        return parent, tuple(np.tile(c, frame.size) for c in domain.columns())
    match expr:
        case IndexedSetRef():
            return indexed_elements(ev, expr, frame)
        case IntegerRange():
            low, high, step = range_ends(ev, expr, frame)
            return _range(ev, expr, frame, low, high, step)
        case SliceSet():
            return slice_rows(ev, expr, frame)
        case ComprehensionSet():
            grown = ev.expand(frame, expr.indexing, expr.span)
            return _distinct(grown.parents(), tuple(ev.element_codes(e, grown.frame) for e in expr.element))
        case LiteralSet():
            return _literal(ev, expr, frame)
        case SetOperation(op="union"):
            left, right = elements(ev, expr.left, frame), elements(ev, expr.right, frame)
            parent = np.concatenate((left[0], right[0]))
            order = np.argsort(parent, kind="stable")
            both = tuple(np.concatenate(pair)[order] for pair in zip(left[1], right[1], strict=True))
            return _distinct(parent[order], both)
        case SetOperation(op="cross"):
            outer, left_columns = elements(ev, expr.left, frame)
            inner, right_columns = elements(ev, expr.right, frame.take(outer))
            return outer[inner], (*(c[inner] for c in left_columns), *right_columns)
        case SetOperation():
            parent, columns = elements(ev, expr.left, frame)
            inside = ev.contains(expr.right, columns, frame.take(parent))
            keep = np.flatnonzero(inside if expr.op == "inter" else ~inside)
            return parent[keep], tuple(c[keep] for c in columns)
    raise AssertionError(f"{type(expr).__name__} depends on no index")


def contains(ev: BaseEvaluator, expr: TypedSet, codes: Sequence[Codes], frame: Frame) -> Bools:
    """Whether the tuple of each row is in the set of that row."""
    match expr:
        case IndexedSetRef():
            return ev.tuples_of(expr).locate((*ev.set_index(expr, frame), *codes)) >= 0
        case IntegerRange():
            low, high, step = range_ends(ev, expr, frame)
            inside: Bools = (codes[0] >= low) & (codes[0] <= high)
            return inside if expr.step is None else inside & ((codes[0] - low) % step == 0)
        case SetOperation(op="cross"):
            arity = len(expr.left.types)
            return ev.contains(expr.left, codes[:arity], frame) & ev.contains(expr.right, codes[arity:], frame)
        case SetOperation():
            left, right = ev.contains(expr.left, codes, frame), ev.contains(expr.right, codes, frame)
            return left | right if expr.op == "union" else left & (right if expr.op == "inter" else ~right)
        case LiteralSet():
            found = np.zeros(frame.size, dtype=bool)
            for row in expr.rows:
                found |= _agree(codes, tuple(ev.codes(e, frame) for e in row))
            return found
        case SliceSet():
            return ev.contains(expr.domain, complete_codes(ev, expr, codes, frame), frame)
        case ComprehensionSet():
            parent, columns = elements(ev, expr, frame)
            hit = parent[_agree(tuple(c[parent] for c in codes), columns)]
            return np.bincount(hit, minlength=frame.size) > 0
    assert not isinstance(expr, NamedSet)
    raise AssertionError(f"{type(expr).__name__} depends on no index")


def indexed_elements(ev: BaseEvaluator, expr: IndexedSetRef, frame: Frame) -> Grown:
    """The elements of an indexed set at the index of every row: a join with its tuples."""
    keys = ev.set_index(expr, frame)
    domain = ev.tuples_of(expr)
    index = ev.join_index(domain, tuple(range(len(keys))))
    counts, starts = index.match(keys)
    ev.budget.frame(int(counts.sum()), domain.arity, expr.span, "this set")
    rows = index.rows(counts, starts)
    parent = np.repeat(np.arange(frame.size, dtype=np.int64), counts)
    return parent, tuple(column[rows] for column in domain.columns()[len(keys) :])


def range_ends(ev: BaseEvaluator, expr: IntegerRange, frame: Frame) -> tuple[Codes, Codes, Codes | int]:
    """First and last number of every row, and the step; raises DiagnosticError (GSM3007)."""
    step = 1 if expr.step is None else ev.integer(expr.step, frame)
    if expr.step is not None:
        message = "the step of a range must be positive"
        ev.refuse_where(np.less_equal(step, 0), "GSM3007", message, expr.step, frame, "zero or less")
    return _end(ev, expr.low, frame), _end(ev, expr.high, frame), step


def _end(ev: BaseEvaluator, expr: TypedExpr, frame: Frame) -> Codes:
    codes = np.broadcast_to(ev.codes(expr, frame), (frame.size,))
    ev.refuse_where(codes == MISSING, "GSM3007", "a range needs integers", expr, frame, "not an integer")
    return codes


def _range(ev: BaseEvaluator, expr: TypedSet, frame: Frame, low: Codes, high: Codes, step: Codes | int) -> Grown:
    counts = np.maximum(0, (high - low) // step + 1)
    ev.budget.frame(int(counts.sum()), 1, expr.span, "this set")
    steps = step if isinstance(step, int) else np.repeat(step, counts)
    parent = np.repeat(np.arange(frame.size, dtype=np.int64), counts)
    return parent, (np.repeat(low, counts) + steps * ranges(counts),)


def complete_codes(ev: BaseEvaluator, expr: SliceSet, codes: Sequence[Codes], frame: Frame) -> tuple[Codes, ...]:
    """The codes of all components of a sliced set, from those of the free ones."""
    free = iter(codes)
    return tuple(
        next(free) if fixed is None else np.broadcast_to(ev.codes(fixed, frame), (frame.size,)) for fixed in expr.fixed
    )


def slice_rows(ev: BaseEvaluator, expr: SliceSet, frame: Frame) -> Grown:
    """The free components of the tuples that agree with the fixed ones, row by row."""
    fixed = {at: np.broadcast_to(ev.codes(e, frame), (frame.size,)) for at, e in enumerate(expr.fixed) if e is not None}
    if free_variables(expr.domain):
        parent, columns = elements(ev, expr.domain, frame)
        keep = np.flatnonzero(_agree([columns[at] for at in fixed], [codes[parent] for codes in fixed.values()]))
        return parent[keep], tuple(columns[at][keep] for at in expr.free)
    domain = ev.domain(expr.domain)
    index = ev.join_index(domain, tuple(fixed))
    counts, starts = index.match(tuple(fixed.values()))
    ev.budget.frame(int(counts.sum()), len(expr.free), expr.span, "this set")
    rows = index.rows(counts, starts)
    columns = domain.columns()
    parent = np.repeat(np.arange(frame.size, dtype=np.int64), counts)
    return parent, tuple(columns[at][rows] for at in expr.free)


def _literal(ev: BaseEvaluator, expr: LiteralSet, frame: Frame) -> Grown:
    parent = np.repeat(np.arange(frame.size, dtype=np.int64), len(expr.rows))
    columns = tuple(
        np.stack([ev.element_codes(row[at], frame) for row in expr.rows], axis=1).reshape(-1)
        for at in range(len(expr.types))
    )
    return _distinct(parent, columns)


def _distinct(parent: Codes, columns: tuple[Codes, ...]) -> Grown:
    """Each element once a row, where it occurs first; `parent` does not decrease."""
    keys = Packing.of((parent, *columns)).keys((parent, *columns))
    _, first = np.unique(keys, return_index=True)
    if len(first) == len(parent):
        return parent, columns
    rows = np.sort(first)
    return parent[rows], tuple(c[rows] for c in columns)


def _agree(left: Sequence[Codes], right: Sequence[Codes]) -> Bools:
    result: Bools = np.ones(len(left[0]), dtype=bool)
    for a, b in zip(left, right, strict=True):
        result &= a == b
    return result
