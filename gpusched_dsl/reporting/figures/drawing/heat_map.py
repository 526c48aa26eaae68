"""Utilisation of nodes over time, drawn by Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.reporting.figures.drawing.axes import axes_of, date_height, set_time
from gpusched_dsl.reporting.figures.drawing.style import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from gpusched_dsl.reporting.figures.heat_map import HeatMap


def draw_heat_map(figure: HeatMap) -> Drawing:
    """Return a grid of shades with their scale."""
    rows = len(figure.rows)
    drawing, axes = axes_of(1.2 + min(6.0, 0.16 * rows) + date_height(figure.axis))
    extent = (figure.axis.low, figure.axis.high, rows - 0.5, -0.5)
    shades = axes.imshow(
        100 * figure.shares, aspect="auto", extent=extent, cmap="Blues", vmin=0, vmax=100, interpolation="none"
    )
    axes.grid(visible=False)
    axes.set_yticks(range(rows), [label(row, 24) for row in figure.rows], fontsize=7 if rows <= 30 else 5)
    set_time(axes, figure.axis)
    drawing.colorbar(shades, ax=axes, label="GPUs used [%]", pad=0.01)
    return drawing
