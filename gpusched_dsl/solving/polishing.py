"""Computes the nearest clean point: integer columns and choices fixed, continuous columns moved as little as possible.

Solvers give points within their tolerance. Computed anew from the declared columns, a comparison may then be false by
1e-8, or a row that reads terms broken by more than is allowed. Near the point a problem is linear in first order
(`ir/linearisation.py`), also in what its terms make of an error in their arguments; the move with the smallest sum of
relative changes is a linear program. After a few moves, each of which squares the error, rows hold to rounding errors.
"""

from __future__ import annotations

import math
import time

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.linearisation import Linearised, linearise
from gpusched_dsl.ir.matrix import Matrix, stack
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.tolerances import NEAR
from gpusched_dsl.ir.verify import Tolerances, verify
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.precheck import answer_without_solver
from gsdsl_backends.protocol import Monitor, SolveOptions
from gsdsl_backends.registry import backend as backend_named

MOVES = 5
SOLVER = "highs"


def polish(
    problem: Problem, point: Floats, tolerances: Tolerances, options: SolveOptions, monitor: Monitor | None
) -> Floats | None:
    """A clean point near one that is almost feasible; None where there is none, or the point is further off.

    The time limit is for all moves together.

    The point's result columns say which comparisons its solver took for true.
    """
    declared = _declared_columns(problem)
    if not np.isfinite(point[declared]).all():
        return None
    rounded = np.where(problem.integer, np.rint(point), point)
    if (np.abs(rounded - point)[declared] > NEAR).any():
        return None
    completed = complete(problem.definitions, rounded, NEAR)
    current = _clip(problem, completed)
    began = time.perf_counter()
    for _ in range(MOVES):
        limit = options.time_limit
        if limit is not None and (limit := limit - (time.perf_counter() - began)) <= 0:
            return None
        near = linearise(problem.definitions, current)
        if not _is_near(problem, near):
            return None
        move = _smallest_move(problem, near, structs.replace(options, time_limit=limit), monitor)
        if move is None:
            return None
        current = _clip(problem, near.point + move)
        if verify(problem, current, tolerances).feasible:
            return complete(problem.definitions, current)
    return None


def _declared_columns(problem: Problem) -> Bools:
    declared = np.ones(problem.columns, dtype=np.bool_)
    for definition in problem.definitions:
        declared[definition.results] = False
    return declared


def _clip(problem: Problem, point: Floats) -> Floats:
    return np.clip(point, problem.lower, problem.upper)


def _sides(problem: Problem, near: Linearised) -> tuple[Matrix, Floats, Floats]:
    """Return the active rows, and the required and the allowed change of each."""
    required = np.flatnonzero(problem.conditions.active(problem.rows, near.point))
    matrix = problem.matrix.take(required)
    activity = matrix.activity(near.point)
    rows = stack((matrix, near.matrix))
    lower = np.concatenate((problem.row_lower[required] - activity, near.lower))
    upper = np.concatenate((problem.row_upper[required] - activity, near.upper))
    return rows, lower, upper


def _is_near(problem: Problem, near: Linearised) -> bool:
    """Whether the point breaks nothing by more than a small share of its magnitude."""
    rows, lower, upper = _sides(problem, near)
    size = np.ones(rows.rows)
    np.maximum.at(size, rows.row_of, np.abs(rows.values * near.point[rows.columns]))
    broken = np.maximum(lower, -upper)
    return bool((broken <= NEAR * size).all())


def _smallest_move(problem: Problem, near: Linearised, options: SolveOptions, monitor: Monitor | None) -> Floats | None:
    """Return the change of every column with the smallest sum of relative changes that satisfies the rows in first
    order.

    Numbers are multiplied so that the largest error is near 1: what is left of it is then small to it.
    """
    rows, lower, upper = _sides(problem, near)
    declared = _declared_columns(problem)
    free = declared & ~problem.integer & (problem.lower < problem.upper)
    low = np.where(declared & ~free, 0.0, problem.lower - near.point)
    high = np.where(declared & ~free, 0.0, problem.upper - near.point)
    low, high = np.where(declared, np.minimum(low, 0.0), low), np.where(declared, np.maximum(high, 0.0), high)
    error = max(float(np.maximum(lower, -upper).max(initial=0.0)), float(np.maximum(low, -high).max(initial=0.0)))
    if error == 0.0:
        return np.zeros(problem.columns)
    factor = 2.0 ** -math.floor(math.log2(error))
    down = np.flatnonzero(free)  # a change is the difference of two columns that are not negative
    place = np.full(problem.columns, -1, dtype=np.int32)
    place[down] = problem.columns + np.arange(len(down), dtype=np.int32)
    columns = problem.columns + len(down)
    low, high = low * factor, high * factor
    lows = np.concatenate((np.where(free, 0.0, low), np.zeros(len(down))))
    highs = np.concatenate((high, -low[down]))
    costs = np.zeros(columns)
    costs[down] = costs[problem.columns :] = 1.0 / np.maximum(1.0, np.abs(near.point[down]))
    used = np.flatnonzero(costs).astype(np.int32)
    linear = Problem(
        "move",
        (Family("move", 0, IntervalDomain(0, columns - 1)),),
        lows,
        highs,
        np.zeros(columns, dtype=np.bool_),
        (Family("row", 0, IntervalDomain(0, rows.rows - 1)),) if rows.rows else (),
        _with_negatives(rows, place),
        lower * factor,
        upper * factor,
        (Objective("minimize", (Term(None, used, costs[used]),)),),
    )
    try:
        answer = _solve(linear, options, monitor)
    except DiagnosticError:  # slopes near a pole are numbers that no solver accepts
        return None
    if answer.status is not Status.OPTIMAL or answer.values is None:
        return None
    move = answer.values[: problem.columns].copy()
    move[down] -= answer.values[problem.columns :]
    return np.asarray(move / factor)


def _with_negatives(rows: Matrix, place: Int32s) -> Matrix:
    """Return the rows with the second column of each change next to the first."""
    twice = place[rows.columns] >= 0
    counts = np.bincount(rows.row_of[twice], minlength=rows.rows) + np.diff(rows.starts)
    row = np.concatenate((rows.row_of, rows.row_of[twice]))
    order = np.argsort(row, kind="stable")
    columns = np.concatenate((rows.columns, place[rows.columns[twice]]))[order]
    values = np.concatenate((rows.values, -rows.values[twice]))[order]
    return Matrix(np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts))), columns, values)


def _solve(linear: Problem, options: SolveOptions, monitor: Monitor | None) -> SolverResult:
    answer = answer_without_solver(linear)
    if answer is not None:
        return answer
    session = backend_named(SOLVER).open(linear)
    try:
        return session.solve(structs.replace(options, extra={"solver": "simplex"}, tight=True), None, monitor)
    finally:
        session.close()
