"""A feasible point near a plan that lacks capacity for some of its blocks."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.primal.any_point import find_any_point
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.restriction import has_point, restrict, solve_part
from gsdsl_backends.protocol import Backend, SolveOptions

MENDED_GAP = 0.01
SHARE = 0.6  # of the time for a point with the shared integers of the plan


def mend(
    parts: BlockStructure,
    shared: Floats,
    own: Floats,
    kept: Bools,
    lacking: Codes,
    backend: Backend,
    options: SolveOptions,
    budget: HeuristicBudget,
) -> Floats | None:
    """Keep the points of the blocks `kept`, and plan the others anew by the backend; None if it finds no point.

    `shared` and `own` are the plan; `lacking`: the uses that it lacks. Its integer shared columns remain,
    but those in rows of lacking uses. If there is no such point, any point with other shared columns will do.
    """
    problem = parts.problem
    lower, upper = problem.lower.copy(), problem.upper.copy()
    fixed = kept[parts.block]
    lower[parts.own[fixed]] = upper[parts.own[fixed]] = own[fixed]
    near = np.zeros(len(parts.shared), dtype=np.bool_)
    near[parts.a[np.flatnonzero(np.isin(parts.use_of, lacking))].indices] = True
    far = parts.integer & ~near
    few_lower, few_upper = lower.copy(), upper.copy()
    few_lower[parts.shared[far]] = few_upper[parts.shared[far]] = np.rint(shared[far])
    part = restrict(problem, few_lower, few_upper)
    within = structs.replace(
        options, extra={}, gap=max(options.gap, MENDED_GAP), time_limit=SHARE * budget.remaining_seconds
    )
    answer = solve_part(backend, part.problem, within, None, budget)
    if has_point(answer):
        assert answer.values is not None
        return part.point(answer.values)
    part = restrict(problem, lower, upper)
    values = find_any_point(part.problem, backend, options, budget)
    return None if values is None else part.point(values)
