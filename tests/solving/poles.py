"""Random small problems with poles within the bounds of their variables, and the best point of a grid."""

from __future__ import annotations

from itertools import product as every

import numpy as np
from building import INF, Draws, Row, objective
from defining import Expression, Made, function, nonlinear, of, power, product

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import Tolerances, verify

COLUMNS = 2
EXACTLY = 1e-12  # a row that is broken by less may exclude a pole
EXACT = 1e-6  # of the parts of an objective: the rest is rounding
CLOSE = (1e-9, 1e-6, 1e-3, 1e-2, 1e-1)


def random_problem_with_poles(seed: int) -> Problem:
    """Two columns, one of them perhaps integer, a term with a pole, perhaps a term of it, and up to two rows."""
    draws = Draws(9_000_011 * seed + 5)
    for _ in range(5):
        draws.integer(0, 2)
    lower = [(0, 0, 0, -2, 1)[draws.integer(0, 5)] for _ in range(COLUMNS)]
    upper = [low + draws.integer(1, 6) for low in lower]
    terms = [_term_with_pole(draws, lower, upper)]
    if draws.integer(0, 3):
        terms.append(_term_of(draws))
    count = COLUMNS + len(terms)
    costs = [draws.integer(-2, 3) for _ in range(count - 1)] + [1]
    return nonlinear(
        objective("minimize" if draws.integer(0, 2) else "maximize", costs),
        columns=COLUMNS,
        terms=terms,
        rows=[_row(draws, count) for _ in range(draws.integer(0, 3))],
        lower=lower,
        upper=upper,
        integer=[1] if draws.integer(0, 4) == 0 else False,
    )


def _term_with_pole(draws: Draws, lower: list[int], upper: list[int]) -> Made:
    argument = _argument(draws, lower, upper)
    kind = draws.integer(0, 4)
    return function("log", argument) if kind == 3 else power(argument, (-1, -2, -0.5)[kind])


def _argument(draws: Draws, lower: list[int], upper: list[int]) -> Expression:
    """Something with a zero at an end of its range, or inside."""
    kind = draws.integer(0, 4)
    if kind == 0:
        return of(0, 5, plus=-5 * lower[1])
    if kind == 1:
        return of(1, -1, plus=draws.integer(0, 2))
    if kind == 2:
        return of(0, -1, plus=upper[1])
    return of(0, 1, plus=-draws.integer(lower[1], upper[1]))


def _term_of(draws: Draws) -> Made:
    """A term of the result of the first term, a column of its own."""
    first = of(0, 0, 1)
    return [product(of(1), first), function("exp", of(0, 0, 0.2)), function("abs", first), power(first, 2)][
        draws.integer(0, 4)
    ]


def _row(draws: Draws, count: int) -> Row:
    coefficients = [draws.integer(-2, 3) if draws.integer(0, 2) else 0 for _ in range(count)]
    side = draws.integer(-2, 8)
    return [(-INF, coefficients, side), (side - 8, coefficients, INF)][draws.integer(0, 2)]


def grid(problem: Problem) -> list[Floats]:
    """Points over the ranges of the declared columns, also close to every integer and to the ends."""
    axes = []
    for column in range(COLUMNS):
        low, high = problem.lower[column], problem.upper[column]
        values = np.arange(low, high + 0.125, 1.0 if problem.integer[column] else 0.25)
        if not problem.integer[column]:
            around = np.rint(values)
            values = np.concatenate([values, *(around + c for c in CLOSE), *(around - c for c in CLOSE)])
            values = np.unique(np.clip(values, low, high))
        axes.append(values)
    return [np.array([*point, *np.zeros(problem.columns - COLUMNS)]) for point in every(*axes)]


def best_on_grid(problem: Problem) -> float | None:
    """The best objective of a grid point that is feasible and has a finite value; None without one."""
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    best = None
    for point in grid(problem):
        found = verify(problem, point, Tolerances(EXACTLY, EXACTLY))
        value, magnitude = found.objectives[0].value, found.objectives[0].magnitude
        if found.feasible and np.isfinite(value) and abs(value) >= EXACT * magnitude:
            best = value if best is None or sign * value < sign * best else best
    return best
