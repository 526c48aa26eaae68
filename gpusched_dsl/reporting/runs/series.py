"""Curves of a run: how many jobs wait, how many GPUs are used and how many there are, over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.history import RunHistory, cost_of_jobs
from gpusched_dsl.online.simulation.world import EXECUTION


@dataclass(frozen=True, eq=False)
class Steps:
    """A value that changes at times: `values[i]` is valid from `times[i]`; times increase, the last one is the end."""

    times: Floats
    values: Floats

    def thinned(self, most: int) -> Steps:
        """At most so many steps: the means over equal spans of time, where there are more."""
        if len(self.times) <= most or self.times[-1] <= self.times[0]:
            return self
        edges = np.linspace(self.times[0], self.times[-1], most)
        area = np.concatenate(([0.0], np.cumsum(self.values[:-1] * np.diff(self.times))))
        means = np.diff(np.interp(edges, self.times, area)) / np.diff(edges)
        return Steps(edges, np.append(means, means[-1]))

    @property
    def mean(self) -> float:
        """The mean over time."""
        span = np.diff(self.times)
        return float((self.values[:-1] * span).sum() / span.sum()) if span.sum() > 0 else 0.0


def waiting_over_time(reading: RunHistory) -> Steps:
    """Jobs that are there and do not run: the length of the queue."""
    world, parts = reading.outcome.world, reading.stretches
    came = world.arrival[reading.came]
    gone = world.end[reading.came]
    gone = gone[~np.isnan(gone)]
    times = (came, gone, parts.start, parts.end)
    signs = np.repeat([1.0, -1.0, -1.0, 1.0], [len(t) for t in times])
    return _steps(np.concatenate(times), signs, world.now)


def used_over_time(reading: RunHistory) -> Steps:
    """GPUs that jobs use."""
    parts = reading.stretches
    return _steps(
        np.concatenate((parts.start, parts.end)), np.concatenate((parts.uses, -parts.uses)), reading.outcome.world.now
    )


def room_over_time(reading: RunHistory) -> Steps | None:
    """GPUs of the nodes that are in use; None where nodes are counted, or of unknown size."""
    parts = reading.stretches
    if reading.counted or np.isnan(reading.gpus[parts.kind]).any():
        return None
    first, last = _merge(parts.place, parts.kind, parts.start, parts.end)
    gpus = reading.gpus[parts.kind[first]]
    times = np.concatenate((parts.start[first], last))
    return _steps(times, np.concatenate((gpus, -gpus)), reading.outcome.world.now)


def cost_over_time(reading: RunHistory) -> tuple[Floats, Floats]:
    """Money charged by jobs up to each time at which one starts or ends: points of a line.

    Execution evenly over the time that a job runs, all else when it ends (of unfinished jobs: at the end of the run).
    """
    world, parts = reading.outcome.world, reading.stretches
    execution = world.ledger.jobs.get(EXECUTION, np.zeros(len(world.status)))
    busy = np.bincount(parts.job, weights=parts.end - parts.start, minlength=len(world.status))
    rate = execution / np.where(busy > 0, busy, 1.0)
    changes = np.concatenate((rate[parts.job], -rate[parts.job]))
    slopes = _steps(np.concatenate((parts.start, parts.end)), changes, world.now)
    lump = cost_of_jobs(reading) - execution
    when = np.where(np.isnan(world.end), world.now, world.end)
    lumps = _steps(when[reading.came], lump[reading.came], world.now)
    times = np.unique(np.concatenate((slopes.times, lumps.times)))
    area = np.concatenate(([0.0], np.cumsum(slopes.values[:-1] * np.diff(slopes.times))))
    at = np.searchsorted(lumps.times, times, side="right") - 1
    return times, np.interp(times, slopes.times, area) + lumps.values[at]


def _merge(place: Ints, kind: Ints, start: Floats, end: Floats) -> tuple[Ints, Floats]:
    """When places are in use as one kind: a stretch that begins each such time, and its end."""
    order = np.lexsort((start, kind, place))
    group = place[order] * (int(kind.max(initial=0)) + 1) + kind[order]
    far = _running_maximum(end[order], group)
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (group[1:] != group[:-1]) | (start[order][1:] > far[:-1])
    begins = np.flatnonzero(new)
    stops = np.append(begins[1:], len(order))[: len(begins)] - 1
    return order[begins], far[stops]


def _running_maximum(values: Floats, group: Ints) -> Floats:
    """Return the largest value so far within each group; groups are contiguous."""
    if not len(values):
        return values
    number = np.cumsum(np.concatenate(([0], (group[1:] != group[:-1]).astype(np.int64))))
    known, rank = np.unique(values, return_inverse=True)  # ranks, for sums of whole numbers are exact
    before = number * len(known)
    found: Floats = known[np.maximum.accumulate(rank + before) - before]
    return found


def _steps(times: Floats, changes: Floats, end: float) -> Steps:
    """Changes summed up in order of time, those of one time at once, to the end of the run."""
    order = np.argsort(times, kind="stable")
    sums = np.cumsum(changes[order])
    known = times[order]
    last = np.append(known[1:] != known[:-1], True) if len(known) else np.zeros(0, dtype=np.bool_)
    at, values = known[last], sums[last]
    values = np.where(np.abs(values) < 1e-9, 0.0, values)
    if not len(at) or at[0] > 0:
        at, values = np.concatenate(([0.0], at)), np.concatenate(([0.0], values))
    if at[-1] < end:
        at, values = np.append(at, end), np.append(values, values[-1])
    return Steps(at, values)
