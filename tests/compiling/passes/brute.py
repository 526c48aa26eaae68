"""The optimum of a small problem with definitions and conditions by enumeration, and the invariants of a pass.

Whole columns are enumerated. With continuous columns a linear program is left for every choice of whole values and of
pieces (which argument of a `max` is the largest, on which segment a curve is, on which side a comparison stands): that
is exact. Functions that are smooth in a continuous column are not taken (`Unsupported`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import Analysis, Pass, ReformulatedProblem, Target
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.definitions import (
    Affines,
    Definition,
    MinMax,
    Piecewise,
    Power,
    Product,
    Reified,
    Unary,
    complete,
)
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.solve import solve_problem

# Rows and bounds may be broken by this much, times the size of what they are compared with.
TOLERANCE = 1e-6
LARGEST_GRID = 300_000
MOST_PIECES = 1_500


class Unsupported(Exception):
    """The problem is too large, or nonlinear in continuous columns in a way that is not piecewise linear."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """`status` is `optimal`, `infeasible` or `unbounded`; with `optimal` a best point, its results filled in."""

    status: str
    value: float = np.nan
    point: Floats | None = None


# --- the optimum -----------------------------------------------------------------------------------------------------


def optimum(problem: Problem) -> Optimum:
    """The optimum for the first objective (any feasible point if there is none); raises Unsupported."""
    free = free_columns(problem)
    continuous = np.flatnonzero(free & ~problem.integer)
    points = grid(problem, free & problem.integer)
    if not len(continuous):
        points = feasible_of(problem, filled(problem, points))
        if not len(points):
            return Optimum("infeasible")
        values = points @ _costs(problem) + _offset(problem)
        best = int(np.argmin(_sign(problem) * values))
        return Optimum("optimal", float(values[best]), points[best])
    best_found, pieces = Optimum("infeasible"), 0
    for point in points:
        for piece in _pieces(problem, point, continuous):
            pieces += 1
            if pieces > MOST_PIECES:
                raise Unsupported("too many pieces")
            found = piece.solve(problem)
            if found.status == "unbounded":
                return found
            if found.status == "optimal" and not _sign(problem) * (found.value - best_found.value) >= 0:
                best_found = found
    return best_found


def feasible_points(problem: Problem) -> Floats:
    """All feasible points of a problem whose columns are whole or results, a row each."""
    free = free_columns(problem)
    if (free & ~problem.integer).any():
        raise Unsupported("continuous columns")
    return feasible_of(problem, filled(problem, grid(problem, free)))


def free_columns(problem: Problem) -> Bools:
    """The columns that no definition gives."""
    free = np.ones(problem.columns, dtype=np.bool_)
    for definition in problem.definitions:
        free[definition.results] = False
    return free


def grid(problem: Problem, columns: Bools) -> Floats:
    """Points with every combination of whole values of some columns, and 0 elsewhere."""
    numbers = np.flatnonzero(columns)
    ends = [(np.ceil(problem.lower[j] - 1e-9), np.floor(problem.upper[j] + 1e-9)) for j in numbers]
    sizes = [high - low + 1 for low, high in ends]
    if np.prod([max(0.0, s) for s in sizes]) > LARGEST_GRID:
        raise Unsupported("too many points")
    axes = [np.arange(low, high + 1) for low, high in ends]
    points = np.zeros((int(np.prod([len(a) for a in axes])), problem.columns))
    if len(numbers):
        points[:, numbers] = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
    return points


def filled(problem: Problem, points: Floats) -> Floats:
    """The points with all results computed (as `complete`, for many points at once)."""
    points = points.copy()
    for definition in problem.definitions:
        if definition.size and len(points):
            repeated = definition.take(np.tile(np.arange(definition.size), len(points)))
            with np.errstate(all="ignore"):
                arguments = points @ dense(definition.arguments, problem.columns).T + definition.arguments.constants
                values = repeated.evaluate(arguments.ravel())
            points[:, definition.results] = values.reshape(len(points), definition.size)
    return points


def dense(affines: Affines, columns: int) -> Floats:
    matrix = np.zeros((affines.count, columns))
    np.add.at(matrix, (affines.matrix.row_of, affines.matrix.columns), affines.matrix.values)
    return matrix


def feasible_of(problem: Problem, points: Floats, tolerance: float = TOLERANCE) -> Floats:
    """The points within bounds, rows that must hold there, and integrality."""
    return points[is_feasible(problem, points, tolerance)]


def is_feasible(problem: Problem, points: Floats, tolerance: float = TOLERANCE) -> Bools:
    good: Bools = np.isfinite(points).all(axis=1)
    safe = np.where(good[:, None], points, 0.0)
    slack = tolerance * np.maximum(1.0, np.abs(safe))
    good = good & (safe >= problem.lower - slack).all(axis=1) & (safe <= problem.upper + slack).all(axis=1)
    good &= (np.abs(safe - np.rint(safe))[:, problem.integer] <= tolerance).all(axis=1)
    rows = dense(Affines(problem.matrix, np.zeros(problem.rows)), problem.columns)
    activity = safe @ rows.T
    slack = tolerance * np.maximum(1.0, np.abs(safe) @ np.abs(rows).T)
    holds = (activity >= problem.row_lower - slack) & (activity <= problem.row_upper + slack)
    conditions = problem.conditions
    off = (safe[:, conditions.columns] > 0.5) != conditions.values
    holds[:, conditions.rows] |= off
    return good & holds.all(axis=1)


def _costs(problem: Problem) -> Floats:
    return problem.objectives[0].costs(problem.columns) if problem.objectives else np.zeros(problem.columns)


def _offset(problem: Problem) -> float:
    return problem.objectives[0].offset if problem.objectives else 0.0


def _sign(problem: Problem) -> float:
    return -1.0 if problem.objectives and problem.objectives[0].sense == "maximize" else 1.0


# --- one piece: every column affine in the continuous ones -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Piece:
    """Columns are `slopes @ y + constants` for continuous `y`, where `low <= cuts @ y <= high` for the cuts made."""

    slopes: Floats
    constants: Floats
    cuts: tuple[tuple[Floats, float, float], ...] = ()

    def given(self, result: int, slope: Floats, constant: float, *cuts: tuple[Floats, float, float]) -> _Piece:
        slopes, constants = self.slopes.copy(), self.constants.copy()
        slopes[result], constants[result] = slope, constant
        return _Piece(slopes, constants, self.cuts + cuts)

    def solve(self, problem: Problem) -> Optimum:
        """The linear program over `y`."""
        required = problem.conditions.active(problem.rows, self.constants)
        rows = dense(Affines(problem.matrix, np.zeros(problem.rows)), problem.columns)[required]
        matrix = np.concatenate((rows @ self.slopes, self.slopes, *(c[0][None] for c in self.cuts)))
        shift = np.concatenate((rows @ self.constants, self.constants))
        cut_low, cut_high = [c[1] for c in self.cuts], [c[2] for c in self.cuts]
        low = np.concatenate((np.concatenate((problem.row_lower[required], problem.lower)) - shift, cut_low))
        high = np.concatenate((np.concatenate((problem.row_upper[required], problem.upper)) - shift, cut_high))
        if not np.isfinite(self.constants).all():
            return Optimum("infeasible")
        flat = np.abs(matrix).max(axis=1, initial=0.0) < 1e-12
        if (flat & ((low > 1e-7) | (high < -1e-7))).any():
            return Optimum("infeasible")
        whole = problem.integer & (np.abs(self.constants - np.rint(self.constants)) > 1e-6)
        if (np.abs(self.slopes[problem.integer]).max(initial=0.0) > 0) or whole.any():
            raise Unsupported("a whole column that is not fixed")
        costs = _costs(problem)
        status, y = linear_program(_sign(problem) * (costs @ self.slopes), matrix[~flat], low[~flat], high[~flat])
        if status != "optimal":
            return Optimum(status)
        point = self.slopes @ y + self.constants
        return Optimum("optimal", float(costs @ point) + _offset(problem), point)


_HIGHS = None


def linear_program(costs: Floats, matrix: Floats, low: Floats, high: Floats) -> tuple[str, Floats]:
    """Minimise `costs @ y` where `low <= matrix @ y <= high`, y free: its status and a point."""
    global _HIGHS
    if _HIGHS is None:
        _HIGHS = highspy.Highs()
        _HIGHS.silent()
    highs = _HIGHS
    columns, rows = len(costs), len(low)
    infinite = np.full(columns, np.inf)
    starts = np.arange(rows + 1, dtype=np.int32) * columns
    every = np.tile(np.arange(columns, dtype=np.int32), rows)
    highs.passModel(
        columns, rows, len(every), int(highspy.MatrixFormat.kRowwise), 1, 0.0, costs, -infinite, infinite,
        low, high, starts, every, np.ascontiguousarray(matrix).ravel(), np.zeros(columns, dtype=np.int32),
    )  # fmt: skip
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        return "optimal", np.array(highs.getSolution().col_value)
    if status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible):
        if np.abs(costs).max(initial=0.0) == 0:
            return "infeasible", costs
        again, _ = linear_program(np.zeros(columns), matrix, low, high)
        return ("unbounded" if again == "optimal" else "infeasible"), costs
    assert status == highspy.HighsModelStatus.kInfeasible, status
    return "infeasible", costs


def _pieces(problem: Problem, point: Floats, continuous: Ints) -> Iterator[_Piece]:
    """All pieces at a choice of the whole columns."""
    slopes = np.zeros((problem.columns, len(continuous)))
    slopes[continuous, np.arange(len(continuous))] = 1.0
    entries = [(d, i) for d in problem.definitions for i in range(d.size)]
    arguments = [dense(d.arguments, problem.columns) for d in problem.definitions]
    of = {id(d): a for d, a in zip(problem.definitions, arguments, strict=True)}

    def grown(piece: _Piece, at: int) -> Iterator[_Piece]:
        if at == len(entries):
            yield piece
            return
        definition, i = entries[at]
        part = slice(int(definition.starts[i]), int(definition.starts[i + 1]))
        matrix = of[id(definition)][part]
        slope = matrix @ piece.slopes
        constant = matrix @ piece.constants + definition.arguments.constants[part]
        for further in _branches(piece, definition, i, slope, constant):
            yield from grown(further, at + 1)

    return grown(_Piece(slopes, point), 0)


def _branches(piece: _Piece, d: Definition, i: int, slope: Floats, constant: Floats) -> Iterator[_Piece]:
    """The pieces after one more entry, whose arguments are `slope @ y + constant`."""
    result = int(d.results[i])
    moving = np.abs(slope).max(axis=1, initial=0.0) > 0
    none = np.zeros(slope.shape[1])
    if not moving.any():
        with np.errstate(all="ignore"):
            yield piece.given(result, none, float(d.take(np.array([i])).evaluate(constant)[0]))
        return
    match d:
        case Product():
            scale = float(np.prod(constant[~moving]))
            if moving.sum() > 1 and scale != 0:
                raise Unsupported("a product of continuous factors")
            at = int(np.flatnonzero(moving)[0])
            yield piece.given(result, scale * slope[at], scale * constant[at])
        case MinMax():
            sign = 1.0 if d.largest else -1.0
            for j in range(len(constant)):
                others = [k for k in range(len(constant)) if k != j]
                cuts = [(sign * (slope[j] - slope[k]), sign * (constant[k] - constant[j]), np.inf) for k in others]
                yield piece.given(result, slope[j], constant[j], *cuts)
        case Unary(function="abs"):
            for sign in (1.0, -1.0):
                yield piece.given(
                    result, sign * slope[0], sign * constant[0], (sign * slope[0], -sign * constant[0], np.inf)
                )
        case Power() if d.exponents[i] == 1:
            yield piece.given(result, slope[0], constant[0])
        case Reified():
            low, high = d.lower[i] - constant[0], d.upper[i] - constant[0]
            yield piece.given(result, none, 1.0, (slope[0], low, high))
            # The boundary itself counts for both sides: the optimum of a problem that wants 0 there may be a limit.
            if np.isfinite(low):
                yield piece.given(result, none, 0.0, (slope[0], -np.inf, low))
            if np.isfinite(high):
                yield piece.given(result, none, 0.0, (slope[0], high, np.inf))
        case Piecewise():
            assert d.curves is not None
            yield from _segments(piece, d, i, slope[0], float(constant[0]))
        case _:
            raise Unsupported(f"{d.op} of a continuous column")


def _segments(piece: _Piece, d: Piecewise, i: int, slope: Floats, constant: float) -> Iterator[_Piece]:
    curves = d.curves
    assert curves is not None
    c = int(d.which[i])
    part = slice(int(curves.starts[c]), int(curves.starts[c + 1]))
    x, y = curves.x[part], curves.y[part]
    inner = [(y[k + 1] - y[k]) / (x[k + 1] - x[k]) for k in range(len(x) - 1)]
    tilts = [curves.slope_before[c], *inner, curves.slope_after[c]]
    ends = [-np.inf, *x, np.inf]
    for k, tilt in enumerate(tilts):
        anchor = max(0, k - 1)
        value = y[anchor] + tilt * (constant - x[anchor])
        yield piece.given(int(d.results[i]), tilt * slope, value, (slope, ends[k] - constant, ends[k + 1] - constant))


# --- what must hold after a pass -------------------------------------------------------------------------------------

By = Pass | Sequence[Pass] | Target


def apply(problem: Problem, by: By, target: Target | None = None) -> ReformulatedProblem:
    """The problem after a pass (where it accepts), after several, or after the whole pipeline for a target."""
    if isinstance(by, Target):
        return reformulate(problem, by)
    reformulated = ReformulatedProblem(problem, problem)
    for one in by if isinstance(by, Sequence) else (by,):
        analysis = Analysis(reformulated.problem)
        if one.accepts(analysis, target or Target("test")):
            reformulated = reformulated.then(one.apply(analysis, target or Target("test")))
    return reformulated


def assert_same_optimum(problem: Problem, by: By, target: Target | None = None) -> ReformulatedProblem:
    """Same status and optimum before and after (up to `bound_error`), and the way back and forth holds.

    The best point after, recovered and completed, is feasible in `problem` and has the optimum as its value; the best
    point before, lifted, is feasible after. Raises Unsupported when the optimum cannot be enumerated.
    """
    before = optimum(problem)
    reformulated = apply(problem, by, target)
    after = solved(reformulated.problem)
    assert after.status == before.status, (before.status, after.status)
    if before.status != "optimal":
        return reformulated
    assert before.point is not None
    assert after.point is not None
    close = TOLERANCE * max(1.0, abs(before.value), float(np.abs(_costs(problem)) @ np.abs(before.point)))
    worse = _sign(problem) * (after.value - before.value)
    assert -close <= worse <= reformulated.bound_error + close, (before.value, after.value)
    back = complete(problem.definitions, reformulated.invert(after.point))
    assert is_feasible(problem, back[None])[0], "the recovered point is not feasible"
    value = float(_costs(problem) @ back) + _offset(problem)
    assert abs(value - before.value) <= reformulated.bound_error + 10 * close, (before.value, value)
    there = complete(reformulated.problem.definitions, reformulated.map_start(before.point))
    assert is_feasible(reformulated.problem, there[None])[0], "the lifted point is not feasible"
    return reformulated


def solved(problem: Problem) -> Optimum:
    """The optimum by HiGHS where the problem is linear, by enumeration otherwise."""
    if not problem.is_linear:
        return optimum(problem)
    found = solve_problem(problem)
    found.close()
    if found.point is None:
        return Optimum(str(found.status))
    return Optimum("optimal", float(_costs(problem) @ found.point) + _offset(problem), found.point)


def assert_bounds_hold(problem: Problem) -> None:
    """No feasible point of a problem with whole columns lies outside the propagated bounds."""
    bounds = propagate(problem)
    points = feasible_points(problem)
    slack = 1e-9 * np.maximum(1.0, np.abs(points))
    assert (points >= bounds.lower - slack).all(), (bounds.lower, points.min(axis=0))
    assert (points <= bounds.upper + slack).all(), (bounds.upper, points.max(axis=0))
