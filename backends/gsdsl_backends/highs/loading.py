"""Loads problems into HiGHS: arrays in bulk, or the differences from the problem that is loaded."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np

from gpusched_dsl.compiling.convexity.quadratic_objective import QuadraticObjective
from gpusched_dsl.ir.arrays import Floats, Int32s
from gpusched_dsl.ir.magnitudes import largest_coefficient, largest_cost_of
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

# Beyond this count one bulk hand-over is faster than changes one by one.
MOST_SINGLE_COEFFICIENTS = 2_000


def load(highs: Any, problem: Problem, quadratic: QuadraticObjective | None = None) -> None:
    """Load a problem, with the matrix of a quadratic objective; raise DiagnosticError if HiGHS rejects it."""
    costs, offset, sense = objective_of(problem)
    matrix = problem.matrix
    status = highs.passModel(
        problem.columns,
        problem.rows,
        matrix.nonzeros,
        int(highspy.MatrixFormat.kRowwise),
        int(sense),
        offset,
        costs,
        problem.lower,
        problem.upper,
        problem.row_lower,
        problem.row_upper,
        matrix.starts.astype(np.int32),
        matrix.columns,
        matrix.values,
        problem.integer.astype(np.int32),
    )
    if status != highspy.HighsStatus.kError and quadratic is not None:
        from gsdsl_backends.highs.quadratic import hessian

        status = highs.passHessian(hessian(quadratic))
        if not problem.rows:  # `highs/quadratic.py` tells why
            highs.addRow(-np.inf, np.inf, problem.columns, np.arange(problem.columns), np.ones(problem.columns))
    if status == highspy.HighsStatus.kError:
        raise DiagnosticError([_refusal(highs, problem)])


def reload(highs: Any, problem: Problem) -> None:
    """Load a problem of the same size, and keep the basis."""
    basis = highs.getBasis()
    load(highs, problem)
    if basis.valid:
        highs.setBasis(basis)


def load_changes(highs: Any, old: Problem, problem: Problem) -> None:
    """Load the differences between the loaded problem and another of the same structure; the basis is kept."""
    changed_values = np.flatnonzero(old.matrix.values != problem.matrix.values)
    if len(changed_values) > MOST_SINGLE_COEFFICIENTS:
        reload(highs, problem)
        return
    rows, columns = problem.matrix.row_of, problem.matrix.columns
    for k in changed_values.tolist():
        highs.changeCoeff(int(rows[k]), int(columns[k]), float(problem.matrix.values[k]))
    costs, offset, sense = objective_of(problem)
    old_costs, _, _ = objective_of(old)
    changed = np.flatnonzero(costs != old_costs).astype(np.int32)
    highs.changeColsCost(len(changed), changed, costs[changed])
    highs.changeObjectiveOffset(offset)
    highs.changeObjectiveSense(sense)
    changed = _changed_entries(old.lower, problem.lower, old.upper, problem.upper)
    highs.changeColsBounds(len(changed), changed, problem.lower[changed], problem.upper[changed])
    changed = _changed_entries(old.row_lower, problem.row_lower, old.row_upper, problem.row_upper)
    if hasattr(highs, "changeRowsBounds"):
        highs.changeRowsBounds(len(changed), changed, problem.row_lower[changed], problem.row_upper[changed])
    elif len(changed) > MOST_SINGLE_COEFFICIENTS:
        reload(highs, problem)
    else:
        for row in changed.tolist():
            highs.changeRowBounds(row, float(problem.row_lower[row]), float(problem.row_upper[row]))


def objective_of(problem: Problem) -> tuple[Floats, float, highspy.ObjSense]:
    """Return the costs, the offset and the sense of the first objective."""
    if not problem.objectives:
        return np.zeros(problem.columns), 0.0, highspy.ObjSense.kMinimize
    objective = problem.objectives[0]
    sense = highspy.ObjSense.kMaximize if objective.sense == "maximize" else highspy.ObjSense.kMinimize
    return objective.costs(problem.columns), objective.offset, sense


def _changed_entries(old_lower: Floats, lower: Floats, old_upper: Floats, upper: Floats) -> Int32s:
    return np.flatnonzero((old_lower != lower) | (old_upper != upper)).astype(np.int32)


def _refusal(highs: Any, problem: Problem) -> Diagnostic:
    largest, where, span = largest_coefficient(problem)
    limit = float(highs.getOptionValue("large_matrix_value")[1])
    note = f"the largest coefficient is {largest:g}, of {where}; HiGHS accepts less than {limit:g}"
    help = "state the data in larger units, so that numbers stay within a few powers of ten of 1"
    notes: tuple[str, ...] = (note,)
    place = span if largest >= limit else None
    cost, column, objective = largest_cost_of(problem)
    if cost >= limit:
        notes, place = (*notes, f"the largest cost is {cost:g}, of {column}"), place or objective
    return Diagnostic("GSM4006", "HiGHS rejected the problem", place, notes=notes, help=help)
