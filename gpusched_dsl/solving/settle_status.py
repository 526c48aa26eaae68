"""The status of a solution follows from its objective, its bound and the requested gap.

Solvers stop by their own definitions of the gap, passes approximate terms, and column generation adds patterns: what
counts is the gap of the point and the bound that are reported.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.tolerances import ALLOWED_LOSS
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.stepped_bound import stepped_bound


def settle_status(solved: Solution) -> Solution:
    """Return the solution as `optimal` where its gap is reached, as `limit` (`accuracy`) where approximations miss it.

    Only the approximations of passes refute the proof of a solver, not its rounding errors. With several objectives
    the status stays: a stage that ended at a limit was followed by no other.
    """
    if len(solved.objectives) != 1 or solved.point is None or solved.objectives[0].gap is None:
        return solved
    only = solved.objectives[0]
    if solved.is_integral and only.value is not None and only.bound is not None:
        only = structs.replace(only, bound=stepped_bound(solved.problem, only.value, only.bound))
        solved = replace(solved, objectives=(only,))
    gap = only.gap
    if gap is None:
        return solved
    requested = solved.options.gap
    if solved.status is Status.LIMIT and gap <= requested and solved.is_integral and not solved.contradictions:
        return replace(
            solved, status=Status.OPTIMAL, reason="", objectives=(structs.replace(only, status=Status.OPTIMAL),)
        )
    approximated = solved.reformulated.bound_error > 0.0
    if solved.status is Status.OPTIMAL and approximated and gap > requested + ALLOWED_LOSS:
        return replace(
            solved, status=Status.LIMIT, reason="accuracy", objectives=(structs.replace(only, status=Status.LIMIT),)
        )
    return solved
