"""Gantt charts of runs: bars of single jobs for small runs, shades of utilisation for large ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.text.counting import count_text
from gpusched_dsl.online.history import RunHistory
from gpusched_dsl.reporting.runs.charts import LEFT, WIDTH, AxisTick, ChartAxis, time_axis

if TYPE_CHECKING:
    from gpusched_dsl.reporting.runs.result_data import RunResultData

MOST_BARS = 2000
MOST_LANES = 160
MOST_ROWS = 120  # of shades: more nodes share rows
SPANS = 240  # of time, in shades
LANE, ROW = 14, 7  # pixels
SHADES = 8
COLOURS = 12  # classes of the page's style
HEAD = 24


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; `late` marks jobs that ended after their due date."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    tooltip: str
    label: str = ""
    late: bool = False


@dataclass(frozen=True, slots=True)
class GanttRow:
    """A node, or several: its label and position."""

    label: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Gantt:
    """The chart in pixels. `note` explains the bars if they are not single jobs."""

    bars: tuple[Bar, ...]
    rows: tuple[GanttRow, ...]
    x_ticks: tuple[AxisTick, ...]
    height: float
    unit: str
    note: str = ""
    width: int = WIDTH
    left: int = LEFT


def gantt(result: RunResultData) -> Gantt:
    """Return the chart: bars of jobs if there are few, otherwise shades of utilisation."""
    parts = result.history.stretches
    if len(parts) <= MOST_BARS:
        lane, count, places = _lanes(result.history)
        if int(count.sum()) <= MOST_LANES:
            return _bars(result, lane, count, places)
    return _shades(result)


# --- bars ------------------------------------------------------------------------------------------------------------


def _lanes(history: RunHistory) -> tuple[Ints, Ints, Ints]:
    """Return a free lane of its node for each stretch, the number of lanes of each node, and the nodes."""
    parts = history.stretches
    places, row = np.unique(parts.place, return_inverse=True)
    free: list[list[float]] = [[] for _ in places]
    lane = np.zeros(len(parts), dtype=np.int64)
    for at, (place, start, end) in enumerate(zip(row.tolist(), parts.start.tolist(), parts.end.tolist(), strict=True)):
        lanes = free[place]
        found = next((i for i, until in enumerate(lanes) if until <= start + 1e-12 * max(1.0, start)), len(lanes))
        if found == len(lanes):
            lanes.append(end)
        lanes[found] = end
        lane[at] = found
    return lane, np.array([len(lanes) for lanes in free], dtype=np.int64), places


def _bars(result: RunResultData, lane: Ints, count: Ints, places: Ints) -> Gantt:
    history, world = result.history, result.outcome.world
    parts, x = history.stretches, time_axis(result)
    top = HEAD + np.concatenate(([0], np.cumsum(count * LANE + 4)))
    row = np.searchsorted(places, parts.place)
    left, right = x.at(parts.start), x.at(parts.end)
    late = (world.end - world.due)[parts.job] > 1e-9 * np.maximum(1.0, np.abs(world.due[parts.job]))
    names = history.labels(history.jobs_root, parts.job)
    types = history.labels(history.kinds_root, parts.kind)
    unit = f" {result.unit}" if result.unit else ""
    bars = []
    for at in range(len(parts)):
        width = max(float(right[at] - left[at]), 0.5)
        tooltip = f"{names[at]}: {parts.start[at]:.6g} to {parts.end[at]:.6g}{unit}, {parts.uses[at]:g} on {types[at]}"
        label = names[at] if width > 7 * len(names[at]) + 4 else ""
        y = float(top[row[at]] + lane[at] * LANE)
        colour = f"c{int(parts.job[at]) % COLOURS}"
        bars.append(
            Bar(round(float(left[at]), 1), y, round(width, 1), LANE - 2, colour, tooltip, label, bool(late[at]))
        )
    labels = history.labels(history.places_root, places)
    rows = [GanttRow(name, float(y), float(n * LANE)) for name, y, n in zip(labels, top, count, strict=False)]
    return Gantt(tuple(bars), tuple(rows), x.ticks(10), float(top[-1]) + 6, result.unit)


# --- shades ----------------------------------------------------------------------------------------------------------


def _shades(result: RunResultData) -> Gantt:
    history = result.history
    x = time_axis(result)
    places = np.unique(history.stretches.place)
    rows = min(len(places), MOST_ROWS)
    band = np.arange(len(places)) * rows // len(places)
    share = _shares(history, places, band, rows, x)
    level = np.ceil(np.clip(share, 0.0, 1.0) * SHADES - 1e-9).astype(np.int64)
    edges = x.at(np.linspace(x.low, x.high, SPANS + 1))
    begins = np.ones_like(level, dtype=np.bool_)
    begins[:, 1:] = level[:, 1:] != level[:, :-1]
    bars = []
    for r, b in zip(*(a.tolist() for a in np.nonzero(begins & (level > 0))), strict=True):
        following = np.flatnonzero(begins[r, b + 1 :])
        end = b + 1 + int(following[0]) if len(following) else SPANS
        tooltip = f"{100 * float(share[r, b:end].mean()):.0f} % used"
        width = round(float(edges[end] - edges[b]), 1)
        bars.append(Bar(round(float(edges[b]), 1), float(HEAD + r * ROW), width, ROW - 1, f"s{level[r, b]}", tooltip))
    names = history.labels(history.places_root, places)
    first = np.searchsorted(band, np.arange(rows))
    labels = [names[f] if r % 2 == 0 else "" for r, f in enumerate(first.tolist())]
    gantt_rows = [GanttRow(label, float(HEAD + r * ROW), float(ROW)) for r, label in enumerate(labels)]
    together = f", {count_text(-(-len(places) // rows), 'node')} per row" if rows < len(places) else ""
    stretches = (
        f"{count_text(len(history.stretches), 'stretch', 'stretches')} of jobs on {count_text(len(places), 'node')}"
    )
    note = f"{stretches}: darker means more use{together}"
    return Gantt(tuple(bars), tuple(gantt_rows), x.ticks(10), HEAD + rows * ROW + 6.0, result.unit, note)


def _shares(history: RunHistory, places: Ints, band: Ints, rows: int, x: ChartAxis) -> Floats:
    """Return the share of used GPUs for each band of nodes and span of time.

    If the size of a node is unknown, the share is relative to the largest number of GPUs used on it.
    """
    parts = history.stretches
    row = band[np.searchsorted(places, parts.place)]
    used = amounts_by_span(row, parts.start, parts.end, parts.uses, rows, x.low, x.high, SPANS)
    gpus = history.gpus[parts.kind]
    most = np.zeros(len(places))
    at = np.searchsorted(places, parts.place)
    np.maximum.at(most, at, np.where(np.isnan(gpus), parts.uses, gpus))
    room = np.bincount(band, weights=most, minlength=rows) * (x.high - x.low) / SPANS
    found: Floats = used / np.where(room > 0, room, 1.0)[:, None]
    return found


def amounts_by_span(
    row: Ints, start: Floats, end: Floats, amount: Floats, rows: int, low: float, high: float, spans: int
) -> Floats:
    """Return the integral of amounts over each of equal spans between `low` and `high`: shape (rows, spans)."""
    width = (high - low) / spans
    a, b = (np.clip((t - low) / width, 0.0, spans) for t in (start, end))
    first = np.minimum(a.astype(np.int64), spans - 1)
    last = np.minimum(b.astype(np.int64), spans - 1)
    found, steps = np.zeros((rows, spans)), np.zeros((rows, spans + 1))
    same = first == last
    np.add.at(found, (row[same], first[same]), (amount * (b - a))[same])
    row, first, last, a, b, amount = (v[~same] for v in (row, first, last, a, b, amount))
    np.add.at(found, (row, first), amount * (first + 1 - a))
    np.add.at(found, (row, last), amount * (b - last))
    np.add.at(steps, (row, first + 1), amount)
    np.add.at(steps, (row, last), -amount)
    found += np.cumsum(steps, axis=1)[:, :spans]
    return found * width
