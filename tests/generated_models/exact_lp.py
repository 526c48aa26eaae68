"""Small linear programs in fractions: the two-phase simplex method with Bland's rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Row:
    """`sum of coefficients * columns + constant >= 0`, or `== 0`."""

    coefficients: tuple[Fraction, ...]
    constant: Fraction
    equal: bool = False


@dataclass(frozen=True)
class Optimum:
    status: str  # optimal, infeasible or unbounded
    value: Fraction = ZERO
    point: tuple[Fraction, ...] = ()


Ends = tuple[Fraction | None, Fraction | None]


def minimum(costs: Sequence[Fraction], rows: Sequence[Row], ends: Sequence[Ends]) -> Optimum:
    """The least `costs * x` with all rows kept and x between its ends (None: no end)."""
    # x = offset + sign * y (+ another y with the opposite sign for a free column), y >= 0
    places: list[list[tuple[int, int]]] = []
    offsets: list[Fraction] = []
    wanted = list(rows)
    size = 0
    for at, (low, high) in enumerate(ends):
        if low is None and high is None:
            places.append([(size, 1), (size + 1, -1)])
            offsets.append(ZERO)
            size += 2
            continue
        offset = low if low is not None else high
        assert offset is not None
        places.append([(size, 1 if low is not None else -1)])
        offsets.append(offset)
        size += 1
        if low is not None and high is not None:
            if low > high:
                return Optimum("infeasible")
            wanted.append(Row(tuple(-ONE if k == at else ZERO for k in range(len(ends))), high))
    table: list[list[Fraction]] = []
    sides: list[Fraction] = []
    for row in wanted:  # coefficients * y - slack == side
        line, side = [ZERO] * size, -row.constant
        for factor, offset, where in zip(row.coefficients, offsets, places, strict=True):
            side -= factor * offset
            for k, sign in where:
                line[k] += sign * factor
        table.append(line)
        sides.append(side)
    slacks = [i for i, row in enumerate(wanted) if not row.equal]
    for i, line in enumerate(table):
        line.extend(-ONE if s == i else ZERO for s in slacks)
    total = size + len(slacks)
    basis: list[int] = []
    for i, line in enumerate(table):
        if sides[i] < 0:
            table[i] = line = [-v for v in line]
            sides[i] = -sides[i]
        line.extend(ONE if k == i else ZERO for k in range(len(table)))
        basis.append(total + i)
    artificial = [ZERO] * total + [ONE] * len(table)
    _pivoted(artificial, table, sides, basis, total + len(table))
    if sum((sides[i] for i, b in enumerate(basis) if b >= total), ZERO) > 0:
        return Optimum("infeasible")
    for i, b in enumerate(basis):  # artificial columns leave the basis where they can; other rows are redundant
        if b >= total:
            k = next((k for k in range(total) if table[i][k]), None)
            if k is not None:
                _pivot(table, sides, basis, i, k)
    prices = [ZERO] * (total + len(table))
    for cost, where in zip(costs, places, strict=True):
        for k, sign in where:
            prices[k] += sign * cost
    if not _pivoted(prices, table, sides, basis, total):
        return Optimum("unbounded")
    y = [ZERO] * (total + len(table))
    for b, side in zip(basis, sides, strict=True):
        y[b] = side
    point = tuple(o + sum((s * y[k] for k, s in where), ZERO) for o, where in zip(offsets, places, strict=True))
    return Optimum("optimal", sum((c * x for c, x in zip(costs, point, strict=True)), ZERO), point)


def _pivoted(
    prices: list[Fraction], table: list[list[Fraction]], sides: list[Fraction], basis: list[int], usable: int
) -> bool:
    """Pivot to the optimum; whether there is one."""
    while True:
        duals = [prices[b] for b in basis]
        entering = None
        for k in range(usable):
            if k in basis:
                continue
            reduced = prices[k] - sum(
                (d * line[k] for d, line in zip(duals, table, strict=True) if d and line[k]), ZERO
            )
            if reduced < 0:
                entering = k
                break
        if entering is None:
            return True
        ratios = [(sides[i] / line[entering], basis[i], i) for i, line in enumerate(table) if line[entering] > 0]
        if not ratios:
            return False
        _pivot(table, sides, basis, min(ratios)[2], entering)


def _pivot(table: list[list[Fraction]], sides: list[Fraction], basis: list[int], row: int, column: int) -> None:
    factor = table[row][column]
    table[row] = [v / factor if v else v for v in table[row]]
    sides[row] /= factor
    for i, line in enumerate(table):
        if i != row and line[column]:
            factor = line[column]
            table[i] = [v - factor * p if p else v for v, p in zip(line, table[row], strict=True)]
            sides[i] -= factor * sides[row]
    basis[row] = column
