"""Curves over time, drawn by Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.reporting.figures.drawing.axes import axes_of, set_time
from gpusched_dsl.reporting.figures.drawing.style import COLOURS, DASHES, HATCHES, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from gpusched_dsl.reporting.figures.curves_figure import CurvesFigure

HEIGHT = 2.8


def draw_curves(figure: CurvesFigure) -> Drawing:
    """Return lines with dash patterns; areas with hatches if they add up."""
    drawing, axes = axes_of(HEIGHT)
    below: np.ndarray | None = None
    for number, curve in enumerate(figure.curves):
        colour, name = COLOURS[number % len(COLOURS)], label(curve.label)
        if figure.stacked and curve.label != "total":
            below = np.zeros(len(curve.values)) if below is None else below
            top = below + curve.values
            hatch = HATCHES[number % len(HATCHES)]
            axes.fill_between(curve.times, below, top, label=name, facecolor=colour, alpha=0.5, hatch=hatch, lw=0)
            below = top
            continue
        style = DASHES[number % len(DASHES)]
        drawstyle = "steps-post" if curve.steps else "default"
        axes.plot(curve.times, curve.values, label=name, color=colour, ls=style, lw=1.3, drawstyle=drawstyle)
    low = min((float(curve.values.min(initial=0.0)) for curve in figure.curves), default=0.0)
    axes.set_ylim(bottom=0.0 if low >= 0 else None)
    axes.set_ylabel(label(figure.unit))
    set_time(axes, figure.axis)
    if len(figure.curves) > 1:
        axes.legend(loc="best", framealpha=0.9)
    return drawing
