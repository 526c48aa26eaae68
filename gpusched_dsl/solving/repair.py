"""Rounds integers exactly: fixes the integer columns at their rounded values, and solves for the others again.

Columns that are integer at every vertex for fixed integer columns (`compiling/tightening/network_integrality.py`)
become integer in the same way if a solver returned a point between two vertices: the second solve ends in a vertex.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.ir.tolerances import ALLOWED_LOSS
from gpusched_dsl.ir.verify import Tolerances
from gpusched_dsl.solving.lexicographic import undo_cost_scaling, with_visible_costs
from gpusched_dsl.solving.precheck import answer_without_solver
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions
from gsdsl_backends.registry import backend as backend_named

# What makes a backend end a linear problem in a vertex, and the one that surely does: SCIP 10.0.2 returns points
# between vertices of small assignment problems with ties, even with presolve, propagation and heuristics off.
BY_VERTICES: Mapping[str, Mapping[str, str]] = {"highs": {"solver": "simplex"}}
SURELY = "highs"


def is_integral_as_stated(reformulated: ReformulatedProblem, point: Floats, tolerances: Tolerances) -> bool:
    """Whether a point of the reformulated problem is integer in the integer columns of the stated problem.

    Results of definitions are not looked at: they are computed anew.
    """
    original = reformulated.original
    if reformulated.problem is original or not original.is_mip:
        return True
    declared = original.integer.copy()
    for definition in original.definitions:
        declared[definition.results] = False
    values = reformulated.invert(point)[declared]
    return bool((np.abs(values - np.rint(values)) <= tolerances.integrality).all())


def helpers(
    backend: Backend, reformulated: ReformulatedProblem, answer: SolverResult, tolerances: Tolerances
) -> tuple[Backend, ...]:
    """The backends to repair with, in order: its own, and for columns left to the vertices one that ends in them."""
    assert answer.values is not None
    if not reformulated.problem.is_linear or backend.name == SURELY:
        return (backend,)
    integral = is_integral_as_stated(reformulated, answer.values, tolerances)
    return (backend,) if integral else (backend, backend_named(SURELY))


def repair(
    backend: Backend, problem: Problem, answer: SolverResult, options: SolveOptions, monitor: Monitor | None
) -> SolverResult | None:
    """Return the result with a point with exact integers; None if no such point is as good.

    The repaired point is not checked for feasibility here. Solvers accept 0.999999 for 1; with a large coefficient on
    that column the rounded point breaks a row, but often another choice of the continuous columns does not.
    """
    assert answer.values is not None
    if not np.isfinite(answer.values).all():
        return None
    rounded_point = np.clip(np.rint(answer.values), problem.lower, problem.upper)
    if problem.integer.all():
        objective = problem.objectives[0].value(rounded_point) if problem.objectives else 0.0
        return _unless_worse(structs.replace(answer, values=rounded_point, objective=objective), answer, options)
    linear = replace(
        _with_fixed_conditions(problem, rounded_point),
        lower=np.where(problem.integer, rounded_point, problem.lower),
        upper=np.where(problem.integer, rounded_point, problem.upper),
        integer=np.zeros(problem.columns, dtype=bool),
    )
    found = answer_without_solver(linear)
    if found is None:
        visible, factor = with_visible_costs(linear)
        session = backend.open(visible)
        try:
            repair_options = structs.replace(options, extra=BY_VERTICES.get(backend.name, {}))
            found = undo_cost_scaling(session.solve(repair_options, None, monitor), factor)
        finally:
            session.close()
    if found.status is not Status.OPTIMAL or found.values is None:
        return None
    return _unless_worse(structs.replace(answer, values=found.values, objective=found.objective), answer, options)


def _with_fixed_conditions(problem: Problem, point: Floats) -> Problem:
    """The problem with the rows that apply at this point: backends take conditions on binary columns only."""
    idle = ~problem.conditions.active(problem.rows, point)
    return replace(
        problem,
        row_lower=np.where(idle, -np.inf, problem.row_lower),
        row_upper=np.where(idle, np.inf, problem.row_upper),
        conditions=Conditions.none(),
    )


def _unless_worse(other: SolverResult, answer: SolverResult, options: SolveOptions) -> SolverResult | None:
    """`other`, or None when it is no longer the optimum that `answer` claims to be."""
    best = answer.bound if answer.bound is not None else answer.objective
    if answer.status is not Status.OPTIMAL or other.objective is None or best is None:
        return other
    return other if relative_gap(other.objective, best) <= options.gap + ALLOWED_LOSS else None
