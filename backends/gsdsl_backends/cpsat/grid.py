"""The numbers that columns are multiples of: 1 for integers; of continuous columns, where rows have the form of bounds.

    rows with continuous columns x, y:    lower <= a x + B k <= upper,    lower <= a x - a y + B k <= upper
    a, B, lower, upper, bounds of x and y multiples of a step  ->  x and y are multiples of a step

Proof. Fix the integer columns k. What remains are bounds of single columns and of differences of two, a network, which
is totally unimodular: all its vertices are multiples of the step if the sides divided by a are (Hoffman and Kruskal,
Integral boundary points of convex polyhedra, 1956). Rows under a condition and the orders of intervals choose among
such systems, in which a capacity is at least some sums of demands. Costs are linear, so there is an optimum at
a vertex. Times, makespans, delays and costs of single jobs are of this form, shares of a resource are not.

A row that limits the objective to good values, as a search for alternatives adds, may have any columns and any side:
the optimum without the row satisfies it if any point does.

A row that keeps an earlier objective at its proved optimum may have any columns, too: for integer columns that reach
this optimum its points are a face of the system, and the vertices of a face are vertices of the system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions import Cumulative, IntervalDefinition
from gpusched_dsl.ir.divisors import common_divisors
from gpusched_dsl.ir.graph import connected_components
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

# What the arguments of conditions on intervals are.
OTHER, START, LENGTH, DEMAND, CAPACITY = range(5)
# A side this close to a multiple, relative to itself, is that multiple: earlier objectives are kept within 1e-7.
KEPT = 1e-6
HELP = "declare it `integer`, or choose another backend, such as `highs` or `scip`"


def grid_steps(problem: Problem) -> Floats:
    """A positive step for every column; raises DiagnosticError (GSM4003) for continuous columns without one."""
    steps = np.ones(problem.columns)
    fixed = problem.lower == problem.upper
    odd = fixed & (problem.lower != np.rint(problem.lower))
    steps[odd] = np.abs(problem.lower[odd])
    free = ~problem.integer & ~fixed
    if free.any():
        steps[free] = _free_steps(problem, steps, free)
    return steps


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Numbers of which a column's values must be multiples, and pairs of columns with one step."""

    columns: list[Codes]
    sizes: list[Floats]
    one: list[Codes]
    other: list[Codes]


def _free_steps(problem: Problem, steps: Floats, free: Bools) -> Floats:
    """The steps of the free columns, in their order."""
    found, sides = _Sizes([], [], [], []), _Sizes([], [], [], [])
    _read_rows(problem, steps, free, found, sides)
    for definition in problem.definitions:
        if isinstance(definition, IntervalDefinition):  # products are of integers
            _read_intervals(problem, steps, free, definition, found)
    columns: Codes = np.flatnonzero(free)
    for bounds in (problem.lower[columns], problem.upper[columns]):
        finite = np.isfinite(bounds)
        sides.columns.append(columns[finite])
        sides.sizes.append(np.abs(bounds[finite]))
    part = _parts(problem.columns, found)
    known = _divisors(part, columns, found)
    # Sides that are no multiples of the rest make the step finer.
    of, size = np.concatenate(sides.columns), np.concatenate(sides.sizes)
    with np.errstate(all="ignore"):
        ratio = size / known[part[of]]
        off = np.abs(ratio - np.rint(ratio)) > KEPT * np.maximum(1.0, ratio)
    off |= np.isinf(known[part[of]]) & (size > 0)
    found.columns.append(of[off])
    found.sizes.append(size[off])
    known = _divisors(part, columns, found)[part[columns]]
    if (known == 0).any():
        column = int(columns[np.argmax(known == 0)])
        why = "its values depend on numbers without a common divisor, such as 1.5 and 0.33333"
        raise DiagnosticError([_refusal(problem, column, why, None)])
    return np.where(np.isinf(known), 1.0, known)


def _read_rows(problem: Problem, steps: Floats, free: Bools, found: _Sizes, sides: _Sizes) -> None:
    matrix = problem.matrix
    row, column, value = matrix.row_of, matrix.columns, matrix.values
    inside = free[column] & (value != 0) & ~(_limits_of_costs(problem) | _kept(problem))[row]
    count = np.bincount(row[inside], minlength=matrix.rows)
    many = np.flatnonzero(count > 2)
    if len(many):
        _refuse_row(problem, int(many[0]), free, f"with {int(count[many[0]]) - 1} other continuous variables")
    scale, first, last = np.ones(matrix.rows), np.zeros(matrix.rows, np.int64), np.zeros(matrix.rows, np.int64)
    at = np.flatnonzero(inside)
    scale[row[at]] = np.abs(value[at])
    last[row[at]] = column[at]
    first[row[at[::-1]]] = column[at[::-1]]
    total, size = (np.bincount(row[at], weights=v, minlength=matrix.rows) for v in (value[at], np.abs(value[at])))
    pairs = np.flatnonzero(count == 2)
    bent = pairs[np.abs(total[pairs]) > ROUNDING * size[pairs]]
    if len(bent):
        _refuse_row(problem, int(bent[0]), free, "with another continuous variable, and not as their difference")
    found.one.append(first[pairs])
    found.other.append(last[pairs])
    others = np.flatnonzero(~free[column] & (count[row] > 0))
    found.columns.append(first[row[others]])
    found.sizes.append(np.abs(value[others] * steps[column[others]]) / scale[row[others]])
    for ends in (problem.row_lower, problem.row_upper):
        rows = np.flatnonzero((count > 0) & np.isfinite(ends))
        sides.columns.append(first[rows])
        sides.sizes.append(np.abs(ends[rows]) / scale[rows])


def _kept(problem: Problem) -> Bools:
    """The rows that keep earlier objectives at proved optima."""
    found = np.zeros(problem.rows, dtype=np.bool_)
    for family in problem.constraints:
        found[family.slice] |= family.keeps
    return found


def _limits_of_costs(problem: Problem) -> Bools:
    """Whether a row is a positive multiple of the objective, and forbids only worse values, without a condition."""
    matrix = problem.matrix
    if not problem.objectives:
        return np.zeros(matrix.rows, dtype=np.bool_)
    objective = problem.objectives[0]
    costs, minimizes = objective.costs(problem.columns), objective.sense == "minimize"
    found: Bools = np.isinf(problem.row_lower if minimizes else problem.row_upper)
    found[problem.conditions.rows] = False
    cost, value = costs[matrix.columns], matrix.values
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(value == 0, 0.0, cost / value)
    least, most = np.full(matrix.rows, np.inf), np.zeros(matrix.rows)
    used = np.flatnonzero((cost != 0) | (value != 0))
    np.minimum.at(least, matrix.row_of[used], ratio[used])
    np.maximum.at(most, matrix.row_of[used], ratio[used])
    count = np.bincount(matrix.row_of[used], minlength=matrix.rows)
    found &= (count == np.count_nonzero(costs)) & (least > 0) & (most - least <= ROUNDING * most)
    return found


def _read_intervals(
    problem: Problem, steps: Floats, free: Bools, definition: IntervalDefinition, found: _Sizes
) -> None:
    """Starts of intervals of an entry differ by lengths, and a capacity is at least a sum of demands."""
    arguments, entry, first = definition.arguments, definition.entry_of, definition.intervals
    matrix = arguments.matrix
    kind = np.full(arguments.count, OTHER)
    kind[first], kind[first + 1] = START, LENGTH
    if isinstance(definition, Cumulative):
        kind[first + 3], kind[definition.capacities] = DEMAND, CAPACITY
    inside = free[matrix.columns] & (matrix.values != 0)
    count = np.bincount(matrix.row_of[inside], minlength=arguments.count)
    wrong = (count > 1) | ((count > 0) & (kind != START) & (kind != CAPACITY))
    wrong[matrix.row_of[inside & (matrix.values != 1.0)]] = True
    if wrong.any():
        argument = int(np.argmax(wrong))
        part = matrix.take(np.array([argument])).columns
        why = f"`{definition.name}` reads it, and not as the start of an interval or as the capacity"
        raise DiagnosticError([_refusal(problem, int(part[np.argmax(free[part])]), why, definition.span)])
    at = np.flatnonzero(inside)
    owner, column = matrix.row_of[at], matrix.columns[at].astype(np.int64)
    rest = np.flatnonzero(~inside)
    for reader, others in ((START, (START, LENGTH)), (CAPACITY, (CAPACITY, DEMAND))):
        mine = kind[owner] == reader
        of = np.full(definition.size, -1, dtype=np.int64)
        of[entry[owner[mine]]] = column[mine]  # the last of an entry stands for all of them
        found.one.append(column[mine])
        found.other.append(of[entry[owner[mine]]])
        read = np.isin(kind, others) & (of[entry] >= 0)
        found.columns.append(of[entry[read]])
        found.sizes.append(np.abs(arguments.constants[read]))
        parts = rest[read[matrix.row_of[rest]]]
        found.columns.append(of[entry[matrix.row_of[parts]]])
        found.sizes.append(np.abs(matrix.values[parts] * steps[matrix.columns[parts]]))


def _parts(columns: int, found: _Sizes) -> Codes:
    """The number of the part of each column; columns of a part have one step."""
    return connected_components(columns, np.concatenate(found.one), np.concatenate(found.other))


def _divisors(part: Codes, columns: Codes, found: _Sizes) -> Floats:
    """The largest common divisor of the sizes of every part: infinite for none but zeros, 0 if unknown."""
    of = part[np.concatenate((*found.columns, columns))]
    sizes = np.concatenate((*found.sizes, np.zeros(len(columns))))
    order = np.argsort(of, kind="stable")
    of = of[order]
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    result = np.full(int(part.max(initial=-1)) + 1, np.inf)
    result[of[starts]] = common_divisors(sizes[order], starts)
    return result


def _refuse_row(problem: Problem, row: int, free: Bools, how: str) -> None:
    family, inside = problem.row_family(row), problem.matrix.take(np.array([row])).columns
    column = int(inside[np.argmax(free[inside])])
    raise DiagnosticError([_refusal(problem, column, f"it is in `{entry_name(family, row)}` {how}", family.span)])


def _refusal(problem: Problem, column: int, why: str, span: Span | None) -> Diagnostic:
    family = problem.column_family(column)
    return Diagnostic(
        "GSM4003",
        f"`cpsat` solves integer problems, and the continuous `{entry_name(family, column)}` has no common step",
        family.span or span,
        notes=(why,),
        help=HELP,
    )
