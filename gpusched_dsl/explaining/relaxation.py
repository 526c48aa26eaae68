"""The smallest changes of right-hand sides that make an infeasible problem feasible, by elastic rows at a price."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.ir.activity import Activity
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.ir.variants import with_sides
from gpusched_dsl.solving.variants.solver import Feasibility, VariantSolver

NOTHING = FEASIBILITY  # of the scale of a row: less is what a solver leaves behind
TOLERANCE = 2e-6  # by how much a solver may break a row, of 1 or of its numbers
MOST_DIGITS = 10  # behind the point
ROOM = 10.0  # how far beyond the least change a row may give way where nothing else limits it


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Row `rows[k]` may fall `below[k]` under its lower side and exceed its upper side by `above[k]`.

    `goal` is `least` (the smallest total change, each counted in the usual size of its constraint's sides) or `fewest`
    (the fewest rows, then the smallest total). `proved`: nothing smaller exists among the rows that might give way.
    `verified`: with these sides a point was found and checked.
    """

    goal: str
    rows: Codes
    below: Floats
    above: Floats
    proved: bool
    verified: bool


def apply(problem: Problem, relaxation: Relaxation) -> Problem:
    """The problem with the changed sides."""
    rows = relaxation.rows
    return with_sides(
        problem, rows, problem.row_lower[rows] - relaxation.below, problem.row_upper[rows] + relaxation.above
    )


def relaxations(problem: Problem, first: Bools, then: Bools, solver: VariantSolver) -> tuple[Relaxation, ...]:
    """The relaxations `least` and `fewest` of a linear problem, as far as time allows.

    Rows in `first` give way; where that is not enough, those in `then`. Empty when no rows suffice (bounds contradict
    each other) or time is up.
    """
    for mask in (first, then):
        rows = np.flatnonzero(mask & (np.isfinite(problem.row_lower) | np.isfinite(problem.row_upper)))
        if not len(rows) or solver.over:
            continue
        least = _least(problem, rows, solver)
        if least is None:
            continue
        if len(least.rows) <= 1:  # one row is the fewest there can be
            return (least,)
        fewest = None if solver.over else _fewest(problem, rows, least, solver)
        return (least,) if fewest is None or len(fewest.rows) >= len(least.rows) else (least, fewest)
    return ()


def _least(problem: Problem, rows: Codes, solver: VariantSolver) -> Relaxation | None:
    stretched = elastic(replace(problem, objectives=()), rows, 1.0 / row_scales(problem)[rows])
    return _solve("least", problem, stretched, solver)


def _fewest(problem: Problem, rows: Codes, least: Relaxation, solver: VariantSolver) -> Relaxation | None:
    """Use binaries for relaxed rows; the bounds of the columns limit the relaxation of each."""
    activity = Activity.of(problem.matrix, problem.lower, problem.upper)
    scales = row_scales(problem)
    fallback = np.full(problem.rows, 0.0)
    fallback[rows] = ROOM * np.maximum(scales[rows], _largest(least, scales) * scales[rows])
    with np.errstate(invalid="ignore"):
        falls, exceeds = problem.row_lower - activity.smallest_values, activity.largest_values - problem.row_upper
    limited = np.where(np.isfinite(problem.row_lower), np.isfinite(falls), True)
    limited &= np.where(np.isfinite(problem.row_upper), np.isfinite(exceeds), True)
    stretched = elastic(replace(problem, objectives=()), rows, 1.0 / scales[rows])
    at_most = np.where(stretched.raises, falls[stretched.slack_row], exceeds[stretched.slack_row])
    at_most = np.where(np.isfinite(at_most), np.maximum(at_most, 0.0), fallback[stretched.slack_row])
    found = _solve("fewest", problem, with_binaries(stretched, rows, at_most), solver)
    return found if found is None or limited[rows].all() else replace(found, proved=False)


def _largest(least: Relaxation, scales: Floats) -> float:
    return float((np.maximum(least.below, least.above) / scales[least.rows]).max(initial=0.0))


def _solve(goal: str, problem: Problem, stretched: Elastic, solver: VariantSolver) -> Relaxation | None:
    solved = solver.attempt(stretched.problem)
    if solved is None or solved.point is None:
        return None
    below, above = stretched.changes(solved.point, problem.rows)
    scales = row_scales(problem)
    changed = np.flatnonzero(np.maximum(below, above) > NOTHING * np.maximum(1.0, scales))
    found = Relaxation(
        goal,
        changed,
        _tidy(below[changed], scales[changed]),
        _tidy(above[changed], scales[changed]),
        solved.status is Status.OPTIMAL,
        False,
    )
    verdict, _ = solver.decide(replace(apply(problem, found), objectives=()))
    return replace(found, verified=verdict is Feasibility.FEASIBLE)


def _tidy(amounts: Floats, scales: Floats) -> Floats:
    """The shortest decimal numbers within a solver's tolerance, which it uses up where it can: 2 for 1.999999."""
    tolerance = TOLERANCE * np.maximum(1.0, np.maximum(amounts, scales))
    tidied = amounts
    for digits in reversed(range(MOST_DIGITS)):
        rounded = np.round(amounts, digits)
        tidied = np.where(np.abs(rounded - amounts) <= tolerance, rounded, tidied)
    return tidied


SLACK, RELAXED = "slack", "is relaxed"


@dataclass(frozen=True, eq=False)
class Elastic:
    """`problem` has, after the columns of the original, one column for each relaxation of one of `rows`.

    `slack_row[k]` is the row of slack column `first + k`; `raises[k]` whether it lets the row fall below its lower side
    (it is added to the row), else exceed its upper one.
    """

    problem: Problem
    first: int
    slack_row: Codes
    raises: Bools

    def changes(self, point: Floats, rows: int) -> tuple[Floats, Floats]:
        """By how much each of `rows` rows must have its lower side lowered and its upper side raised."""
        slack = point[self.first : self.first + len(self.slack_row)]
        below, above = np.zeros(rows), np.zeros(rows)
        np.add.at(below, self.slack_row[self.raises], slack[self.raises])
        np.add.at(above, self.slack_row[~self.raises], slack[~self.raises])
        return below, above


def elastic(problem: Problem, rows: Codes, prices: Floats) -> Elastic:
    """The problem with a slack >= 0 for each finite side of `rows`, minimising slacks times `prices` (one per row)."""
    has_lower, has_upper = np.isfinite(problem.row_lower[rows]), np.isfinite(problem.row_upper[rows])
    slack_row = np.concatenate((rows[has_lower], rows[has_upper])).astype(np.int64)
    raises = np.concatenate((np.ones(int(has_lower.sum()), bool), np.zeros(int(has_upper.sum()), bool)))
    price = np.concatenate((prices[has_lower], prices[has_upper]))
    count, first = len(slack_row), problem.columns
    columns = np.arange(first, first + count, dtype=np.int32)
    extended = replace(
        problem,
        auxiliary=(*problem.auxiliary, Family(SLACK, first, IntervalDomain(0, count - 1))),
        lower=np.concatenate((problem.lower, np.zeros(count))),
        upper=np.concatenate((problem.upper, np.full(count, np.inf))),
        integer=np.concatenate((problem.integer, np.zeros(count, dtype=np.bool_))),
        matrix=with_entries(problem.matrix, slack_row, columns, np.where(raises, 1.0, -1.0)),
        objectives=(Objective("minimize", (Term(None, columns, price),)),),
    )
    return Elastic(extended, first, slack_row, raises)


def with_binaries(stretched: Elastic, rows: Codes, at_most: Floats) -> Elastic:
    """The fewest rows instead of the least total, then the least total: a binary for each of `rows` allows its slacks.

    `at_most[k]` is the largest value of slack k.
    """
    problem = stretched.problem
    count, first = len(rows), problem.columns
    binaries = np.arange(first, first + count, dtype=np.int32)
    position = np.zeros(problem.rows, dtype=np.int64)
    position[rows] = np.arange(count)
    slacks = np.arange(stretched.first, stretched.first + len(stretched.slack_row), dtype=np.int32)
    allowed = binaries[position[stretched.slack_row]]
    pairs = Matrix(
        np.arange(0, 2 * len(slacks) + 1, 2, dtype=np.int64),
        np.stack((slacks, allowed), axis=1).reshape(-1),
        np.stack((np.ones(len(slacks)), -at_most), axis=1).reshape(-1),
    )
    number = Objective("minimize", (Term(None, binaries, np.ones(count)),))
    extended = replace(
        problem,
        auxiliary=(*problem.auxiliary, Family(RELAXED, first, IntervalDomain(0, count - 1))),
        lower=np.concatenate((problem.lower, np.zeros(count))),
        upper=np.concatenate((problem.upper, np.ones(count))),
        integer=np.concatenate((problem.integer, np.ones(count, dtype=np.bool_))),
        constraints=(*problem.constraints, Family(RELAXED, problem.rows, IntervalDomain(0, len(slacks) - 1))),
        matrix=problem.matrix.with_rows_below(pairs),
        row_lower=np.concatenate((problem.row_lower, np.full(len(slacks), -np.inf))),
        row_upper=np.concatenate((problem.row_upper, np.zeros(len(slacks)))),
        objectives=(number, *problem.objectives),
    )
    return replace(stretched, problem=extended)


def row_scales(problem: Problem) -> Floats:
    """Return one unit of change of each row: the usual size of a side in its family.

    Rows of one family share a unit, so they share a scale: the median of the sides that are not 0, else of the largest
    coefficients. Rows of different families are thereby compared by relative changes.
    """
    matrix = problem.matrix
    largest = np.zeros(problem.rows)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if len(filled):
        largest[filled] = np.maximum.reduceat(np.abs(matrix.values), matrix.starts[filled])
    below = np.where(np.isfinite(problem.row_lower), np.abs(problem.row_lower), 0.0)
    above = np.where(np.isfinite(problem.row_upper), np.abs(problem.row_upper), 0.0)
    size = np.maximum(below, above)
    scales = np.ones(problem.rows)
    for family in problem.constraints:
        for sizes in (size[family.slice], largest[family.slice]):
            if (sizes > 0).any():
                scales[family.slice] = np.median(sizes[sizes > 0])
                break
    return scales


def with_entries(matrix: Matrix, rows: Codes, columns: Int32s, values: Floats) -> Matrix:
    """The matrix with further entries, in columns that it does not have yet."""
    order = np.argsort(rows, kind="stable")
    counts = np.diff(matrix.starts)
    added = np.bincount(rows, minlength=matrix.rows)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts + added)))
    all_columns = np.empty(starts[-1], dtype=np.int32)
    all_values = np.empty(starts[-1])
    shift = np.repeat(starts[:-1] - matrix.starts[:-1], counts)
    old = np.arange(matrix.nonzeros, dtype=np.int64) + shift
    all_columns[old], all_values[old] = matrix.columns, matrix.values
    within = np.arange(len(rows), dtype=np.int64) - np.repeat(np.cumsum(added) - added, added)
    new = np.repeat(starts[:-1] + counts, added) + within
    all_columns[new], all_values[new] = columns[order], values[order]
    return Matrix(starts, all_columns, all_values)
