"""Curves over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.reporting.figures.figure import Figure, TimeAxis, compact


@dataclass(frozen=True, eq=False)
class Curve:
    """Points of a line; with `steps`, `values[i]` is valid from `times[i]` to the next time."""

    label: str
    times: Floats
    values: Floats
    steps: bool = False

    def document(self) -> dict[str, Any]:
        return {
            "label": self.label, "x": compact(self.times), "y": compact(self.values), "steps": self.steps,
        }  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class CurvesFigure(Figure):
    """Curves on one grid. `stacked` draws areas that add up; `integer` has ticks only at integers."""

    kind: ClassVar[str] = "curves"

    axis: TimeAxis
    unit: str
    curves: Sequence[Curve]
    stacked: bool = False
    integer: bool = False

    def data(self) -> dict[str, Any]:
        return {
            "axis": self.axis.document(),
            "unit": self.unit,
            "stacked": self.stacked,
            "integer": self.integer,
            "curves": [curve.document() for curve in self.curves],
        }
