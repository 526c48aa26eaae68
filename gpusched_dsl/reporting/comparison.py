"""A comparison of methods on one scenario: trials, the best one, the best bound, as table, JSON and CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.ir.contradiction import beats, contradiction
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import column_texts, number_text, with_unit
from gpusched_dsl.reporting.document import diagnostics_document, finite
from gpusched_dsl.reporting.grid import Grid, GridColumn, unit_heading
from gpusched_dsl.reporting.paired_differences import PAIRED, PairedDifferences
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.reporting.trials import SAME, Columns, RankedTrials, Trial, Trials, pair_by_seed
from gpusched_dsl.version import __version__

FORMAT = "gsdsl-comparison/1"
SHOWN = 3  # violated constraints in a remark
LEFT_OUT, MISPLACED = "the plan leaves out", "the plan runs"  # notes of a broken plan that name jobs begin so


@dataclass(frozen=True, eq=False)
class SolveTrial(Trial[Result]):
    """A solve of the scenario.

    `seconds` is the time from the data to the verified plan, without compiling or loading kernels, and without the
    analysis of violations.
    """

    is_policy: bool = False
    seconds: float = 0.0
    compile_seconds: float = 0.0

    @property
    def status(self) -> str:
        """Return the status of the result, or `refused`."""
        return "refused" if self.result is None else self.result.status.value

    @property
    def objective(self) -> float | None:
        return None if self.result is None else self.result.objective

    @property
    def terms(self) -> Mapping[str, float]:
        """Return the terms of all objectives; none without a result."""
        return {} if self.result is None else self.result.terms

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
        return _broken_rows_text(self.diagnostics) if self.status == "broken" else self.refusal


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(RankedTrials[SolveTrial]):
    """Rows in the order of the methods. Costs are in the unit of the first objective.

    `bound` is the best proved bound of all runs, None without any; `bound_by` its method. `interrupted`: the methods
    after the last row did not run. `print` shows the table of the command line. `table` has a row per run: `method`,
    `seed`, `status`, `waiting_jobs`, the terms, the objective, `gap`, `seconds`, `best`, `remark`.
    With several seeds `paired` has the differences to the best method; `table` repeats them in each row of a method
    (`mean`, `difference`, ...).
    """

    writers: ClassVar[dict[str, str]] = {
        **Trials.writers,
        "bars": "gpusched_dsl.reporting.figures.solve_figures:solve_bars",
        "html": "gpusched_dsl.reporting.pages.solve_page:comparison_page",
    }

    model: str
    scenario: str | None
    objective: str
    unit: str
    minimise: bool
    bound: float | None = None
    bound_by: str | None = None
    provenance: Provenance = field(default_factory=Provenance, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, method: str) -> SolveTrial:
        """Return the first row of a method; raise KeyError if there is none."""
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(method)

    # --- ranking -----------------------------------------------------------------------------------------------------

    def rank_value(self, row: SolveTrial) -> float | None:
        """Return the first objective."""
        return row.objective

    def _choose(self, values: Sequence[float]) -> float:
        return min(values) if self.minimise else max(values)

    def refutes(self, row: SolveTrial) -> bool:
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

    def gap(self, row: SolveTrial) -> float | None:
        """Return the distance of a row to the best bound; None if one of the two does not exist."""
        if row.objective is None or self.bound is None or self.refutes(row):
            return None
        gap = relative_gap(row.objective, self.bound)
        return gap if gap > SAME else 0.0

    def is_bad(self, row: SolveTrial) -> bool:
        """Whether the method was refused, or its plan violates the model."""
        return row.status in ("refused", "broken")

    @cached_property
    def paired(self) -> PairedDifferences | None:
        """Return the differences of objectives at equal seeds; None without a method that ran with several seeds."""
        if len({row.seed for row in self.rows if row.seed is not None}) < 2:
            return None
        return pair_by_seed(((row.method, row.seed, row.objective) for row in self.rows), minimise=self.minimise)

    # --- tables ------------------------------------------------------------------------------------------------------

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Return the names of the terms of all objectives, except one that is the first objective itself."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.terms if name != self.objective))

    def columns(self) -> Columns:
        """Return the columns of `table`."""
        rows = self.rows
        found: Columns = {
            "method": (str, [row.method for row in rows]),
            "seed": (int, [row.seed for row in rows]),
            "status": (str, [row.status for row in rows]),
            "waiting_jobs": (int, [row.waiting_jobs for row in rows]),
        }
        found |= {name: (float, [row.terms.get(name) for row in rows]) for name in self.terms}
        found |= {
            self.objective: (float, [row.objective for row in rows]),
            "gap": (float, [self.gap(row) for row in rows]),
            "seconds": (float, [row.seconds for row in rows]),
            "best": (bool, [self.is_best(row) for row in rows]),
        }
        if (paired := self.paired) is not None:
            records = [paired.record(row.method) for row in rows]
            found |= {n: (str if n == "verdict" else float, [record[n] for record in records]) for n in PAIRED}
        return {**found, "remark": (str, [self.remark(row) for row in rows])}

    def grid(self) -> Grid:
        """Return the table as texts; `*` marks the best value."""
        rows, columns = self.rows, [self._methods()]
        if any(row.seed is not None for row in rows):
            columns.append(GridColumn("seed", ["" if r.seed is None else str(r.seed) for r in rows], right=True))
        columns.append(self._statuses("status"))
        waiting = [row.waiting_jobs for row in rows]
        if any(waiting):
            texts = ["-" if count is None else f"{count:,}" for count in waiting]
            columns.append(GridColumn("waiting jobs", texts, right=True, optional=1))
        for number, name in enumerate(self.terms):
            texts = column_texts([row.terms.get(name) for row in rows], digits=6)
            columns.append(GridColumn(name, texts, right=True, optional=number + 4))
        columns.append(self._mark_best(unit_heading(self.objective, self.unit), [row.objective for row in rows]))
        if self.bound is not None:
            columns.append(self._gaps())
        seconds = column_texts([row.seconds for row in rows], digits=3)
        columns.append(GridColumn("time [s]", seconds, right=True, optional=2))
        return Grid((*columns, *self._remarks()))

    def paired_grid(self) -> Grid | None:
        """Return the differences to the best method over the seeds as texts; None without several seeds."""
        return None if self.paired is None else self.paired.grid(self.unit, f"mean {self.objective}")

    def footer(self) -> list[str]:
        """Return the lines below the table: the bound of the gaps, and missing methods."""
        lines = []
        if self.bound is not None:
            best = "no plan is better" if self.minimise else "no plan has a larger value"
            lines.append(f"bound {with_unit(number_text(self.bound), self.unit)}, proved by {self.bound_by}: {best}")
        lines += [] if self.paired is None else self.paired.sentences()
        return lines + self._interruption_note()

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

    def _row_document(self, row: SolveTrial) -> dict[str, Any]:
        result = row.result
        return {
            "method": row.method,
            "kind": "policy" if row.is_policy else "solver",
            "seed": row.seed,
            "status": row.status,
            "waiting_jobs": row.waiting_jobs,
            "reason": "" if result is None else result.reason,
            "objective": row.objective,
            "terms": dict(row.terms),
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
