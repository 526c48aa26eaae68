"""Bars that compare methods, with an interval of the mean where several seeds were run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.reporting.bootstrap import CONFIDENCE, LEAST_DRAWS, mean_interval
from gpusched_dsl.reporting.figures.figure import Figure, compact

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, kw_only=True)
class BarsFigure(Figure):
    """`values[i]` are the values of `methods[i]`, one per seed; the bar is their mean.

    `low` and `high` are the interval of the mean, NaN without one.
    """

    kind: ClassVar[str] = "bars"

    unit: str
    methods: Sequence[str]
    values: Sequence[Floats]
    low: Floats
    high: Floats

    @property
    def means(self) -> Floats:
        return np.array([float(values.mean()) for values in self.values])

    def data(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "methods": list(self.methods),
            "mean": compact(self.means),
            "low": compact(self.low),
            "high": compact(self.high),
            "values": [compact(values) for values in self.values],
        }


def comparison_bars(
    table: pl.DataFrame, *, titles: Mapping[str, str] | None = None, units: Mapping[str, str] | None = None
) -> list[BarsFigure]:
    """Return a figure per metric of a tidy table with the columns `method`, `seed`, `metric` and `value`.

    `seed` may be null, and rows with null or infinite values are left out. Methods and metrics keep the order of the
    table. Bars are means over the rows of a method. From 6 values on they have a 95 % bootstrap interval of the mean.
    `titles` and `units` are given by metric; the title of another metric is its name.
    """
    import polars as pl

    titles, units = titles or {}, units or {}
    known = table.select(
        pl.col("method").cast(pl.String),
        pl.col("metric").cast(pl.String),
        pl.col("value").cast(pl.Float64),
        pl.col("seed"),
    ).filter(pl.col("value").is_finite())
    figures = []
    for (metric,), rows in known.group_by("metric", maintain_order=True):
        name = str(metric)
        methods, values = [], []
        for (method,), own in rows.group_by("method", maintain_order=True):
            methods.append(str(method))
            values.append(own["value"].to_numpy())
        repeats = bool(rows.select("method", "seed").is_duplicated().any())
        intervals = [mean_interval(draws) for draws in values]
        unit = units.get(name, "")
        title = titles.get(name, name.replace("_", " ").capitalize())
        figures.append(
            BarsFigure(
                title=f"{title} [{unit}]" if unit else title,
                note=_note(values, "run" if repeats else "seed"),
                unit=unit,
                methods=methods,
                values=values,
                low=np.array([np.nan if i is None else i.low for i in intervals]),
                high=np.array([np.nan if i is None else i.high for i in intervals]),
            )
        )
    return figures


def _note(values: Sequence[Floats], draw: str) -> str:
    """`means over 10 seeds; lines are 95 % bootstrap intervals of the mean`, or nothing for single values.

    A `draw` is a seed, or a run if runs of one seed were repeated.
    """
    counts = sorted({len(draws) for draws in values})
    if counts[-1] == 1:
        return ""
    seeds = count_text(counts[0], draw) if len(counts) == 1 else f"{counts[0]} to {counts[-1]} {draw}s"
    if counts[-1] >= LEAST_DRAWS:
        return f"means over {seeds} (dots); lines are {100 * CONFIDENCE:g} % bootstrap intervals of the mean"
    return f"means over {seeds} (dots); intervals need {LEAST_DRAWS} {draw}s"
