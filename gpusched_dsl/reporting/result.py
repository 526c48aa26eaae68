"""The result of a solve with the names of the model: status, objectives, bound, values as tables, placement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.contradiction import beats, contradiction
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.reporting.placement import Placement, placement_of
from gpusched_dsl.reporting.report import IllustratedReport, Report
from gpusched_dsl.reporting.waiting import WaitingJobs, WaitingReason, waiting_jobs
from gpusched_dsl.version import __version__

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.language.calendar import Calendar
    from gpusched_dsl.reporting.alternatives import Alternatives, Options
    from gpusched_dsl.reporting.solution_tables import SolutionTables
    from gpusched_dsl.solving.sensitivity import Sensitivity
    from gpusched_dsl.solving.solution import ObjectiveResult, Solution


@dataclass(frozen=True, eq=False)
class Result(IllustratedReport):
    """The result of a solve. Numbers are in the units that the model declares.

    `result["run"]` is the table of the nonzero values, `result.table("run", zeros=True)` of all values. After a solve
    with `alternatives` or `options_of`, `alternatives` and `job_options` have the other solutions, with a `table`.
    """

    writers = Report.writers | {
        "json": "gpusched_dsl.reporting.result_document:result_document",
        "text": "gpusched_dsl.reporting.summary:result_lines",
        "csv": "gpusched_dsl.reporting.result_document:result_tables",
        "figures": "gpusched_dsl.reporting.figures.solve_figures:solve_figures",
        "html": "gpusched_dsl.reporting.pages.solve_page:result_page",
        "notebook": "gpusched_dsl.reporting.pages.fragment:result_fragment",
    }

    solved: Solution
    provenance: Provenance
    sensitivity: Sensitivity | None = None
    relaxed: bool = False
    waiting_reasons: tuple[WaitingReason, ...] = ()
    alternatives: Alternatives | None = None
    job_options: Options | None = None

    # --- outcome -----------------------------------------------------------------------------------------------------

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
        return self.solved.values

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
    def rebuilt(self) -> str | None:
        """Why a re-solve could not change the loaded problem in place; None if it could or for a first solve."""
        return self.solved.loading.why_rebuilt(self.solved.backend.name)

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

    # --- tables ------------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Return the nonzero values of a variable, `let` or parameter; raise KeyError for another name."""
        return self.table(name, zeros=False)

    def table(self, name: str, *, zeros: bool = True) -> pl.DataFrame:
        """Return the values of a variable, `let` or parameter: a column per index and `value`, in the order of the
        sets.

        Without `zeros`, rows within 1e-9 of zero are omitted. Of an `interval`, the columns are `start` and `end` of
        those that are there, with `zeros` of all, and `present`. Raises KeyError for another name, and DiagnosticError
        (GSM6010) if the values depend on a solution and there is none.
        """
        return self._tables.table(name, zeros=zeros)

    def value(self, name: str, *labels: str | int) -> float:
        """Return one value: `result.value("run", "j1", "n1", "v1", 2)`; raise KeyError if the labels are not an
        element.
        """
        return self._tables.value(name, labels)

    @property
    def members(self) -> pl.DataFrame:
        """Return a row for each solver that worked at once (`backend="concurrent"`), in the terms of each objective:
        `solver`, `objective_name`, `status`, `reason`, `objective`, `bound`, `seconds`, `gave_point`, `gave_bound`,
        `error`. Empty for a single solver.
        """
        from gpusched_dsl.reporting.members import members_table

        return members_table(self.solved.members)

    @property
    def reports(self) -> dict[str, pl.DataFrame]:
        """Return the tables of the model's `report` lines by name; empty without a point."""
        model = self.provenance.model
        return {name: self.table(name) for name in model.reports} if model is not None and self.has_point else {}

    def duals(self, constraint: str) -> pl.DataFrame:
        """Return, per row of a constraint, the change of the objective with its right-hand side; columns as in `table`.

        A constraint that is a chain has a column `part`. A problem with integers has duals if it was solved with
        `duals=True`: those of the linear program with fixed integers. Raises KeyError for another name, DiagnosticError
        (GSM6010) if there are no duals, such as for several objectives or without an optimum.
        """
        return self._tables.duals(constraint)

    def slacks(self, constraint: str) -> pl.DataFrame:
        """Return the value of each row at the solution (`activity`), its sides, and the distance to the nearer one.

        Columns and errors as in `duals`, but every solution has slacks. Infinite sides are infinite.
        """
        return self._tables.slacks(constraint)

    def side_ranges(self, constraint: str) -> pl.DataFrame:
        """Return between which values, `lower` and `upper`, the side of each row may change while its dual stays.

        For a row with slack it is the side that it would reach first. Needs `duals=True`; columns and errors as in
        `duals`. Only linear problems have ranges.
        """
        return self._tables.side_ranges(constraint)

    def reduced_costs(self, variable: str) -> pl.DataFrame:
        """Return the reduced cost of each column of a variable; raise as `duals` does."""
        return self._tables.reduced_costs(variable)

    def cost_ranges(self, variable: str) -> pl.DataFrame:
        """Return between which values, `lower` and `upper`, the cost of a column may change while the solution stays.

        Integer columns, which are fixed, have NaN. Raises as `side_ranges` does.
        """
        return self._tables.cost_ranges(variable)

    @property
    def _tables(self) -> SolutionTables:
        from gpusched_dsl.reporting.solution_tables import SolutionTables

        return SolutionTables(self.solved, self.provenance, self.sensitivity)

    def __repr__(self) -> str:
        from gpusched_dsl.language.text.numbers import number_text

        value = f", objective {number_text(self.objective)}" if self.objective is not None else ""
        return f"<Result {self.problem.name}: {self.status}{value}, {self.backend}>"
