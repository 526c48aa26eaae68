"""A comparison of methods on one run: methods as rows, metrics as columns, with the best bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusched_dsl.ir.contradiction import contradiction
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import column_texts, number_text, percent_number, with_unit
from gpusched_dsl.online.bounds.single_job import RunBound
from gpusched_dsl.reporting.document import diagnostics_document, finite
from gpusched_dsl.reporting.grid import WARNING, Grid, GridColumn
from gpusched_dsl.reporting.method_comparison import MethodComparison
from gpusched_dsl.reporting.runs.metrics import FINISHED, METRICS
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.reporting.runs.summary import broken_text

if TYPE_CHECKING:
    from gpusched_dsl.reporting.figures.figure import Figure

FORMAT = "gsdsl-run-comparison/1"
COMPLETION = "jct_mean"  # ranks methods if nothing is charged


@dataclass(frozen=True, eq=False)
class RunRow:
    """One method. `result` is None if it was refused; `diagnostics` has the reasons."""

    method: str
    result: RunResult | None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def status(self) -> str:
        """Return why the run ended, or `refused`."""
        return "refused" if self.result is None else self.result.ended

    @property
    def remark(self) -> str:
        if self.result is None:
            return self.diagnostics[0].message if self.diagnostics else ""
        unfinished = self.result.metrics["jobs_unfinished"]
        parts = [f"{unfinished} unfinished"] if unfinished else []
        if self.result.is_broken:
            parts.append(f"broken: {broken_text(self.result)}")
        return "; ".join(parts)


@dataclass(frozen=True, eq=False)
class RunComparison(MethodComparison[RunRow]):
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

    @property
    def results(self) -> tuple[RunResult, ...]:
        return tuple(row.result for row in self.rows if row.result is not None)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Return the charged terms of money of all methods."""
        return tuple(dict.fromkeys(name for result in self.results for name in result.costs))

    def rank_value(self, row: RunRow) -> float | None:
        """Return the total of a finished run; its mean completion time if no method is charged anything.

        A method whose plans violate the model is not ranked.
        """
        if row.result is None or row.result.ended not in FINISHED or row.result.is_broken:
            return None
        return row.result.total if self.is_charged else _float(row.result.metrics[COMPLETION])

    @cached_property
    def is_charged(self) -> bool:
        """Whether a method is charged anything."""
        return any(result.is_charged for result in self.results)

    def _total(self, row: RunRow) -> float | None:
        """Return the total of a finished run."""
        return None if row.result is None or row.result.ended not in FINISHED else row.result.total

    def refutes(self, row: RunRow) -> bool:
        """Whether the total of a row is below the bound: then one of the two is wrong."""
        total = self._total(row)
        if total is None or self.bound is None or (row.result is not None and row.result.is_broken):
            return False
        return self.bound.is_refuted_by(total)

    @property
    def contradictions(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics GSM9002 of rows with totals below the bound."""
        bound = self.bound
        return tuple(
            contradiction(f"the total of {row.method}", row.result.total, bound.value, row.result.money, bound.how)
            for row in self.rows
            if row.result is not None and bound is not None and bound.value is not None and self.refutes(row)
        )

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

    def gap(self, row: RunRow) -> float | None:
        """Return (total - bound) / total."""
        total = self._total(row)
        return None if total is None or self.bound is None else self.bound.gap(total)

    # --- tables ------------------------------------------------------------------------------------------------------

    def _schema(self) -> dict[str, Any]:
        import polars as pl

        texts: dict[str, Any] = {"method": pl.String, "ended": pl.String, "best": pl.Boolean}
        numbers = dict.fromkeys(("gap", *(_term(t) for t in self.terms), *METRICS), pl.Float64)
        return {**texts, **numbers, "seconds": pl.Float64, "remark": pl.String}

    def _record(self, row: RunRow) -> dict[str, Any]:
        result = row.result
        metrics = {} if result is None else result.metrics
        return {
            "method": row.method,
            "ended": row.status,
            "best": self.is_best(row),
            "gap": self.gap(row),
            **{_term(name): None if result is None else result.costs.get(name, 0.0) for name in self.terms},
            **{name: None if (v := metrics.get(name)) is None else float(v) for name in METRICS},
            "seconds": None if result is None else result.run_info.seconds,
            "remark": self.remark(row),
        }

    def grid(self) -> Grid:
        """Return the main metrics as texts; `*` marks the smallest total, or completion time if nothing is charged."""
        first = next(iter(self.results), None)
        money, time = ("", "") if first is None else (first.money, first.unit)
        columns = [self._methods()]
        if any(row.status != "finished" for row in self.rows):
            columns.append(GridColumn("ended", [row.status for row in self.rows], marks=self._row_marks))
        if not self.is_charged:
            values = [None if r.result is None else _float(r.result.metrics[COMPLETION]) for r in self.rows]
            columns.append(self._mark_best(_header("mean completion", time), values))
            columns.append(self._number(_header("95 % within", time), "jct_p95", 1))
            columns.append(self._number(_header("mean wait", time), "queueing_mean", 2))
            return Grid((*columns, *self._other_columns(time, due=self._counts("jobs_late")), *self._remarks()))
        for number, name in enumerate(self.terms if len(self.terms) > 1 else ()):
            values = [None if r.result is None else r.result.costs.get(name, 0.0) for r in self.rows]
            columns.append(GridColumn(name, column_texts(values, digits=6), right=True, optional=number + 10))
        totals = [None if r.result is None else r.result.total for r in self.rows]
        columns.append(self._mark_best(_header("total", money), totals))
        if self.bound is not None and self.bound.value is not None:
            columns.append(self._gaps())
        columns += self._quantities()
        late, tardiness, *others = self._other_columns(time)
        completion = (
            self._number(_header("mean completion", time), "jct_mean", 3),
            self._number(_header("95 % within", time), "jct_p95", 5),
        )
        return Grid((*columns, late, tardiness, *completion, *others, *self._remarks()))

    def _quantities(self) -> list[GridColumn]:
        """Return the charges that are not money, such as unserved requests: no total includes them."""
        units = {name: unit for result in self.results for name, unit in result.outcome.quantities.items()}
        columns = []
        for name, unit in units.items():
            values = [None if r.result is None else r.result.quantities.get(name, 0.0) for r in self.rows]
            if any(values):
                columns.append(GridColumn(_header(name, unit), column_texts(values, digits=4), right=True, optional=4))
        return columns

    def _other_columns(self, time: str, *, due: bool = True) -> list[GridColumn]:
        columns = []
        if due:
            columns.append(self._share("late [%]", "late_share", 2, warn=True))
            columns.append(self._number(_header("mean tardiness", time), "tardiness_mean", 6))
        used = "cluster_utilisation" if self._has_values("cluster_utilisation") else "utilisation"
        if self._has_values(used):
            columns.append(self._share("GPUs used [%]", used, 4))
        for header, name in (("moves", "migrations"), ("halts", "halts"), ("plans", "plans")):
            if self._counts(name):
                columns.append(self._number(header, name, 8))
        if not self._counts("plans"):
            return columns
        seconds = [None if r.result is None else _float(r.result.metrics["plan_seconds_mean"]) for r in self.rows]
        columns.append(GridColumn("time per plan [s]", column_texts(seconds, digits=3), right=True, optional=7))
        return columns

    def _has_values(self, name: str) -> bool:
        return any(r.metrics[name] is not None for r in self.results)

    def _counts(self, name: str) -> bool:
        return any(r.metrics[name] for r in self.results)

    def _number(self, header: str, name: str, optional: int) -> GridColumn:
        values = [None if row.result is None else row.result.metrics[name] for row in self.rows]
        return GridColumn(header, column_texts(values), right=True, optional=optional)

    def _share(self, header: str, name: str, optional: int, *, warn: bool = False) -> GridColumn:
        values = [None if row.result is None else row.result.metrics[name] for row in self.rows]
        marks = tuple(WARNING if v else "" for v in values) if warn else ()
        texts = [percent_number(v) for v in values]
        return GridColumn(header, texts, right=True, optional=optional, marks=marks)

    def is_bad(self, row: RunRow) -> bool:
        """Whether the method was refused or failed, or its plans violate the model."""
        return row.status in ("refused", "error", "stuck") or (row.result is not None and row.result.is_broken)

    def footer(self) -> list[str]:
        """Return the lines below the table: the bound, the meaning of the columns, and missing methods."""
        lines = []
        bound = self.bound
        if not self.is_charged:
            lines.append("nothing is charged: the best method has the smallest mean completion time")
        elif bound is not None and bound.value is not None:
            money = self.results[0].money
            lines.append(f"bound {with_unit(number_text(bound.value), money)}: {bound.how}")
        elif bound is not None:
            lines.append(f"no bound: {bound.how}")
        proved = next((r.completion_bound for r in self.results if r.completion_bound is not None), None)
        if proved is not None and proved.value is not None:
            least = with_unit(number_text(proved.value), self.results[0].unit)
            lines.append(f"mean completion at least {least}: {proved.how}")
        return [*lines, *self._gap_parts(), *self._interruption_note()]

    def _gap_parts(self) -> list[str]:
        """Return a line for each method whose gap was divided."""
        lines = []
        for row in self.rows:
            if row.result is not None and row.result.gap_parts is not None:
                lines.append(gap_parts_line(row.method, row.result.gap_parts.parts, row.result.money))
        return lines

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

    def figures(self) -> dict[str, Sequence[Figure]]:
        """Return the bars of the comparison, and the figures of each method."""
        from gpusched_dsl.reporting.figures.run_figures import run_figures

        own = {row.method: run_figures(row.result) for row in self.rows if row.result is not None}
        return {"comparison": self._bars(), **own}

    def _bars(self) -> Sequence[Figure]:
        from gpusched_dsl.reporting.figures.run_figures import run_bars

        return run_bars([(row.method, None, row.result) for row in self.rows if row.result is not None])

    def to_figures(self, folder: str | Path) -> list[Path]:
        """Write each figure as SVG and PNG into a folder, and return the files; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.reporting.figures.drawing.files import write_figures

        return write_figures(self.figures(), folder)

    def html_text(self) -> str:
        """Return a page with the table and charts of every run."""
        from gpusched_dsl.reporting.pages.run_page import page

        return page(self.results, self.grid(), self.footer())

    def to_html(self, path: str | Path) -> None:
        """Write a page with the table and charts of every run; raises DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.html_text())

    def _repr_html_(self) -> str:
        from gpusched_dsl.reporting.pages.fragment import comparison_fragment

        return comparison_fragment([self.grid()], self.footer(), self._bars())


def _term(name: str) -> str:
    """Return the column of a term, whose name may also be that of a metric."""
    return f"cost_{name}"


def _header(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _float(value: float | int | None) -> float | None:
    return None if value is None else float(value)


def gap_parts_line(method: str, parts: Mapping[str, float], money: str) -> str:
    """Return the parts of the gap of a method: `gap of FIFO: myopia 1 $, ...`."""
    texts = (f"{name.replace('_', ' ')} {with_unit(number_text(value), money)}" for name, value in parts.items())
    return f"gap of {method}: {', '.join(texts)}"
