"""An empty drawing with one pair of axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpusched_dsl.language.calendar import DAYS
from gpusched_dsl.reporting.figures.drawing.style import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from gpusched_dsl.online.clock_time import RunClock
    from gpusched_dsl.reporting.figures.figure import TimeAxis

MOST_LABELS = 60
MOST_DATES = 9  # on the time axis
STEPS = (60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200)  # seconds between two of them, within a day


def axes_of(height: float) -> tuple[Drawing, Axes]:
    """Return a drawing of a height in inches."""
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
    return drawing, drawing.subplots()


def date_height(axis: TimeAxis) -> float:
    """Return the inches that a drawing needs more for dates below the axis, in three lines."""
    return 0.55 if axis.clock is not None and axis.clock.dates is not None else 0.0


def set_time(axes: Axes, axis: TimeAxis) -> None:
    """Set the horizontal axis to the time of a result."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(axis.low, axis.high)
    if axis.clock is not None and axis.clock.dates is not None:
        _set_dates(axes, axis, axis.clock)
        return
    axes.set_xlabel(f"time [{axis.unit}]" if axis.unit and axis.unit != "slot" else axis.unit or "time")
    axes.xaxis.set_major_locator(MaxNLocator(integer=axis.slots))
    axes.ticklabel_format(axis="x", useOffset=False)


def _set_dates(axes: Axes, axis: TimeAxis, clock: RunClock) -> None:
    """Mark full hours, parts of them or midnights, by the clock on the wall; the date is at its first mark."""
    assert clock.calendar is not None
    assert clock.seconds is not None
    low, high = axis.low * clock.seconds, axis.high * clock.seconds
    step = next((s for s in STEPS if (high - low) / s <= MOST_DATES), 86400)
    hours = [at / 3600 for at in range(0, 86400, step)]
    times = clock.calendar.clock_times(low, high + 1e-6, hours)
    times = times[:: max(1, math.ceil(len(times) / MOST_DATES))]
    dates = [clock.calendar.date(float(time)) for time in times]
    days = [f"\n{DAYS[date.weekday()]}\n{date:%Y-%m-%d}" for date in dates]
    new = [at == 0 or days[at] != days[at - 1] for at in range(len(days))]
    axes.set_xticks(
        times / clock.seconds, [f"{d:%H:%M}{day * is_new}" for d, day, is_new in zip(dates, days, new, strict=True)]
    )
    axes.set_xlabel(f"time ({clock.calendar.zone})")
