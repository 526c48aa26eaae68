"""An empty drawing with one pair of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.reporting.figures.drawing.style import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from gpusched_dsl.reporting.figures.figure import TimeAxis

MOST_LABELS = 60


def axes_of(height: float) -> tuple[Drawing, Axes]:
    """Return a drawing of a height in inches."""
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
    return drawing, drawing.subplots()


def set_time(axes: Axes, axis: TimeAxis) -> None:
    """Set the horizontal axis to the time of a result."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(axis.low, axis.high)
    axes.set_xlabel(f"time [{axis.unit}]" if axis.unit and axis.unit != "slot" else axis.unit or "time")
    axes.xaxis.set_major_locator(MaxNLocator(integer=axis.slots))
    axes.ticklabel_format(axis="x", useOffset=False)
