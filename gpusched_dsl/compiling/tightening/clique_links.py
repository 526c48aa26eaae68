"""Links of many choices to one 0/1 column, written once for all mutually exclusive choices.

Takes rows `x_i <= y` of 0/1 columns and sets F of which at most one column is 1 (`at_most_one`), and gives

    x_i <= y for all i in G, a part of F    ->    sum_{i in G} x_i <= y

Proof. The new row implies the old ones, as all x_i >= 0: nothing becomes feasible, and the relaxation is never weaker.
At a feasible 0/1 point at most one x_i of G is 1, and if one is, y is: nothing gets lost.

Every column stands for one F only, the largest; links of one y and one F make a row. The new row keeps of the index of
the old ones what they have in common.

Left alone: links that stand alone, rows under a condition, columns that definitions and conditions know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.compiling.tightening.column_sets import key_of
from gpusched_dsl.compiling.tightening.row_sides import plain_columns, plain_rows, zero_one
from gpusched_dsl.ir.arrays import Codes, Int32s
from gpusched_dsl.ir.domains import Domain, ScalarDomain, TupleDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Problem

if TYPE_CHECKING:
    from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder


SWEEPS = 15


class CliqueLinks:
    """x_i <= y, one row a choice -> one row for all choices."""

    name: ClassVar[str] = "clique_links"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return int((np.diff(analysis.problem.matrix.starts) == 2).sum()) > 1

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        from gpusched_dsl.compiling.tightening.at_most_one import at_most_one

        problem = analysis.problem
        analysis.sweep(SWEEPS)
        links = _links(problem)
        chosen = at_most_one(problem).largest_of(problem.columns)[links.below]
        links, chosen = links.take(np.flatnonzero(chosen >= 0)), chosen[chosen >= 0]
        from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder

        builder = ProblemBuilder(problem)
        new_row_of = np.full(problem.rows, -1, dtype=np.int64)
        for family in problem.constraints:
            inside = np.flatnonzero((links.rows >= family.first) & (links.rows < family.stop))
            if len(inside) > 1:
                _merge(builder, family, links.take(inside), chosen[inside], new_row_of)
        gone = new_row_of >= 0
        if not gone.any():
            return PassResult(problem)
        grown = builder.step()
        from gpusched_dsl.compiling.passes.rewriting import without_rows

        smaller, numbers = without_rows(
            grown.problem, np.append(gone, np.zeros(builder.rows - len(gone), dtype=np.bool_))
        )
        rows = numbers[np.where(gone, new_row_of, np.arange(problem.rows))]
        return PassResult(smaller, grown.notes, rows=rows)


class Links(Struct, frozen=True, eq=False):
    """Rows `below <= above` of two 0/1 columns."""

    rows: Codes
    below: Int32s
    above: Int32s

    def take(self, links: Codes) -> Links:
        return Links(self.rows[links], self.below[links], self.above[links])


def _links(problem: Problem) -> Links:
    """The rows `a x - a y <= 0`, in whatever form."""
    starts, lower, upper = problem.matrix.starts, problem.row_lower, problem.row_upper
    one_sided = ((upper == 0.0) & np.isneginf(lower)) | ((lower == 0.0) & np.isposinf(upper))
    rows = np.flatnonzero((np.diff(starts) == 2) & one_sided & plain_rows(problem))
    first, second = problem.matrix.values[starts[rows]], problem.matrix.values[starts[rows] + 1]
    usable = zero_one(problem) & plain_columns(problem)
    left, right = problem.matrix.columns[starts[rows]], problem.matrix.columns[starts[rows] + 1]
    kept = np.flatnonzero((first == -second) & (first != 0.0) & usable[left] & usable[right])
    rows, left, right = rows[kept], left[kept], right[kept]
    forwards = (first[kept] > 0) == np.isfinite(upper[rows])
    return Links(rows, np.where(forwards, left, right), np.where(forwards, right, left))


def _merge(builder: ProblemBuilder, family: Family, links: Links, chosen: Int32s, new_row_of: Codes) -> None:
    """Add the rows for links of one family of rows, and map every old row to its new row."""
    keys = key_of(links.above, chosen)
    order = np.lexsort((links.below, keys))
    repeated = (np.diff(keys[order], prepend=-1) == 0) & (np.diff(links.below[order], prepend=-1) == 0)
    order = order[~repeated]  # a link that is stated twice stays where it is
    begins = np.flatnonzero(np.diff(keys[order], prepend=-1))
    sizes = np.diff(np.append(begins, len(order)))
    several = np.repeat(sizes > 1, sizes)
    links, sizes = links.take(order[several]), sizes[sizes > 1]
    if not len(sizes):
        return
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    ends = starts[1:] + np.arange(len(sizes))  # where the one entry of y stands, behind those of its x
    columns = np.empty(starts[-1] + len(sizes), dtype=np.int32)
    values = np.ones(len(columns))
    values[ends] = -1.0
    columns[ends] = links.above[starts[:-1]]
    columns[values > 0] = links.below
    matrix = Matrix(starts + np.arange(len(starts)), columns, values)
    rows = builder.add_rows(
        f"{family.name}.once", _common(family, links.rows, starts), matrix, -np.inf, 0.0, family.span
    )
    new_row_of[links.rows] = np.repeat(rows, sizes)
    effect, count = "one row for mutually exclusive choices", len(links.rows)
    builder.notes.append(Note(CliqueLinks.name, family.name, effect, count, len(rows) - count, span=family.span))


def _common(family: Family, rows: Codes, starts: Codes) -> Domain:
    """The index of groups of rows of a family: of its components those that all rows of every group have in common.

    Where these do not tell the groups apart, a number does.
    """
    codes = [c[rows - family.first] for c in family.domain.columns()]
    first = starts[:-1]
    kept = [n for n, c in enumerate(codes) if (np.minimum.reduceat(c, first) == np.maximum.reduceat(c, first)).all()]
    components, columns = tuple(family.domain.components[n] for n in kept), tuple(codes[n][first] for n in kept)
    if len(first) > 1 and not _distinct(columns, len(first)):
        return TupleDomain((*components, None), (*columns, np.arange(1, len(first) + 1, dtype=np.int64)))
    return TupleDomain(components, columns) if columns else ScalarDomain()


def _distinct(columns: tuple[Codes, ...], size: int) -> bool:
    if not columns:
        return False
    order = np.lexsort(columns)
    same = np.ones(size - 1, dtype=np.bool_)
    for column in columns:
        same &= np.diff(column[order]) == 0
    return not bool(same.any())
