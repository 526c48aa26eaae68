"""Bars of methods with intervals, drawn by Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.language.text.numbers import number_text
from gpusched_dsl.reporting.figures.drawing.axes import axes_of
from gpusched_dsl.reporting.figures.drawing.style import COLOURS, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from gpusched_dsl.reporting.figures.bars import BarsFigure

SHOWN = 4  # significant digits of a mean


def draw_bars(figure: BarsFigure) -> Drawing:
    """Return a bar for each method, the interval of its mean as a line, and its seeds as dots."""
    count, means = len(figure.methods), figure.means
    drawing, axes = axes_of(0.9 + 0.32 * count)
    axes.barh(range(count), means, height=0.62, color=COLOURS[0], alpha=0.75)
    known = np.flatnonzero(~np.isnan(figure.low))
    if len(known):
        around = np.abs([means[known] - figure.low[known], figure.high[known] - means[known]])
        axes.errorbar(means[known], known, xerr=around, fmt="none", ecolor="#1f2328", capsize=3, lw=1.2, zorder=3)
    for row, values in enumerate(figure.values):
        if len(values) > 1:
            axes.plot(values, np.full(len(values), row), "o", ms=3, mfc="white", mec="#1f2328", mew=0.7, zorder=4)
        end = max(float(np.nanmax([*values, figure.high[row]])), 0.0)
        text = number_text(float(f"{means[row]:.{SHOWN}g}"))
        axes.annotate(text, (end, row), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8)
    axes.margins(x=0.14)
    axes.set_yticks(range(count), [label(method) for method in figure.methods])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(label(figure.unit))
    return drawing
