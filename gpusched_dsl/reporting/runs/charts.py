"""Curves over time as numbers of pixels: cost, queue and use of GPUs. Templates draw them as SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.reporting.runs.series import Steps, cost_over_time, gpus_in_use, gpus_of_used_nodes, queue_length

if TYPE_CHECKING:
    from gpusched_dsl.reporting.runs.result_data import RunResultData

WIDTH, LEFT, RIGHT = 960, 70, 20
TOP, BOTTOM, HEIGHT = 10, 30, 200
MOST_POINTS = 600  # of a curve: more points are replaced by means
TICKS = 6


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A line of the grid: its position and its number."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class ChartCurve:
    """`points` in the format of SVG; `colour` is a class of the page's style."""

    label: str
    colour: str
    points: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves on one grid, sizes in pixels. `thinned` marks curves of means over short spans."""

    title: str
    curves: tuple[ChartCurve, ...]
    x_ticks: tuple[AxisTick, ...]
    y_ticks: tuple[AxisTick, ...]
    unit: str
    thinned: bool = False
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """Numbers from `low` to `high` as pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, values: Floats) -> Floats:
        found: Floats = self.start + (values - self.low) / (self.high - self.low) * (self.end - self.start)
        return found

    def ticks(self, most: int = TICKS) -> tuple[AxisTick, ...]:
        """Return round numbers, about `most` at most."""
        step = _round_up((self.high - self.low) / most)
        first = math.ceil(self.low / step - 1e-9)
        values: Floats = np.arange(first, math.floor(self.high / step + 1e-9) + 1, dtype=np.float64) * step
        return tuple(
            AxisTick(round(float(x), 1), f"{v + 0.0:,.10g}")
            for v, x in zip(values.tolist(), self.at(values), strict=True)
        )


def time_axis(result: RunResultData) -> ChartAxis:
    """The time of the run, from 0 to its end."""
    return ChartAxis(0.0, max(result.outcome.world.now, 1e-9), LEFT, WIDTH - RIGHT)


def cost_chart(result: RunResultData) -> Chart:
    """Return the charged money so far at every plan; for runs without plans, from the charges of each job."""
    times, totals = result.samples.curve(result.outcome)
    if not result.samples.times:
        times, totals = cost_over_time(result.history)
    if len(times) > MOST_POINTS:
        keep = np.unique(np.linspace(0, len(times) - 1, MOST_POINTS).astype(np.int64))
        times, totals = times[keep], totals[keep]
    unit = f" [{result.money}]" if result.money else ""
    return _chart(result, f"Cost so far{unit}", [("total", "blue", times, totals)])


def queue_chart(result: RunResultData) -> Chart:
    """Return the chart of jobs that are present and do not run."""
    waiting = queue_length(result.history)
    thin = waiting.thin_out(MOST_POINTS)
    return _chart(result, "Jobs waiting", [("jobs waiting", "orange", *_stairs(thin))], thinned=thin is not waiting)


def use_chart(result: RunResultData) -> Chart:
    """Return the chart of used GPUs, and of the GPUs of nodes in use."""
    used, room = gpus_in_use(result.history), gpus_of_used_nodes(result.history)
    thin = used.thin_out(MOST_POINTS)
    curves = [("GPUs used", "blue", *_stairs(thin))]
    if room is not None:
        curves.insert(0, ("GPUs of nodes in use", "grey", *_stairs(room.thin_out(MOST_POINTS))))
    title = "GPUs" if result.history.has_uses else "Nodes used"
    return _chart(result, title, curves, thinned=thin is not used)


def _stairs(steps: Steps) -> tuple[Floats, Floats]:
    """Return the corners of a step curve."""
    return np.repeat(steps.times, 2)[1:], np.repeat(steps.values, 2)[:-1]


def _chart(
    result: RunResultData, title: str, curves: list[tuple[str, str, Floats, Floats]], *, thinned: bool = False
) -> Chart:
    x = time_axis(result)
    values = np.concatenate([ys for _, _, _, ys in curves])
    low, high = min(0.0, float(values.min(initial=0.0))), float(values.max(initial=0.0))
    y = ChartAxis(low, high if high > low else low + 1.0, HEIGHT - BOTTOM, TOP)
    chart_curves = tuple(ChartCurve(label, colour, _points(x.at(xs), y.at(ys))) for label, colour, xs, ys in curves)
    return Chart(title, chart_curves, x.ticks(10), y.ticks(), result.unit, thinned)


def _points(xs: Floats, ys: Floats) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(xs.tolist(), ys.tolist(), strict=True))


def _round_up(step: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next(f * power for f in (1.0, 2.0, 5.0, 10.0) if f * power >= step * (1 - 1e-9))
