"""Schedules: jobs on nodes over time, with the share of the GPUs of a node that each job uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.reporting.figures.figure import Figure, TimeAxis, compact
from gpusched_dsl.reporting.figures.price_curves import PriceCurve

MOST_STAYS = 60_000  # bars of one page: larger runs have a heat map only


@dataclass(frozen=True, eq=False)
class Stays:
    """The stretches of jobs on nodes, by start: row of the node, job, start, end, GPUs (NaN: unknown), node type."""

    node: Ints
    job: Ints
    start: Floats
    end: Floats
    uses: Floats
    node_type: Ints  # -1: none
    late: Bools  # the job ends after its due date

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False)
class ScheduledJobs:
    """The names of jobs, and their times; NaN if unknown. Jobs of one `group`, such as a team, have one colour; without
    groups each has its own.
    """

    names: Sequence[str]
    arrival: Floats
    due: Floats
    end: Floats
    group: Ints | None = None
    groups: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def colour(self) -> Ints:
        """The number of the colour of each job."""
        return np.arange(len(self), dtype=np.int64) if self.group is None else self.group


@dataclass(frozen=True, eq=False, kw_only=True)
class ScheduleFigure(Figure):
    """Bars of jobs. `capacity` has the GPUs of each node (NaN: unknown), `nodes` the names of all nodes, also idle."""

    kind: ClassVar[str] = "schedule"

    axis: TimeAxis
    stays: Stays
    jobs: ScheduledJobs
    nodes: Sequence[str]
    capacity: Floats
    node_types: Sequence[str] = ()
    prices: Sequence[PriceCurve] = ()

    @cached_property
    def lanes(self) -> tuple[Floats, Floats]:
        """Return the top and height of each bar within the row of its node, as shares of the row."""
        return lanes_of(self.stays, self.capacity)

    @cached_property
    def idle(self) -> Bools:
        """Return which nodes no job uses."""
        idle = np.ones(len(self.nodes), dtype=np.bool_)
        idle[self.stays.node] = False
        return idle

    @property
    def idle_text(self) -> str:
        """`2 nodes are idle`, or nothing."""
        count = int(self.idle.sum())
        return f"{count_text(count, 'node')} {'is' if count == 1 else 'are'} idle" if count else ""

    def data(self) -> dict[str, Any]:
        top, height = self.lanes
        stays, jobs = self.stays, self.jobs
        return {
            "axis": self.axis.document(),
            "nodes": list(self.nodes),
            "capacity": compact(self.capacity),
            "types": list(self.node_types),
            "idle": self.idle_text,
            "jobs": {
                "names": list(jobs.names),
                "arrival": compact(jobs.arrival),
                "due": compact(jobs.due),
                "end": compact(jobs.end),
                "group": jobs.colour.tolist() if jobs.group is not None else None,
                "groups": list(jobs.groups),
            },
            "stays": {
                "node": stays.node.tolist(),
                "job": stays.job.tolist(),
                "start": compact(stays.start),
                "end": compact(stays.end),
                "uses": compact(stays.uses),
                "type": stays.node_type.tolist(),
                "late": stays.late.astype(np.int64).tolist(),
                "top": compact(np.round(top, 4)),
                "height": compact(np.round(height, 4)),
            },
            "prices": [price.document() for price in self.prices],
        }


def lanes_of(stays: Stays, capacity: Floats) -> tuple[Floats, Floats]:
    """Return top and height of each bar as shares of its row, so that bars of one node do not overlap.

    A bar is as high as its share of the GPUs of the node, and takes the first free place. Jobs with unknown GPUs count
    as one. Rows with more than their capacity are scaled to what they have.
    """
    tall = np.where(np.isnan(stays.uses) | (stays.uses <= 0), 1.0, stays.uses)
    top = np.zeros(len(stays))
    present: list[list[tuple[float, float, float]]] = [[] for _ in capacity]  # top, height, end; by top
    for at, (node, start, end, height) in enumerate(
        zip(stays.node.tolist(), stays.start.tolist(), stays.end.tolist(), tall.tolist(), strict=True)
    ):
        soon = start + 1e-9 * max(1.0, abs(start))
        here = [bar for bar in present[node] if bar[2] > soon]
        place, where = 0.0, len(here)
        for number, (other, other_height, _) in enumerate(here):
            if other - place >= height - 1e-9:
                where = number
                break
            place = max(place, other + other_height)
        here.insert(where, (place, height, end))
        present[node] = here
        top[at] = place
    full = np.where(np.isnan(capacity) | (capacity <= 0), 0.0, capacity)
    np.maximum.at(full, stays.node, top + tall)
    scale = np.where(full > 0, full, 1.0)[stays.node]
    return top / scale, tall / scale
