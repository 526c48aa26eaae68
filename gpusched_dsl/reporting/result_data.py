"""The result of a solve without its tables and files: status, objectives, bound, placement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.contradiction import beats, contradiction
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.reporting.placement import Placement, placement_of
from gpusched_dsl.reporting.waiting import WaitingJobs, WaitingReason, waiting_jobs
from gpusched_dsl.version import __version__

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.language.calendar import Calendar
    from gpusched_dsl.reporting.alternatives import Alternatives, Options
    from gpusched_dsl.solving.sensitivity import Sensitivity
    from gpusched_dsl.solving.solution import ObjectiveResult, Solution


@dataclass(frozen=True, eq=False)
class ResultData:
    """The data for the writers of a result; `Result` describes the fields."""

    solved: Solution
    provenance: Provenance
    rebuilt: str | None = None
    sensitivity: Sensitivity | None = None
    relaxed: bool = False
    waiting_reasons: tuple[WaitingReason, ...] = ()
    alternatives: Alternatives | None = None
    job_options: Options | None = None

    @property
    def status(self) -> Status:
        """`optimal`, `infeasible`, `unbounded`, `infeasible_or_unbounded` or `limit`; compares with strings."""
        return self.solved.status

    @property
    def reason(self) -> str:
        """Return the cause of a status `limit`: `time`, `interrupt`, `nodes`, `memory`, ...; else empty."""
        return self.solved.reason

    @property
    def has_point(self) -> bool:
        """Whether there is a solution to read values from."""
        return self.solved.point is not None

    @property
    def values(self) -> Floats | None:
        """Return the values to read: those of the solution, else of a plan that violates the model, NaN where it states
        none; None if there are none.
        """
        return self.solved.broken_plan if self.solved.point is None else self.solved.point

    @property
    def objective(self) -> float | None:
        """The value of the first objective at the point; None without a point or an objective."""
        return self.solved.objective

    @property
    def bound(self) -> float | None:
        """Return a proved bound of the objective; None if the solver has proved none."""
        return self.solved.bound

    @property
    def contradiction(self) -> Diagnostic | None:
        """Return the diagnostic GSM9002 if an objective is better than its bound, or solvers contradict one another;
        else None.
        """
        if self.status is Status.BROKEN:
            return None
        if self.solved.contradictions:
            return self.solved.contradictions[0]
        for objective in self.objectives:
            if objective.value is None or objective.bound is None:
                continue
            if beats(objective.value, objective.bound, minimise=objective.sense == "minimize"):
                unit = "" if objective.unit == "1" else objective.unit
                return contradiction(
                    f"`{objective.name or 'objective'}`", objective.value, objective.bound, unit, "proved by a solver"
                )
        return None

    @property
    def gap(self) -> float | None:
        """|objective - bound| / max(|objective|, 1e-9); 0 if both are 0 within 1e-6 of the largest cost."""
        return self.solved.gap

    @property
    def objectives(self) -> tuple[ObjectiveResult, ...]:
        """All objectives in the order of their priority, each with value, bound, gap, unit and terms."""
        return self.solved.objectives

    @cached_property
    def terms(self) -> dict[str, float]:
        """The value of every objective term by name; an objective without named terms counts as one term."""
        values: dict[str, float] = {}
        for objective in self.solved.objectives:
            for term in objective.terms:
                values[term.name or objective.name or "objective"] = term.value
        return values

    @property
    def build_seconds(self) -> float:
        """Seconds from the text to the problem loaded in the solver."""
        return self.provenance.build_seconds + self.solved.load_seconds

    @property
    def solve_seconds(self) -> float:
        """Return the seconds that the solver needed."""
        return self.solved.solve_seconds

    @property
    def calendar(self) -> Calendar | None:
        """Return the calendar of the scenario; None if it states none."""
        store = self.provenance.store
        return None if store is None else store.calendar

    @property
    def backend(self) -> str:
        return self.solved.backend.name

    @cached_property
    def versions(self) -> dict[str, str]:
        """Return the versions of gsdsl, Python and the solver."""
        import platform

        return {"gsdsl": __version__, "python": platform.python_version(), **self.solved.versions}

    @property
    def inputs_sha256(self) -> dict[str, str]:
        """Return the SHA-256 of each input file by its name."""
        return dict(self.provenance.inputs_sha256)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return (*self.provenance.warnings, *self.solved.warnings, *self.differing_costs)

    @cached_property
    def differing_costs(self) -> tuple[Diagnostic, ...]:
        """Return the warnings GSM4037: the objective and the placement state one cost in two ways."""
        model, store, placed = self.provenance.model, self.provenance.store, self.placed
        if model is None or store is None or placed is None or self.solved.point is None:
            return ()
        from gpusched_dsl.reporting.two_costs import differing_costs

        return differing_costs(model, store, self.problem, self.solved.point, placed, self.provenance.limits)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of the JSON document: warnings, and an objective better than its bound."""
        return self.warnings if self.contradiction is None else (*self.warnings, self.contradiction)

    @property
    def problem(self) -> Problem:
        return self.solved.problem

    @cached_property
    def placed(self) -> Placement | None:
        """The placement with its units; None without values, without a `placement` and for a relaxation."""
        provenance, values = self.provenance, self.values
        if provenance.model is None or provenance.store is None or values is None or self.relaxed:
            return None
        return placement_of(provenance.model, provenance.store, values, provenance.limits)

    @property
    def placement(self) -> pl.DataFrame | None:
        """Return the placed jobs, a row per decision: `job`, `node`, `node_type`, `uses`, `of`, `lasts`,
        `costs`, `cost`.
        """
        return None if self.placed is None else self.placed.table

    @cached_property
    def waiting_jobs(self) -> WaitingJobs | None:
        """The jobs without a placement, with the reasons of a solve with `reasons`; None if the placement names no
        jobs.
        """
        provenance = self.provenance
        if self.placed is None or provenance.model is None or provenance.store is None:
            return None
        found = waiting_jobs(provenance.model, provenance.store, self.placed)
        return found if found is None else replace(found, reasons=self.waiting_reasons)

    @property
    def waiting(self) -> pl.DataFrame | None:
        """Return the jobs that wait, a row per job: `job`, `reason`, `binds`, `row`, `needs`, `free`, `unit`,
        `change`, `text`; None without a placement that names its jobs. Reasons need a solve with `reasons`.
        """
        return None if self.waiting_jobs is None else self.waiting_jobs.table
