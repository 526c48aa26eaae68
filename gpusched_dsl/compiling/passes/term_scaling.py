"""Powers that rows multiply by large numbers, in other units, so that a solver's tolerance suits their rows.

    c * a(x)^p   with |c| > 1   ->   (c / s) * (s^(1/p) a(x))^p       s a power of two with 1 <= |c| / s < 2

A solver may miss `r == a(x)^p` by an absolute tolerance. A row that reads c * r is missed by |c| times as much. With
s * r as the column, an error of the column is an error of the row of about the same size. The largest |c| of all rows
decides. s^(1/p) is exact for the reciprocal, and for the square and the root where s is a square; elsewhere it is
rounded as any product is.

Takes powers of continuous value for targets that take powers. Needs nothing next; the optimum is the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import Affines, Definition, Power
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Objective, Problem


class TermScaling:
    """Powers with large coefficients -> powers in units of their rows."""

    name: ClassVar[str] = "term_scaling"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return target.takes("power") and any(isinstance(d, Power) and d.size for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        units = _units(problem)
        if not (units > 1.0).any():
            return PassResult(problem)
        scaled = replace(
            problem,
            lower=problem.lower * units,
            upper=problem.upper * units,
            matrix=_in_units(problem.matrix, units),
            objectives=tuple(_costs(o, units) for o in problem.objectives),
            definitions=tuple(_definition(d, units) for d in problem.definitions),
        )
        notes = tuple(
            Note(self.name, d.name, "written in the unit of its rows", count, span=d.span)
            for d in problem.definitions
            if (count := int(np.count_nonzero(units[d.results] > 1.0)))
        )
        return PassResult(scaled, notes, lambda point: point / units, lambda point: point * units)


def _units(problem: Problem) -> Floats:
    """Return the scale of the column of each power: its largest coefficient, as a power of two."""
    largest = np.ones(problem.columns)
    np.maximum.at(largest, problem.matrix.columns, np.abs(problem.matrix.values))
    units = np.ones(problem.columns)
    for definition in problem.definitions:
        if isinstance(definition, Power):
            taken = definition.results[(definition.exponents != 0.0) & ~problem.integer[definition.results]]
            units[taken] = np.exp2(np.floor(np.log2(largest[taken])))
    return units


def _definition(definition: Definition, units: Floats) -> Definition:
    """The same with columns in their units; of a scaled power, the argument gets its share."""
    arguments = Affines(_in_units(definition.arguments.matrix, units), definition.arguments.constants)
    if not isinstance(definition, Power):
        return replace(definition, arguments=arguments)
    exponents = np.where(definition.exponents == 0.0, 1.0, definition.exponents)
    share = units[definition.results] ** (1.0 / exponents)
    matrix = arguments.matrix
    values = matrix.values * share[matrix.row_of]
    return replace(
        definition, arguments=Affines(structs.replace(matrix, values=values), definition.arguments.constants * share)
    )


def _in_units(matrix: Matrix, units: Floats) -> Matrix:
    return structs.replace(matrix, values=matrix.values / units[matrix.columns])


def _costs(objective: Objective, units: Floats) -> Objective:
    terms = tuple(structs.replace(t, coefficients=t.coefficients / units[t.columns]) for t in objective.terms)
    return structs.replace(objective, terms=terms)
