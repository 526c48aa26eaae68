"""Curves over time as numbers of pixels. Templates draw them as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gpusched_dsl.ir.arrays import Floats

WIDTH, LEFT, RIGHT = 960, 110, 20
TOP, BOTTOM, HEIGHT = 10, 30, 200
TICKS = 6
COLOURS = ("blue", "orange", "green", "purple", "red", "grey")  # of curves, classes of the page's style

Curve: TypeAlias = tuple[str, str, Floats, Floats]  # label, colour, x, y


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
    whole: bool = False  # ticks only at integers

    def at(self, values: Floats) -> Floats:
        found: Floats = self.start + (values - self.low) / (self.high - self.low) * (self.end - self.start)
        return found

    def ticks(self, most: int = TICKS) -> tuple[AxisTick, ...]:
        """Return round numbers, about `most` at most."""
        step = _round_up((self.high - self.low) / most)
        step = max(step, 1.0) if self.whole else step
        first = math.ceil(self.low / step - 1e-9)
        values: Floats = np.arange(first, math.floor(self.high / step + 1e-9) + 1, dtype=np.float64) * step
        return tuple(
            AxisTick(round(float(x), 1), f"{v + 0.0:,.10g}")
            for v, x in zip(values.tolist(), self.at(values), strict=True)
        )


def x_axis(low: float, high: float, *, whole: bool = False) -> ChartAxis:
    """The horizontal axis of all charts of a page."""
    return ChartAxis(low, high if high > low else low + 1.0, LEFT, WIDTH - RIGHT, whole)


def chart(
    title: str, x: ChartAxis, unit: str, curves: Sequence[Curve], *, thinned: bool = False, whole: bool = False
) -> Chart:
    """Return the chart of curves, with a vertical axis from 0 or from the least value below it."""
    values = np.concatenate([ys for _, _, _, ys in curves])
    low, high = min(0.0, float(values.min(initial=0.0))), float(values.max(initial=0.0))
    y = ChartAxis(low, high if high > low else low + 1.0, HEIGHT - BOTTOM, TOP, whole)
    chart_curves = tuple(ChartCurve(label, colour, _points(x.at(xs), y.at(ys))) for label, colour, xs, ys in curves)
    return Chart(title, chart_curves, x.ticks(10), y.ticks(), unit, thinned)


def corners(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a curve of steps, whose last time is its end."""
    return np.repeat(times, 2)[1:], np.repeat(values, 2)[:-1]


def _points(xs: Floats, ys: Floats) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(xs.tolist(), ys.tolist(), strict=True))


def _round_up(step: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next(f * power for f in (1.0, 2.0, 5.0, 10.0) if f * power >= step * (1 - 1e-9))
