"""The quadratic part of an objective in LP and MPS files: one triangle of a matrix over the columns of the file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.convexity.quadratic_objective import QuadraticObjective
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.removing import without_columns
from gpusched_dsl.compiling.passes.steps import INTEGERS, QUADRATIC_OBJECTIVE, ReformulatedProblem, Target
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.files.linearise import linear
from gsdsl_backends.files.lp_mps import QuadraticCosts


@dataclass(frozen=True, eq=False)
class FileContent:
    """What a file states: linear rows and costs, and perhaps quadratic costs. `reformulated` has the notes."""

    problem: Problem
    quadratic: QuadraticCosts | None
    reformulated: ReformulatedProblem


def file_content(problem: Problem, form: str) -> FileContent:
    """The problem as linear rows, with a convex quadratic objective where it cannot be linear.

    `form` (`lp`, `mps`) is named in errors. Raises DiagnosticError (GSM32..) for terms that neither covers.
    """
    try:
        reformulated = linear(problem, form)
    except DiagnosticError:
        found = _quadratic(problem, form)
        if found is None or (form == "python" and found.problem.is_mip):  # HiGHS has no integers beside squares
            raise
        return found
    return FileContent(reformulated.problem, None, reformulated)


def _quadratic(problem: Problem, form: str) -> FileContent | None:
    from scipy.sparse import triu  # here, as linear problems do without

    try:
        reformulated = reformulate(problem, Target(form, frozenset({INTEGERS, QUADRATIC_OBJECTIVE})))
    except DiagnosticError:
        return None
    objective = QuadraticObjective.of(reformulated.problem)
    if objective is None or objective.linear.definitions or len(objective.linear.conditions.rows):
        return None
    gone = np.zeros(objective.linear.columns, dtype=np.bool_)
    for definition in objective.stated.definitions:
        gone[definition.results] = True
    kept = np.flatnonzero(~gone)
    half = triu(objective.matrix[kept][:, kept]).tocoo()
    first, second = (coordinates.astype(np.int64) for coordinates in half.coords)
    order = np.lexsort((second, first))
    costs = QuadraticCosts(first[order], second[order], half.data[order])
    written = without_columns(objective.linear, gone, np.zeros(len(gone)))
    return FileContent(written, costs, reformulated)
