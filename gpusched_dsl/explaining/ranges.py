"""Warnings about numbers of very different size, which distort a solver's tolerances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.explaining.row_text import short
from gpusched_dsl.explaining.sizes import APART, ConstraintSize
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Objective, Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.source import Span

HELP = "choose units such that all numbers are within a few powers of ten of 1, or tighten large constants"


def range_warnings(problem: Problem, constraints: Sequence[ConstraintSize]) -> list[Diagnostic]:
    """Return one warning for each constraint and objective with coefficients of very different size."""
    found = [_constraint(problem, c) for c in constraints if c.apart]
    return found + [w for o in problem.objectives if (w := _objective(problem, o)) is not None]


def _constraint(problem: Problem, size: ConstraintSize) -> Diagnostic:
    entries = slice(int(problem.matrix.starts[size.worst]), int(problem.matrix.starts[size.worst + 1]))
    columns, values = problem.matrix.columns[entries], np.abs(problem.matrix.values[entries])
    columns, values = columns[values > 0], values[values > 0]
    row = entry_name(size.family, size.worst)
    ends = [(int(columns[k]), float(values[k])) for k in (np.argmin(values), np.argmax(values))]
    return _range_warning(problem, f"`{row}`", ends, size.family.span)


def _objective(problem: Problem, objective: Objective) -> Diagnostic | None:
    costs = np.abs(objective.costs(problem.columns))
    used = np.flatnonzero(costs)
    if not len(used) or costs[used].max() <= APART * costs[used].min():
        return None
    ends = [(int(used[k]), float(costs[used[k]])) for k in (np.argmin(costs[used]), np.argmax(costs[used]))]
    return _range_warning(problem, f"`{objective.name}`" if objective.name else "the objective", ends, objective.span)


def _range_warning(problem: Problem, where: str, ends: list[tuple[int, float]], span: Span | None) -> Diagnostic:
    (small_at, small), (large_at, large) = ends
    names = [entry_name(problem.column_family(c), c) for c in (small_at, large_at)]
    return Diagnostic(
        "GSM3303",
        f"the coefficients of {where} differ by a factor of {large / small:.1g}",
        span,
        f"{short(small)} for {names[0]}, {short(large)} for {names[1]}",
        help=HELP,
        severity=Severity.WARNING,
    )
