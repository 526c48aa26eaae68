"""The relaxation of a problem: the same without integrality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import INDICATOR
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions, target_of


def relax_integers(problem: Problem, backend: Backend) -> Problem:
    """Return the problem with every column continuous, to be solved by `backend`.

    Conditions and terms with binaries are first reformulated to rows, since they have no meaning for fractions; other
    columns follow the declared ones. Raises DiagnosticError as `reformulate` does.
    """
    if not problem.is_linear:
        target = target_of(backend, problem)
        without_indicators = structs.replace(target, accepts=target.accepts - {INDICATOR})
        problem = reformulate(problem, without_indicators, tighten=False).problem
    return replace(problem, integer=np.zeros_like(problem.integer))


def solve_relaxed(problem: Problem, backend: Backend, options: SolveOptions, monitor: Monitor | None) -> Solution:
    """Solve the relaxation, without tightenings, heuristics and decomposition.

    Raises DiagnosticError as `solve_problem` does, and GSM4003 naming the relaxation as the reason.
    """
    plain = structs.replace(options, tighten=False, heuristic="off", decompose="off")
    try:
        return solve_problem(relax_integers(problem, backend), backend, plain, None, monitor)
    except DiagnosticError as error:
        if backend.capabilities.continuous or error.diagnostics[0].code != "GSM4003":
            raise
        message = f"`{backend.name}` solves integer problems, and the relaxation has no integer variables"
        help = "choose another backend for it, such as `highs` or `scip`"
        raise DiagnosticError([Diagnostic("GSM4003", message, help=help)]) from error
