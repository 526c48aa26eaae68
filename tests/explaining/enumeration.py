"""Feasibility of parts of small problems by looking at every point, sharing no code with the package."""

from __future__ import annotations

import itertools

import numpy as np
from building import Draws, Row, dense_rows, problem

from gpusched_dsl.explaining.conflict import Conflict
from gpusched_dsl.ir.problem import Problem

# Where a bound is left out, whole columns are looked at as far as this: far beyond all numbers that occur.
REACH = 40
FAR = 1e4  # the same for other columns
EXACT = 1e-9


def has_point(one: Problem, rows: list[int], lower: list[int], upper: list[int], integer: list[int]) -> bool:
    """Whether some point satisfies these rows, bounds and integrality."""
    lows = [one.lower[j] if j in lower else -REACH if j in integer else -FAR for j in range(one.columns)]
    highs = [one.upper[j] if j in upper else REACH if j in integer else FAR for j in range(one.columns)]
    axes = [np.arange(np.ceil(lows[j]), np.floor(highs[j]) + 1) for j in integer]
    choices = list(itertools.product(*axes))
    whole = np.array(choices).reshape(len(choices), len(integer))
    free = [j for j in range(one.columns) if j not in integer]
    dense = dense_rows(one)[rows]
    used = whole @ dense[:, integer].T  # a line per choice of the whole columns
    sides = np.array([one.row_lower[rows] - used, one.row_upper[rows] - used])
    bounds = [(lows[j], highs[j]) for j in free]
    if len(free) > 1:
        return any(_in_space(dense[:, free], low, high, bounds) for low, high in zip(*sides, strict=True))
    if len(free) == 1:
        return bool(_on_line(dense[:, free[0]], *sides, *bounds[0]).any())
    return bool(np.all((sides[0] <= EXACT) & (sides[1] >= -EXACT), axis=1).any())


def _on_line(factors: np.ndarray, below: np.ndarray, above: np.ndarray, low: float, high: float) -> np.ndarray:
    """For each line of sides whether `below <= factors * x <= above` for some x."""
    lows, highs = np.full(len(below), low), np.full(len(below), high)
    fine = np.ones(len(below), dtype=bool)
    for k, factor in enumerate(factors):
        if factor == 0:
            fine &= (below[:, k] <= EXACT) & (above[:, k] >= -EXACT)
            continue
        ends = np.sort(np.stack((below[:, k], above[:, k])) / factor, axis=0)
        lows, highs = np.maximum(lows, ends[0]), np.minimum(highs, ends[1])
    return fine & (lows <= highs + EXACT)


def _in_space(factors: np.ndarray, below: np.ndarray, above: np.ndarray, bounds: list[tuple[float, float]]) -> bool:
    """Whether the polytope, which the bounds close, has a vertex: a crossing of as many planes as there are columns."""
    rows = np.concatenate((factors, np.eye(len(bounds))))
    lows = np.concatenate((below, [low for low, _ in bounds]))
    highs = np.concatenate((above, [high for _, high in bounds]))
    planes, sides = np.concatenate((rows, rows)), np.concatenate((lows, highs))
    planes, sides = planes[np.isfinite(sides)], sides[np.isfinite(sides)]
    chosen = np.array(list(itertools.combinations(range(len(sides)), len(bounds))))
    chosen = chosen[np.abs(np.linalg.det(planes[chosen])) > EXACT]
    points = np.linalg.solve(planes[chosen], sides[chosen][..., None])[..., 0]
    values = points @ rows.T
    return bool(np.all((values >= lows - 1e-7) & (values <= highs + 1e-7), axis=1).any())


def parts_of(conflict: Conflict) -> dict[str, list[int]]:
    return {
        "rows": conflict.rows.tolist(),
        "lower": conflict.lower.tolist(),
        "upper": conflict.upper.tolist(),
        "integer": conflict.integer.tolist(),
    }


def one_left_out(parts: dict[str, list[int]]) -> list[dict[str, list[int]]]:
    """The conflict with each single element left out."""
    return [{**parts, kind: [n for n in numbers if n != one]} for kind, numbers in parts.items() for one in numbers]


def small_problem(seed: int) -> Problem:
    """Two or three columns, mostly whole ones, of a few values, and up to 6 rows of small integers."""
    draws = Draws(seed)
    for _ in range(6):
        draws.integer(0, 2)
    columns = draws.integer(2, 4)
    rows: list[Row] = []
    for _ in range(draws.integer(1, 7)):
        side, kind = draws.integer(-3, 9), draws.integer(0, 3)
        coefficients = [float(draws.integer(-2, 4)) for _ in range(columns)]
        rows.append((-np.inf if kind == 1 else side, coefficients, np.inf if kind == 0 else side + (kind == 1)))
    lower = [float(draws.integer(-2, 2)) for _ in range(columns)]
    upper = [low + draws.integer(0, 5) for low in lower]
    whole = [j for j in range(columns) if draws.integer(0, 3) or j >= 2]
    return problem(columns=columns, rows=rows, lower=lower, upper=upper, integer=whole)
