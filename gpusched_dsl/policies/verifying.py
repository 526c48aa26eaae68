"""Verifies a schedule by plain array operations that are independent of the kernels."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.policies.workload import NONE, Schedule, Workload

_SLACK = FEASIBILITY  # of a capacity: kernels add and take off needs one by one


class BrokenSchedule(AssertionError):
    """A kernel computed an invalid schedule: a defect of this package, never of a model or its data."""


def violations(work: Workload, plan: Schedule) -> list[str]:
    """Return the errors of a schedule as text: overfull nodes, ways of other jobs, inconsistent sums."""
    jobs, nodes = len(work.due), len(work.node_kind)
    placed = plan.node != NONE
    found = []

    def hold(condition: Bools | np.bool_, what: str) -> None:
        if not np.all(condition):
            found.append(f"{what}: {np.flatnonzero(~np.atleast_1d(condition))[:5].tolist()}")

    hold((plan.way != NONE) == placed, "jobs with a node but no way, or with a way but no node")
    hold((plan.node >= NONE) & (plan.node < nodes), "jobs on unknown nodes")
    hold((plan.way >= NONE) & (plan.way < len(work.job)), "jobs in unknown ways")
    if found:
        return found
    who = np.flatnonzero(placed)
    node, way = plan.node[who], plan.way[who]
    size = work.size[way]
    hold(work.job[way] == who, "jobs in ways of other jobs (position among the running jobs)")
    hold(plan.kind[node] == work.kind[way], "jobs in ways for other kinds (position among the running jobs)")
    given = work.node_kind != NONE
    hold(plan.kind[given] == work.node_kind[given], "nodes that changed their kind (position among the existing nodes)")
    hold(plan.jobs == np.bincount(node, minlength=nodes), "nodes with a wrong number of jobs")
    hold(
        (plan.jobs > 0) == (plan.opened != NONE),
        "used nodes without a position in the order of opening, or unused nodes with one",
    )
    opened = plan.opened[plan.opened != NONE]
    hold(np.bincount(opened, minlength=1) <= 1, "positions of opening that several nodes share")
    hold(given | ((plan.kind != NONE) == (plan.jobs > 0)), "rented nodes without jobs, or without a kind")
    if found:
        return found

    part = size < work.parts
    used = np.bincount(node[~part], weights=size[~part], minlength=nodes).astype(np.int64)
    hold(
        (plan.gpu[who] != NONE) == part,
        "jobs with a part of a GPU but no GPU, or with a GPU but no part (among the running jobs)",
    )
    hold(plan.gpu[~placed] == NONE, "postponed jobs with a GPU")
    width = plan.spare.shape[1]
    hold(plan.gpu < width, "jobs on unknown GPUs")
    if found:
        return found
    if width:
        cell = node[part] * width + plan.gpu[who][part]
        taken = np.bincount(cell, weights=size[part], minlength=nodes * width).astype(np.int64).reshape(nodes, width)
        hold((taken <= work.parts).all(axis=1), "nodes with a GPU assigned more than once")
        hold((plan.spare == np.where(taken > 0, work.parts - taken, NONE)).all(axis=1), "nodes with wrong free units")
        used += (taken > 0).sum(axis=1) * work.parts
    hold(plan.used == used, "nodes with wrong used units")
    kind = np.maximum(plan.kind, 0)
    hold(used <= np.where(plan.kind != NONE, work.units[kind], 0), "overfull nodes")
    # A stock bounds what is rented; nodes that are there are there.
    open_kinds = np.bincount(plan.kind[plan.kind != NONE], minlength=len(work.units))
    rented = np.bincount(plan.kind[~given & (plan.kind != NONE)], minlength=len(work.units))
    hold((rented == 0) | (open_kinds <= work.stock), "kinds with more nodes than their stock")

    for r in range(work.needs.shape[1]):
        taken = np.bincount(node, weights=work.needs[way, r], minlength=nodes)
        room = work.room[kind, r]
        hold(
            taken <= np.where(plan.kind != NONE, room + _SLACK * np.abs(room), 0.0),
            f"nodes without enough of capacity {r}",
        )
        open_ = plan.kind != NONE
        rest = room[open_] - taken[open_]
        hold(np.isinf(plan.left[~open_, r]), f"closed nodes with capacity {r}")
        hold(np.abs(plan.left[open_, r] - rest) <= _SLACK * (1 + np.abs(rest)), f"nodes with wrong free capacity {r}")
    assert len(plan.way) == jobs
    return found


def verify(work: Workload, plan: Schedule) -> None:
    """Raise `BrokenSchedule` unless a schedule is one."""
    found = violations(work, plan)
    if found:
        raise BrokenSchedule("a policy computed an invalid plan:  " + "; ".join(found))
