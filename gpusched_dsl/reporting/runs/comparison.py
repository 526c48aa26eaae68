"""A comparison of methods on one run: trials as rows, metrics as columns, with the best bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from gpusched_dsl.ir.contradiction import CODE, contradiction
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import column_texts, number_text, percent_number, with_unit
from gpusched_dsl.online.bounds.single_job import RunBound
from gpusched_dsl.reporting.document import diagnostics_document, finite
from gpusched_dsl.reporting.grid import WARNING, Grid, GridColumn, unit_heading
from gpusched_dsl.reporting.runs.metrics import FINISHED, METRICS
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.reporting.runs.summary import broken_text
from gpusched_dsl.reporting.trials import Columns, RankedTrials, Trial, Trials

FORMAT = "gsdsl-run-comparison/1"
TOTAL, COMPLETION = "total", "jct_mean"  # what ranks methods: the second one if nothing is charged
NOTHING_CHARGED = "nothing is charged: the best method has the smallest mean completion time"


@dataclass(frozen=True, eq=False)
class RunTrial(Trial[RunResult]):
    """A run over time."""

    @property
    def status(self) -> str:
        """Return why the run ended, or `refused`."""
        return "refused" if self.result is None else self.result.ended

    @property
    def total(self) -> float | None:
        """Return the total of a finished run."""
        return None if self.result is None or self.result.ended not in FINISHED else self.result.total

    def metric(self, name: str) -> float | None:
        """Return a metric; None if it is undefined, or without a result."""
        return None if self.result is None else self.result.metrics[name]

    @property
    def remark(self) -> str:
        if self.result is None:
            return self.refusal
        unfinished = self.result.metrics["jobs_unfinished"]
        parts = [f"{unfinished} unfinished"] if unfinished else []
        if self.result.is_broken:
            parts.append(f"broken: {broken_text(self.result)}")
        return "; ".join(parts)


class RunTrials(Trials[RunTrial]):
    """Runs over time."""

    writers: ClassVar[dict[str, str]] = {
        **Trials.writers,
        "bars": "gpusched_dsl.reporting.figures.run_figures:run_bars",
        "html": "gpusched_dsl.reporting.pages.run_page:comparison_page",
    }

    @property
    def results(self) -> tuple[RunResult, ...]:
        """Return the results of the runs that were not refused."""
        return tuple(row.result for row in self.rows if row.result is not None)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return the warnings of all results, but for contradictions of their bounds."""
        return tuple(warning for result in self.results for warning in result.warnings if warning.code != CODE)

    def averaged(self) -> Sequence[RunTrial]:
        """Return the runs that bars show."""
        return self.rows


@dataclass(frozen=True, eq=False)
class RunComparison(RunTrials, RankedTrials[RunTrial]):
    """Rows in the order of the methods; `interrupted`: the methods after the last row did not run.

    `print` shows the table of the command line; `comparison["Greedy"]` is the result of a method. `table` has a row per
    method: `method`, `ended`, `best`, `gap`, the terms, and all metrics of `METRICS`.
    """

    def __getitem__(self, method: str) -> RunResult:
        """Return the result of a method; raise KeyError if there is none."""
        for row in self.rows:
            if row.method == method and row.result is not None:
                return row.result
        raise KeyError(method)

    # --- ranking -----------------------------------------------------------------------------------------------------

    def rank_value(self, row: RunTrial) -> float | None:
        """Return the total of a finished run; its mean completion time if no method is charged anything.

        A method whose plans violate the model is not ranked.
        """
        if row.total is None or row.result is None or row.result.is_broken:
            return None
        return row.total if self.is_charged else row.metric(COMPLETION)

    @cached_property
    def is_charged(self) -> bool:
        """Whether a method is charged anything."""
        return any(result.is_charged for result in self.results)

    @cached_property
    def bound(self) -> RunBound | None:
        """Return the best bound of any of the runs: it is valid for all methods; None if nothing is charged.

        Due times and realised random quantities are equal for all methods.
        """
        if not self.is_charged and all(r.given_bound is None for r in self.results):
            return None
        bounds = [r.bound for r in self.results if r.bound.value is not None]
        if bounds:
            return max(bounds, key=lambda b: b.value or 0.0)
        return self.results[0].bound if self.results else None

    def refutes(self, row: RunTrial) -> bool:
        """Whether the total of a row is below the bound: then one of the two is wrong."""
        if row.total is None or self.bound is None or (row.result is not None and row.result.is_broken):
            return False
        return self.bound.is_refuted_by(row.total)

    @property
    def contradictions(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics GSM9002 of rows with totals below the bound."""
        bound = self.bound
        return tuple(
            contradiction(f"the total of {row.method}", row.result.total, bound.value, row.result.money, bound.how)
            for row in self.rows
            if row.result is not None and bound is not None and bound.value is not None and self.refutes(row)
        )

    def gap(self, row: RunTrial) -> float | None:
        """Return (total - bound) / total."""
        return None if row.total is None or self.bound is None else self.bound.gap(row.total)

    def is_bad(self, row: RunTrial) -> bool:
        """Whether the method was refused or failed, or its plans violate the model."""
        return row.status in ("refused", "error", "stuck") or (row.result is not None and row.result.is_broken)

    # --- tables ------------------------------------------------------------------------------------------------------

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Return the charged terms of money of all methods."""
        return tuple(dict.fromkeys(name for result in self.results for name in result.costs))

    def columns(self) -> Columns:
        """Return the columns of `table`; a term may have the name of a metric."""
        rows = self.rows
        found: Columns = {
            "method": (str, [row.method for row in rows]),
            "ended": (str, [row.status for row in rows]),
            "best": (bool, [self.is_best(row) for row in rows]),
            "gap": (float, [self.gap(row) for row in rows]),
        }
        found |= {f"cost_{name}": (float, self._amounts(name)) for name in self.terms}
        found |= {name: (float, self._metrics(name)) for name in METRICS}
        seconds = [None if row.result is None else row.result.run_info.seconds for row in rows]
        return {**found, "seconds": (float, seconds), "remark": (str, [self.remark(row) for row in rows])}

    def _amounts(self, name: str) -> list[float | None]:
        """Return what was charged for a term, in money or another unit."""
        results = [row.result for row in self.rows]
        return [None if r is None else {**r.quantities, **r.costs}.get(name, 0.0) for r in results]

    def _metrics(self, name: str) -> list[float | None]:
        return [row.metric(name) for row in self.rows]

    def grid(self) -> Grid:
        """Return the main metrics as texts; `*` marks the smallest total, or completion time if nothing is charged."""
        money, time = (self.results[0].money, self.results[0].unit) if self.results else ("", "")
        columns = [self._methods()]
        if any(row.status != "finished" for row in self.rows):
            columns.append(self._statuses("ended"))
        mean, within = unit_heading("mean completion", time), unit_heading("95 % within", time)
        if not self.is_charged:
            columns.append(self._mark_best(mean, self._metrics(COMPLETION)))
            columns.append(self._number(within, "jct_p95", 1))
            columns.append(self._number(unit_heading("mean wait", time), "queueing_mean", 2))
            due = self._due_columns(time) if self._counts("jobs_late") else []
            return Grid((*columns, *due, *self._other_columns(), *self._remarks()))
        for number, name in enumerate(self.terms if len(self.terms) > 1 else ()):
            columns.append(numbers(name, self._amounts(name), optional=number + 10))
        columns.append(self._mark_best(unit_heading("total", money), self._metrics(TOTAL)))
        if self.bound is not None and self.bound.value is not None:
            columns.append(self._gaps())
        units = {name: unit for result in self.results for name, unit in result.outcome.quantities.items()}
        for name, unit in units.items():  # charges that are not money, such as unserved requests: no total has them
            if any(amounts := self._amounts(name)):
                columns.append(numbers(unit_heading(name, unit), amounts, digits=4, optional=4))
        completion = (self._number(mean, COMPLETION, 3), self._number(within, "jct_p95", 5))
        return Grid((*columns, *self._due_columns(time), *completion, *self._other_columns(), *self._remarks()))

    def _due_columns(self, time: str) -> list[GridColumn]:
        late = self._share("late [%]", "late_share", 2, warn=True)
        return [late, self._number(unit_heading("mean tardiness", time), "tardiness_mean", 6)]

    def _other_columns(self) -> list[GridColumn]:
        columns = []
        used = "cluster_utilisation" if self._has_values("cluster_utilisation") else "utilisation"
        if self._has_values(used):
            columns.append(self._share("GPUs used [%]", used, 4))
        for header, name in (("moves", "migrations"), ("halts", "halts"), ("plans", "plans")):
            if self._counts(name):
                columns.append(self._number(header, name, 8))
        if self._counts("plans"):
            columns.append(numbers("time per plan [s]", self._metrics("plan_seconds_mean"), digits=3, optional=7))
        return columns

    def _has_values(self, name: str) -> bool:
        return any(value is not None for value in self._metrics(name))

    def _counts(self, name: str) -> bool:
        return any(self._metrics(name))

    def _number(self, header: str, name: str, optional: int) -> GridColumn:
        return numbers(header, self._metrics(name), digits=4, optional=optional)

    def _share(self, header: str, name: str, optional: int, *, warn: bool = False) -> GridColumn:
        values = self._metrics(name)
        marks = tuple(WARNING if v else "" for v in values) if warn else ()
        return GridColumn(header, [percent_number(v) for v in values], right=True, optional=optional, marks=marks)

    def footer(self) -> list[str]:
        """Return the lines below the table: the bound, the meaning of the columns, and missing methods."""
        lines = []
        bound = self.bound
        if not self.is_charged:
            lines.append(NOTHING_CHARGED)
        elif bound is not None and bound.value is not None:
            lines.append(f"bound {with_unit(number_text(bound.value), self.results[0].money)}: {bound.how}")
        elif bound is not None:
            lines.append(f"no bound: {bound.how}")
        proved = next((r.completion_bound for r in self.results if r.completion_bound is not None), None)
        if proved is not None and proved.value is not None:
            least = with_unit(number_text(proved.value), self.results[0].unit)
            lines.append(f"mean completion at least {least}: {proved.how}")
        divided = [(r.method, r.gap_parts.parts, r.money) for r in self.results if r.gap_parts is not None]
        return [*lines, *(gap_parts_line(*each) for each in divided), *self._interruption_note()]

    def __repr__(self) -> str:
        return f"<RunComparison {', '.join(row.method for row in self.rows)}>"

    # --- files -------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the bound, and a row per method with its complete result, as in `docs/schema/run-1.json`."""
        bound = self.bound
        found: dict[str, Any] = {
            "format": FORMAT,
            "bound": None if bound is None else {"value": bound.value, "how": bound.how},
            "interrupted": self.interrupted,
            "rows": [
                {
                    "method": row.method,
                    "ended": row.status,
                    "best": self.is_best(row),
                    "gap": self.gap(row),
                    "findings": diagnostics_document(row.diagnostics),
                    "remark": self.remark(row),
                    "result": None if row.result is None else row.result.to_dict(),
                }
                for row in self.rows
            ],
        }
        return {key: finite(value) for key, value in found.items()}


def numbers(header: str, values: Sequence[float | None], *, digits: int = 6, optional: int = 0) -> GridColumn:
    return GridColumn(header, column_texts(values, digits=digits), right=True, optional=optional)


def gap_parts_line(method: str, parts: Mapping[str, float], money: str) -> str:
    """Return the parts of the gap of a method: `gap of FIFO: myopia 1 $, ...`."""
    texts = (f"{name.replace('_', ' ')} {with_unit(number_text(value), money)}" for name, value in parts.items())
    return f"gap of {method}: {', '.join(texts)}"
