"""Whether tuples are in a derived set that has not been made: by its formula, for these tuples alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.on_demand import OnDemand
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.language.checked import ComprehensionSet, IndexRef, IndexVar, NamedSet, SetOperation, TypedSet

MOST_BY_FORMULA = 10_000  # tuples


def waits(ev: BaseEvaluator, expr: TypedSet) -> bool:
    """Whether an expression names a set that is made when it is first read, and has not been."""
    sets = ev.store.sets
    return isinstance(expr, NamedSet) and isinstance(sets, OnDemand) and sets.waits(expr.name)


def contains_by_formula(ev: BaseEvaluator, expr: TypedSet, codes: Sequence[Codes]) -> Bools | None:
    """Whether each tuple is in the set; None if its formula does not say so of one tuple."""
    match expr:
        case NamedSet():
            if not waits(ev, expr):
                return ev.domain(expr).locate(codes) >= 0
            declared = ev.model.sets[expr.name]
            if declared.value is None or declared.within is not None or declared.is_indexed:
                return None
            return contains_by_formula(ev, declared.value, codes)
        case SetOperation(op="union" | "inter" | "diff"):
            left, right = (contains_by_formula(ev, side, codes) for side in (expr.left, expr.right))
            if left is None or right is None:
                return None
            return left | right if expr.op == "union" else left & (right if expr.op == "inter" else ~right)
    if type(expr) is ComprehensionSet:
        return _in_comprehension(ev, expr, codes)
    return None


def _in_comprehension(ev: BaseEvaluator, expr: ComprehensionSet, codes: Sequence[Codes]) -> Bools | None:
    """The same of `{ (i, .., 5) : i in I, .. where .. }`: each index is a component, other components are constant."""
    columns: dict[IndexVar, Codes] = {}
    found = np.ones(len(codes[0]), dtype=np.bool_)
    for part, column in zip(expr.element, codes, strict=True):
        if isinstance(part, IndexRef) and part.variable not in columns:
            columns[part.variable] = column
        elif free_variables(part):
            return None
        else:
            found &= column == ev.element_codes(part, EMPTY_FRAME)
    if columns.keys() != frozenset(expr.indexing.variables):
        return None
    rows = np.flatnonzero(found)
    found[rows] = ev.in_index_list(expr.indexing, Frame(found.size, columns).take(rows))
    return found
