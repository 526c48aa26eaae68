"""Lower bounds on the number of entries of an expression, from set sizes alone, before any row is built."""

from __future__ import annotations

from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.sets import Sets
from gpusched_dsl.language.checked import IntegerRange, LetRef, Reduction, TypedExpr, TypedIndexing, VariableRef


def entries_at_least(sets: Sets, expr: TypedExpr, rows: int) -> int:
    """A lower bound on the matrix entries of `expr` over `rows` rows.

    Sums without a condition count exactly when their sets do not depend on other indices; dependent ranges count one
    element a row, and a sum with a condition counts nothing, since the condition may exclude everything.
    """
    if not expr.decision:
        return 0
    if isinstance(expr, VariableRef):
        return rows
    if isinstance(expr, LetRef):
        return entries_at_least(sets, sets.model.lets[expr.name].value, rows)
    if isinstance(expr, Reduction):
        return entries_at_least(sets, expr.body, rows * _combinations(sets, expr.indexing))
    parts = (getattr(expr, name) for name in expr.__struct_fields__)
    exprs = [c for part in parts for c in (part if isinstance(part, tuple) else (part,)) if isinstance(c, TypedExpr)]
    return sum(entries_at_least(sets, part, rows) for part in exprs)


def _combinations(sets: Sets, indexing: TypedIndexing) -> int:
    if indexing.conditions:
        return 0
    product = 1
    for iterator in indexing.iterators:
        if not free_variables(iterator.domain):
            product *= sets.domain(iterator.domain).size
        elif not isinstance(iterator.domain, IntegerRange):
            return 0
    return product
