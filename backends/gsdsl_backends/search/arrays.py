"""A linear problem as the arrays of the local search: scaled rows and costs, choices, a first point."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s, Ints
from gpusched_dsl.ir.divisors import common_divisors
from gpusched_dsl.ir.problem import Problem
from gsdsl_backends.search.kernels.jumps import (
    ASPIRES,
    BEST,
    CHANGED,
    HAS_BEST,
    IMPROVED,
    LEAST_WEIGHT,
    NOTHING,
    PHASE,
    STEPS,
    TOLERANCE,
    TRAIL,
    UNTIL,
    VIOLATED,
    WEIGHT,
    WORK,
    SearchModel,
    SearchState,
)

INTEGRALITY = 1e-6
TRAIL_LENGTH = 512
NEVER = np.iinfo(np.int64).max
COOL = 0.02  # the first temperature: the first descent begins cool
BEYOND = 20  # changes of rows judged for each column, to repair a point
FOLLOWED = 1e-6  # of a scaled row: by how much a solver's point may violate it


def arrays_of(problem: Problem) -> SearchModel:
    """Return the arrays of a linear problem with at most one objective, to be minimised."""
    matrix, columns = problem.matrix, problem.columns
    by_row = csr_array((matrix.values, matrix.columns, matrix.starts), shape=(matrix.rows, columns), dtype=np.float64)
    largest = np.zeros(matrix.rows)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if len(filled):
        largest[filled] = np.maximum.reduceat(np.abs(matrix.values), matrix.starts[filled])
    scale = 1.0 / np.where(largest > 0, largest, 1.0)
    by_row.data = by_row.data * np.repeat(scale, np.diff(matrix.starts))
    costs = np.zeros(columns)
    if problem.objectives:
        sign = -1.0 if problem.objectives[0].sense == "maximize" else 1.0
        costs = sign * problem.objectives[0].costs(columns)
    top = float(np.abs(costs).max(initial=0.0)) or 1.0
    costs /= top
    lower, upper = problem.lower.copy(), problem.upper.copy()
    integer = problem.integer
    lower[integer], upper[integer] = (
        np.ceil(lower[integer] - INTEGRALITY),
        np.floor(upper[integer] + INTEGRALITY),
    )
    choice, members_from, members, must = choices(problem, by_row, costs)
    row_lower, row_upper = np.append(problem.row_lower * scale, -np.inf), np.append(problem.row_upper * scale, np.inf)
    several = crowded(choice, by_row)
    priced = np.flatnonzero(costs)
    unit = (
        float(common_divisors(np.abs(costs[priced]) * top, np.zeros(1, dtype=np.int64))[0])
        if len(priced) and integer[priced].all()
        else 0.0
    )
    by_row = vstack((by_row, csr_array(costs[None])), format="csr")
    by_column = by_row.tocsc()
    return SearchModel(
        lower, upper, integer, costs, row_lower, row_upper,
        by_row.indptr.astype(np.int64), by_row.indices.astype(np.int32), by_row.data,
        by_column.indptr.astype(np.int64), by_column.indices.astype(np.int32), by_column.data,
        choice, members_from, members, np.flatnonzero((lower < upper) & integer).astype(np.int32), must,
        several, unit / top,
    )  # fmt: skip


def choices(problem: Problem, by_row: csr_array, costs: Floats) -> tuple[Int32s, Ints, Int32s, Bools]:
    """Return the choice of each column and the columns of each: rows `sum x_j <= 1` or `= 1` over binaries.

    Also rows `sum x_j <= z` or `= z`, where the binary z says whether one is set; it is no part of the choice. A column
    is in one choice at most, that of the longest such row. Those of a choice are in the order of their costs.
    """
    binary = problem.integer & (problem.lower == 0) & (problem.upper <= 1)  # one that is fixed at 1 cannot be cleared
    counts = np.diff(by_row.indptr)
    row_of = np.repeat(np.arange(by_row.shape[0]), counts)
    one = binary[by_row.indices] & (np.abs(problem.matrix.values - 1.0) < 1e-12)
    less = binary[by_row.indices] & (np.abs(problem.matrix.values + 1.0) < 1e-12)
    ones, lesses = (np.bincount(row_of[kind], minlength=by_row.shape[0]) for kind in (one, less))
    fits = (ones > 1) & (ones + lesses == counts) & (lesses <= 1) & (np.abs(problem.row_upper + lesses - 1.0) < 1e-12)
    of_choice: Bools = fits & (problem.row_lower <= problem.row_upper)
    entries = np.flatnonzero(of_choice[row_of] & one)
    entries = entries[np.argsort(-counts[row_of[entries]], kind="stable")]
    choice = np.full(problem.columns, NOTHING, dtype=np.int32)
    _, first = np.unique(by_row.indices[entries], return_index=True)
    kept = entries[np.sort(first)]
    rows, number = np.unique(row_of[kept], return_inverse=True)
    column = by_row.indices[kept]
    choice[column] = number
    order = np.lexsort((costs[column], number))
    sizes = np.bincount(number, minlength=len(rows))
    return (
        choice,
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        column[order].astype(np.int32),
        (problem.row_lower[rows] > 0.5),
    )


def crowded(choice: Int32s, by_row: csr_array) -> Int32s:
    """Return the rows with columns of at least two choices that are not such a row themselves."""
    counts = np.diff(by_row.indptr)
    of_entry = choice[by_row.indices].astype(np.int64)
    row_of = np.repeat(np.arange(by_row.shape[0]), counts)
    least, most = np.full(len(counts), np.iinfo(np.int64).max), np.full(len(counts), -1)
    entries = of_entry >= 0
    np.minimum.at(least, row_of[entries], of_entry[entries])
    np.maximum.at(most, row_of[entries], of_entry[entries])
    return np.flatnonzero(most > least).astype(np.int32)


def state_at(model: SearchModel, point: Floats) -> SearchState:
    """Return the state of a search at a point within the bounds, with integers at integers."""
    rows = len(model.row_lower)
    row_of = np.repeat(np.arange(rows), np.diff(model.starts))
    activity = np.bincount(row_of, weights=model.values * point[model.columns], minlength=rows).astype(np.float64)
    wrong = (activity > model.row_upper + TOLERANCE) | (activity < model.row_lower - TOLERANCE)
    listed = np.flatnonzero(wrong)
    violated = np.zeros(rows, dtype=np.int32)
    violated[: len(listed)] = listed
    place = np.full(rows, NOTHING, dtype=np.int32)
    place[listed] = np.arange(len(listed))
    chosen = np.full(len(model.members_from) - 1, NOTHING, dtype=np.int32)
    set_ = np.flatnonzero((model.choice != NOTHING) & (point > 0.5))
    chosen[model.choice[set_]] = set_
    return SearchState(
        point.astype(np.float64), activity, np.ones(rows), violated, place, np.zeros(len(point), dtype=np.int64),
        chosen, point.astype(np.float64), np.array([np.inf, 1.0, COOL, 0.01]),
        np.array([len(listed), 0, 0, 0, 0, 0, 0, 0, 0, PHASE, NEVER], dtype=np.int64),
        np.zeros(TRAIL_LENGTH, dtype=np.int32), np.zeros(TRAIL_LENGTH),
        np.zeros(len(point), dtype=np.int64), np.zeros(len(point), dtype=np.int32),
        np.zeros(len(point), dtype=bool),
    )  # fmt: skip


def with_own_sides(model: SearchModel) -> SearchModel:
    """Return the model for one solve, which may change sides of rows."""
    return model._replace(row_lower=model.row_lower.copy(), row_upper=model.row_upper.copy())


def set_best(exact: SearchModel, model: SearchModel, state: SearchState, point: Floats) -> None:
    """Go on from a point, as the best one if it satisfies the problem up to a solver's tolerance.

    Rows that it violates by less than that get as much more room; the linear problem at the end has the `exact` sides.
    """
    model.row_lower[:], model.row_upper[:] = exact.row_lower, exact.row_upper
    fresh = state_at(model, point)
    wrong = fresh.violated[: fresh.counts[VIOLATED]]
    activity = fresh.activity[wrong]
    model.row_upper[wrong] += np.clip(activity - model.row_upper[wrong], 0.0, FOLLOWED)
    model.row_lower[wrong] -= np.clip(model.row_lower[wrong] - activity, 0.0, FOLLOWED)
    _adopt(model, state, point)
    if state.counts[VIOLATED] == 0:
        state.best[:] = point
        state.numbers[BEST] = state.activity[-1]
        state.counts[[HAS_BEST, IMPROVED, UNTIL]] = 1, state.counts[STEPS], state.counts[WORK] + PHASE


def begin_beyond(model: SearchModel, state: SearchState, point: Floats) -> None:
    """Go on from a point that may violate rows, for a while if there is a best one, else until none is violated."""
    _adopt(model, state, point)
    state.counts[ASPIRES] = state.counts[HAS_BEST]
    state.counts[UNTIL] = state.counts[WORK] + max(PHASE, BEYOND * len(point))
    state.numbers[WEIGHT] = LEAST_WEIGHT
    moved = np.flatnonzero(point != state.best)
    state.changed[: len(moved)], state.counts[CHANGED] = moved, len(moved)
    state.is_changed[moved] = True


def _adopt(model: SearchModel, state: SearchState, point: Floats) -> None:
    """Let the state be at a point, without any aspiration."""
    model.row_upper[-1] = np.inf
    fresh = state_at(model, point)
    for name in ("point", "activity", "violated", "place", "chosen"):
        getattr(state, name)[:] = getattr(fresh, name)
    state.is_changed[:] = False
    state.counts[[CHANGED, TRAIL, ASPIRES]] = 0
    state.counts[VIOLATED] = fresh.counts[VIOLATED]


def by_reduced_costs(model: SearchModel, reduced: Floats) -> SearchModel:
    """Return the model with the columns of each choice in the order of their reduced costs."""
    number = model.choice[model.members]
    order = np.lexsort((model.costs[model.members], reduced[model.members], number))
    return model._replace(members=model.members[order])


def rounded(model: SearchModel, relaxed: Floats) -> Floats:
    """Return a point of the relaxation with integers, which may violate rows: of each choice the column it prefers."""
    point = np.where(model.integer, np.rint(relaxed), relaxed)
    if len(model.must):
        number = model.choice[model.members]
        values = relaxed[model.members]
        order = np.lexsort((-values, number))  # stable: the first of equal ones is worth it most
        first = model.members[order[model.members_from[:-1]]]
        total = np.add.reduceat(values, model.members_from[:-1])
        point[model.members] = 0.0
        point[first[model.must | (total > 0.5)]] = 1.0
    return np.clip(point, model.lower, model.upper)


def first_point(model: SearchModel) -> Floats:
    """Return the bounds that costs suggest or those nearest to 0, whichever violate fewer rows; of a choice nothing."""
    near = np.where(model.costs >= 0, model.lower, model.upper)
    far = np.where(model.costs >= 0, model.upper, model.lower)
    cheap = np.where(np.isfinite(near), near, np.where(np.isfinite(far), far, 0.0))
    cheap = np.where(model.choice != NOTHING, 0.0, cheap)
    points = [np.clip(point, model.lower, model.upper) for point in (np.zeros_like(cheap), cheap)]
    return min(points, key=lambda point: state_at(model, point).counts[VIOLATED])
