"""Schedules by node, drawn by Matplotlib: jobs as bars, the price behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.reporting.figures.drawing.axes import MOST_LABELS, axes_of, date_height, set_time
from gpusched_dsl.reporting.figures.drawing.style import JOBS, LATE, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from gpusched_dsl.reporting.figures.price_curves import PriceCurve
    from gpusched_dsl.reporting.figures.schedule_figure import ScheduleFigure

MOST_VECTORS = 4000  # bars; more are drawn as pixels, also in SVG
MOST_NAMES = 300  # of jobs within their bars
LETTER = 0.0075  # width of a letter as a share of the axis
LEAST_HEIGHT = 0.085  # inches of a bar with a name


def draw_schedule(figure: ScheduleFigure) -> Drawing:
    """Return the bars of all jobs; rows of idle nodes stay empty."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    rows = len(figure.nodes)
    tallest = 1.0 / max(0.02, float(figure.lanes[1].min(initial=1.0)))
    row = min(9.0 / rows, 0.6, max(0.14, 0.1 * tallest))  # inches
    drawing, axes = axes_of(1.0 + row * rows + date_height(figure.axis))
    if figure.prices:
        _draw_price(axes, figure.prices[0], rows)
    stays, (top, height) = figure.stays, figure.lanes
    low = stays.node - 0.46 + 0.92 * top
    high = low + 0.92 * height - 0.02
    pixels = len(stays) > MOST_VECTORS
    fills = np.array(JOBS)[figure.jobs.colour[stays.job] % len(JOBS)]
    edges = np.where(stays.late, LATE, "#59636e")
    bars = PolyCollection(
        _rectangles(stays.start, stays.end, low, high), facecolors=fills, edgecolors=edges,
        linewidths=np.where(stays.late, 1.0, 0.2), rasterized=pixels,
    )  # fmt: skip
    axes.add_collection(bars)
    handles = [Patch(facecolor=JOBS[0], edgecolor="#59636e", label="a job, as high as its share of the GPUs")]
    due = figure.jobs.due[stays.job]
    over: Bools = due < stays.end
    if stays.late.any():
        after = _rectangles(np.maximum(due, stays.start)[over], stays.end[over], low[over], high[over])
        hatched = PolyCollection(
            after, facecolors="none", edgecolors=LATE, linewidths=0.0, hatch="//////", rasterized=pixels
        )
        axes.add_collection(hatched)
        handles.append(Patch(facecolor="none", edgecolor=LATE, hatch="//////", label="late: after its due date"))
    if figure.prices:
        price = label(f"{figure.prices[0].name} [{figure.prices[0].unit}]")
        handles.append(Patch(facecolor="#e69f00", alpha=0.35, label=f"{price}: stronger is dearer"))
    _name_jobs(axes, figure, (low + high) / 2, (high - low) * row)
    set_time(axes, figure.axis)
    axes.set_ylim(rows - 0.5, -0.5)
    every = -(-rows // MOST_LABELS)
    axes.set_yticks(range(0, rows, every), [label(name, 24) for name in figure.nodes[::every]], fontsize=7)
    axes.grid(visible=False, axis="y")
    drawing.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8)
    return drawing


def _rectangles(left: Floats, right: Floats, low: Floats, high: Floats) -> list[Floats]:
    """Return the four corners of each rectangle."""
    corners = ((left, low), (right, low), (right, high), (left, high))
    return list(np.stack([np.stack(pair, axis=1) for pair in corners], axis=1))


def _draw_price(axes: Axes, price: PriceCurve, rows: int) -> None:
    """Shade the background by the price."""
    shades = price.values[:-1][None, :]
    edges = np.array([-0.5, rows - 0.5])
    axes.pcolormesh(price.times, edges, shades, cmap="YlOrBr", alpha=0.35, zorder=0, rasterized=True, linewidth=0)


def _name_jobs(axes: Axes, figure: ScheduleFigure, middle: Floats, inches: Floats) -> None:
    """Write the names of jobs into bars that are wide and high enough."""
    stays = figure.stays
    if len(stays) > MOST_NAMES:
        return
    span = figure.axis.high - figure.axis.low
    for at in range(len(stays)):
        name = label(figure.jobs.names[int(stays.job[at])], 24)
        wide = float(stays.end[at] - stays.start[at]) > span * LETTER * (len(name) + 1)
        if wide and inches[at] >= LEAST_HEIGHT:
            axes.text(float(stays.start[at]) + 0.003 * span, float(middle[at]), name, va="center", fontsize=5.5)
