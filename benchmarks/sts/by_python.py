"""Python with NumPy: job by job and type by type as the pseudo-code reads, cells upgraded by price in one sort.

The instance is in memory; queue, ranks and placement follow the same rules as the policy of the library.
"""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.child import Lap

EPOCHS, WHOLE, STEPS = 100.0, 20, 3
Rung = tuple[float, float, int, int]  # speed, rate, GPUs, twentieths


@dataclass
class Job:
    name: str
    memory: float
    due: float
    weight: float
    times: dict[tuple[str, int], float] = field(default_factory=dict)
    epochs: list[float] = field(default_factory=list)


@dataclass
class Node:
    kind: str
    free: int
    shared: list[int] = field(default_factory=list)
    jobs: int = 0


@dataclass
class Cluster:
    memory: dict[str, float]
    gpus: dict[str, int]
    rates: dict[tuple[str, int], float]
    shares: dict[tuple[str, int], float]
    nodes: list[str]
    jobs: list[Job]


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def read(folder: Path) -> Cluster:
    jobs = {
        r["job"]: Job(r["job"], float(r["memory_gb"]), float(r["deadline_h"]), float(r["weight_usd_per_s"]) * 3600)
        for r in rows(folder / "instance_jobs.csv")
    }
    for r in rows(folder / "instance_times.csv"):
        jobs[r["job"]].times[r["gpu"], int(r["gpus"])] = float(r["hours"])
    for r in rows(folder / "instance_epochs.csv"):
        jobs[r["job"]].epochs.append(float(r["epochs"]))
    return Cluster(
        {r["gpu"]: float(r["memory_gb"]) for r in rows(folder / "gpus.csv")},
        {r["gpu"]: int(r["gpus"]) for r in rows(folder / "gpus.csv")},
        {(r["gpu"], int(r["gpus"])): float(r["usd_per_h"]) for r in rows(folder / "rates.csv")},
        {(r["gpu"], int(r["twentieths"])): float(r["slowdown"]) for r in rows(folder / "instance_shares.csv")},
        [r["node_type"] for r in rows(folder / "nodes.csv")],
        list(jobs.values()),
    )


def rungs(cluster: Cluster, job: Job, kind: str) -> list[Rung]:
    found: list[Rung] = []
    if job.memory <= cluster.memory[kind]:
        for g in range(1, cluster.gpus[kind] + 1):
            found.append((EPOCHS / job.times[kind, g], cluster.rates[kind, g], g, WHOLE))
    for (k, u), slowdown in cluster.shares.items():
        if k == kind and 20 * job.memory <= u * cluster.memory[kind]:
            found.append((EPOCHS / (slowdown * job.times[kind, 1]), u / 20 * cluster.rates[kind, 1], 1, u))
    return found


def hull(given: list[Rung]) -> list[Rung]:
    """From the rung that costs least for an epoch, always to the faster one at the lowest price of time."""
    here = min(given, key=lambda r: (r[1] / r[0], -r[0]))
    path = [here]
    while faster := [r for r in given if r[0] > here[0]]:
        cost, pace = here[1] / here[0], 1 / here[0]
        here = min(faster, key=lambda r: ((r[1] / r[0] - cost) / (pace - 1 / r[0]), -r[0]))
        path.append(here)
    return path


def profile(ladder: list[Rung], epochs: list[float], left: float) -> tuple[int, float, float, int]:
    """Whether the due date may be missed, expected cost, lateness, and the first used rung."""
    values, counts = np.unique(np.append(epochs, EPOCHS), return_counts=True)
    counts[-1] -= 1
    level = counts[::-1].cumsum()[::-1] / len(epochs)
    length = np.diff(values, prepend=0.0)
    speed, rate = np.array([r[0] for r in ladder]), np.array([r[1] for r in ladder])
    cost, pace = rate / speed, 1 / speed
    if EPOCHS * pace[-1] > left:
        return 1, float((level * length).sum() * cost[-1]), float(EPOCHS * pace[-1] - left), len(ladder) - 1
    energy, missing = float((level * length).sum() * cost[0]), EPOCHS * pace[0] - left
    if missing <= 0:
        return 0, energy, 0.0, 0
    gain = pace[:-1] - pace[1:]
    price = np.outer(level, np.diff(cost) / gain)
    saving = np.outer(length, gain)
    order = np.lexsort((-np.repeat(np.arange(len(level)), len(gain)), price.ravel()))
    saved = np.minimum(np.maximum(missing - (np.cumsum(saving.ravel()[order]) - saving.ravel()[order]), 0.0),
                       saving.ravel()[order])  # fmt: skip
    energy += float((saved * price.ravel()[order]).sum())
    upgraded = np.empty(price.size)
    upgraded[order] = saved
    slow = length[:, None] * (1 - upgraded.reshape(price.shape) / saving)
    used = np.flatnonzero(slow.sum(axis=0) > 1e-6 * EPOCHS)
    return 0, energy, 0.0, int(used[0]) if len(used) else len(ladder) - 1


def choices(cluster: Cluster, job: Job, kinds: list[str]) -> tuple[list[tuple[str, int, int]], float]:
    """The first rungs of the best profiles, the best kind first; then every way, the cheapest in time first."""
    first, rest, best = [], [], math.inf
    for kind in kinds:
        ways = rungs(cluster, job, kind)
        if not ways:
            continue
        ladder = hull(ways)
        missed, cost, late, at = profile(ladder, job.epochs, job.due)
        best = min(best, math.inf if missed else cost)
        first.append((missed, cost + job.weight * late, ladder[at][2], kind, *ladder[at][2:]))
        for speed, rate, g, u in ways:
            time = EPOCHS / speed
            in_time = time <= job.due
            rest.append((not in_time, rate * time if in_time else 0.0, time, rate, kind, g, u))
    ranked = [f[3:] for f in sorted(first, key=lambda f: f[:3])] + [r[4:] for r in sorted(rest, key=lambda r: r[:4])]
    return ranked, best


def place(nodes: list[Node], kind: str, gpus: int, part: int) -> int:
    """Best fit: shared GPUs first for a part, nodes in use before empty ones. The node, or -1."""
    if part < WHOLE:
        found = [(n.shared[i] - part, at, i) for at, n in enumerate(nodes) if n.kind == kind
                 for i in range(len(n.shared)) if n.shared[i] >= part]  # fmt: skip
        if found:
            _, at, i = min(found)
            nodes[at].shared[i] -= part
            nodes[at].jobs += 1
            return at
    fits = [(n.jobs == 0, n.free - gpus, at) for at, n in enumerate(nodes) if n.kind == kind and n.free >= gpus]
    if not fits:
        return -1
    at = min(fits)[2]
    node = nodes[at]
    node.free -= gpus
    node.jobs += 1
    if part < WHOLE:
        node.shared.append(WHOLE - part)
    return at


def step(cluster: Cluster) -> tuple[dict[str, tuple[int, int, int]], float]:
    """Node, GPUs and twentieths of the jobs that run, and the expected costs of all best profiles."""
    kinds = list(dict.fromkeys(cluster.nodes))
    pressure = {j.name: min(EPOCHS / r[0] for k in kinds for r in rungs(cluster, j, k)) - j.due for j in cluster.jobs}
    queue = sorted(
        cluster.jobs,
        key=lambda j: (-max(0.0, pressure[j.name]) * j.weight, -pressure[j.name], j.due, -j.weight),
    )
    nodes = [Node(kind, cluster.gpus[kind]) for kind in cluster.nodes]
    plan: dict[str, tuple[int, int, int]] = {}
    expected = 0.0
    for job in queue:
        ranked, cost = choices(cluster, job, kinds)
        expected += cost if math.isfinite(cost) else 0.0
        for kind, gpus, part in ranked:
            at = place(nodes, kind, gpus, part)
            if at >= 0:
                plan[job.name] = at, gpus, part
                break
    return plan, expected


def run(folder: Path, lap: Lap) -> dict[str, float]:
    cluster = read(folder / "seed1")
    lap("read")
    step(cluster)
    lap("first step")
    for _ in range(STEPS):
        plan, expected = step(cluster)
    lap(f"{STEPS} steps")
    return {"running": len(plan), "expected": float(f"{expected:.5g}")}
