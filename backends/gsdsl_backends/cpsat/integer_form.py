"""A problem in integers of 64 bits: columns, rows and costs scaled by common divisors.

Column j is `steps[j]` times an integer (`grid.py`). Each row is divided by the largest common divisor of its
coefficients, its sides are rounded to the values that it can have. The coefficients of a row without a common divisor
are rounded to multiples of a very small number, and its sides are widened by the largest error that this can make:
then no point is lost, and the points that come in break the row by less than `ROUNDING` of its magnitude. The same is
done for costs, where the error is taken from the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.divisors import common_divisors
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ON_STEP, ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

# CP-SAT adds up activities in 64 bits, with some room for its own slacks; of rounded coefficients so many bits suffice.
LARGEST = 2.0**60
ROUNDED = 2.0**52
HELP = "state the data in larger units, or with fewer digits; or choose another backend, such as `scip`"


@dataclass(frozen=True, eq=False)
class IntegerRows:
    """`lower <= matrix @ z <= upper` with integers; an infinite side has its flag in `below` or `above` unset."""

    starts: Codes
    columns: Int32s
    values: Codes
    lower: Codes
    upper: Codes
    below: Bools
    above: Bools


@dataclass(frozen=True, eq=False)
class IntegerCosts:
    """The objective is `offset + unit * (values @ z[columns])`, and off by at most `error`."""

    columns: Codes
    values: Codes
    unit: float
    offset: float
    error: float
    minimizes: bool


@dataclass(frozen=True, eq=False)
class IntegerForm:
    """A problem in integers: column j of the problem is `steps[j] * z[j]` with `lower[j] <= z[j] <= upper[j]`."""

    steps: Floats
    lower: Codes
    upper: Codes
    rows: IntegerRows
    conditions: Conditions
    costs: IntegerCosts | None


def integer_form(problem: Problem, steps: Floats, low: Floats, high: Floats) -> IntegerForm:
    """The form of a problem whose columns move in `steps` within finite bounds `low .. high`, in units of the problem.

    Raises DiagnosticError (GSM4006) for numbers that do not fit into 64 bits.
    """
    lower, upper = (side.astype(np.int64) for side in column_sides(steps, low, high))
    reach = np.maximum(np.abs(lower), np.abs(upper)).astype(np.float64)
    if (reach > LARGEST).any():
        raise DiagnosticError([_too_large(problem, "column", int(np.argmax(reach)))])
    return IntegerForm(
        steps, lower, upper, _rows(problem, steps, reach), problem.conditions, _costs(problem, steps, reach)
    )


def column_sides(steps: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The least and the largest integer of every column; a bound that misses a multiple by rounding is that one."""
    return np.ceil(low / steps - _slack(low / steps)), np.floor(high / steps + _slack(high / steps))


def _slack(multiples: Floats) -> Floats:
    return np.minimum(ROUNDING * np.maximum(1.0, np.abs(multiples)), ON_STEP)


def _rows(problem: Problem, steps: Floats, reach: Floats) -> IntegerRows:
    matrix = problem.matrix
    coefficients = matrix.values * steps[matrix.columns]
    units, error = _units(matrix, coefficients, reach)
    values = np.rint(coefficients / units[matrix.row_of])
    activity = np.bincount(matrix.row_of, weights=np.abs(values) * reach[matrix.columns], minlength=matrix.rows)
    terms = np.zeros(matrix.rows)
    np.maximum.at(terms, matrix.row_of, np.abs(coefficients) * reach[matrix.columns])
    wrong = (activity > LARGEST) | (error * units > ROUNDING * np.maximum(1.0, terms))
    if wrong.any():
        raise DiagnosticError([_too_large(problem, "row", int(np.argmax(wrong)))])
    low, high = problem.row_lower / units, problem.row_upper / units
    with np.errstate(invalid="ignore"):
        low, high = np.ceil(low - error - _slack(low)), np.floor(high + error + _slack(high))
    # A side beyond all activities says nothing, or that there is no point.
    below, above = low > -activity - 1, high < activity + 1
    limit = activity + 2
    return IntegerRows(
        matrix.starts.astype(np.int64), matrix.columns, values.astype(np.int64),
        np.clip(low, -limit, limit).astype(np.int64), np.clip(high, -limit, limit).astype(np.int64), below, above,
    )  # fmt: skip


def _units(matrix: Matrix, coefficients: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """A number for each row of which its coefficients are multiples, and the error of its activity in such units."""
    units, error = np.ones(matrix.rows), np.zeros(matrix.rows)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if not len(filled):
        return units, error
    found = common_divisors(np.abs(coefficients), matrix.starts[filled])
    units[filled] = np.where(np.isinf(found), 1.0, found)
    rounded = units == 0
    if rounded.any():
        of = matrix.columns
        activity = np.bincount(matrix.row_of, weights=np.abs(coefficients) * reach[of], minlength=matrix.rows)
        width = np.bincount(matrix.row_of, weights=reach[of], minlength=matrix.rows)
        finest = np.exp2(np.ceil(np.log2(np.maximum(activity, 1e-300) / ROUNDED)))
        units, error = np.where(rounded, finest, units), np.where(rounded, 0.5 * width, 0.0)
    return units, error


def _costs(problem: Problem, steps: Floats, reach: Floats) -> IntegerCosts | None:
    if not problem.objectives:
        return None
    objective = problem.objectives[0]
    costs = objective.costs(problem.columns) * steps
    columns = np.flatnonzero(costs)
    row = Matrix(np.array([0, len(columns)]), columns.astype(np.int32), costs[columns])
    units, error = _units(row, row.values, reach)
    values = np.rint(row.values / units[0])
    if (np.abs(values) * reach[columns]).sum() > LARGEST:
        raise DiagnosticError([_too_large(problem, "objective", 0)])
    unit = float(units[0])
    minimizes = objective.sense == "minimize"
    return IntegerCosts(columns, values.astype(np.int64), unit, objective.offset, float(error[0]) * unit, minimizes)


def _too_large(problem: Problem, kind: str, number: int) -> Diagnostic:
    if kind == "objective":
        span, what = problem.objectives[0].span, "the objective"
    else:
        family = problem.row_family(number) if kind == "row" else problem.column_family(number)
        span, what = family.span, f"`{entry_name(family, number)}`"
    return Diagnostic(
        "GSM4006", f"CP-SAT cannot represent {what} in integers of 64 bits", span,
        notes=("its numbers have too many digits, or are of very different size",), help=HELP,
    )  # fmt: skip
