"""The input and result of a replay as arrays, without models, policies and units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.rules import PLACE_CODES
from gpusched_dsl.policies.workload import NONE

# Which of the nodes in use takes a job: none, the tightest, the first.
FITS_NOWHERE, BEST_FIT, FIRST_FIT = NONE, PLACE_CODES["best_fit"], PLACE_CODES["first_fit"]
# Why a job has not run to its end: it has; the queue of the policy excludes it; no node of its listed ways is large
# enough, even if empty; it waits for a job that never starts; no rule of the policy uses an empty node.
FINISHED, LEFT_OUT, NO_ROOM, BEHIND, UNOPENED = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class Rules:
    """The rules of `place`. Empty nodes are used where `opens`, before nodes in use where `opens_first`.

    `alone`: a job has an empty node of its way's kind for itself. `next_choice`: the rules are tried for every way of
    the list, else for the first one only. `waits`: nobody overtakes a job that finds no place.
    """

    fit: int
    opens: bool
    opens_first: bool = False
    alone: bool = False
    next_choice: bool = False
    waits: bool = False


@dataclass(frozen=True, eq=False)
class ArrivalTrace:
    """Jobs that arrive over time at given nodes: J jobs, W ways, N nodes, K kinds of node; times in one unit.

    The ways of job j are `first_way[j]` to `first_way[j + 1]`: on a node of `kind[w]` with `size[w]` GPUs, for
    `time[w]`. `ranked` lists in the same places those that the policy lists, the best one first, then NONE. `rank` is
    the place in the queue (NONE: not in it), no two jobs have the same.
    """

    submitted: Floats  # (J,)
    rank: Ints  # (J,)
    first_way: Ints  # (J + 1,)
    ranked: Ints  # (W,)
    kind: Ints  # (W,)
    size: Ints  # (W,) at least 1
    time: Floats  # (W,) positive
    node_kind: Ints  # (N,)
    units: Ints  # (K,) GPUs of a node
    family: Ints  # (K,)
    rules: Rules


@dataclass(frozen=True, eq=False)
class ReplayedJobs:
    """One entry a job: NaN and NONE where it never starts, and then why. `instants` were decided at."""

    start: Floats
    end: Floats
    node: Ints
    way: Ints
    reason: Ints
    instants: int


def groups_of(trace: ArrivalTrace) -> Ints:
    """A number for each job: jobs of one number find a place on the same clusters, for they list the same ways."""
    jobs = len(trace.submitted)
    counts = np.diff(trace.first_way)
    job = np.repeat(np.arange(jobs), counts)
    place = np.arange(len(trace.kind)) - trace.first_way[job]
    most = int(counts.max(initial=0))
    table = np.full((jobs, 3 * most), NONE)
    listed = np.where(trace.ranked == NONE, NONE, trace.ranked - trace.first_way[job])
    for column, values in enumerate((trace.kind, trace.size, listed)):
        table[job, column * most + place] = values
    if not jobs or not most:
        return np.zeros(jobs, dtype=np.int64)
    varying = table[:, (table != table[0]).any(axis=0)]
    return np.unique(varying, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def could_start(trace: ArrivalTrace) -> Bools:
    """Of each job: whether an empty cluster has room for a way that the rules look at."""
    jobs = len(trace.submitted)
    job = np.repeat(np.arange(jobs), np.diff(trace.first_way))
    there = np.zeros(len(trace.units), dtype=np.bool_)
    there[trace.node_kind] = True
    fits = there[trace.kind] & (trace.size <= trace.units[trace.kind])
    if not trace.rules.alone and len(job):  # a way lets in those of its size on all kinds of its family
        alike = np.stack((job, trace.family[trace.kind], trace.size), axis=1)
        which = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1)
        fits = (np.bincount(which, weights=fits) > 0)[which]
    listed = np.flatnonzero(trace.ranked != NONE)
    if not trace.rules.next_choice:
        listed = listed[listed == trace.first_way[job[listed]]]
    room = np.bincount(job[listed], weights=fits[trace.ranked[listed]], minlength=jobs) > 0
    return np.asarray(room)
