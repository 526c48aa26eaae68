"""Equal nodes trade their contents so that jobs stay where they were: fewer migrations, and nothing else changes.

Nodes of one kind are interchangeable in a plan, and so are all nodes whose kind is chosen when they are opened. Which
content goes to which node is an assignment problem: as many jobs as can keep their node together with their way to run.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.workload import NONE, Schedule, Workload


def stay(work: Workload, plan: Schedule, earlier: Schedule) -> int:
    """Relabel the nodes of `plan`, in place; the number of jobs that keep the node and the way they had in `earlier`.

    Of equally good labellings one with the fewest changes is taken, the same one every time.
    """
    same = np.flatnonzero((plan.node != NONE) & (earlier.node != NONE) & (plan.way == earlier.way))
    label = np.arange(len(plan.kind))
    classes = work.node_kind
    for k in np.unique(classes[plan.node[same]]).tolist():
        members = np.flatnonzero(classes == k)
        jobs = same[(classes[plan.node[same]] == k) & (classes[earlier.node[same]] == k)]
        if len(jobs):
            label[members] = members[_best(members, plan.node[jobs], earlier.node[jobs])]
    _relabel(plan, label)
    return int(np.count_nonzero(plan.node[same] == earlier.node[same]))


def _best(members: Ints, now: Ints, before: Ints) -> Ints:
    """For each member the place among the members of the node that its content goes to."""
    from scipy.optimize import linear_sum_assignment

    count = len(members)
    kept: Floats = np.zeros((count, count))
    np.add.at(kept, (np.searchsorted(members, now), np.searchsorted(members, before)), 1.0)
    # One job that stays is worth more than all labels that could be left alone.
    _, place = linear_sum_assignment((count + 1) * kept + np.eye(count), maximize=True)
    return np.asarray(place, dtype=np.int64)


def _relabel(plan: Schedule, label: Ints) -> None:
    """Move the content of every node n to node `label[n]`."""
    for values in (plan.kind, plan.used, plan.jobs, plan.opened, plan.left, plan.spare):
        values[label] = values.copy()
    runs = plan.node != NONE
    plan.node[runs] = label[plan.node[runs]]
