"""Small problems with nonlinear terms: each is a separate definition with a column after the declared ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from building import INF, Row, problem

from gpusched_dsl.ir.arrays import Int32s
from gpusched_dsl.ir.definitions import (
    Affines,
    Conditions,
    Curves,
    Definition,
    MinMax,
    PartialExpectation,
    Piecewise,
    Power,
    Product,
    Reified,
    Unary,
)
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem

Expression = tuple[Sequence[float], float]  # coefficients of the first columns, constant
Made = Callable[[Int32s, int], Definition]


def of(*coefficients: float, plus: float = 0.0) -> Expression:
    return coefficients, plus


def _arguments(expressions: Sequence[Expression], columns: int) -> Affines:
    dense = np.zeros((len(expressions), columns))
    for i, (coefficients, _) in enumerate(expressions):
        dense[i, : len(coefficients)] = coefficients
    row_of, column_of = np.nonzero(dense)
    starts = np.searchsorted(row_of, np.arange(len(expressions) + 1)).astype(np.int64)
    matrix = Matrix(starts, column_of.astype(np.int32), dense[row_of, column_of])
    return Affines(matrix, np.array([plus for _, plus in expressions]))


def _term(kind: type[Definition], expressions: Sequence[Expression], **more: object) -> Made:
    def made(result: Int32s, columns: int) -> Definition:
        starts = np.array([0, len(expressions)])
        name = f"term {int(result[0])}"
        return kind(result, starts, _arguments(expressions, columns), None, name, **more)  # type: ignore[arg-type]

    return made


def product(*expressions: Expression) -> Made:
    return _term(Product, expressions)


def largest(*expressions: Expression) -> Made:
    return _term(MinMax, expressions, largest=True)


def smallest(*expressions: Expression) -> Made:
    return _term(MinMax, expressions, largest=False)


def power(expression: Expression, exponent: float) -> Made:
    return _term(Power, [expression], exponents=np.array([float(exponent)]))


def function(name: str, expression: Expression) -> Made:
    return _term(Unary, [expression], function=name)


def piecewise(expression: Expression, points: Sequence[tuple[float, float]], before: float, after: float) -> Made:
    x, y = (np.array(values, dtype=np.float64) for values in zip(*points, strict=True))
    curves = Curves(np.array([0, len(x)]), x, y, np.array([before]), np.array([after]), np.zeros(1))
    return _term(Piecewise, [expression], which=np.zeros(1, dtype=np.int64), curves=curves)


def expected_least(expression: Expression, law: object) -> Made:
    return _term(PartialExpectation, [expression], which=np.zeros(1, dtype=np.int64), laws=(law,))


def holds(expression: Expression, lower: float = -INF, upper: float = INF) -> Made:
    return _term(Reified, [expression], lower=np.array([lower]), upper=np.array([upper]))


def nonlinear(
    *objectives: Objective,
    columns: int,
    terms: Sequence[Made] = (),
    rows: Sequence[Row] = (),
    lower: Sequence[float] | float = 0.0,
    upper: Sequence[float] | float = INF,
    integer: Sequence[int] | bool = False,
    only_if: Sequence[tuple[int, int, bool]] = (),
) -> Problem:
    """`columns` declared columns, and one for each of `terms` behind them; rows and costs are over all of them.

    `only_if` lists rows that must hold where a column has a value, in the order of the rows.
    """
    count = columns + len(terms)
    made = [term(np.array([columns + k], dtype=np.int32), count) for k, term in enumerate(terms)]
    binary = np.array([isinstance(d, Reified) for d in made], dtype=bool)
    whole = list(range(columns)) if integer is True else [] if integer is False else list(integer)
    one = problem(
        *objectives,
        columns=count,
        rows=[(low, [*row, *[0.0] * (count - len(row))], high) for low, row, high in rows],
        lower=[*np.broadcast_to(lower, columns), *np.where(binary, 0.0, -INF)],
        upper=[*np.broadcast_to(upper, columns), *np.where(binary, 1.0, INF)],
        integer=[*whole, *(columns + np.flatnonzero(binary)).tolist()],
        name="nonlinear",
    )
    tests = sorted(only_if)
    return replace(
        one,
        variables=(Family("x", 0, IntervalDomain(0, columns - 1)),),
        auxiliary=tuple(Family(f"term{k}", columns + k, IntervalDomain(0, 0)) for k in range(len(terms))),
        definitions=tuple(made),
        conditions=Conditions(
            np.array([row for row, _, _ in tests], dtype=np.int64),
            np.array([column for _, column, _ in tests], dtype=np.int32),
            np.array([value for _, _, value in tests], dtype=bool),
        ),
    )
