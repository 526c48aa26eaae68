"""Random small problems with nonlinear terms of integers, which can be enumerated."""

from __future__ import annotations

from collections.abc import Sequence

from building import INF, Draws, Row, objective
from defining import (
    Expression,
    Made,
    function,
    holds,
    largest,
    nonlinear,
    of,
    piecewise,
    power,
    product,
    smallest,
)

from gpusched_dsl.ir.problem import Problem

NATIVE_OF_SCIP = ("product", "power", "reciprocal", "root", "exp", "log", "abs")
LINEARISABLE = ("binary product", "extreme", "abs", "holds", "piecewise")
COLUMNS = 4
BINARY = 2  # the first columns


def random_problem(seed: int, kinds: Sequence[str], conditions: bool = True, terms: int = 3) -> Problem:
    """`COLUMNS` whole columns, the first `BINARY` of them binary, up to `terms` terms, a few rows."""
    draws = Draws(7_000_003 * seed + 11)
    for _ in range(5):
        draws.integer(0, 2)
    lower = [0] * BINARY + [draws.integer(-2, 2) for _ in range(COLUMNS - BINARY)]
    upper = [1] * BINARY + [low + draws.integer(1, 5) for low in lower[BINARY:]]
    made = [_term(draws, kinds[draws.integer(0, len(kinds))], lower, upper) for _ in range(draws.integer(1, terms + 1))]
    count = COLUMNS + len(made)
    rows = [_row(draws, count) for _ in range(draws.integer(0, 4))]
    switches = [(k, draws.integer(0, BINARY), bool(draws.integer(0, 2))) for k in range(len(rows)) if conditions]
    return nonlinear(
        objective("minimize" if draws.integer(0, 2) else "maximize", [draws.integer(-4, 5) for _ in range(count)]),
        columns=COLUMNS,
        terms=made,
        rows=rows,
        lower=lower,
        upper=upper,
        integer=True,
        only_if=[s for s in switches if draws.integer(0, 2)],
    )


def _row(draws: Draws, count: int) -> Row:
    coefficients = [draws.integer(-3, 4) if draws.integer(0, 2) else 0 for _ in range(count)]
    side = draws.integer(-4, 12)
    return [(-INF, coefficients, side), (side - 12, coefficients, INF), (side - 12, coefficients, side)][
        draws.integer(0, 3)
    ]


def _affine(draws: Draws) -> Expression:
    coefficients = [draws.integer(-2, 3) if draws.integer(0, 3) == 0 else 0 for _ in range(COLUMNS)]
    coefficients[draws.integer(0, COLUMNS)] = 1
    return of(*coefficients, plus=draws.integer(-2, 3))


def _column(draws: Draws, first: int = 0) -> Expression:
    place = draws.integer(first, COLUMNS)
    return of(*[float(j == place) for j in range(COLUMNS)])


def _positive(draws: Draws, lower: Sequence[float], upper: Sequence[float]) -> Expression:
    """An expression that is at least 1 within the bounds."""
    coefficients, _ = _affine(draws)
    ends = zip(coefficients, lower, upper, strict=True)
    least = sum(min(a * low, a * high) for a, low, high in ends)
    return of(*coefficients, plus=1 - least + draws.integer(0, 2))


def _term(draws: Draws, kind: str, lower: Sequence[float], upper: Sequence[float]) -> Made:
    match kind:
        case "product":
            return product(_affine(draws), _affine(draws))
        case "binary product":
            return product(of(1) if draws.integer(0, 2) else of(0, 1), _column(draws))
        case "power":
            return power(_affine(draws), draws.integer(2, 4))
        case "reciprocal":
            return power(_positive(draws, lower, upper), -1)
        case "root":
            return power(_positive(draws, lower, upper), 0.5)
        case "log":
            return function("log", _positive(draws, lower, upper))
        case "exp":
            coefficients, plus = _affine(draws)
            return function("exp", of(*[a / 4 for a in coefficients], plus=plus / 4))
        case "abs":
            return function("abs", _affine(draws))
        case "extreme":
            count = draws.integer(2, 4)
            return (largest if draws.integer(0, 2) else smallest)(*[_affine(draws) for _ in range(count)])
        case "holds":
            side = draws.integer(-2, 3)
            return holds(_affine(draws), side if draws.integer(0, 2) else -INF, side + draws.integer(0, 3))
        case "piecewise":
            steps = [draws.integer(-3, 4) for _ in range(4)]
            return piecewise(_affine(draws), [(-1, 0), (0, steps[0]), (2, steps[1])], steps[2], steps[3])
    raise AssertionError(kind)
