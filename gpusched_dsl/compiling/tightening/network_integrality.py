"""Integrality that the structure of the rows implies is dropped: columns that form a network.

    columns D, the other integer columns K, and all rows with a column of D:   lower <= A x_D + B x_K <= upper
    A network matrix, B, lower, upper and the bounds of D integer        ->   D continuous

With K fixed at integers, D remains with `lower - B k <= A x <= upper - B k` within integer bounds. A matrix with
at most two entries +-1 a column is totally unimodular if its rows can be split into two parts such that two entries
of one sign are in different parts, and two of different sign in the same (Heller and Tompkins, An extension of
a theorem of Dantzig's, 1956). All vertices of such a polyhedron with integer sides and bounds are integer (Hoffman and
Kruskal, Integral boundary points of convex polyhedra, 1956). No other column of the problem shares a row with D but
those of K, so for every K the best value over D is that of an integer point, and K alone has to be searched. Continuous
columns that fulfil what is asked of D belong to it; any other makes its rows unfit.

Rows within rows. A row `sum of all x >= 3` beside `sum of x of one job <= 1` is a third entry of x. Where the entries
of a row P in D are among those of a row R (up to one sign s), let `y = P x`: then R is `(R - s P) x + s y`, and P is
`P x - y = 0` with the sides of P as the bounds of y. That is the same polyhedron under an integer linear map with an
integer inverse, and y is one more column with two entries, -1 in P and s in R. Each P is put into at most one R, and
the rows put into one R share no column. So two laminar families of rows are a network.

A solver may still return a point of an edge between two vertices, such as an interior point method does: then the
kept integers are fixed and a vertex is asked for (`gpusched_dsl/solving/repair.py`).

Takes linear problems with at most one objective: a row that keeps an earlier objective would be no row of a network.
Columns without a finite bound stay as they are. If other integer columns must be searched anyway, counts stay
integer as well, since it pays to branch on them: capacity planning with at most 40 nodes takes HiGHS 2 s with all
counts of VMs integer, and 9 s if those of VMs with one GPU are continuous. Nothing changes if less than `WORTH` of the
integer columns could be continuous: some cuts and rules of solvers apply to integer columns only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.problem import Problem

if TYPE_CHECKING:
    from gpusched_dsl.compiling.tightening.nested_rows import Nesting, Nonzeros


# Columns with more entries are not looked at: rows within rows are rarely nested deeper.
MOST_ENTRIES = 6
WORTH = 0.5
SWEEPS = 60  # twice, with up to 15 pairs of entries a column


class NetworkIntegrality:
    """Integer columns that are always integer (network matrix) -> continuous columns."""

    name: ClassVar[str] = "network_integrality"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        problem = analysis.problem
        takes = target.takes(INTEGERS) and target.continuous
        return problem.is_linear and problem.is_mip and len(problem.objectives) <= 1 and takes

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        analysis.sweep(SWEEPS)
        least = WORTH * problem.integer.sum()
        free = network_columns(problem, least=least) & problem.integer
        if (problem.integer & ~free).any():
            narrow = problem.upper - problem.lower <= 1.0
            free = network_columns(problem, among=narrow, least=least) & problem.integer
        if not free.any():
            return PassResult(problem)
        notes = tuple(
            Note(self.name, f.name, "are always integer (network matrix)", count, span=f.span)
            for f in problem.column_families
            if (count := int(free[f.slice].sum()))
        )
        return PassResult(replace(problem, integer=problem.integer & ~free), notes)


def network_columns(problem: Problem, among: Bools | None = None, least: float = 1.0) -> Bools:
    """Return the columns that are integer at every vertex once the other integer columns are.

    `among`: only these of the integer columns; `least`: none if there are fewer integer columns.
    """
    none = np.zeros(problem.columns, dtype=np.bool_)
    chosen = _possible_columns(problem)
    if among is not None:
        chosen &= among | ~problem.integer
    if not _is_large_enough(problem, chosen, least):
        return none
    entries = _nearby_entries(problem, chosen)
    whole_sides = _is_integer_or_infinite(problem.row_lower) & _is_integer_or_infinite(problem.row_upper)
    entries, chosen = _settle(problem, entries, chosen, whole_sides)
    if not _is_large_enough(problem, chosen, least):
        return none
    from gpusched_dsl.compiling.tightening.nested_rows import nest

    nesting = nest(problem, entries.where(chosen[entries.columns]))
    count = np.bincount(entries.columns, minlength=problem.columns)
    count -= np.bincount(nesting.covered_columns, minlength=problem.columns)
    chosen &= count <= 2
    entries, chosen = _settle(problem, entries, chosen, whole_sides)
    if not _is_large_enough(problem, chosen, least):
        return none
    chosen[_one_sided(problem.rows, entries.where(chosen[entries.columns]), nesting)] = False
    return chosen if _is_large_enough(problem, chosen, least) else none


def _is_large_enough(problem: Problem, chosen: Bools, least: float) -> bool:
    return bool((chosen & problem.integer).sum() >= max(1.0, least))


def _possible_columns(problem: Problem) -> Bools:
    """Return columns with integer bounds, one of them finite, and few entries, all of them 1 or -1."""
    columns, values = problem.matrix.columns, problem.matrix.values
    fit = _is_integer_or_infinite(problem.lower) & _is_integer_or_infinite(problem.upper)
    fit &= np.isfinite(problem.lower) | np.isfinite(problem.upper)
    fit &= np.bincount(columns, minlength=problem.columns) <= MOST_ENTRIES
    fit[columns[np.abs(values) != 1.0]] = False
    return fit


def _nearby_entries(problem: Problem, chosen: Bools) -> Nonzeros:
    """The entries of all rows that have a chosen column."""
    matrix = problem.matrix
    touched = np.zeros(problem.rows, dtype=np.bool_)
    touched[matrix.row_of[chosen[matrix.columns]]] = True
    kept = np.flatnonzero(touched[matrix.row_of] & (matrix.values != 0.0))
    from gpusched_dsl.compiling.tightening.nested_rows import Nonzeros

    return Nonzeros(matrix.row_of[kept], matrix.columns[kept], matrix.values[kept])


def _settle(problem: Problem, entries: Nonzeros, chosen: Bools, whole_sides: Bools) -> tuple[Nonzeros, Bools]:
    """Return the chosen columns with only suitable rows, with the entries of those rows.

    A row is fit when its sides and all its coefficients are integer, and each of its columns is chosen or integer. A
    continuous column that is dropped spoils its rows in turn.
    """
    from gpusched_dsl.compiling.lowering.spreading import reached_rows

    unfit = ~whole_sides
    unfit[entries.rows[entries.values != np.rint(entries.values)]] = True
    inside = chosen[entries.columns]
    continuous = ~problem.integer[entries.columns]
    unfit[entries.rows[~inside & continuous]] = True
    links = inside & continuous
    unfit = reached_rows(unfit, entries.rows[links], entries.columns[links], problem.columns)
    lost = entries.columns[inside & unfit[entries.rows]]
    if len(lost):
        chosen = chosen.copy()
        chosen[lost] = False
        touched = np.zeros(problem.rows, dtype=np.bool_)
        touched[entries.rows[chosen[entries.columns]]] = True
        entries = entries.where(touched[entries.rows])
    return entries, chosen


def _one_sided(rows: int, entries: Nonzeros, nesting: Nesting) -> Codes:
    """Return the columns of the parts of the network with rows that cannot be split in two as required.

    Every row stands twice, once for each part it could be in; an edge says which choices go together. A row both of
    whose copies are connected contradicts itself.
    """
    from gpusched_dsl.ir.graph import connected_components

    ends = nesting.without_covered(entries)
    order = np.argsort(ends.columns, kind="stable")
    row, column, value = ends.rows[order].astype(np.int64), ends.columns[order], ends.values[order]
    pair = np.flatnonzero(column[1:] == column[:-1])
    first = np.concatenate((row[pair], nesting.inner))
    second = np.concatenate((row[pair + 1], nesting.outer))
    across = np.concatenate((value[pair] == value[pair + 1], nesting.signs < 0))
    begin = np.concatenate((first, first + rows))
    end = np.concatenate((second + rows * across, second + rows * ~across))
    part = connected_components(2 * rows, begin, end)
    broken = part[:rows] == part[rows:]
    return unique(ends.columns[broken[ends.rows]]).astype(np.int64)


def _is_integer_or_infinite(values: Floats) -> Bools:
    return np.asarray(values == np.rint(values))
