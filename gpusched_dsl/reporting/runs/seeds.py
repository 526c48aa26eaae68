"""Runs of several methods with several seeds: the means over equal seeds, and the differences of the methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import column_texts, percent_number
from gpusched_dsl.reporting.bootstrap import Interval, mean_interval
from gpusched_dsl.reporting.document import finite
from gpusched_dsl.reporting.grid import GOOD, Grid, GridColumn, plain
from gpusched_dsl.reporting.paired_differences import PAIRED, PairedDifferences, paired_differences
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.reporting.runs.comparison import COMPLETION, RunComparison, RunRow, gap_parts_line
from gpusched_dsl.reporting.runs.metrics import FINISHED
from gpusched_dsl.reporting.runs.result import RunResult

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.reporting.figures.figure import Figure

FORMAT = "gsdsl-seed-comparison/1"


@dataclass(frozen=True, eq=False)
class SeedComparison(Report):
    """One comparison per seed: with one seed, the random quantities are equal for all methods.

    `comparisons` has pairs of a seed and its `RunComparison`; `table` has a row per run; `paired` has the differences
    of the methods to the best one, with intervals. `interrupted`: some runs are missing. Methods are summarised over
    the seeds at which all methods finished.
    """

    comparisons: tuple[tuple[int, RunComparison], ...]
    interrupted: bool = False

    def __getitem__(self, seed: int) -> RunComparison:
        """Return the comparison at a seed; raise KeyError if there is none."""
        return dict(self.comparisons)[seed]

    @property
    def results(self) -> tuple[RunResult, ...]:
        return tuple(result for _, comparison in self.comparisons for result in comparison.results)

    @property
    def contradictions(self) -> tuple[Diagnostic, ...]:
        return tuple(each for _, comparison in self.comparisons for each in comparison.contradictions)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.method for _, comparison in self.comparisons for row in comparison.rows))

    @cached_property
    def metric(self) -> str:
        """Return the metric that ranks methods: `total`, or the mean completion time if nothing is charged."""
        return "total" if any(comparison.is_charged for _, comparison in self.comparisons) else COMPLETION

    @cached_property
    def unit(self) -> str:
        """The unit of the metric that ranks methods."""
        first = next(iter(self.results), None)
        return "" if first is None else first.money if self.metric == "total" else first.unit

    @cached_property
    def finished(self) -> tuple[str, ...]:
        """Return the methods that finished at any seed."""
        found = {row.method for _, comparison in self.comparisons for row in comparison.rows if self._is_ranked(row)}
        return tuple(method for method in self.methods if method in found)

    @cached_property
    def common(self) -> tuple[tuple[int, RunComparison], ...]:
        """Return the comparisons in which all methods in `finished` finished: only these are averaged."""
        return tuple(
            (seed, comparison)
            for seed, comparison in self.comparisons
            if self.finished and {row.method for row in comparison.rows if self._is_ranked(row)} >= set(self.finished)
        )

    def _is_ranked(self, row: RunRow) -> bool:
        result = row.result
        return result is not None and result.ended in FINISHED and _value(result, self.metric) is not None

    def values(self, method: str, metric: str) -> list[float]:
        """Return `total` or a metric of a method for each of the common seeds; no entry if it is undefined."""
        if method not in self.finished:
            return []
        values = (_value(comparison[method], metric) for _, comparison in self.common)
        return [value for value in values if value is not None]

    def mean(self, method: str, metric: str) -> float | None:
        values = self.values(method, metric)
        return fmean(values) if values else None

    def deviation(self, method: str, metric: str) -> float | None:
        """Return the standard deviation over the seeds; None for fewer than two."""
        values = self.values(method, metric)
        return stdev(values) if len(values) > 1 else None

    def interval(self, method: str, metric: str) -> Interval | None:
        """Return the bootstrap interval of the mean, with a confidence of 95 %; None for few seeds."""
        return mean_interval(np.array(self.values(method, metric)))

    @cached_property
    def paired(self) -> PairedDifferences | None:
        """Return the differences of `metric` to the best method, over the common seeds; None for one method or seed."""
        import polars as pl

        if len(self.common) < 2:
            return None
        rows = [
            (method, seed, _value(comparison[method], self.metric))
            for method in self.finished
            for seed, comparison in self.common
        ]
        columns = {"method": pl.String, "seed": pl.Int64, "value": pl.Float64}
        return paired_differences(pl.DataFrame(rows, schema=columns, orient="row"))

    # --- figures -----------------------------------------------------------------------------------------------------

    @property
    def _runs(self) -> list[tuple[str, int, RunResult]]:
        rows = ((seed, row) for seed, comparison in self.comparisons for row in comparison.rows)
        return [(row.method, seed, row.result) for seed, row in rows if row.result is not None]

    def figures(self) -> dict[str, Sequence[Figure]]:
        """Return the bars over the seeds at which all methods finished, and the figures of each run."""
        from gpusched_dsl.reporting.figures.run_figures import run_figures

        own = {f"{method}-{seed}": run_figures(result) for method, seed, result in self._runs}
        return {"comparison": self._bars(), **own}

    def _bars(self) -> Sequence[Figure]:
        from gpusched_dsl.reporting.figures.run_figures import run_bars

        return run_bars([run for run in self._runs if run[1] in dict(self.common)])

    def to_figures(self, folder: str | Path) -> list[Path]:
        """Write each figure as SVG and PNG into a folder, and return the files; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.reporting.figures.drawing.files import write_figures

        return write_figures(self.figures(), folder)

    # --- tables ------------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> pl.DataFrame:
        """All runs as a table: that of each comparison, after a column `seed`."""
        import polars as pl

        tables = [
            comparison.table.select(pl.lit(seed, dtype=pl.Int64).alias("seed"), pl.all())
            for seed, comparison in self.comparisons
        ]
        return pl.concat(tables, how="diagonal") if tables else pl.DataFrame()

    def csv_text(self) -> str:
        """Return `table` as CSV; with several methods also the mean and the difference of each row's method."""
        from gpusched_dsl.reporting.csv_files import csv_text

        table = self.table
        if self.paired is not None:
            table = table.join(self.paired.table.select("method", *PAIRED), on="method", how="left")
        return csv_text(table)

    def to_csv(self, path: str | Path) -> None:
        """Write the same as a file, completely or not at all; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.csv_text())

    def grid(self) -> Grid:
        """Return the means over the seeds; `*` marks the best mean."""
        first = next(iter(self.results), None)
        time = "" if first is None else first.unit
        is_charged = self.metric == "total"
        values = {method: self.values(method, self.metric) for method in self.methods}
        means = [self.mean(method, self.metric) for method in self.methods]
        best = min((mean for mean in means if mean is not None), default=None)
        is_best = [m is not None and best is not None and m <= best + ROUNDING * max(1.0, abs(best)) for m in means]
        marks = tuple(GOOD if each else "" for each in is_best)
        name = "mean total" if is_charged else "mean completion"
        deviations = [self.deviation(method, self.metric) for method in self.methods]
        columns = [
            GridColumn("method", list(self.methods), marks=marks),
            _numbers(_header(name, self.unit), means, ["*" if each else " " for each in is_best], marks=marks),
            _numbers("deviation", deviations, optional=1),
            _numbers("least", [min(values[m], default=None) for m in self.methods], optional=2),
            _numbers("most", [max(values[m], default=None) for m in self.methods], optional=3),
        ]
        late = [self.mean(method, "late_share") for method in self.methods]
        if any(share is not None for share in late):
            columns.append(GridColumn("late [%]", [percent_number(v) for v in late], right=True, optional=4))
        if is_charged:
            completion = [self.mean(method, COMPLETION) for method in self.methods]
            columns.append(_numbers(_header("mean completion", time), completion, optional=5))
        return Grid(tuple(columns))

    def paired_grid(self) -> Grid | None:
        """Return the differences to the best method as texts; None for one method or seed."""
        return None if self.paired is None else self.paired.grid(self.unit, name="")

    def footer(self) -> list[str]:
        seeds = ", ".join(str(seed) for seed, _ in self.common)
        lines = [f"means over seeds {seeds}" if seeds else "no seed at which all methods finished"]
        averaged = {seed for seed, _ in self.common}
        left_out = [str(seed) for seed, _ in self.comparisons if seed not in averaged]
        if left_out and seeds:
            lines.append(f"without seeds {', '.join(left_out)}, at which not all methods finished")
        if self.finished and (others := [method for method in self.methods if method not in self.finished]):
            lines.append(f"{', '.join(others)} finished at no seed")
        if self.metric != "total":
            lines.append("nothing is charged: the best method has the smallest mean completion time")
        lines += [] if self.paired is None else self.paired.sentences()
        lines += self._gap_parts()
        return lines + (["interrupted: the other runs are missing"] if self.interrupted else [])

    def _gap_parts(self) -> list[str]:
        """Return a line for each method whose gap was divided, with the means of the parts over the common seeds."""
        lines = []
        for method in self.methods:
            rows = [(seed, comparison[method]) for seed, comparison in self.common if method in self.finished]
            divided = [(seed, result.money, result.gap_parts.parts) for seed, result in rows if result.gap_parts]
            if divided:
                means = {name: fmean(parts[name] for _, _, parts in divided) for name in divided[0][2]}
                line = gap_parts_line(method, means, divided[0][1])
                is_all = len(divided) == len(rows)
                lines.append(line if is_all else f"{line} (seeds {', '.join(str(seed) for seed, _, _ in divided)})")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the means, the differences, and every comparison with its seed, as in `docs/schema/run-1.json`."""
        return {
            "format": FORMAT,
            "interrupted": self.interrupted,
            "seeds": [seed for seed, _ in self.common],
            "metric": self.metric,
            "unit": self.unit,
            "methods": [self._method_document(method) for method in self.methods],
            "paired": None if self.paired is None else finite(self.paired.to_dict()),
            "comparisons": [
                {"seed": seed, "comparison": comparison.to_dict()} for seed, comparison in self.comparisons
            ],
        }

    def _method_document(self, method: str) -> dict[str, Any]:
        low, high = self.interval(method, "total") or (None, None)
        return {
            "method": method,
            "total_mean": self.mean(method, "total"),
            "total_deviation": self.deviation(method, "total"),
            "total_low": low,
            "total_high": high,
            "late_share_mean": self.mean(method, "late_share"),
            "jct_mean": self.mean(method, COMPLETION),
        }

    def html_text(self) -> str:
        """Return a page with the means, bars with intervals, and the charts of every run."""
        from gpusched_dsl.reporting.pages.run_page import page

        seeds = [seed for _, seed, _ in self._runs]
        return page(self.results, self.grid(), self.footer(), seeds, dict(self.common))

    def to_html(self, path: str | Path) -> None:
        """Write a page with the means and the charts of every run; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.html_text())

    def _repr_html_(self) -> str:
        from gpusched_dsl.reporting.pages.fragment import comparison_fragment

        grids = [grid for grid in (self.grid(), self.paired_grid()) if grid is not None]
        return comparison_fragment(grids, self.footer(), self._bars())

    def __repr__(self) -> str:
        seeds = ", ".join(str(seed) for seed, _ in self.comparisons)
        return f"<SeedComparison {', '.join(self.methods)}; seeds {seeds}>"

    def __str__(self) -> str:
        paired = self.paired_grid()
        tables = [plain(grid).rstrip("\n") for grid in (self.grid(), paired) if grid is not None]
        return "\n\n".join([*tables, "\n".join(self.footer())])


def _value(result: RunResult, metric: str) -> float | None:
    value = result.total if metric == "total" else result.metrics[metric]
    return None if value is None else float(value)


def _header(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _numbers(
    header: str,
    values: Sequence[float | None],
    stars: Sequence[str] = (),
    *,
    marks: tuple[str, ...] = (),
    optional: int = 0,
) -> GridColumn:
    texts = column_texts(values, digits=6)
    if stars:
        texts = [f"{text} {star}" for text, star in zip(texts, stars, strict=True)]
    return GridColumn(f"{header}  " if stars else header, texts, right=True, marks=marks, optional=optional)
