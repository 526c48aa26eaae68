"""Terms with a pole, such as `1/x` and `log(x)` at 0: columns kept off it, and better points nearer to it.

SCIP's presolve moves a column that only one side needs to its bound, whatever the domain of the functions that read it
(`maximize 1/x` over `0 <= x <= 5`: x becomes 0), and calls the problem infeasible. So a column whose range ends at a
pole begins 1e-9 off it, and reductions by dual arguments are off. SCIP does not look closer at a pole than this
distance (`expr/pow/minzerodistance`); an optimum that ends there is examined.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions import Affines, Definition, Power, Unary, complete
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import objective_value, verify

DISTANCE = 1e-9
# How far from a pole, in distances, a point counts as one that SCIP's distance has stopped.
NEAR = 100.0
# The points that are tried between that point and the pole, as shares of its distance.
SHARES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
# An objective that gets better with each of so many shares has no end.
ENDLESS = 4
BETTER = 1e-6  # by how much, of the value
HALVES = 60  # of a way to a point with an infinite value; doubles end there
OVERFLOWS = 1e60  # what an objective must have reached before it overflows
TRIED = 50  # moves of a column towards a pole


class PoleBounds(Struct, frozen=True, eq=False):
    """The bounds of all columns."""

    lower: Floats
    upper: Floats


class NearerPoints(Struct, frozen=True, eq=False):
    """The best feasible point nearer to a pole; `endless` where each one nearer was better."""

    values: Floats
    objective: float
    endless: bool


def off_poles(problem: Problem, bounds: Bounds) -> PoleBounds | None:
    """Return bounds that keep columns off poles at the end of their range; None where no argument can reach a pole.

    An argument with values on both sides of a pole, or of several columns, moves no bound.
    """
    lower, upper, reached = problem.lower.copy(), problem.upper.copy(), False
    for definition in problem.definitions:
        has_pole = _has_pole(definition)
        if not has_pole.any():
            continue
        arguments, (low, high) = definition.arguments, bounds.of(definition.arguments)
        distance = _distance(arguments)
        reached |= bool((has_pole & (low < distance) & (high > -distance)).any())
        one_sided = ~_is_two_sided(definition)
        right = has_pole & (low < distance) & (high > distance) & (one_sided | (low >= 0.0))
        left = has_pole & (high > -distance) & (low < -distance) & ~one_sided & (high <= 0.0)
        single = np.diff(arguments.matrix.starts) == 1
        for side, entries in ((1.0, right & single), (-1.0, left & single)):
            at = arguments.matrix.starts[:-1][entries]
            columns, factors = arguments.matrix.columns[at], arguments.matrix.values[at]
            poles = -arguments.constants[entries] / factors
            off = DISTANCE * np.maximum(1.0, np.abs(poles))
            rises = side * factors > 0
            np.maximum.at(lower, columns[rises], (poles + off)[rises])
            np.minimum.at(upper, columns[~rises], (poles - off)[~rises])
    return PoleBounds(np.minimum(lower, upper), upper) if reached else None


def better_nearer(problem: Problem, point: Floats, gap: float) -> NearerPoints | None:
    """Return a point that is better than `point` by more than `gap`, and nearer to a pole where `point` is at one."""
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    first = verify(problem, point)
    if not first.feasible:
        return None
    begin = sign * first.objectives[0].value
    found: NearerPoints | None = None
    for column, move in _moves(problem, complete(problem.definitions, point)):
        value, count, best = begin, 0, None
        for share in SHARES:
            nearer = point.copy()
            nearer[column] += (1.0 - share) * move
            checked = verify(problem, nearer)
            if not checked.feasible or not np.isfinite(checked.objectives[0].value):
                break
            new = sign * checked.objectives[0].value
            if not new < value - BETTER * max(1.0, abs(value)):
                break
            value, count, best = new, count + 1, nearer
        if best is not None and begin - value > gap * max(1.0, abs(begin)):
            if found is None or value < sign * found.objective:
                found = NearerPoints(complete(problem.definitions, best), sign * value, count >= ENDLESS)
            if found.endless:
                return found
    return found


def is_near_pole(problem: Problem, point: Floats) -> bool:
    """Whether an argument is as close to a pole of its function as SCIP looks."""
    return next(_moves(problem, complete(problem.definitions, point)), None) is not None


def overflows(problem: Problem, point: Floats) -> bool:
    """Whether the objective of a point has no finite value, computed anew from the declared columns."""
    return not np.isfinite(_value(problem, point))


def grows_towards(problem: Problem, inner: Floats, point: Floats) -> bool:
    """Whether the objective gets better on the way from `inner` to a `point` at which its value overflows.

    Each half of the way must be better than the one before, until a value is out of reach of floating-point numbers.
    """
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    if not np.array_equal(inner[problem.integer], point[problem.integer]):
        return False
    value, count = np.inf, 0
    for halves in range(HALVES):
        between = point + 0.5**halves * (inner - point)
        new = sign * _value(problem, between)
        if np.isneginf(new):
            return count >= ENDLESS and value < -OVERFLOWS
        if not verify(problem, between).feasible or not new < value:
            return False
        value, count = new, count + 1
    return False


def _value(problem: Problem, point: Floats) -> float:
    with np.errstate(all="ignore"):
        return objective_value(problem.objectives[0], complete(problem.definitions, point)).value


def _moves(problem: Problem, point: Floats) -> Iterator[tuple[int, float]]:
    """Yield columns, and the change of each that takes an argument near a pole onto it."""
    left = TRIED
    for definition in problem.definitions:
        has_pole = _has_pole(definition)
        if not has_pole.any():
            continue
        arguments = definition.arguments
        values = arguments.values(point)
        near = has_pole & (np.abs(values) <= NEAR * _distance(arguments)) & (values != 0.0)
        for entry in np.flatnonzero(near).tolist():
            for k in range(int(arguments.matrix.starts[entry]), int(arguments.matrix.starts[entry + 1])):
                column, factor = int(arguments.matrix.columns[k]), float(arguments.matrix.values[k])
                if left and factor and not problem.integer[column]:
                    left -= 1
                    yield column, -float(values[entry]) / factor


def _has_pole(definition: Definition) -> Bools:
    if isinstance(definition, Power):
        return np.asarray(definition.exponents < 0)
    return np.full(definition.size, isinstance(definition, Unary) and definition.function == "log")


def _is_two_sided(definition: Definition) -> Bools:
    """Whether the function has values on both sides of its pole."""
    if isinstance(definition, Power):
        return np.asarray(definition.exponents == np.rint(definition.exponents))
    return np.zeros(definition.size, dtype=np.bool_)


def _distance(arguments: Affines) -> Floats:
    """SCIP's distance, measured where it counts: in the columns, which it rounds to multiples of about 1e-9."""
    largest = np.ones(arguments.count)
    np.maximum.at(largest, arguments.matrix.row_of, np.abs(arguments.matrix.values))
    return DISTANCE * largest
