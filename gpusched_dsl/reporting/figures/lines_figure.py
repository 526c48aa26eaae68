"""Lines over a numeric factor: means with their intervals, one line per method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.reporting.bootstrap import mean_interval
from gpusched_dsl.reporting.figures.figure import Figure, compact


@dataclass(frozen=True, eq=False)
class FactorLine:
    """The means of a method: `mean[i]` at the value `x[i]` of the factor, and its interval, NaN if there is none."""

    label: str
    x: Floats
    mean: Floats
    low: Floats
    high: Floats

    @staticmethod
    def of(label: str, x: Floats, draws: Sequence[Floats]) -> FactorLine:
        """Return the line of the draws at each value; from 6 draws on a mean has a 95 % bootstrap interval."""
        intervals = [mean_interval(values) for values in draws]
        return FactorLine(
            label,
            x,
            np.array([float(values.mean()) for values in draws]),
            np.array([np.nan if interval is None else interval.low for interval in intervals]),
            np.array([np.nan if interval is None else interval.high for interval in intervals]),
        )

    def document(self) -> dict[str, Any]:
        return {
            "label": self.label, "x": compact(self.x), "mean": compact(self.mean), "low": compact(self.low),
            "high": compact(self.high),
        }  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class LinesFigure(Figure):
    """`factor` is the name of the horizontal axis with its unit, `unit` that of the means."""

    kind: ClassVar[str] = "lines"

    factor: str
    unit: str
    lines: Sequence[FactorLine]

    def data(self) -> dict[str, Any]:
        return {"factor": self.factor, "unit": self.unit, "lines": [line.document() for line in self.lines]}
