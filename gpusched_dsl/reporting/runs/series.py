"""Curves of a run over time: waiting jobs, used GPUs, GPUs of used nodes, cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.checked_online import EXECUTION
from gpusched_dsl.online.history import RunHistory, costs_of


@dataclass(frozen=True, eq=False)
class Steps:
    """A value that changes at times: `values[i]` is valid from `times[i]`; times increase, the last one is the end."""

    times: Floats
    values: Floats

    def thin_out(self, most: int) -> Steps:
        """Return at most `most` steps; more steps are replaced by means over equal spans of time."""
        if len(self.times) <= most or self.times[-1] <= self.times[0]:
            return self
        edges = np.linspace(self.times[0], self.times[-1], most)
        area = np.concatenate(([0.0], np.cumsum(self.values[:-1] * np.diff(self.times))))
        means = np.diff(np.interp(edges, self.times, area)) / np.diff(edges)
        return Steps(edges, np.append(means, means[-1]))

    @property
    def mean(self) -> float:
        """Return the mean over time."""
        span = np.diff(self.times)
        return float((self.values[:-1] * span).sum() / span.sum()) if span.sum() > 0 else 0.0


def queue_length(history: RunHistory) -> Steps:
    """Return the number of jobs that are present and do not run."""
    world, parts = history.outcome.world, history.stretches
    came = world.arrival[history.came]
    gone = world.end[history.came]
    gone = gone[~np.isnan(gone)]
    times = (came, gone, parts.start[parts.leads], parts.end[parts.leads])
    signs = np.repeat([1.0, -1.0, -1.0, 1.0], [len(t) for t in times])
    return _steps(np.concatenate(times), signs, world.now)


def gpus_in_use(history: RunHistory) -> Steps:
    """Return the number of GPUs that jobs use."""
    parts = history.stretches
    return _steps(
        np.concatenate((parts.start, parts.end)), np.concatenate((parts.uses, -parts.uses)), history.outcome.world.now
    )


def gpus_of_used_nodes(history: RunHistory) -> Steps | None:
    """Return the number of GPUs of the nodes in use; None if nodes have no names or unknown sizes."""
    parts = history.stretches
    if history.counts_nodes or np.isnan(history.gpus[parts.kind]).any():
        return None
    first, last = _merge(parts.place, parts.kind, parts.start, parts.end)
    gpus = history.gpus[parts.kind[first]]
    times = np.concatenate((parts.start[first], last))
    return _steps(times, np.concatenate((gpus, -gpus)), history.outcome.world.now)


def costs_over_time(history: RunHistory) -> tuple[Floats, dict[str, Floats]]:
    """Return the money charged by term up to each start or end of a job: points of lines.

    Execution is charged evenly while a job runs, other terms at its end (for unfinished jobs: at the end of the run).
    """
    world, parts = history.outcome.world, history.stretches
    none = np.zeros(len(world.status))
    execution = world.ledger.jobs.get(EXECUTION, none)
    job, start, end = parts.job[parts.leads], parts.start[parts.leads], parts.end[parts.leads]
    busy = np.bincount(job, weights=end - start, minlength=len(world.status))
    rate = execution / np.where(busy > 0, busy, 1.0)
    slopes = _steps(np.concatenate((start, end)), np.concatenate((rate[job], -rate[job])), world.now)
    when = np.where(np.isnan(world.end), world.now, world.end)[history.came]
    others = [term for term in costs_of(history) if term != EXECUTION]
    lumps = [_steps(when, world.ledger.jobs.get(term, none)[history.came], world.now) for term in others]
    times = np.unique(np.concatenate((slopes.times, *(each.times for each in lumps))))
    area = np.concatenate(([0.0], np.cumsum(slopes.values[:-1] * np.diff(slopes.times))))
    found: dict[str, Floats] = {EXECUTION: np.interp(times, slopes.times, area)}
    for term, each in zip(others, lumps, strict=True):
        found[term] = each.values[np.searchsorted(each.times, times, side="right") - 1]
    return times, found


def _merge(place: Ints, kind: Ints, start: Floats, end: Floats) -> tuple[Ints, Floats]:
    """Merge stretches of the same node and type: return the first stretch of each merged interval, and its end."""
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
    distinct, rank = np.unique(values, return_inverse=True)  # ranks, since sums of integers are exact
    before = number * len(distinct)
    found: Floats = distinct[np.maximum.accumulate(rank + before) - before]
    return found


def _steps(times: Floats, changes: Floats, end: float) -> Steps:
    """Sum changes in order of time, equal times together, to the end of the run."""
    order = np.argsort(times, kind="stable")
    sums = np.cumsum(changes[order])
    ordered_times = times[order]
    last = (
        np.append(ordered_times[1:] != ordered_times[:-1], True) if len(ordered_times) else np.zeros(0, dtype=np.bool_)
    )
    at, values = ordered_times[last], sums[last]
    values = np.where(np.abs(values) < 1e-9, 0.0, values)
    if not len(at) or at[0] > 0:
        at, values = np.concatenate(([0.0], at)), np.concatenate(([0.0], values))
    if at[-1] < end:
        at, values = np.append(at, end), np.append(values, values[-1])
    return Steps(at, values)
