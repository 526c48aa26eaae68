"""Rows that a fixed plan violates, by name: the smallest relaxation, or rows that contradict each other.

The relaxation of a large problem can take longer than anyone waits. Propagation then names rows in one pass over them,
and the linear relaxation others; both prove that the plan violates the rows together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.explaining.conflict_diagnostics import MOST_CHANGES, relaxation_text
from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.explaining.propagation import contradiction
from gpusched_dsl.explaining.relaxation import Relaxation, relaxations
from gpusched_dsl.explaining.row_text import short
from gpusched_dsl.ir.activity import CERTAIN
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.text.numbers import with_unit
from gpusched_dsl.solving.variants.solver import VariantSolver
from gsdsl_backends.protocol import Backend

LARGE = 1_000_000  # nonzeros
MANY_ROWS = 10_000  # from so many on, single constraints are relaxed before all rows together
TIMES = 3.0  # the seconds of the linear relaxation of a large problem, as a multiple of those of the other methods


@dataclass(frozen=True, eq=False)
class ViolatedRows:
    """A note that names rows, empty if none are found, and the families of these rows."""

    note: str
    families: frozenset[str]


def violated_rows(problem: Problem, backend: Backend | str, seconds: float) -> ViolatedRows:
    """Name rows of an infeasible problem; each of the methods, the most informative first, has so many seconds. Of a
    large problem only propagation and the linear relaxation, which has `TIMES` as many: HiGHS exceeds its time limit in
    the presolve of large problems with integers, by minutes.

    Where the plan contradicts bounds of variables, these are named: no relaxation of rows helps.
    """
    crossed = np.flatnonzero(problem.lower - problem.upper > CERTAIN * np.maximum(1.0, np.abs(problem.lower)))
    if len(crossed):
        return ViolatedRows(_bounds_note(problem, crossed), frozenset())
    large = problem.matrix.nonzeros > LARGE
    found = () if large or problem.rows < MANY_ROWS else _relaxations_of_one(problem, backend, seconds)
    if not found and not large:
        found = _relaxations(problem, backend, seconds)
    if found:
        return _of_relaxations(problem, found)
    rows = _contradictory_rows(problem, max(seconds, 1.0))
    if len(rows):
        return _of_rows(problem, rows)
    linear = replace(problem, integer=np.zeros_like(problem.integer))
    return _of_relaxations(problem, _relaxations(linear, backend, max(TIMES * seconds if large else seconds, 1.0)))


def _contradictory_rows(problem: Problem, seconds: float) -> Codes:
    """The rows by which propagation ends in a contradiction, the last one first; none if it finds none."""
    nothing = np.zeros(0, np.int64)
    trace = contradiction(Elements(problem), Deadline(seconds)) if problem.is_linear else None
    if trace is None:
        return nothing
    rows = np.flatnonzero(trace.elements.of("row", trace.reasons()[0]))
    last = nothing if trace.row is None else np.array([trace.row])
    return np.concatenate((last, rows[~np.isin(rows, last)]))


def _relaxations(problem: Problem, backend: Backend | str, seconds: float) -> tuple[Relaxation, ...]:
    everything = np.ones(problem.rows, dtype=np.bool_)
    return relaxations(problem, everything, everything, VariantSolver(backend, seconds))


def _relaxations_of_one(problem: Problem, backend: Backend | str, seconds: float) -> tuple[Relaxation, ...]:
    """The relaxations of a single constraint, if one suffices; those with the fewest rows are tried first."""
    solver, nothing = VariantSolver(backend, seconds), np.zeros(problem.rows, dtype=np.bool_)
    for family in sorted(problem.constraints, key=lambda family: family.size):
        if solver.over:
            break
        rows = nothing.copy()
        rows[family.slice] = True
        found = relaxations(problem, rows, nothing, solver)
        if found:
            return found
    return ()


def _of_relaxations(problem: Problem, found: tuple[Relaxation, ...]) -> ViolatedRows:
    note = f"the smallest relaxation: {relaxation_text(problem, found[0])}" if found else ""
    names = {problem.row_family(row).name for relaxation in found for row in relaxation.rows.tolist()}
    return ViolatedRows(note, frozenset(names))


def _bounds_note(problem: Problem, columns: Codes) -> str:
    column = int(columns[0])
    family = problem.column_family(column)
    least, most = (with_unit(short(float(side[column])), family.unit) for side in (problem.lower, problem.upper))
    rest = f"; the same holds for {len(columns) - 1:,} more" if len(columns) > 1 else ""
    name = entry_name(family, column)
    return f"the plan contradicts the bounds of `{name}`, which must be at least {least} and at most {most}{rest}"


def _of_rows(problem: Problem, rows: Codes) -> ViolatedRows:
    names = [f"`{entry_name(problem.row_family(row), row)}`" for row in rows[:MOST_CHANGES].tolist()]
    rest = len(rows) - len(names)
    more = f" and {rest:,} more" if rest else ""
    families = frozenset(problem.row_family(row).name for row in rows.tolist())
    verb = "cannot be satisfied" if len(rows) == 1 else "cannot be satisfied together"
    return ViolatedRows(f"with this plan {', '.join(names)}{more} {verb}", families)
