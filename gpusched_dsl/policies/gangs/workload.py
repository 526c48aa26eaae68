"""The decisions about gangs as arrays: workers of jobs on nodes in racks; and their schedules."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.rows.guard import Running


class GangWorkload(NamedTuple):
    """One decision. J jobs, W ways, N nodes, K kinds of node, R further capacities.

    A *way* is one worker of a job on one kind of node, in one mode. A gang is `workers` of them in the same `mode`, on
    any nodes that have a way of it. A job has the ways `first_way[j]` to `first_way[j + 1]`.
    """

    # --- nodes and kinds
    node_kind: Ints  # (N,)
    rack: Ints  # (N,) from 0; all 0 if the placement states no racks
    units: Ints  # (K,) GPUs of a node
    room: Floats  # (K, R) further capacities
    # --- jobs
    first_way: Ints  # (J + 1,)
    ranked: Ints  # (W,) the ways of each job, best first; NONE behind those that are listed
    # --- ways
    job: Ints  # (W,)
    kind: Ints  # (W,)
    mode: Ints  # (W,)
    level: Ints  # (W,) ways of a job with one mode and level are equally good
    size: Ints  # (W,) GPUs of one worker
    needs: Floats  # (W, R) further capacities of one worker
    workers: Ints  # (W,) of the gang
    most: Ints  # (W,) most workers of the job on one node
    time: Floats  # (W,) from now to the end of a job on one node
    across_nodes: Floats  # (W,) factor of the time on several nodes of one rack
    across_racks: Floats  # (W,) factor of the time on several racks

    def most_of_jobs(self) -> Ints:
        """Return the most workers of each job, in any of its ways."""
        found = np.zeros(len(self.first_way) - 1, dtype=np.int64)
        np.maximum.at(found, self.job, self.workers)
        return found


class GangSchedule(NamedTuple):
    """The gangs that run: `rows[0]` rows of job, node, way and workers; `runs` of each job. Kernels append rows."""

    runs: Bools  # (J,)
    job: Ints
    node: Ints
    way: Ints
    workers: Ints
    rows: Ints  # (1,)

    def running(self) -> Running:
        """Return the jobs that run, with a row for each of their nodes."""
        rows = slice(0, int(self.rows[0]))
        return Running(self.job[rows], self.node[rows], self.way[rows], self.workers[rows].astype(np.float64))
