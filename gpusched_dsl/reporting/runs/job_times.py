"""Tardiness, running time and waiting time of the jobs of a run."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.online.history import RunHistory
from gpusched_dsl.online.simulation.world import DONE

LATE: Final = ROUNDING  # relative to the due date: a later end is late


def tardiness_of(history: RunHistory) -> Floats:
    """Return the tardiness of each job; NaN for unfinished jobs and jobs without a due date."""
    world = history.outcome.world
    has_due = (world.status == DONE) & np.isfinite(world.due)
    found = np.full(len(world.status), np.nan)
    late = world.end[has_due] - world.due[has_due]
    found[has_due] = np.where(late > LATE * np.maximum(1.0, np.abs(world.due[has_due])), late, 0.0)
    return found


def busy_times(history: RunHistory) -> tuple[Floats, Floats]:
    """Return the running time of each job, and its GPU time."""
    parts, count = history.stretches, len(history.outcome.world.status)
    time = parts.end - parts.start
    busy = np.bincount(parts.job, weights=np.where(parts.leads, time, 0.0), minlength=count).astype(np.float64)
    return busy, np.bincount(parts.job, weights=time * parts.uses, minlength=count).astype(np.float64)


def waiting_times(history: RunHistory) -> Floats:
    """Return the time that each job was present and did not run."""
    world = history.outcome.world
    until = np.where(np.isnan(world.end), world.now, world.end)
    times = np.zeros(len(world.status))
    times[history.came] = (until - world.arrival)[history.came]
    return np.maximum(times - busy_times(history)[0], 0.0)


def queueing_times(first_start: Floats, arrival: Floats) -> Floats:
    """Return the times from arrival to the first start, NaN before it; differences within rounding are 0."""
    times = first_start - arrival
    return np.where(np.abs(times) <= ROUNDING * np.maximum(1.0, np.abs(arrival)), 0.0, times)
