"""Small problems written as dense rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term

INF = float("inf")
Row = tuple[float, Sequence[float], float]  # lower side, coefficients, upper side


def at_most(side: float, *coefficients: float) -> Row:
    return -INF, coefficients, side


def at_least(side: float, *coefficients: float) -> Row:
    return side, coefficients, INF


def equal(side: float, *coefficients: float) -> Row:
    return side, coefficients, side


def between(lower: float, upper: float, *coefficients: float) -> Row:
    return lower, coefficients, upper


def objective(sense: str, costs: Sequence[float], offset: float = 0.0, name: str | None = None) -> Objective:
    values = np.array(costs, dtype=np.float64)
    used = np.flatnonzero(values)
    return Objective(sense, (Term(None, used.astype(np.int32), values[used], offset),), name)


def minimize(*costs: float, offset: float = 0.0, name: str | None = None) -> Objective:
    return objective("minimize", costs, offset, name)


def maximize(*costs: float, offset: float = 0.0, name: str | None = None) -> Objective:
    return objective("maximize", costs, offset, name)


def problem(
    *objectives: Objective,
    columns: int,
    rows: Sequence[Row] = (),
    lower: Sequence[float] | float = 0.0,
    upper: Sequence[float] | float = INF,
    integer: Sequence[int] | bool = False,
    name: str = "conformance",
) -> Problem:
    """`columns` columns `x[0..]` and rows `row[0..]`; `integer` lists columns, or says it of all."""
    whole = np.zeros(columns, dtype=bool)
    if isinstance(integer, bool):
        whole[:] = integer
    else:
        whole[list(integer)] = True
    dense = np.array([row[1] for row in rows], dtype=np.float64).reshape(len(rows), columns)
    row_of, column_of = np.nonzero(dense)
    return Problem(
        name=name,
        variables=(Family("x", 0, IntervalDomain(0, columns - 1)),),
        lower=np.array(np.broadcast_to(lower, columns), dtype=np.float64),
        upper=np.array(np.broadcast_to(upper, columns), dtype=np.float64),
        integer=whole,
        constraints=(Family("row", 0, IntervalDomain(0, len(rows) - 1)),),
        matrix=Matrix(
            np.searchsorted(row_of, np.arange(len(rows) + 1)).astype(np.int64),
            column_of.astype(np.int32),
            dense[row_of, column_of],
        ),
        row_lower=np.array([row[0] for row in rows], dtype=np.float64),
        row_upper=np.array([row[2] for row in rows], dtype=np.float64),
        objectives=tuple(objectives),
    )


def dense_rows(one: Problem) -> np.ndarray:
    """The coefficients as a matrix, for checks that share no code with the package."""
    rows = np.zeros((one.rows, one.columns))
    for i in range(one.rows):
        for k in range(one.matrix.starts[i], one.matrix.starts[i + 1]):
            rows[i, one.matrix.columns[k]] += one.matrix.values[k]
    return rows


class Draws:
    """A small generator of our own, so that instances are the same under every version of NumPy."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def integer(self, low: int, high: int) -> int:
        """One of `low .. high - 1`."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return low + (self.state >> 33) % (high - low)


def many_knapsacks(columns: int = 200, rows: int = 20) -> Problem:
    """Nothing chosen is feasible, good points are found at once, a proof takes hours."""
    draws = Draws(1)
    weights = [[draws.integer(1, 1000) for _ in range(columns)] for _ in range(rows)]
    values = [sum(w[j] for w in weights) / rows + draws.integer(0, 500) for j in range(columns)]
    sides = [at_most(sum(w) // 2, *w) for w in weights]
    return problem(maximize(*values), columns=columns, rows=sides, upper=1.0, integer=True)


def market_split(columns: int = 40, rows: int = 5) -> Problem:
    """Cornuejols and Dawande's market split: a handful of equations in binaries that defy branch and bound."""
    draws = Draws(3)
    weights = [[draws.integer(0, 100) for _ in range(columns)] for _ in range(rows)]
    sides = [equal(sum(w) // 2, *w) for w in weights]
    return problem(minimize(*[1.0] * columns), columns=columns, rows=sides, upper=1.0, integer=True)
