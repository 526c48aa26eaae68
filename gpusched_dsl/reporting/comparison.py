"""A comparison of methods on one scenario: rows, the best one, the best bound, as table, JSON and CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.ir.contradiction import beats, contradiction
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import column_texts, number_text, with_unit
from gpusched_dsl.reporting.document import diagnostics_document, finite
from gpusched_dsl.reporting.grid import Grid, GridColumn
from gpusched_dsl.reporting.method_comparison import SAME, MethodComparison
from gpusched_dsl.reporting.paired_differences import PAIRED, PairedDifferences, paired_differences
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.version import __version__

if TYPE_CHECKING:
    from gpusched_dsl.reporting.figures.figure import Figure

FORMAT = "gsdsl-comparison/1"
SHOWN = 3  # violated constraints in a remark
LEFT_OUT, MISPLACED = "the plan leaves out", "the plan runs"  # notes of a broken plan that name jobs begin so


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """One run of one method. `result` is None if it was refused; `diagnostics` has the reasons or the violations.

    `seconds` is the time from the data to the verified plan, without compiling or loading kernels, and without the
    analysis of violations. `seed` is None for deterministic methods.
    """

    method: str
    is_policy: bool
    seed: int | None
    result: Result | None
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    compile_seconds: float = 0.0

    @property
    def status(self) -> str:
        """Return the status of the result, or `refused`."""
        return "refused" if self.result is None else self.result.status.value

    @property
    def objective(self) -> float | None:
        return None if self.result is None else self.result.objective

    @property
    def waiting_jobs(self) -> int | None:
        """Return the number of jobs without a place in the plan; None without a plan or a placement."""
        waiting = None if self.result is None else self.result.waiting_jobs
        return None if waiting is None else len(waiting.labels)

    @property
    def remark(self) -> str:
        """Return why there is no plan, or the reason for an early end."""
        if self.result is not None and self.result.reason:
            return f"stopped: {self.result.reason}"
        if self.status == "broken":
            return _broken_rows_text(self.diagnostics)
        return self.diagnostics[0].message if self.result is None and self.diagnostics else ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(MethodComparison[ComparisonRow]):
    """Rows in the order of the methods. Costs are in the unit of the first objective.

    `bound` is the best proved bound of all runs, None without any; `bound_by` its method. `interrupted`: the methods
    after the last row did not run. `print` shows the table of the command line. `table` has a row per run: `method`,
    `seed`, `status`, `waiting_jobs`, the terms, the objective, `gap`, `seconds`, `best`, `remark`.
    With several seeds `paired` has the differences to the best method; `table` repeats them in each row of a method
    (`mean`, `difference`, ...).
    """

    model: str
    scenario: str | None
    objective: str
    unit: str
    minimise: bool
    bound: float | None = None
    bound_by: str | None = None
    provenance: Provenance = field(default_factory=Provenance, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)

    def rank_value(self, row: ComparisonRow) -> float | None:
        """Return the first objective."""
        return row.objective

    def _choose(self, values: Sequence[float]) -> float:
        return min(values) if self.minimise else max(values)

    def refutes(self, row: ComparisonRow) -> bool:
        """Whether the value of a row is better than the bound: then one of the two is wrong."""
        return row.status != "broken" and beats(row.objective, self.bound, minimise=self.minimise)

    @property
    def contradictions(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics GSM9002 of rows with values better than the bound."""
        return tuple(
            contradiction(
                f"`{self.objective}` of {row.method}", row.objective, self.bound, self.unit,
                f"proved by {self.bound_by}",
            )
            for row in self.rows
            if row.objective is not None and self.bound is not None and self.refutes(row)
        )  # fmt: skip

    def gap(self, row: ComparisonRow) -> float | None:
        """Return the distance of a row to the best bound; None if one of the two does not exist."""
        if row.objective is None or self.bound is None or self.refutes(row):
            return None
        gap = relative_gap(row.objective, self.bound)
        return gap if gap > SAME else 0.0

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Return the names of the terms of all objectives, except one that is the first objective itself."""
        names = dict.fromkeys(n for row in self.rows if row.result is not None for n in row.result.terms)
        return tuple(name for name in names if name != self.objective)

    @cached_property
    def paired(self) -> PairedDifferences | None:
        """Return the differences of objectives at equal seeds; None without a method that ran with several seeds."""
        import polars as pl

        seeds = {row.seed for row in self.rows if row.seed is not None}
        if len(seeds) < 2:
            return None
        columns = {"method": pl.String, "seed": pl.Int64, "value": pl.Float64}
        rows = [(row.method, row.seed, row.objective) for row in self.rows]
        return paired_differences(pl.DataFrame(rows, schema=columns, orient="row"), minimise=self.minimise)

    def __getitem__(self, method: str) -> ComparisonRow:
        """Return the first row of a method; raise KeyError if there is none."""
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(method)

    # --- tables ------------------------------------------------------------------------------------------------------

    def _schema(self) -> dict[str, Any]:
        import polars as pl

        numbers = dict.fromkeys((*self.terms, self.objective, "gap", "seconds"), pl.Float64)
        texts = {"method": pl.String, "seed": pl.Int64, "status": pl.String, "waiting_jobs": pl.Int64}
        paired = {} if self.paired is None else self.paired.table.select(PAIRED).schema
        return {**texts, **numbers, "best": pl.Boolean, **paired, "remark": pl.String}

    def _record(self, row: ComparisonRow) -> dict[str, Any]:
        terms = {} if row.result is None else row.result.terms
        return {
            "method": row.method,
            "seed": row.seed,
            "status": row.status,
            "waiting_jobs": row.waiting_jobs,
            **{name: terms.get(name) for name in self.terms},
            self.objective: row.objective,
            "gap": self.gap(row),
            "seconds": row.seconds,
            "best": self.is_best(row),
            **({} if self.paired is None else {name: self.paired.record(row.method)[name] for name in PAIRED}),
            "remark": self.remark(row),
        }

    def grid(self) -> Grid:
        """Return the table as texts; `*` marks the best value."""
        unit = f" [{self.unit}]" if self.unit else ""
        columns = [self._methods()]
        if any(row.seed is not None for row in self.rows):
            columns.append(GridColumn("seed", ["" if r.seed is None else str(r.seed) for r in self.rows], right=True))
        columns.append(GridColumn("status", [row.status for row in self.rows], marks=self._row_marks))
        waiting = [row.waiting_jobs for row in self.rows]
        if any(waiting):
            texts = ["-" if count is None else f"{count:,}" for count in waiting]
            columns.append(GridColumn("waiting jobs", texts, right=True, optional=1))
        for number, name in enumerate(self.terms):
            values = [None if row.result is None else row.result.terms.get(name) for row in self.rows]
            columns.append(GridColumn(name, column_texts(values, digits=6), right=True, optional=number + 4))
        columns.append(self._mark_best(f"{self.objective}{unit}", [row.objective for row in self.rows]))
        if self.bound is not None:
            columns.append(self._gaps())
        seconds = column_texts([row.seconds for row in self.rows], digits=3)
        columns.append(GridColumn("time [s]", seconds, right=True, optional=2))
        return Grid((*columns, *self._remarks()))

    def is_bad(self, row: ComparisonRow) -> bool:
        """Whether the method was refused, or its plan violates the model."""
        return row.status in ("refused", "broken")

    def footer(self) -> list[str]:
        """Return the lines below the table: the bound of the gaps, and missing methods."""
        lines = []
        if self.bound is not None:
            best = "no plan is better" if self.minimise else "no plan has a larger value"
            lines.append(f"bound {with_unit(number_text(self.bound), self.unit)}, proved by {self.bound_by}: {best}")
        lines += [] if self.paired is None else self.paired.sentences()
        return lines + self._interruption_note()

    def paired_grid(self) -> Grid | None:
        """Return the differences to the best method over the seeds as texts; None without several seeds."""
        return None if self.paired is None else self.paired.grid(self.unit, f"mean {self.objective}")

    def __repr__(self) -> str:
        return f"<Comparison {self.model}, {self.scenario}: {', '.join(row.method for row in self.rows)}>"

    # --- files -------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as in `docs/schema/comparison.schema.json`; NaN and infinite numbers are None."""
        versions = {"gsdsl": __version__}
        for row in self.rows:
            versions.update({} if row.result is None else row.result.versions)
        model = self.provenance.model
        found: dict[str, Any] = finite(
            {
                "format": FORMAT,
                "model": self.model,
                "scenario": self.scenario,
                "objective": self.objective,
                "unit": self.unit,
                "sense": "minimize" if self.minimise else "maximize",
                "bound": self.bound,
                "bound_by": self.bound_by,
                "interrupted": self.interrupted,
                "rows": [self._row_document(row) for row in self.rows],
                "paired": None if self.paired is None else self.paired.to_dict(),
                "options": dict(model.options) if model is not None else {},
                "settings": dict(self.provenance.settings),
                "solver_options": dict(self.options),
                "versions": versions,
                "inputs_sha256": dict(self.provenance.inputs_sha256),
                "build_seconds": round(self.provenance.build_seconds, 6),
            }
        )
        return found

    def figures(self) -> dict[str, Sequence[Figure]]:
        """Return the bars of the comparison, and the figures of each method."""
        from gpusched_dsl.reporting.figures.solve_figures import solve_figures

        rows = [(row.method, row.seed, row.result) for row in self.rows if row.result is not None]
        own = {m if seed is None else f"{m}-{seed}": solve_figures(result) for m, seed, result in rows}
        return {"comparison": self._bars(), **own}

    def to_figures(self, folder: str | Path) -> list[Path]:
        """Write each figure as SVG and PNG into a folder, and return the files; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.reporting.figures.drawing.files import write_figures

        return write_figures(self.figures(), folder)

    def html_text(self) -> str:
        """Return a page with the table, and the schedule of each method."""
        from gpusched_dsl.reporting.pages.solve_page import page

        rows = [(row.method, row.seed, row.result) for row in self.rows if row.result is not None]
        results = [(method, result) for method, _, result in rows]
        return page(results, self.grid(), self.footer(), [seed for _, seed, _ in rows])

    def to_html(self, path: str | Path) -> None:
        """Write a self-contained page with the table and schedules; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.html_text())

    def _repr_html_(self) -> str:
        from gpusched_dsl.reporting.pages.fragment import comparison_fragment

        grids = [grid for grid in (self.grid(), self.paired_grid()) if grid is not None]
        return comparison_fragment(grids, self.footer(), self._bars())

    def _bars(self) -> Sequence[Figure]:
        from gpusched_dsl.reporting.figures.solve_figures import solve_bars

        return solve_bars([(row.method, row.seed, row.result) for row in self.rows if row.result is not None])

    def _row_document(self, row: ComparisonRow) -> dict[str, Any]:
        result = row.result
        return {
            "method": row.method,
            "kind": "policy" if row.is_policy else "solver",
            "seed": row.seed,
            "status": row.status,
            "waiting_jobs": row.waiting_jobs,
            "reason": "" if result is None else result.reason,
            "objective": row.objective,
            "terms": {} if result is None else result.terms,
            "bound": None if result is None else result.bound,
            "gap": self.gap(row),
            "best": self.is_best(row),
            "seconds": round(row.seconds, 6),
            "compile_seconds": round(row.compile_seconds, 6),
            "statistics": {} if result is None else result.solved.statistics,
            "remark": self.remark(row),
            "findings": diagnostics_document(row.diagnostics),
        }


def _broken_rows_text(diagnostics: tuple[Diagnostic, ...]) -> str:
    """Return what a plan violates, or whom it leaves out, by name; the diagnostics have the rows and amounts."""
    notes = [note for finding in diagnostics for note in finding.notes]
    of_jobs = [note for note in notes if note.startswith((LEFT_OUT, MISPLACED))]
    rows = " ".join(note for note in notes if note not in of_jobs)
    names = list(dict.fromkeys(re.findall(r"`(\w+)(?:\[[^`]*\])?`", rows)))
    if not names and of_jobs:
        return of_jobs[0].removeprefix("the plan ")
    if not names:
        return "violates constraints of the model"
    names_text = ", ".join(f"`{name}`" for name in names[:SHOWN])
    return f"violates {names_text}" + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
