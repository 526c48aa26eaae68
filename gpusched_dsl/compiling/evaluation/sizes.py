"""How many entries an expression will have at least, counted from set sizes alone, before any row is made."""

from __future__ import annotations

import dataclasses

from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.sets import Sets
from gpusched_dsl.language.checked import IntegerRange, LetRef, Reduction, TypedExpr, TypedIndexing, VariableRef


def entries_at_least(sets: Sets, core: TypedExpr, rows: int) -> int:
    """A lower bound on the matrix entries of `core` over `rows` rows.

    Sums without a condition count exactly when their sets do not depend on other indices; dependent ranges count one
    element a row, and a sum with a condition counts nothing, since the condition may exclude everything.
    """
    if not core.decision:
        return 0
    if isinstance(core, VariableRef):
        return rows
    if isinstance(core, LetRef):
        return entries_at_least(sets, sets.model.lets[core.name].value, rows)
    if isinstance(core, Reduction):
        return entries_at_least(sets, core.body, rows * _combinations(sets, core.indexing))
    parts = (getattr(core, field.name) for field in dataclasses.fields(core))
    cores = [c for part in parts for c in (part if isinstance(part, tuple) else (part,)) if isinstance(c, TypedExpr)]
    return sum(entries_at_least(sets, part, rows) for part in cores)


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
