"""The result of `solve_problem`: a verified point of the stated problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.magnitudes import largest_cost
from gpusched_dsl.ir.problem import Objective, Problem, Size
from gpusched_dsl.ir.solver_result import MemberResult, Status, relative_gap
from gpusched_dsl.ir.verify import ObjectiveValue, TermValue, Tolerances, Verification
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gsdsl_backends.protocol import Backend, Session, SolveOptions


class Loading(StrEnum):
    """How the problem was loaded into the solver; all but the first three explain why a re-solve rebuilt it."""

    FIRST = "first"
    IN_PLACE = "in_place"  # numbers were changed in the loaded problem
    CARRIED = "carried"  # columns, rows or coefficients came or went; the basis and the point were kept
    TOO_MUCH_CHANGED = "too_much_changed"  # most columns and rows are new
    TERMS_CHANGED = "terms_changed"  # other nonlinear terms or conditions, or other columns beside them
    BACKEND_CANNOT_UPDATE = "backend_cannot_update"
    SEVERAL_OBJECTIVES = "several_objectives"
    NO_SESSION = "no_session"  # the earlier problem needed no solver, or its session was closed

    def why_rebuilt(self, backend: str) -> str | None:
        """Return why a re-solve with that backend rebuilt the problem; None if it did not."""
        reasons = {
            Loading.TOO_MUCH_CHANGED: "too much changed: most columns and rows are new",
            Loading.TERMS_CHANGED: "the structure changed: other nonlinear terms, or other columns with them",
            Loading.BACKEND_CANNOT_UPDATE: f"the backend `{backend}` cannot change a loaded problem",
            Loading.SEVERAL_OBJECTIVES: "several objectives are solved one after another, each from scratch",
            Loading.NO_SESSION: "there was no loaded problem: it needed no solver, was solved by blocks, or was closed",
        }
        return reasons.get(self)


class ObjectiveResult(Struct, frozen=True):
    """One objective. `value` is None without a point; `bound` is None where the solver proved none.

    `status` is that of the solve in which this objective was the one to improve; None when an earlier objective ended
    without a proof, so that this one was only computed at the point.
    """

    name: str | None
    sense: str
    unit: str
    value: float | None
    bound: float | None
    terms: tuple[TermValue, ...]
    status: Status | None
    seconds: float
    largest_cost: float = 0.0

    @classmethod
    def of(
        cls,
        objective: Objective,
        value: ObjectiveValue | None,
        bound: float | None,
        status: Status | None,
        seconds: float,
        columns: int,
    ) -> ObjectiveResult:
        """The result of an objective over this many columns, with its value as `verify` found it."""
        return cls(
            objective.name,
            objective.sense,
            objective.unit,
            None if value is None else value.value,
            bound,
            () if value is None else value.terms,
            status,
            seconds,
            largest_cost(objective.costs(columns)),
        )

    @property
    def gap(self) -> float | None:
        """The relative gap as `relative_gap` defines it."""
        if self.value is None or self.bound is None:
            return None
        return relative_gap(self.value, self.bound, self.largest_cost)


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The result of a solve, verified on `problem`; `reformulated` is the backend's problem, with its notes.

    `point` has a value per column of `problem`, with integer columns exactly integer where `is_integral` is true;
    None without a point. `row_duals` and `reduced_costs` (see `SolverResult`) exist for problems without integers and
    with one objective; rows that were reformulated away have NaN. `objectives` are in order of priority; `objective`,
    `bound`, `gap` and `terms` are those of the first.
    `session` stays open for `resolve`; `close` frees the solver. Where interchangeable elements were aggregated,
    `aggregated` is the solution of the aggregated problem, and `size` is the size of the complete problem; `problem`
    may then be only the part of it in which the point is not zero.
    `warnings` explain why a start was not used. `stopped_at` names the stage at which the time limit
    or a stop ended the work before a solver was asked, "" where one was. `members` has the result of each of several
    solvers that worked at once, `contradictions` what they claim against one another. `broken_plan` has the values of a
    plan that violates the model, NaN where the plan states none. `prices` are those of the rows that jobs have in
    common, of a solve share by share, from which a re-solve begins.
    """

    problem: Problem
    reformulated: ReformulatedProblem
    backend: Backend
    options: SolveOptions
    tolerances: Tolerances
    status: Status
    reason: str
    point: Floats | None
    objectives: tuple[ObjectiveResult, ...]
    row_duals: Floats | None
    reduced_costs: Floats | None
    verification: Verification | None
    is_integral: bool
    loading: Loading
    load_seconds: float
    solve_seconds: float
    statistics: dict[str, float]
    versions: dict[str, str]
    session: Session | None = field(repr=False)
    aggregated: Solution | None = field(default=None, repr=False)
    size: Size | None = None
    warnings: tuple[Diagnostic, ...] = ()
    stopped_at: str = ""
    members: tuple[MemberResult, ...] = ()
    contradictions: tuple[Diagnostic, ...] = ()
    broken_plan: Floats | None = None
    prices: Floats | None = field(default=None, repr=False)

    @property
    def values(self) -> Floats | None:
        """The values to read: the point, else those of a plan that violates the model; None if there are none."""
        return self.broken_plan if self.point is None else self.point

    @property
    def objective(self) -> float | None:
        return self.objectives[0].value if self.objectives else None

    @property
    def bound(self) -> float | None:
        return self.objectives[0].bound if self.objectives else None

    @property
    def gap(self) -> float | None:
        return self.objectives[0].gap if self.objectives else None

    @property
    def terms(self) -> tuple[TermValue, ...]:
        return self.objectives[0].terms if self.objectives else ()

    def __repr__(self) -> str:
        return f"<Solution {self.problem.name}: {self.status}, objective {self.objective}>"

    def __getstate__(self) -> dict[str, object]:
        """Return the state to pickle: everything except the solver's session, which belongs to its process."""
        return self.__dict__ | {"session": None}

    def close(self) -> None:
        """Free the solver; a later `resolve` rebuilds the problem."""
        if self.aggregated is not None:
            self.aggregated.close()
        if self.session is not None:
            self.session.close()
            object.__setattr__(self, "session", None)
