"""Completes a start with values of some columns to a feasible point: fitting values are kept, the rest is solved.

First the integer columns that are not zero are fixed as given, as far as the rows allow, then those that are given as
zero, but not those that share a row with one that could not be kept: they are where a replacement is found. The backend
decides about what is left. Where that is impossible, the nearest feasible point is looked for: the number of 0/1
columns that change is minimised, over columns around the broken rows, over more of them, over all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Bools, Floats, Ints, unique
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import Violation, verify
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.fix_and_propagate import fix_what_fits
from gpusched_dsl.solving.primal.incumbent import Incumbent
from gpusched_dsl.solving.primal.propagation import PropagationDomain
from gpusched_dsl.solving.primal.restriction import Restriction, has_point, restrict, solve_part
from gpusched_dsl.solving.primal.rows import PropagationRows, entries, rows_of
from gpusched_dsl.solving.primal.search import Search
from gsdsl_backends.protocol import Backend, SolveOptions

LARGE = 5_000  # free integer columns; beyond, the search for starts is asked before the solver
RINGS = (1, 3)  # how far around broken rows columns may change; then everywhere
SHARE = 0.5  # of what is left, for each attempt


@dataclass(frozen=True, eq=False)
class StartCompletion:
    """`point` is feasible, None if none was found; `broken` then has the violations of the start.

    `as_given`: the point has every given value, and zero (or the nearest bound) where none was given.
    """

    point: Floats | None
    broken: Violation | None = None
    as_given: bool = False


def complete(
    problem: Problem, partial: Floats, backend: Backend, options: SolveOptions, budget: HeuristicBudget
) -> StartCompletion:
    """Complete `partial` (NaN without a value) to a feasible point of a linear problem."""
    has_value = np.isfinite(partial)
    filled = np.clip(np.where(has_value, partial, 0.0), problem.lower, problem.upper)
    filled = np.where(problem.integer, np.rint(filled), filled) + 0.0
    checked = verify(problem, filled)
    incumbent = Incumbent(problem)
    open_integers = int((problem.integer & ~has_value).sum())
    if checked.feasible:
        incumbent.offer(filled)
        if not open_integers:
            return StartCompletion(filled, as_given=True)
    rows = rows_of(problem)
    box = PropagationDomain(problem, rows)
    if box.settle():
        _keep(box, problem, partial, rows, budget)
        _solve_rest(problem, box, backend, options, incumbent, budget)
    if incumbent.point is None:
        _repair(problem, filled, has_value, rows, backend, options, incumbent, budget)
    if incumbent.point is None:
        return StartCompletion(None, checked.worst[0] if checked.worst else None)
    return StartCompletion(incumbent.point)


def _keep(
    box: PropagationDomain, problem: Problem, partial: Floats, rows: PropagationRows, budget: HeuristicBudget
) -> None:
    """Fix given integers where the rows allow it."""
    given_columns = np.flatnonzero(problem.integer & np.isfinite(partial))
    chosen = np.rint(partial[given_columns]) != 0
    targets = np.where(np.isfinite(partial), partial, 0.0)
    lost = fix_what_fits(box, given_columns[chosen], targets, budget)
    zeros = given_columns[~chosen]
    if len(lost):
        zeros = zeros[~_columns_around(rows, lost, len(partial), 1)[zeros]]
    fix_what_fits(box, zeros, targets, budget)


def _solve_rest(
    problem: Problem,
    box: PropagationDomain,
    backend: Backend,
    options: SolveOptions,
    incumbent: Incumbent,
    budget: HeuristicBudget,
) -> None:
    """Let the backend decide the integers that are not fixed, and all other columns."""
    integer = problem.integer
    lower, upper = np.where(integer, box.lower, problem.lower), np.where(integer, box.upper, problem.upper)
    _solve(restrict(problem, lower, upper), backend, options, incumbent, budget.share(SHARE))


def _solve(
    part: Restriction, backend: Backend, options: SolveOptions, incumbent: Incumbent, budget: HeuristicBudget
) -> None:
    if not part.problem.columns:
        incumbent.offer(part.base)
        return
    start = None if incumbent.point is None else part.values(incumbent.point)
    if int(part.problem.integer.sum()) > LARGE:
        unlimited = structs.replace(options, time_limit=None)  # the search has its own limit
        found = Search(part.problem, backend, unlimited, budget.share(SHARE), start).run().point
        if found is not None:
            incumbent.offer(part.point(found))
            start = found
    if budget.over:
        return
    options = structs.replace(options, time_limit=budget.remaining_seconds)
    answer = solve_part(backend, part.problem, options, start, budget)
    if has_point(answer):
        assert answer.values is not None
        incumbent.offer(part.point(answer.values))


def _repair(
    problem: Problem,
    filled: Floats,
    has_value: Bools,
    rows: PropagationRows,
    backend: Backend,
    options: SolveOptions,
    incumbent: Incumbent,
    budget: HeuristicBudget,
) -> None:
    """The nearest point: free columns around broken rows, minimise how many 0/1 columns change."""
    activity = problem.matrix.activity(filled)
    broken = np.flatnonzero(
        (activity < problem.row_lower - rows.tolerance) | (activity > problem.row_upper + rows.tolerance)
    )
    at, _ = entries(rows.starts, broken)
    first_columns = unique(rows.columns[at]).astype(np.int64)
    binary = problem.integer & (problem.lower >= 0) & (problem.upper <= 1)
    distance = np.where(binary & has_value, np.where(filled > 0.5, -1.0, 1.0), 0.0)
    last_size = 0
    for rings in (*RINGS, None):
        if budget.over:
            return
        free = np.ones(problem.columns, dtype=np.bool_)
        if rings is not None:
            free = _columns_around(rows, first_columns, problem.columns, rings) | ~has_value
        fixed = problem.integer & ~free
        if int((~fixed).sum()) == last_size:
            continue
        last_size = int((~fixed).sum())
        lower, upper = np.where(fixed, filled, problem.lower), np.where(fixed, filled, problem.upper)
        near = restrict(problem, lower, upper, costs=distance)
        found = Incumbent(near.original)
        _solve(near, backend, options, found, budget.share(SHARE))
        if found.point is not None:
            incumbent.offer(found.point)
            integer = problem.integer
            lower, upper = np.where(integer, found.point, problem.lower), np.where(integer, found.point, problem.upper)
            _solve(restrict(problem, lower, upper), backend, options, incumbent, budget.share(SHARE))
            return


def _columns_around(rows: PropagationRows, columns: Ints, count: int, rings: int) -> Bools:
    """The columns that are, through so many rows, related to some."""
    near = np.zeros(count, dtype=np.bool_)
    near[columns] = True
    ring = columns
    for _ in range(rings):
        at, _ = entries(rows.column_starts, ring)
        touched = unique(rows.rows[at])
        at, _ = entries(rows.starts, touched)
        found = unique(rows.columns[at]).astype(np.int64)
        ring = found[~near[found]]
        near[ring] = True
    return near
