"""Lower bounds on the number of entries of an expression, from set sizes alone, before any row is built."""

from __future__ import annotations

from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.sets import Sets
from gpusched_dsl.compiling.evaluation.zero_reads import is_of_tuples
from gpusched_dsl.language.checked import (
    IndexRef,
    IntegerRange,
    Iterator,
    LetRef,
    Reduction,
    TypedExpr,
    TypedIndexing,
    VariableRef,
)


def entries_at_least(sets: Sets, expr: TypedExpr, indexing: TypedIndexing, rows: int) -> int:
    """A lower bound on the matrix entries of `expr` over `rows` rows, for the tuples of an index list.

    Sums without a condition count exactly when their sets do not depend on other indices; dependent ranges count one
    element a row, and a sum with a condition counts nothing, since the condition may exclude everything. A variable
    that some index tuples leave out counts only where the index lists go through its own set of tuples.
    """
    return _entries(sets, expr, indexing.iterators, rows)


def _entries(sets: Sets, expr: TypedExpr, scope: tuple[Iterator, ...], rows: int) -> int:
    if not expr.decision:
        return 0
    if isinstance(expr, VariableRef):
        return rows if _surely_exists(sets, expr, scope) else 0
    if isinstance(expr, LetRef):
        return _entries(sets, sets.model.lets[expr.name].value, (), rows)
    if isinstance(expr, Reduction):
        inner = (*scope, *expr.indexing.iterators)
        return _entries(sets, expr.body, inner, rows * _combinations(sets, expr.indexing))
    parts = (getattr(expr, name) for name in expr.__struct_fields__)
    exprs = [c for part in parts for c in (part if isinstance(part, tuple) else (part,)) if isinstance(c, TypedExpr)]
    return sum(_entries(sets, part, scope, rows) for part in exprs)


def _surely_exists(sets: Sets, expr: VariableRef, scope: tuple[Iterator, ...]) -> bool:
    """Whether a reference within some iterators has a column for each index tuple that is no error."""
    family, indexing = sets.store.variables[expr.name], sets.model.variables[expr.name].indexing
    if family.domain is not family.indexed_domain:
        return False
    at = 0
    for iterator in indexing.iterators:
        own = [
            s.variable if isinstance(s, IndexRef) else None for s in expr.subscripts[at : at + len(iterator.variables)]
        ]
        at += len(own)
        if is_of_tuples(iterator) and not any(
            list(i.variables) == own and _are_same_set(sets, i, iterator) for i in scope
        ):
            return False
    return True


def _are_same_set(sets: Sets, one: Iterator, other: Iterator) -> bool:
    return not (free_variables(one.domain) or free_variables(other.domain)) and (
        sets.domain(one.domain) is sets.domain(other.domain)
    )


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
