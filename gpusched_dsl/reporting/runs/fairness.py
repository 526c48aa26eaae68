"""Slowdown and fairness of the jobs of a run: bounded slowdown, finish-time fairness, Jain's index."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.units import UNITS, convertible, number_factor
from gpusched_dsl.online.history import RunHistory
from gpusched_dsl.online.simulation.world import DONE
from gpusched_dsl.reporting.runs.job_times import busy_times

TAU: Final = 10.0  # s: shorter run times count as this long in the bounded slowdown


def slowdowns(history: RunHistory) -> Floats:
    """Return (end - arrival) / run time of each job; NaN for unfinished jobs and jobs that never ran."""
    world = history.outcome.world
    busy = np.where(world.status == DONE, busy_times(history)[0], 0.0)
    return _ratio(world.end - world.arrival, busy)


def bounded_slowdowns(history: RunHistory, tau: float = TAU) -> Floats:
    """Return max(1, (end - arrival) / max(run time, tau)) of each job; `tau` in seconds.

    NaN for unfinished jobs, and for all jobs if the clock has no unit of time.
    """
    world = history.outcome.world
    if not convertible(history.clock, UNITS["s"]):
        return np.full(len(world.status), np.nan)
    least = tau * number_factor(UNITS["s"], history.clock)
    busy = np.where(world.status == DONE, np.maximum(busy_times(history)[0], least), 0.0)
    return np.maximum(_ratio(world.end - world.arrival, busy), 1.0)


def finish_time_fairness(history: RunHistory) -> Floats:
    """Return rho of each job (Themis): its completion time divided by that on its own share of the cluster.

    The share is 1 / N of all GPUs, where N is the mean number of jobs that are present from the arrival to the end of
    the job. There it needs max(run time, GPU time * N / GPUs). NaN for unfinished jobs, and for all jobs if the number
    of GPUs is unknown. A value above 1 is a job for which an equal partition of the cluster would be better.
    """
    world = history.outcome.world
    gpus = float((history.nodes * history.gpus).sum())
    busy, gpu_time = busy_times(history)
    if not np.isfinite(gpus) or gpus <= 0:
        return np.full(len(world.status), np.nan)
    alone = np.maximum(busy, gpu_time * _mean_present(history) / gpus)
    return _ratio(world.end - world.arrival, np.where(world.status == DONE, alone, 0.0))


def jain(values: Floats) -> float | None:
    """Return Jain's index (sum x)^2 / (n sum x^2): 1 if all are equal, 1 / n if one has all; None without values."""
    known = values[np.isfinite(values)]
    squares = float((known**2).sum())
    return float(known.sum()) ** 2 / (len(known) * squares) if squares > 0 else None


def _mean_present(history: RunHistory) -> Floats:
    """Return the mean number of jobs that were present while each job was; NaN for jobs that did not arrive."""
    world, came = history.outcome.world, history.came
    found = np.full(len(world.status), np.nan)
    start = world.arrival[came]
    end = np.where(np.isnan(world.end[came]), world.now, world.end[came])
    times, at = np.unique(np.concatenate((start, end)), return_inverse=True)
    change = np.bincount(at[: len(came)], minlength=len(times)) - np.bincount(at[len(came) :], minlength=len(times))
    present = np.cumsum(change)[:-1] if len(times) else change
    total = np.concatenate(([0.0], np.cumsum(present * np.diff(times))))  # job time up to each moment
    inside = total[at[len(came) :]] - total[at[: len(came)]] if len(came) else total[:0]
    found[came] = _ratio(inside, end - start)
    return found


def _ratio(values: Floats, by: Floats) -> Floats:
    found = np.full(len(values), np.nan)
    np.divide(values, by, out=found, where=by > 0)
    return found
