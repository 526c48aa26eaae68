"""Lines over a numeric factor, drawn by Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.reporting.figures.drawing.axes import axes_of
from gpusched_dsl.reporting.figures.drawing.style import COLOURS, DASHES, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from gpusched_dsl.reporting.figures.lines_figure import LinesFigure

HEIGHT = 3.2
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def draw_lines(figure: LinesFigure) -> Drawing:
    """Return a line with its own dashes and markers for each method, and the intervals of its means."""
    drawing, axes = axes_of(HEIGHT)
    for number, line in enumerate(figure.lines):
        colour = COLOURS[number % len(COLOURS)]
        style, marker = DASHES[number % len(DASHES)], MARKERS[number % len(MARKERS)]
        axes.plot(line.x, line.mean, label=label(line.label), color=colour, ls=style, marker=marker, ms=4, lw=1.3)
        known = np.flatnonzero(~np.isnan(line.low))
        if len(known):
            around = np.abs([line.mean[known] - line.low[known], line.high[known] - line.mean[known]])
            axes.errorbar(line.x[known], line.mean[known], yerr=around, fmt="none", ecolor=colour, capsize=3, lw=1.0)
    low = min((float(line.mean.min(initial=0.0)) for line in figure.lines), default=0.0)
    axes.set_ylim(bottom=0.0 if low >= 0 else None)
    axes.set_xlabel(label(figure.factor))
    axes.set_ylabel(label(figure.unit))
    if len(figure.lines) > 1:
        axes.legend(loc="best", framealpha=0.9)
    return drawing
