"""Taking away auxiliary columns that nothing reads: intermediate products, terms that cancelled out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Bools, Int32s
from gpusched_dsl.ir.problem import Family, Problem

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Definition


def drop_unused(problem: Problem) -> Problem:
    """Return the problem without definitions with unused results: in no row, objective, condition or other definition.

    Families none of whose columns are read go, and the columns behind them get lower numbers; single columns that
    nothing reads are fixed at 0.
    """
    if not problem.definitions:
        return problem
    used = _directly_used_columns(problem)
    definitions: list[Definition] = []
    for definition in reversed(problem.definitions):
        read = used[definition.results]
        if read.any():
            kept = definition if read.all() else definition.take(np.flatnonzero(read))
            used[kept.arguments.matrix.columns] = True
            definitions.append(kept)
    definitions.reverse()
    first = problem.variables[-1].stop if problem.variables else 0
    used[:first] = True
    if used.all():
        return problem
    return _renumber(replace(problem, definitions=tuple(definitions)), used)


def _directly_used_columns(problem: Problem) -> Bools:
    used = np.zeros(problem.columns, dtype=np.bool_)
    used[problem.matrix.columns] = True
    used[problem.conditions.columns] = True
    for objective in problem.objectives:
        for term in objective.terms:
            used[term.columns] = True
    return used


def _renumber(problem: Problem, used: Bools) -> Problem:
    from gpusched_dsl.ir.definitions import Affines

    keep = np.ones(problem.columns, dtype=np.bool_)
    families: list[Family] = []
    first = problem.variables[-1].stop if problem.variables else 0
    for family in problem.auxiliary:
        if used[family.slice].any():
            families.append(structs.replace(family, first=first))
            first += family.size
        else:
            keep[family.slice] = False
    numbers: Int32s = (np.cumsum(keep) - 1).astype(np.int32)
    lower, upper, integer = (np.where(used, a, 0) for a in (problem.lower, problem.upper, problem.integer))
    return replace(
        problem,
        auxiliary=tuple(families),
        lower=lower[keep],
        upper=upper[keep],
        integer=integer[keep].astype(np.bool_),
        matrix=structs.replace(problem.matrix, columns=numbers[problem.matrix.columns]),
        objectives=tuple(
            structs.replace(o, terms=tuple(structs.replace(t, columns=numbers[t.columns]) for t in o.terms))
            for o in problem.objectives
        ),
        definitions=tuple(
            replace(
                d,
                results=numbers[d.results],
                arguments=Affines(
                    structs.replace(d.arguments.matrix, columns=numbers[d.arguments.matrix.columns]),
                    d.arguments.constants,
                ),
            )
            for d in problem.definitions
        ),
        conditions=structs.replace(problem.conditions, columns=numbers[problem.conditions.columns]),
    )
