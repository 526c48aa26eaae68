"""Workloads from plain tables, random ones, and schedules written down from scratch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpusched_dsl.policies.workload import NONE, Schedule, Workload, empty_schedule

# A place: node, way, shared GPU (NONE for whole ones).
Places = dict[int, tuple[int, int, int]]


def workload(
    *,
    kinds: Sequence[tuple[int, int, float]],  # units, family, price
    times: Sequence[Mapping[tuple[int, int], float]],  # per job: (kind, units) -> time
    due: Sequence[float],
    weight: Sequence[float],
    postponed: Sequence[float],
    node_kind: Sequence[int],
    idle: float = 0.0,
    parts: int = 1,
    stock: Sequence[int] | None = None,
    node_rate: bool = False,
    room: Sequence[float] = (),
    needs: Sequence[float] = (),
) -> Workload:
    """A way costs its share of the node's price; with `node_rate` the whole node is paid for if it is in use."""
    units = np.array([u for u, _, _ in kinds], dtype=np.int64)
    price = np.array([p for _, _, p in kinds])
    rows = [(j, k, s, t) for j, table in enumerate(times) for (k, s), t in sorted(table.items())]
    job, kind, size = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(3))
    time = np.array([row[3] for row in rows], dtype=float)
    jobs, most = len(due), int(units.max())
    way_at = np.full((jobs, len(kinds), most + 1), NONE)
    way_at[job, kind, size] = np.arange(len(rows))
    due_, weight_ = np.array(due, dtype=float), np.array(weight, dtype=float)
    rates = np.zeros((len(kinds), 0))
    if node_rate:
        gpus = np.arange(most // parts + 1)
        rates = np.where(gpus[None, :] > 0, price[:, None] * (0.5 + 0.5 * gpus / gpus.max()), 0.0)
    return Workload(
        parts=parts,
        node_kind=np.array(node_kind, dtype=np.int64),
        units=units,
        family=np.array([f for _, f, _ in kinds], dtype=np.int64),
        stock=np.array(stock if stock is not None else [len(node_kind)] * len(kinds), dtype=np.int64),
        price=price,
        idle=np.full(len(kinds), float(idle)),
        node_rate=rates,
        room=np.array(room, dtype=float).reshape(len(kinds), -1) if len(room) else np.zeros((len(kinds), 0)),
        due=due_,
        weight=weight_,
        postponed=np.array(postponed, dtype=float),
        first_way=np.searchsorted(job, np.arange(jobs + 1)).astype(np.int64),
        job=job,
        kind=kind,
        size=size,
        time=time,
        rate=price[kind] * size / units[kind],
        late=weight_[job] * np.maximum(0.0, time - due_[job]),
        needs=np.array(needs, dtype=float)[job][:, None] if len(needs) else np.zeros((len(rows), 0)),
        way_at=way_at,
        form=size,
        like_at=way_at,
    )


def written(work: Workload, kinds: Sequence[int], places: Places) -> Schedule | None:
    """The schedule with these kinds of nodes and places of jobs; None if something does not fit."""
    plan = empty_schedule(work)
    for n in range(len(kinds)):
        here = {j: place for j, place in places.items() if place[0] == n}
        if not here:
            if plan.kind[n] >= 0:
                plan.left[n] = work.room[plan.kind[n]]
            continue
        kind = kinds[n]
        if work.node_kind[n] not in (NONE, kind):
            return None
        plan.kind[n], plan.jobs[n], plan.opened[n] = kind, len(here), n
        plan.left[n] = work.room[kind]
        for j, (_, w, gpu) in here.items():
            if work.kind[w] != kind or work.job[w] != j:
                return None
            plan.node[j], plan.way[j], plan.gpu[j] = n, w, gpu
            plan.left[n] -= work.needs[w]
            if work.size[w] < work.parts:
                if plan.spare[n, gpu] == NONE:
                    plan.spare[n, gpu] = work.parts
                    plan.used[n] += work.parts
                plan.spare[n, gpu] -= work.size[w]
                if plan.spare[n, gpu] < 0:
                    return None
            else:
                plan.used[n] += work.size[w]
        if plan.used[n] > work.units[kind] or (plan.left[n] < -1e-9).any():
            return None
    for kind in set(plan.kind[(work.node_kind < 0) & (plan.jobs > 0)].tolist()):
        if np.count_nonzero(plan.kind == kind) > work.stock[kind]:
            return None
    return plan


def read(plan: Schedule) -> tuple[list[int], Places]:
    """The kinds of nodes and the places of the jobs that run."""
    running = np.flatnonzero(plan.node >= 0)
    return plan.kind.tolist(), {int(j): (int(plan.node[j]), int(plan.way[j]), int(plan.gpu[j])) for j in running}


def random_workload(rng: np.random.Generator) -> Workload:
    """A few nodes to be rented, or that are there, or of both sorts; some ways are missing, some GPUs shared."""
    parts = int(rng.choice([1, 1, 1, 4]))
    kinds = [
        (parts * int(rng.choice([1, 2, 2, 4, 4])), int(rng.integers(2)), float(rng.integers(1, 9)))
        for _ in range(int(rng.integers(2, 6)))
    ]
    jobs, nodes = int(rng.integers(2, 13)), int(rng.integers(1, 5))
    times = []
    for _ in range(jobs):
        base, speed = rng.uniform(1, 20), rng.uniform(0.4, 1.0, len(kinds))
        sizes = [parts * g for g in range(1, 5)] + list(range(1, parts))
        table = {
            (k, s): float(base * speed[k] / (s / parts) ** rng.uniform(0.4, 1.0))
            for k in range(len(kinds))
            for s in sizes
            if s <= kinds[k][0] and rng.random() < 0.9
        }
        times.append(table or {(0, parts): base})
    rent = rng.choice([0.0, 0.5, 1.0])
    node_kind = [NONE if rng.random() < rent else int(rng.integers(len(kinds))) for _ in range(nodes)]
    with_rooms = rng.random() < 0.4
    return workload(
        kinds=kinds,
        times=times,
        due=rng.uniform(-2, 12, jobs),
        weight=rng.choice([0.5, 1.0, 2.0], jobs),
        postponed=rng.choice([0.0, 5.0, 50.0], jobs),
        node_kind=node_kind,
        idle=float(rng.choice([0.0, 1.0])),
        parts=parts,
        stock=rng.integers(1, 4, len(kinds)).tolist(),
        node_rate=bool(rng.random() < 0.5),
        room=rng.uniform(3, 8, len(kinds)) if with_rooms else (),
        needs=rng.uniform(0.5, 3, jobs) if with_rooms else (),
    )


def random_schedule(rng: np.random.Generator, work: Workload) -> Schedule:
    """Jobs in random order, most of them at the first random place that fits."""
    kinds, places = work.node_kind.tolist(), Places()
    for n, kind in enumerate(kinds):
        if kind < 0:
            kinds[n] = int(rng.integers(len(work.units)))
    for j in rng.permutation(len(work.due)).tolist():
        if rng.random() < 0.1:
            continue
        for _ in range(4):
            w = int(rng.integers(work.first_way[j], work.first_way[j + 1]))
            n = int(rng.integers(len(kinds)))
            gpu = int(rng.integers(work.units[kinds[n]] // work.parts)) if work.size[w] < work.parts else NONE
            if written(work, kinds, {**places, j: (n, w, gpu)}) is not None:
                places[j] = (n, w, gpu)
                break
    plan = written(work, kinds, places)
    assert plan is not None
    return plan
