"""Replays a trace: interpreted where that is sooner done than reading machine code, else compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.replay.kernel import run_events
from gpusched_dsl.online.replay.trace import (
    BEHIND,
    FINISHED,
    LEFT_OUT,
    NO_ROOM,
    UNOPENED,
    ArrivalTrace,
    ReplayedJobs,
    could_start,
    groups_of,
)
from gpusched_dsl.policies.workload import NONE

# Jobs times looks at nodes from which on the compiler is the shorter way: its package takes 1 s and 110 MB even so.
COMPILED_FROM: Final = 5_000_000
_OVERHEAD: Final = 16  # what a job costs beside its looks at nodes, in such looks
_SHORT: Final = 4096  # entries of an array that Python is given as a list


def replay(trace: ArrivalTrace, compiled: bool | None = None) -> ReplayedJobs:
    """Who starts when and where, as the loop over events would have it that calls the policy at each of them.

    `compiled`: whether machine code is to be used, by default where the run is long. Raises ValueError for a trace
    that cannot be: sizes below one, times that are not positive, submissions that are no numbers.
    """
    _refuse_nonsense(trace)
    jobs = len(trace.submitted)
    queued = np.flatnonzero(trace.rank != NONE)
    by_rank = np.zeros(int(trace.rank.max(initial=NONE)) + 1, dtype=np.int64)
    by_rank[trace.rank[queued]] = queued
    arrivals = queued[np.lexsort((trace.rank[queued], trace.submitted[queued]))]
    group = np.zeros(jobs, dtype=np.int64) if trace.rules.waits else groups_of(trace)
    kinds = len(trace.units)
    nodes = np.argsort(trace.node_kind, kind="stable")
    nodes_at = np.searchsorted(trace.node_kind[nodes], np.arange(kinds + 1))
    start, end = np.full(jobs, np.nan), np.full(jobs, np.nan)
    node, way = np.full(jobs, NONE), np.full(jobs, NONE)
    free = trace.units[trace.node_kind]
    rules = trace.rules
    given = (
        trace.submitted, arrivals, trace.rank, by_rank, group, int(group.max(initial=0)) + 1,
        trace.first_way, trace.ranked, trace.kind, trace.size, trace.time, nodes_at, nodes, trace.units, trace.family,
        rules.fit, rules.opens, rules.opens_first, rules.alone, rules.next_choice, rules.waits,
    )  # fmt: skip
    found = (start, end, node, way)
    if compiled is None:
        compiled = jobs * (len(trace.node_kind) + _OVERHEAD) >= COMPILED_FROM
    if compiled:
        instants = int(_machine_code()(*given, *found, free))
    else:
        arguments: list[Any] = [_readable(a) if isinstance(a, np.ndarray) else a for a in given]
        arguments += [*(a.data for a in found), _readable(free)]
        instants = run_events(*arguments)
    return ReplayedJobs(start, end, node, way, _reasons(trace, start), instants)


def _readable(given: Ints | Floats) -> Any:
    """Return arrays for Python code: lists if they are short, otherwise views, which use no additional memory."""
    return given.tolist() if len(given) <= _SHORT else given.data


def _refuse_nonsense(trace: ArrivalTrace) -> None:
    if len(trace.size) and (trace.size.min() < 1 or not (trace.time > 0).all()):
        raise ValueError("a way to run uses no GPU or no time")
    if not np.isfinite(trace.submitted).all():
        raise ValueError("a job has no submission time")


def _reasons(trace: ArrivalTrace, start: Floats) -> Ints:
    reason = np.where(np.isnan(start), BEHIND, FINISHED)
    reason[np.isnan(start) & ~could_start(trace)] = NO_ROOM
    if not trace.rules.opens:
        reason[np.isnan(start)] = UNOPENED
    reason[trace.rank == NONE] = LEFT_OUT
    return reason


@functools.cache
def _machine_code() -> Callable[..., Any]:
    """Return the compiled kernel; the function itself without a compiler. Imported late to save memory."""
    from gpusched_dsl.policies.kernels.compiled import compiled_at_once

    return compiled_at_once(run_events)
