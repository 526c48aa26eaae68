"""Runs of several methods with several seeds: the mean of each method, over the same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import column_texts, percent_text
from gpusched_dsl.reporting.grid import Grid, GridColumn
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.reporting.runs.comparison import RunComparison
from gpusched_dsl.reporting.runs.result import RunResult

if TYPE_CHECKING:
    import polars as pl

FORMAT = "gsdsl-seed-comparison/1"


@dataclass(frozen=True, eq=False)
class SeedComparison(Report):
    """One comparison per seed: with one seed, the random quantities are equal for all methods.

    `interrupted`: some runs are missing. A method is summarised over the seeds at which all methods finished.
    """

    comparisons: tuple[tuple[int, RunComparison], ...]
    interrupted: bool = False

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
    def common(self) -> tuple[tuple[int, RunComparison], ...]:
        """Return the comparisons in which every method finished: only these are averaged."""
        return tuple(
            (seed, comparison)
            for seed, comparison in self.comparisons
            if {row.method for row in comparison.rows if comparison.rank_value(row) is not None} == set(self.methods)
        )

    def values(self, method: str, metric: str) -> list[float]:
        """Return `total` or a metric of a method for each of the common seeds; no entry if it is undefined."""
        found = []
        for _, comparison in self.common:
            result = comparison[method]
            value = result.total if metric == "total" else result.metrics[metric]
            if value is not None:
                found.append(float(value))
        return found

    def mean(self, method: str, metric: str) -> float | None:
        values = self.values(method, metric)
        return fmean(values) if values else None

    def deviation(self, method: str, metric: str) -> float | None:
        """Return the standard deviation over the seeds; None for fewer than two."""
        values = self.values(method, metric)
        return stdev(values) if len(values) > 1 else None

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
        return self.table.write_csv()

    def grid(self) -> Grid:
        """Return the means over the seeds; `*` marks the smallest mean total."""
        first = next(iter(self.results), None)
        money, time = ("", "") if first is None else (first.money, first.unit)
        totals = [self.mean(method, "total") for method in self.methods]
        best = min((total for total in totals if total is not None), default=None)
        stars = ["" if t is None or best is None or t > best + ROUNDING * max(1.0, abs(best)) else "*" for t in totals]
        deviations = [self.deviation(method, "total") for method in self.methods]
        return Grid(
            (
                GridColumn("method", list(self.methods)),
                _numbers(_header("mean total", money), totals, stars),
                _numbers("deviation", deviations),
                _numbers("least", [min(self.values(m, "total"), default=None) for m in self.methods]),
                _numbers("most", [max(self.values(m, "total"), default=None) for m in self.methods]),
                GridColumn("late", [percent_text(self.mean(m, "late_share")) for m in self.methods], right=True),
                _numbers(_header("mean completion", time), [self.mean(m, "jct_mean") for m in self.methods]),
            )
        )

    def footer(self) -> list[str]:
        seeds = ", ".join(str(seed) for seed, _ in self.common)
        lines = [f"means over seeds {seeds}" if seeds else "no seed at which all methods finished"]
        left_out = [str(seed) for seed, _ in self.comparisons if str(seed) not in seeds.split(", ")]
        if left_out and seeds:
            lines.append(f"without seeds {', '.join(left_out)}, at which not all methods finished")
        return lines + (["interrupted: the other runs are missing"] if self.interrupted else [])

    def to_dict(self) -> dict[str, Any]:
        """Return the means, and every comparison with its seed."""
        return {
            "format": FORMAT,
            "interrupted": self.interrupted,
            "seeds": [seed for seed, _ in self.common],
            "methods": [
                {
                    "method": method,
                    "total_mean": self.mean(method, "total"),
                    "total_deviation": self.deviation(method, "total"),
                    "late_share_mean": self.mean(method, "late_share"),
                    "jct_mean": self.mean(method, "jct_mean"),
                }
                for method in self.methods
            ],
            "comparisons": [
                {"seed": seed, "comparison": comparison.to_dict()} for seed, comparison in self.comparisons
            ],
        }


def _header(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _numbers(header: str, values: Sequence[float | None], stars: Sequence[str] = ()) -> GridColumn:
    texts = column_texts(values, digits=6)
    if stars:
        texts = [f"{text} {star or ' '}" for text, star in zip(texts, stars, strict=True)]
    return GridColumn(f"{header}  " if stars else header, texts, right=True)
