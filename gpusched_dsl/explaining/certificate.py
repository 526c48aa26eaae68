"""A small infeasible part of a linear relaxation, from the dual values of the least total violation (Farkas)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.backends.driver import solve_problem
from gpusched_dsl.backends.protocol import Backend, SolveOptions
from gpusched_dsl.explaining.clock import Clock
from gpusched_dsl.explaining.elastic import elastic, row_scales
from gpusched_dsl.explaining.elements import Elements, Mask
from gpusched_dsl.ir.answer import Status
from gpusched_dsl.language.diagnostics import DiagnosticError

NOTHING = 1e-9


def linear_certificate(elements: Elements, backend: Backend | str, clock: Clock) -> Mask | None:
    """The rows and bounds with a dual value where the violation of the relaxation is least; None when it is feasible.

    min sum s / scale over `A x + s` within the sides: its dual values y prove `y A x` to exceed what the sides allow,
    so rows with y = 0 and bounds without reduced cost are not needed. Rounding may make the part too small: the
    caller asks a solver whether it is infeasible.
    """
    problem = elements.problem
    if not problem.columns or not problem.rows:
        return None
    rows = np.flatnonzero(elements.of("row", elements.present))
    relaxed = replace(problem, integer=np.zeros(problem.columns, dtype=np.bool_))
    stretched = elastic(relaxed, rows, 1.0 / row_scales(problem)[rows])
    try:
        solved = solve_problem(
            stretched.problem, backend, SolveOptions(time_limit=clock.share()), monitor=clock.monitor
        )
    except DiagnosticError:
        return None
    solved.close()
    if solved.reason == "interrupt":
        clock.interrupted = True
    if solved.status is not Status.OPTIMAL or solved.row_duals is None or solved.reduced_costs is None:
        return None
    if solved.objective is None or solved.objective <= NOTHING:
        return None
    duals, costs = solved.row_duals, solved.reduced_costs[: problem.columns]
    found = elements.none()
    found[: problem.rows] = np.abs(duals) > NOTHING * np.abs(duals).max()
    least = NOTHING * max(1.0, float(np.abs(costs).max(initial=0.0)))
    elements.of("lower", found)[:] = costs > least
    elements.of("upper", found)[:] = costs < -least
    return found & elements.present
