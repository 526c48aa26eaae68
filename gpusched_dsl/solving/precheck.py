"""Checks a problem before a solver gets it: rejects invalid numbers, and answers trivial problems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.solving.divisibility import indivisible_rows

# Sides that cross by less are rounding errors of the data.
CROSSING = 1e-9
SHOWN = 3


def refuse_unusable(problem: Problem) -> None:
    """Raise DiagnosticError naming coefficients and costs that are not finite, and sides that are no numbers."""
    matrix = problem.matrix
    bad_values = np.flatnonzero(~np.isfinite(matrix.values))
    row_of = np.searchsorted(matrix.starts, bad_values[:SHOWN], side="right") - 1
    findings = [
        Diagnostic(
            "GSM4012",
            f"the coefficient of `{_column(problem, int(matrix.columns[k]))}` in `{_row(problem, int(row))}` "
            f"is {matrix.values[k]}",
            problem.row_family(int(row)).span,
        )
        for k, row in zip(bad_values.tolist(), row_of.tolist(), strict=False)
    ]
    for row in _places(np.isnan(problem.row_lower) | np.isnan(problem.row_upper)):
        findings.append(_bad(f"a side of `{_row(problem, row)}`", problem.row_family(row).span))
    for column in _places(np.isnan(problem.lower) | np.isnan(problem.upper)):
        findings.append(_bad(f"a bound of `{_column(problem, column)}`", problem.column_family(column).span))
    for definition in problem.definitions:
        arguments = definition.arguments
        if not (np.isfinite(arguments.matrix.values).all() and np.isfinite(arguments.constants).all()):
            findings.append(_bad(f"a number in `{definition.name}`", definition.span))
    for objective in problem.objectives:
        for term in objective.terms:
            for k in _places(~np.isfinite(term.coefficients)):
                what = f"the cost of `{_column(problem, int(term.columns[k]))}`"
                findings.append(Diagnostic("GSM4012", f"{what} is {term.coefficients[k]}", term.span or objective.span))
            if not np.isfinite(term.constant):
                findings.append(_bad("the constant part of the objective", term.span or objective.span))
    if findings:
        raise DiagnosticError(findings)


def answer_without_solver(problem: Problem) -> SolverResult | None:
    """The answer where bounds, sides or a row without entries admit no point, or nothing is to decide; else None."""
    stated = np.ones(problem.rows, dtype=bool)
    stated[problem.conditions.rows] = False
    if _any_crosses(problem.lower, problem.upper) or _any_crosses(problem.row_lower[stated], problem.row_upper[stated]):
        return SolverResult(Status.INFEASIBLE)
    if len(indivisible_rows(problem)):
        return SolverResult(Status.INFEASIBLE)
    empty = np.flatnonzero(stated & (np.diff(problem.matrix.starts) == 0))
    if (problem.row_lower[empty] > CROSSING).any() or (problem.row_upper[empty] < -CROSSING).any():
        return SolverResult(Status.INFEASIBLE)
    if problem.columns == 0:
        value = problem.objectives[0].offset if problem.objectives else 0.0
        nothing = np.zeros(0)
        duals = None if problem.is_mip else np.zeros(problem.rows)
        return SolverResult(Status.OPTIMAL, nothing, value, value, duals, nothing)
    return None


def uncross(problem: Problem) -> Problem:
    """The problem with bounds and sides that cross by a rounding error put in order; the same object if none do.

    Sides under a condition may cross by more, which says that the condition must not hold.
    """
    columns, rows = problem.lower > problem.upper, problem.row_lower > problem.row_upper
    rows[problem.conditions.rows] = False
    if not columns.any() and not rows.any():
        return problem
    return replace(
        problem,
        lower=np.minimum(problem.lower, problem.upper),
        upper=np.maximum(problem.lower, problem.upper),
        row_lower=np.where(rows, problem.row_upper, problem.row_lower),
        row_upper=np.where(rows, problem.row_lower, problem.row_upper),
    )


def _any_crosses(lower: Floats, upper: Floats) -> bool:
    if np.isposinf(lower).any() or np.isneginf(upper).any():
        return True
    crossed = lower > upper
    if not crossed.any():
        return False
    low, high = lower[crossed], upper[crossed]
    return bool((low - high > CROSSING * np.maximum(1.0, np.abs(low))).any())


def _places(broken: Bools) -> list[int]:
    places: list[int] = np.flatnonzero(broken)[:SHOWN].tolist()
    return places


def _row(problem: Problem, row: int) -> str:
    from gpusched_dsl.ir.names import entry_name

    return entry_name(problem.row_family(row), row)


def _column(problem: Problem, column: int) -> str:
    from gpusched_dsl.ir.names import entry_name

    return entry_name(problem.column_family(column), column)


def _bad(what: str, span: Span | None) -> Diagnostic:
    return Diagnostic("GSM4012", f"{what} is not a number", span)
