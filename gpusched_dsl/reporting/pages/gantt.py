"""Gantt charts: bars of single jobs if there are few, shades of utilisation otherwise. Idle nodes have rows too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.text.counting import count_text
from gpusched_dsl.reporting.pages.charts import LEFT, RIGHT, WIDTH, AxisTick, ChartAxis

MOST_BARS = 2000
MOST_LANES = 160
MOST_ROWS = 120  # of shades: more nodes share rows
SPANS = 240  # of time, in shades
LANE, ROW = 14, 7  # pixels
SHADES = 8
COLOURS = 12  # classes of the page's style
HEAD = 24
LONGEST_LABEL = 16  # characters of a row


@dataclass(frozen=True, eq=False)
class Stays:
    """The jobs on their nodes: node `row`, from `start` to `end`, in the order of `start`.

    `jobs` are numbers that choose the colours, `names` and `kinds` the texts. `rows` are the labels of all nodes, also
    of idle ones, `room` how much fits on each (NaN: unknown). `late` marks jobs that end after their due date.
    """

    row: Ints
    start: Floats
    end: Floats
    uses: Floats
    jobs: Ints
    names: list[str]
    kinds: list[str]
    late: Bools
    rows: list[str]
    room: Floats
    axis: ChartAxis
    unit: str

    def __len__(self) -> int:
        return len(self.row)


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
    idle: bool = False
    name: str = ""  # the complete label


@dataclass(frozen=True, slots=True)
class Gantt:
    """The chart in pixels. `note` explains the bars if they are not single jobs; `idle` is the number of idle nodes."""

    bars: tuple[Bar, ...]
    rows: tuple[GanttRow, ...]
    x_ticks: tuple[AxisTick, ...]
    height: float
    unit: str
    note: str = ""
    idle: int = 0
    shades: bool = False
    width: int = WIDTH
    left: int = LEFT
    right: int = WIDTH - RIGHT

    @property
    def has_late(self) -> bool:
        return any(bar.late for bar in self.bars)

    @property
    def idle_text(self) -> str:
        """`2 nodes are idle`, or nothing."""
        if not self.idle:
            return ""
        return f"{count_text(self.idle, 'node')} {'is' if self.idle == 1 else 'are'} idle"


def gantt(stays: Stays) -> Gantt:
    """Return the chart: bars of jobs if there are few, otherwise shades of utilisation."""
    if len(stays) <= MOST_BARS:
        lane, count = _lanes(stays)
        if int(count.sum()) <= MOST_LANES:
            return _bars(stays, lane, count)
    return _shades(stays)


def _idle(stays: Stays) -> Bools:
    idle = np.ones(len(stays.rows), dtype=np.bool_)
    idle[stays.row] = False
    return idle


# --- bars ------------------------------------------------------------------------------------------------------------


def _lanes(stays: Stays) -> tuple[Ints, Ints]:
    """Return a free lane of its node for each stay, and the number of lanes of each node, at least 1."""
    free: list[list[float]] = [[] for _ in stays.rows]
    lane = np.zeros(len(stays), dtype=np.int64)
    for at, (place, start, end) in enumerate(
        zip(stays.row.tolist(), stays.start.tolist(), stays.end.tolist(), strict=True)
    ):
        lanes = free[place]
        found = next((i for i, until in enumerate(lanes) if until <= start + 1e-12 * max(1.0, start)), len(lanes))
        if found == len(lanes):
            lanes.append(end)
        lanes[found] = end
        lane[at] = found
    return lane, np.array([max(1, len(lanes)) for lanes in free], dtype=np.int64)


def _bars(stays: Stays, lane: Ints, count: Ints) -> Gantt:
    x = stays.axis
    top = HEAD + np.concatenate(([0], np.cumsum(count * LANE + 4)))
    left, right = x.at(stays.start), x.at(stays.end)
    unit = f" {stays.unit}" if stays.unit else ""
    bars = []
    for at in range(len(stays)):
        width = max(float(right[at] - left[at]), 0.5)
        name, kind = stays.names[at], f" on {stays.kinds[at]}" if stays.kinds[at] else ""
        used = "" if np.isnan(stays.uses[at]) else f", {'' if kind else 'uses '}{stays.uses[at]:g}"
        late = ", late" if stays.late[at] else ""
        tooltip = f"{name}: {stays.start[at]:.6g} to {stays.end[at]:.6g}{unit}{used}{kind}{late}"
        label = name if width > 6.5 * len(name) + 6 else ""
        y = float(top[stays.row[at]] + lane[at] * LANE)
        colour = f"c{int(stays.jobs[at]) % COLOURS}"
        bars.append(
            Bar(round(float(left[at]), 1), y, round(width, 1), LANE - 2, colour, tooltip, label, bool(stays.late[at]))
        )
    idle = _idle(stays)
    rows = [
        GanttRow(_shorten(name), float(y), float(n * LANE), bool(i), name)
        for name, y, n, i in zip(stays.rows, top, count, idle, strict=False)
    ]
    return Gantt(tuple(bars), tuple(rows), x.ticks(10), float(top[-1]) + 6, stays.unit, idle=int(idle.sum()))


def _shorten(name: str) -> str:
    return name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"


# --- shades ----------------------------------------------------------------------------------------------------------


def _shades(stays: Stays) -> Gantt:
    x = stays.axis
    nodes = len(stays.rows)
    rows = min(nodes, MOST_ROWS)
    band = np.arange(nodes) * rows // nodes
    share = _shares(stays, band, rows)
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
    first = np.searchsorted(band, np.arange(rows))
    labels = [stays.rows[f] if r % 2 == 0 else "" for r, f in enumerate(first.tolist())]
    gantt_rows = [GanttRow(_shorten(label), float(HEAD + r * ROW), float(ROW)) for r, label in enumerate(labels)]
    together = f", {count_text(-(-nodes // rows), 'node')} per row" if rows < nodes else ""
    stretches = f"{count_text(len(stays), 'stretch', 'stretches')} of jobs on {count_text(nodes, 'node')}"
    note = f"{stretches}: darker means more use{together}"
    height, idle = HEAD + rows * ROW + 6.0, int(_idle(stays).sum())
    return Gantt(tuple(bars), tuple(gantt_rows), x.ticks(10), height, stays.unit, note, idle, shades=True)


def _shares(stays: Stays, band: Ints, rows: int) -> Floats:
    """Return the share of used GPUs for each band of nodes and span of time.

    If the size of a node is unknown, the share is relative to the largest number of GPUs used on it.
    """
    x, uses = stays.axis, np.where(np.isnan(stays.uses), 1.0, stays.uses)
    used = amounts_by_span(band[stays.row], stays.start, stays.end, uses, rows, x.low, x.high, SPANS)
    most = np.where(np.isnan(stays.room), 0.0, stays.room)
    unknown = np.isnan(stays.room)[stays.row]
    np.maximum.at(most, stays.row[unknown], uses[unknown])
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
