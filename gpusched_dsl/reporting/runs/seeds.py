"""Runs of several methods with several seeds: the means over equal seeds, and the differences of the methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import column_texts, percent_number
from gpusched_dsl.reporting.bootstrap import Interval, mean_interval
from gpusched_dsl.reporting.document import finite
from gpusched_dsl.reporting.grid import GOOD, Grid, GridColumn, plain, unit_heading
from gpusched_dsl.reporting.paired_differences import PAIRED, PairedDifferences
from gpusched_dsl.reporting.runs.comparison import (
    COMPLETION,
    NOTHING_CHARGED,
    TOTAL,
    RunComparison,
    RunTrial,
    RunTrials,
    gap_parts_line,
    numbers,
)
from gpusched_dsl.reporting.trials import pair_by_seed

if TYPE_CHECKING:
    import polars as pl


FORMAT = "gsdsl-seed-comparison/1"


@dataclass(frozen=True, eq=False)
class SeedComparison(RunTrials):
    """Runs of all methods at several seeds: with one seed, the random quantities are equal for all methods.

    `comparisons` has pairs of a seed and its `RunComparison`; `table` has a row per run; `paired` has the differences
    of the methods to the best one, with intervals. `interrupted`: some runs are missing. Methods are summarised over
    the seeds at which all methods finished. `planned` is the number of methods at each seed.
    """

    planned: int = 0

    @cached_property
    def comparisons(self) -> tuple[tuple[int, RunComparison], ...]:
        """Return the comparison of the methods at each seed, whose rows have no seed."""
        seeds: dict[int, list[RunTrial]] = {}
        for row in self.rows:
            if row.seed is not None:
                seeds.setdefault(row.seed, []).append(replace(row, seed=None))
        return tuple((seed, RunComparison(tuple(rows), len(rows) < self.planned)) for seed, rows in seeds.items())

    def __getitem__(self, seed: int) -> RunComparison:
        """Return the comparison at a seed; raise KeyError if there is none."""
        return dict(self.comparisons)[seed]

    @property
    def contradictions(self) -> tuple[Diagnostic, ...]:
        return tuple(each for _, comparison in self.comparisons for each in comparison.contradictions)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.method for row in self.rows))

    # --- means over seeds --------------------------------------------------------------------------------------------

    @cached_property
    def metric(self) -> str:
        """Return the metric that ranks methods: `total`, or the mean completion time if nothing is charged."""
        return TOTAL if any(result.is_charged for result in self.results) else COMPLETION

    @cached_property
    def unit(self) -> str:
        """The unit of the metric that ranks methods."""
        first = next(iter(self.results), None)
        return "" if first is None else first.money if self.metric == TOTAL else first.unit

    @cached_property
    def _ranked(self) -> tuple[RunTrial, ...]:
        """Return the finished runs with a value."""
        return tuple(row for row in self.rows if row.total is not None and row.metric(self.metric) is not None)

    @cached_property
    def finished(self) -> tuple[str, ...]:
        """Return the methods that finished at any seed."""
        found = {row.method for row in self._ranked}
        return tuple(method for method in self.methods if method in found)

    @cached_property
    def common(self) -> tuple[tuple[int, RunComparison], ...]:
        """Return the comparisons in which all methods in `finished` finished: only these are averaged."""
        ran = {(row.seed, row.method) for row in self._ranked}
        return tuple(
            (seed, comparison)
            for seed, comparison in self.comparisons
            if self.finished and all((seed, method) in ran for method in self.finished)
        )

    def averaged(self) -> Sequence[RunTrial]:
        """Return the runs at the common seeds."""
        seeds = dict(self.common)
        return [row for row in self.rows if row.seed in seeds]

    def values(self, method: str, metric: str) -> list[float]:
        """Return `total` or a metric of a method for each of the common seeds; no entry if it is undefined."""
        rows = self.averaged() if method in self.finished else ()
        values = (row.metric(metric) for row in rows if row.method == method)
        return [float(value) for value in values if value is not None]

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
        if len(self.common) < 2:
            return None
        rows = [row for method in self.finished for row in self.averaged() if row.method == method]
        return pair_by_seed((row.method, row.seed, row.metric(self.metric)) for row in rows)

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

    def grid(self) -> Grid:
        """Return the means over the seeds; `*` marks the best mean."""
        is_charged, methods = self.metric == TOTAL, self.methods
        means = [self.mean(method, self.metric) for method in methods]
        best = min((mean for mean in means if mean is not None), default=None)
        is_best = [m is not None and best is not None and m <= best + ROUNDING * max(1.0, abs(best)) for m in means]
        marks = tuple(GOOD if each else "" for each in is_best)
        texts = [f"{t} {'*' if each else ' '}" for t, each in zip(column_texts(means, digits=6), is_best, strict=True)]
        values = [self.values(method, self.metric) for method in methods]
        name = unit_heading("mean total" if is_charged else "mean completion", self.unit)
        columns = [
            GridColumn("method", list(methods), marks=marks),
            GridColumn(f"{name}  ", texts, right=True, marks=marks),
            numbers("deviation", [self.deviation(method, self.metric) for method in methods], optional=1),
            numbers("least", [min(each, default=None) for each in values], optional=2),
            numbers("most", [max(each, default=None) for each in values], optional=3),
        ]
        late = [self.mean(method, "late_share") for method in methods]
        if any(share is not None for share in late):
            columns.append(GridColumn("late [%]", [percent_number(v) for v in late], right=True, optional=4))
        if is_charged:
            time = self.results[0].unit if self.results else ""
            completion = [self.mean(method, COMPLETION) for method in methods]
            columns.append(numbers(unit_heading("mean completion", time), completion, optional=5))
        return Grid(tuple(columns))

    def paired_grid(self) -> Grid | None:
        """Return the differences to the best method as texts; None for one method or seed."""
        return None if self.paired is None else self.paired.grid(self.unit, name="")

    def footer(self) -> list[str]:
        averaged = dict(self.common)
        seeds = ", ".join(map(str, averaged))
        lines = [f"means over seeds {seeds}" if seeds else "no seed at which all methods finished"]
        left_out = [str(seed) for seed, _ in self.comparisons if seed not in averaged]
        if left_out and seeds:
            lines.append(f"without seeds {', '.join(left_out)}, at which not all methods finished")
        if self.finished and (others := [method for method in self.methods if method not in self.finished]):
            lines.append(f"{', '.join(others)} finished at no seed")
        if self.metric != TOTAL:
            lines.append(NOTHING_CHARGED)
        lines += [] if self.paired is None else self.paired.sentences()
        lines += self._gap_parts()
        return lines + (["interrupted: the other runs are missing"] if self.interrupted else [])

    def _gap_parts(self) -> list[str]:
        """Return a line for each method whose gap was divided, with the means of the parts over the common seeds."""
        lines = []
        for method in self.finished:
            results = {row.seed: row.result for row in self.averaged() if row.method == method}
            divided = {seed: r.gap_parts.parts for seed, r in results.items() if r is not None and r.gap_parts}
            if divided:
                first = next(iter(divided.values()))
                means = {name: fmean(parts[name] for parts in divided.values()) for name in first}
                line = gap_parts_line(method, means, self.results[0].money)
                seeds = ", ".join(map(str, divided))
                lines.append(line if len(divided) == len(results) else f"{line} (seeds {seeds})")
        return lines

    def __repr__(self) -> str:
        seeds = ", ".join(str(seed) for seed, _ in self.comparisons)
        return f"<SeedComparison {', '.join(self.methods)}; seeds {seeds}>"

    def lines(self) -> list[str]:
        """Return the tables for people, and the lines below them."""
        return [*(line for grid in self.grids() for line in [*plain(grid).splitlines(), ""]), *self.footer()]

    # --- files -------------------------------------------------------------------------------------------------------

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
        low, high = self.interval(method, TOTAL) or (None, None)
        return {
            "method": method,
            "total_mean": self.mean(method, TOTAL),
            "total_deviation": self.deviation(method, TOTAL),
            "total_low": low,
            "total_high": high,
            "late_share_mean": self.mean(method, "late_share"),
            "jct_mean": self.mean(method, COMPLETION),
        }
