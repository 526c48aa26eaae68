"""The smallest changes of right-hand sides that make an infeasible problem feasible, in the units of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.explaining.elastic import Elastic, elastic, row_scales, with_binaries
from gpusched_dsl.ir.activity import Activity
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.ir.variants import with_sides
from gpusched_dsl.solving.variants import Feasibility, VariantSolver

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
