"""Snapshots as data of `models/defragmentation/by_size.gsm`, and plans of this model as nodes of jobs."""

from __future__ import annotations

import numpy as np

import gpusched_dsl as gs
from benchmarks.defragmentation.rules import Change
from benchmarks.defragmentation.snapshots import AWAY, GPUS, Snapshot
from gsdsl_clusters.drivers.move_order import JobMove, order_moves


def load(snapshot: Snapshot) -> gs.Model:
    """The model with the data of a snapshot. A gang is worth more than all jobs can lose."""
    jobs, nodes = [f"j{at}" for at in range(len(snapshot.node))], [f"n{at}" for at in range(snapshot.nodes)]
    model = gs.load("gsdsl:defragmentation/by_size.gsm")
    values = {
        "Racks": ["r"], "Types": ["t"], "Tenants": ["t"], "Nodes": nodes, "Jobs": jobs,
        "rack": ["r"] * len(nodes), "type": ["t"] * len(nodes), "gpus": GPUS,
        "node": [nodes[at] for at in snapshot.node], "size": snapshot.size, "tenant": ["t"] * len(jobs),
        "priority": snapshot.priority, "unsaved": snapshot.unsaved, "restart": snapshot.restart, "away": AWAY,
        "Gangs": [f"g{at}" for at in range(len(snapshot.gangs))], "workers": snapshot.gangs, "worker_size": GPUS,
        "gang_priority": snapshot.gang_priority, "value": 1000.0 * snapshot.gangs,
    }  # fmt: skip
    for name, value in values.items():
        model.set(name, value)
    return model


def change_of(snapshot: Snapshot, result: gs.Result) -> Change:
    """Assign the jobs that move to the places of their size."""
    node = snapshot.node.copy()
    for job in _rows(result, "halts"):
        node[int(job[0][1:])] = -1
    places: dict[int, list[int]] = {}
    for entered, size, count in result["enters"].iter_rows():
        places.setdefault(int(size), []).extend([int(entered[1:])] * round(count))
    for job in _rows(result, "moves"):
        at = int(job[0][1:])
        node[at] = places[int(snapshot.size[at])].pop()
    return Change(node, [int(gang[0][1:]) for gang in _rows(result, "starts")])


def check(snapshot: Snapshot, change: Change) -> None:
    """Raise ValueError if a change lacks GPUs during or after it, or halts a job for no gang of higher priority."""
    runs, size = change.node >= 0, snapshot.size
    used = np.bincount(change.node[runs], weights=size[runs], minlength=snapshot.nodes)
    whole = int((used == 0).sum())
    if used.max() > GPUS or whole < snapshot.gangs[change.started].sum():
        raise ValueError("the jobs do not fit")
    halted = ~runs
    highest = max((int(snapshot.gang_priority[gang]) for gang in change.started), default=-1)
    if (snapshot.priority[halted] >= highest).any():
        raise ValueError("a job was halted for no gang of higher priority")
    free = GPUS - np.bincount(snapshot.node[runs], weights=size[runs], minlength=snapshot.nodes).astype(np.int64)
    moves = [
        JobMove(str(job), {str(snapshot.node[job]): int(size[job])}, {str(change.node[job]): int(size[job])})
        for job in np.flatnonzero(runs & (change.node != snapshot.node)).tolist()
    ]
    order = order_moves({str(node): int(count) for node, count in enumerate(free)}, moves)
    if order.halted or order.blocked or len(order.rounds) > 1:
        raise ValueError(f"the moves need {len(order.rounds)} rounds, {len(order.halted)} halts")


def _rows(result: gs.Result, name: str) -> list[tuple[str, float]]:
    return [(str(key), float(value)) for key, value in result[name].iter_rows() if value > 0.5]
