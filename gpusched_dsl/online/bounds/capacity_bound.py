"""Bounds of a run with the capacity of its cluster: of its total, and of the mean completion time of its jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.bounds.run_bound import Configurations, NoBoundError, job_by_job_bound, refuse_unfinished
from gpusched_dsl.online.bounds.single_job import RunBound
from gpusched_dsl.online.bounds.time_indexed import time_indexed_bound
from gpusched_dsl.online.bounds.timed_jobs import TimedJobs
from gpusched_dsl.online.history import RunHistory
from gpusched_dsl.online.simulation.world import DONE
from gpusched_dsl.policies.decide import Stop
from gpusched_dsl.policies.search import never

HOW = "Lagrangian relaxation over time, with the capacity of the cluster"
TOO_LARGE = "the relaxation over time has too many columns"


@dataclass(frozen=True, slots=True)
class CapacityBounds:
    """Bounds of `total` and of `jct_mean`, each with its reason if there is none."""

    total: RunBound
    completion: RunBound


def capacity_bounds(history: RunHistory, is_stopped: Stop = never) -> CapacityBounds:
    """The bounds of a run by events. That of `total` is the larger one of this and of `job_by_job_bound`.

    `is_stopped` ends the search for better bounds.
    """
    alone = job_by_job_bound(history)
    try:
        refuse_unfinished(history)
        jobs, count = timed_jobs(history)
    except NoBoundError as why:
        return CapacityBounds(alone, RunBound(None, str(why)))
    except DiagnosticError as error:
        reason = f"the ways to run cannot be listed: {error.diagnostics[0].message}"
        return CapacityBounds(alone, RunBound(None, reason))
    return CapacityBounds(_of_total(jobs, alone, is_stopped), _of_completions(jobs, count, is_stopped))


def timed_jobs(history: RunHistory) -> tuple[TimedJobs, int]:
    """The finished jobs with their real times, and their number. Raises NoBoundError if times may change."""
    world = history.outcome.world
    configurations = Configurations(history)
    time, rate = configurations.times_and_rates()
    work = configurations.start.cluster.work
    if configurations.start.cluster.type_at is None:
        uses, pool = work.size / work.parts, work.kind
        nodes = np.bincount(work.node_kind[work.node_kind >= 0], minlength=len(work.units))
        capacity, node = nodes * work.units / work.parts, work.units / work.parts
    else:  # any node may have any type: shares of nodes
        uses, pool = work.size / work.units[work.kind], np.zeros(len(work.kind), dtype=np.int64)
        capacity, node = np.array([float(len(work.node_kind))]), np.ones(1)
    done = np.flatnonzero(world.status == DONE)
    rows, first = _rows_of(configurations.job, done)
    found = TimedJobs(
        first, time[rows], (rate * time)[rows], uses[rows], pool[rows], capacity.astype(np.float64), node,
        world.arrival[done], world.due[done], world.weight[done], work.kind[rows],
    )  # fmt: skip
    return found, len(done)


def _rows_of(job: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """The rows of chosen jobs in a sorted column, and where those of each begin."""
    first, last = np.searchsorted(job, chosen), np.searchsorted(job, chosen, side="right")
    counts = last - first
    begins = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    rows = np.arange(begins[-1]) + np.repeat(first - begins[:-1], counts)
    if (counts == 0).any():
        raise NoBoundError("a job ran in a way that is not in the scenario")
    return rows, begins


def _of_total(jobs: TimedJobs, alone: RunBound, is_stopped: Stop) -> RunBound:
    if alone.value is None:
        return alone
    found = time_indexed_bound(jobs, is_stopped)
    if found is None or found <= alone.value:
        return alone
    return RunBound(found, HOW, slack=alone.slack)


def _of_completions(jobs: TimedJobs, count: int, is_stopped: Stop) -> RunBound:
    nothing: Floats = np.zeros(len(jobs.time))
    each = np.full(count, 1.0 / max(count, 1))
    timed = replace(jobs, cost=nothing, due=jobs.came, weight=each)
    found = time_indexed_bound(timed, is_stopped)
    return RunBound(None, TOO_LARGE) if found is None else RunBound(max(0.0, found), HOW)
