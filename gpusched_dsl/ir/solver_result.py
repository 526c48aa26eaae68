"""The result of a backend for a `Problem`: status, point, bound, duals."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic


class Status(StrEnum):
    OPTIMAL = "optimal"  # proved within the gap asked for
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible_or_unbounded"
    FEASIBLE = "feasible"  # the plan of a policy: checked, nothing proved
    BROKEN = "broken"  # the plan of a policy breaks rows of the model
    LIMIT = "limit"  # stopped before a proof, with or without an incumbent; `reason` says by what


GAP_FLOOR = 1e-9
# Of the largest cost: what solvers cannot tell from 0, as they meet rows and bounds within such a tolerance only.
ZERO = 1e-6


def relative_gap(objective: float, bound: float, largest_cost: float = 0.0) -> float:
    """`|objective - bound| / max(|objective|, 1e-9)`: how far the objective may be from the best possible.

    0 where both are 0 within 1e-6 of the largest cost: relative to an optimum of 0 every rounding error is large.
    """
    if max(abs(objective), abs(bound)) <= ZERO * largest_cost:
        return 0.0
    return abs(objective - bound) / max(abs(objective), GAP_FLOOR)


class MemberResult(Struct, frozen=True):
    """The result of one of several solvers that worked on the same problem at once.

    `objective` is its own best, `bound` its own bound, `reason` as in `SolverResult`, `error` the message where it
    failed or refused the problem. `status` is None then, and for a solver that had not ended. `gave_point` and
    `gave_bound` mark those whose point and bound are reported. `goal` names the objective of several.
    """

    solver: str
    status: Status | None
    reason: str = ""
    objective: float | None = None
    bound: float | None = None
    seconds: float = 0.0
    gave_point: bool = False
    gave_bound: bool = False
    error: str = ""
    goal: str = ""


class SolverResult(Struct, frozen=True, eq=False):
    """`values` is None when there is no point. `bound` is the dual bound, in the sense of the objective, None when
    the solver has none; of a linear problem solved to optimality it is the objective.

    `row_duals` and `reduced_costs` exist for linear problems solved to optimality, with some backends for convex ones:
    the change of the objective per unit of the row's side or of the column's value, as `d objective / d rhs` whatever
    the sense. `reason` of a LIMIT is `time`, `interrupt`, `nodes`, `iterations`, `solutions`, `objective`, `memory` or
    `accuracy` (a conic solver came close to an optimum, but not close enough for a proof).
    `statistics` are the solver's own counts, such as `nodes` and `iterations`. Of several solvers at once, `members`
    has the result of each, and `contradictions` what they claim against one another.
    """

    status: Status
    values: Floats | None = None
    objective: float | None = None
    bound: float | None = None
    row_duals: Floats | None = None
    reduced_costs: Floats | None = None
    reason: str = ""
    solve_seconds: float = 0.0
    statistics: dict[str, float] = field(default_factory=dict)
    members: tuple[MemberResult, ...] = ()
    contradictions: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
