"""The problem of all elements with the variables of a plan fixed, made from the rows of representatives.

It has the columns of the plan that are not 0, and all columns of other variables. A row of an element is left out if no
column of the plan for this element is in it, and the bounds of the other columns imply it. So its points are exactly
those of the complete problem that agree with the plan, and its size is that of the plan, not of the complete problem.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.compiling.interchangeable.quotient import Quotient, place_of
from gpusched_dsl.compiling.interchangeable.support import families_of, in_order, objective_of, permute_columns
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem


def can_fix(quotient: Quotient, plan: PlanValues) -> bool:
    """Whether the plan gives values to families of columns of elements, and the problem is linear."""
    names = {f.name for f in quotient.problem.variables if place_of(f.domain, quotient.universe) is not None}
    return quotient.problem.is_linear and plan.keys() <= names


def fixed_plan_problem(quotient: Quotient, plan: PlanValues) -> Problem | None:
    """Return the problem with these variables fixed; None if the plan has an index that the model excludes."""
    return _FixedPlan(quotient, plan).run()


class _FixedPlan:
    def __init__(self, quotient: Quotient, plan: PlanValues) -> None:
        self.quotient, self.plan = quotient, plan
        self.width = len(quotient.classes.of) + 1
        self.fixed = np.zeros(quotient.problem.columns, dtype=np.bool_)
        for name in plan:
            self.fixed[quotient.problem.variable(name).slice] = True

    def run(self) -> Problem | None:
        quotient, problem = self.quotient, self.quotient.problem
        chosen = self._chosen()
        if chosen is None:
            return None
        free_columns, free_elements = self._every(np.flatnonzero(~self.fixed), quotient.column_class)
        keys = np.concatenate((self._keys(*chosen[:2]), self._keys(free_columns, free_elements)))
        values = np.concatenate((chosen[2], np.full(len(free_columns), np.nan)))
        order = np.argsort(keys)
        self.keys, values = keys[order], values[order]
        columns, elements = self.keys // self.width, self.keys % self.width - 1
        matrix, rows, owners = self._rows(columns, elements, ~np.isnan(values))
        order = in_order(quotient, columns, elements)
        columns, elements, values = columns[order], elements[order], values[order]
        families = families_of(quotient, problem.column_families, columns, elements)
        declared = len(problem.variables)
        given = ~np.isnan(values)
        return replace(
            problem,
            variables=tuple(f for f, d in families if d < declared),
            auxiliary=tuple(f for f, d in families if d >= declared),
            lower=np.where(given, values, problem.lower[columns]),
            upper=np.where(given, values, problem.upper[columns]),
            integer=problem.integer[columns],
            constraints=tuple(f for f, _ in families_of(quotient, problem.constraints, rows, owners)),
            matrix=permute_columns(matrix, order),
            row_lower=problem.row_lower[rows],
            row_upper=problem.row_upper[rows],
            objectives=tuple(objective_of(quotient, o, columns) for o in problem.objectives),
        )

    def _keys(self, numbers: Codes, elements: Codes) -> Codes:
        return np.asarray(numbers * self.width + elements + 1)

    def _chosen(self) -> tuple[Codes, Codes, Floats] | None:
        """Return columns, elements and values of the plan."""
        quotient = self.quotient
        found: list[tuple[Codes, Codes, Floats]] = []
        for name, given in self.plan.items():
            family = quotient.problem.variable(name)
            at = place_of(family.domain, quotient.universe)
            assert at is not None
            used = np.flatnonzero(given.values)
            codes = [c[used] for c in given.codes]
            element = codes[at]
            codes[at] = quotient.classes.first[quotient.classes.of[element]]
            place = family.domain.locate(codes)
            if (place < 0).any():
                return None
            found.append((family.first + place, element, given.values[used]))
        none = np.zeros(0, dtype=np.int64)
        found.append((none, none, np.zeros(0)))
        columns, elements, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return columns, elements, values

    def _every(self, numbers: Codes, kinds: Codes) -> tuple[Codes, Codes]:
        """Return columns or rows with each of their elements, -1 for those of no element."""
        codes, starts = self.quotient.classes.members()
        own = numbers[kinds[numbers] >= 0]
        kind = kinds[own]
        sizes = np.diff(starts)[kind]
        elements = codes[np.repeat(starts[kind], sizes) + ranges(sizes)]
        shared = numbers[kinds[numbers] < 0]
        return np.concatenate((np.repeat(own, sizes), shared)), np.concatenate((elements, np.full(len(shared), -1)))

    def _rows(self, columns: Codes, elements: Codes, given: Bools) -> tuple[Matrix, Codes, Codes]:
        """Return the rows, and the quotient's row and the element of each."""
        quotient, matrix = self.quotient, self.quotient.problem.matrix
        local = quotient.row_class >= 0
        row_of = matrix.row_of.astype(np.int64)
        # Entries of the plan, from their columns.
        of_plan = np.flatnonzero(self.fixed[matrix.columns])
        of_plan = of_plan[np.argsort(matrix.columns[of_plan], kind="stable")]
        sorted_columns = matrix.columns[of_plan]
        mine = np.flatnonzero(given)
        first = np.searchsorted(sorted_columns, columns[mine])
        counts = np.searchsorted(sorted_columns, columns[mine], side="right") - first
        entry = of_plan[np.repeat(first, counts) + ranges(counts)]
        number = np.repeat(mine, counts)
        touched = self._keys(row_of[entry], np.where(local[row_of[entry]], elements[number], -1))
        every = self._keys(*self._every(np.flatnonzero(~local | ~self._implied_rows()), quotient.row_class))
        lines = unique(np.concatenate((touched, every)))
        rows, owners = lines // self.width, lines % self.width - 1
        found = [(np.searchsorted(lines, touched), number, self._of_element(entry))]
        # Entries of other columns, from the rows.
        free = np.flatnonzero(~self.fixed[matrix.columns])
        starts = np.searchsorted(free, matrix.starts)
        counts = np.diff(starts)[rows]
        entry = free[np.repeat(starts[:-1][rows], counts) + ranges(counts)]
        line = np.repeat(np.arange(len(rows)), counts)
        column = matrix.columns[entry].astype(np.int64)
        kind = quotient.column_class[column]
        spread = (kind >= 0) & (owners[line] < 0)  # a row of no element: all elements of the column
        own = np.flatnonzero(~spread)
        keys = self._keys(column[own], np.where(kind[own] >= 0, owners[line[own]], -1))
        found.append((line[own], np.searchsorted(self.keys, keys), self._of_element(entry[own])))
        many = np.flatnonzero(spread)
        codes, begin = quotient.classes.members()
        sizes = np.diff(begin)[kind[many]]
        element = codes[np.repeat(begin[kind[many]], sizes) + ranges(sizes)]
        keys = self._keys(np.repeat(column[many], sizes), element)
        of_each = np.repeat(self._of_element(entry[many]), sizes)
        found.append((np.repeat(line[many], sizes), np.searchsorted(self.keys, keys), of_each))
        line, number, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.lexsort((number, line))
        ends = np.cumsum(np.bincount(line, minlength=len(rows)))
        all_starts = np.concatenate((np.zeros(1, dtype=np.int64), ends))
        return Matrix(all_starts, number[order].astype(np.int32), value[order]), rows, owners

    def _of_element(self, entry: Codes) -> Floats:
        """Return the coefficients of single elements; a row of no element has those of their sum."""
        quotient, matrix = self.quotient, self.quotient.problem.matrix
        kind = quotient.column_class[matrix.columns[entry]]
        summed = (quotient.row_class[matrix.row_of[entry]] < 0) & (kind >= 0)
        sizes = quotient.classes.sizes[np.maximum(kind, 0)]
        return np.asarray(matrix.values[entry] / np.where(summed, sizes, 1))

    def _implied_rows(self) -> Bools:
        """Return which rows hold for all values of the free columns if the plan has nothing in them."""
        problem = self.quotient.problem
        matrix = problem.matrix
        free = ~self.fixed[matrix.columns]
        column, value, row = matrix.columns[free], matrix.values[free], matrix.row_of[free]
        one, other = value * problem.lower[column], value * problem.upper[column]
        least = np.bincount(row, weights=np.minimum(one, other), minlength=problem.rows)
        most = np.bincount(row, weights=np.maximum(one, other), minlength=problem.rows)
        return np.asarray((least >= problem.row_lower) & (most <= problem.row_upper))
