"""Utilisation of nodes over time as a grid of shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.reporting.figures.figure import Figure, TimeAxis
from gpusched_dsl.reporting.figures.schedule_figure import Stays

MOST_ROWS = 60  # more nodes share rows
SPANS = 160  # of time


@dataclass(frozen=True, eq=False, kw_only=True)
class HeatMap(Figure):
    """`shares` has a row per node or group of nodes and a column per equal span of time: used GPUs of all GPUs."""

    kind: ClassVar[str] = "heat map"

    axis: TimeAxis
    rows: Sequence[str]
    shares: Floats

    def data(self) -> dict[str, Any]:
        percent = np.rint(100 * np.clip(self.shares, 0.0, 1.0)).astype(np.int64)
        return {
            "axis": self.axis.document(),
            "rows": list(self.rows),
            "spans": self.shares.shape[1],
            "percent": percent.reshape(-1).tolist(),
        }


def utilisation(stays: Stays, nodes: Sequence[str], capacity: Floats, axis: TimeAxis) -> HeatMap:
    """Return the used share of each node and span of time, also of idle nodes.

    If the size of a node is unknown, the share is relative to the most GPUs that were used on it.
    """
    count = len(nodes)
    rows = min(count, MOST_ROWS)
    band = np.arange(count, dtype=np.int64) * rows // count
    spans = min(SPANS, round(axis.high - axis.low)) if axis.slots else SPANS
    uses = np.where(np.isnan(stays.uses), 1.0, stays.uses)
    used = amounts_by_span(band[stays.node], stays.start, stays.end, uses, rows, axis.low, axis.high, spans)
    most = np.where(np.isnan(capacity), 0.0, capacity)
    unknown = np.isnan(capacity)[stays.node]
    np.maximum.at(most, stays.node[unknown], uses[unknown])
    room = np.bincount(band, weights=most, minlength=rows) * (axis.high - axis.low) / spans
    shares: Floats = used / np.where(room > 0, room, 1.0)[:, None]
    first = np.searchsorted(band, np.arange(rows))
    last = np.searchsorted(band, np.arange(rows), side="right") - 1
    labels = [
        str(nodes[a]) if a == b else f"{nodes[a]} to {nodes[b]}"
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]
    note = f"a row has up to {count_text(-(-count // rows), 'node')}" if rows < count else ""
    return HeatMap(title="Utilisation of nodes", note=note, axis=axis, rows=labels, shares=shares)


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
