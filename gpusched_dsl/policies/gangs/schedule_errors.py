"""What is wrong with a schedule of gangs."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.policies.gangs.workload import GangSchedule, GangWorkload


def errors_of(work: GangWorkload, plan: GangSchedule) -> list[str]:
    """Return the errors of a schedule of gangs."""
    rows = slice(0, int(plan.rows[0]))
    job, node, way, workers = plan.job[rows], plan.node[rows], plan.way[rows], plan.workers[rows]
    nodes, jobs = len(work.node_kind), len(plan.runs)
    placed = np.bincount(job, weights=workers, minlength=jobs)
    kind = work.node_kind[node]
    room = work.room[work.node_kind]
    used = np.bincount(node, weights=workers * work.size[way], minlength=nodes)
    errors = {
        "workers of other jobs": work.job[way] != job,
        "workers in ways for other kinds of nodes": work.kind[way] != kind,
        "rows of a job on one node": np.unique(job * nodes + node, return_counts=True)[1] > 1,
        "gangs in several modes": work.mode[way] != work.mode[_first(job, way, jobs)],
        "parts of gangs": placed[job] != work.workers[way],
        "gangs that run without workers": (placed > 0) != plan.runs,
        "more workers on a node than its variable allows": (workers < 1) | (workers > work.most[way]),
        "overfull nodes": used > work.units[work.node_kind],
    }
    for r in range(work.needs.shape[1]):
        taken = np.bincount(node, weights=workers * work.needs[way, r], minlength=nodes)
        errors[f"nodes without enough of capacity {r}"] = taken > room[:, r] + FEASIBILITY * np.abs(room[:, r])
    return [what for what, wrong in errors.items() if wrong.any()]


def _first(job: Ints, way: Ints, jobs: int) -> Ints:
    """A way of the job of each row."""
    found = np.zeros(jobs, dtype=np.int64)
    found[job] = way
    return found[job]
