"""The passes in the order in which they run; each reformulates only what the target does not take."""

from __future__ import annotations

from gpusched_dsl.compiling.passes.leftovers import refuse_leftovers
from gpusched_dsl.compiling.passes.steps import Analysis, Pass, Prepared, Target
from gpusched_dsl.ir.problem import Problem

PASSES: tuple[Pass, ...] = ()


def prepare(problem: Problem, target: Target) -> Prepared:
    """The problem as the target takes it, with the way back.

    Raises DiagnosticError naming term, backend and remedy for what can neither be reformulated nor is accepted.
    """
    prepared = Prepared(problem, problem)
    if problem.is_linear:
        return prepared
    analysis = Analysis(problem)
    for reformulate in PASSES:
        if reformulate.accepts(analysis, target):
            step = reformulate.apply(analysis, target)
            prepared = prepared.then(step)
            analysis = Analysis(step.problem)
    refuse_leftovers(analysis, target)
    return prepared
