"""Random decisions in which the plan chooses the types of nodes, and backfilling of them written out on lists."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.policies.workload import NONE, Workload

NEAR = 1e-9


def random_workload(seed: int, *, existing: bool = False) -> Workload:
    """A few jobs on a few nodes to rent; with `existing` some nodes have a kind. Families are drawn."""
    rng = np.random.default_rng(seed)
    jobs, nodes, kinds = int(rng.integers(2, 9)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
    parts = int(rng.choice([1, 1, 2]))
    units = rng.integers(1, 4, kinds) * parts
    size = rng.integers(1, units.max() + 1, jobs)
    if parts == 2:
        size = np.where(size > 1, size // 2 * 2, size)
    runs = rng.random((jobs, kinds)) < 0.8
    runs[:, 0] |= ~runs.any(axis=1)
    job, kind = np.nonzero(runs)
    length, pace = np.round(rng.uniform(1, 9, jobs), 2), rng.choice([1.0, 1.5], kinds)
    way_at = np.full((jobs, kinds, int(max(units.max(), size.max())) + 1), NONE)
    fits = np.flatnonzero(size[job] <= units[kind])
    way_at[job[fits], kind[fits], size[job[fits]]] = fits
    further = int(rng.integers(0, 2))
    ways = len(job)
    return Workload(
        parts=parts,
        node_kind=np.where((rng.random(nodes) < 0.4) & existing, rng.integers(0, kinds, nodes), NONE),
        units=units,
        family=rng.integers(0, 2, kinds),
        stock=rng.integers(0, nodes + 1, kinds),
        price=np.round(rng.uniform(1, 5, kinds), 2),
        idle=np.zeros(kinds),
        node_rate=np.zeros((kinds, 0)),
        room=rng.uniform(5, 10, (kinds, further)),
        due=np.full(jobs, np.inf),
        weight=np.ones(jobs),
        postponed=np.ones(jobs),
        first_way=np.searchsorted(job, np.arange(jobs + 1)),
        job=job,
        kind=kind,
        size=size[job],
        time=length[job] / pace[kind],
        rate=np.ones(ways),
        late=np.zeros(ways),
        needs=rng.uniform(0, 6, (jobs, further))[job],
        way_at=way_at,
        form=size[job],
        like_at=way_at,
    )


@dataclass(frozen=True)
class Stay:
    """A job on a node, in a way, from a time to another; `gpu` is the shared GPU of a part of one."""

    node: int
    way: int
    start: float
    end: float
    gpu: int | None


class Plain:
    """What the nodes have at any time, from the list of all stays."""

    def __init__(self, work: Workload) -> None:
        self.work = work
        self.stays: list[Stay] = []

    def at(self, n: int, time: float) -> list[Stay]:
        return [s for s in self.stays if s.node == n and s.start <= time and s.end > time + NEAR]

    def kind(self, n: int, time: float) -> int | None:
        here = self.at(n, time)
        if self.work.node_kind[n] != NONE:
            return int(self.work.node_kind[n])
        return int(self.work.kind[here[0].way]) if here else None

    def rented(self, k: int, time: float) -> int:
        return sum(self.kind(n, time) == k for n in range(len(self.work.node_kind)))

    def rest(self, n: int, w: int, gpu: int | None, time: float) -> tuple[float, bool] | None:
        """Units left on the node, or on its shared GPU, once the way is there; None without room at that time."""
        work, k = self.work, int(self.work.kind[w])
        kind, here = self.kind(n, time), self.at(n, time)
        if kind is None:
            if self.rented(k, time) >= work.stock[k]:
                return None
        elif kind != k:
            return None
        for r in range(work.needs.shape[1]):
            if sum(work.needs[s.way, r] for s in here) + work.needs[w, r] > work.room[k, r] * (1 + NEAR):
                return None
        shared: dict[int, int] = {}
        for s in here:
            if s.gpu is not None:
                shared[s.gpu] = shared.get(s.gpu, 0) + int(work.size[s.way])
        free = work.units[k] - sum(work.size[s.way] for s in here if s.gpu is None) - len(shared) * work.parts
        if gpu is None:
            left, together = free - work.size[w], False
        elif gpu in shared:
            left, together = work.parts - shared[gpu] - work.size[w], True
        else:
            left, together = free - work.parts, False
        return None if left < 0 else (float(left), together)

    def room(self, n: int, w: int, start: float) -> tuple[float, int | None, bool] | None:
        """What is left at the start, the shared GPU, whether others share it; None without room to the end."""
        work = self.work
        end = start + work.time[w]
        times = [start, *(t for s in self.stays for t in (s.start, s.end) if start < t < end - NEAR)]
        whole = work.size[w] >= work.parts
        found = []
        for gpu in [None] if whole else range(work.units[work.kind[w]] // work.parts):
            rests = [self.rest(n, w, gpu, t) for t in times]
            if all(r is not None for r in rests):
                assert rests[0] is not None
                left, together = rests[0]
                found.append(((0, left) if together else (1, 0.0), gpu or 0, (left, gpu, together)))
        return min(found, key=lambda f: f[:2])[2] if found else None

    def alike(self, j: int, w: int) -> list[int]:
        """The same size on each kind of the family, the largest kind first."""
        work = self.work
        size, units = work.size[w], work.units
        kinds = sorted(range(len(units)), key=lambda k: (-units[k], work.price[k] / max(units[k], 1), k))
        alike = [k for k in kinds if work.family[k] == work.family[work.kind[w]] and size <= units[k]]
        return [int(v) for k in alike if (v := work.way_at[j, k, size]) != NONE]

    def seat(self, j: int, w: int) -> Stay | None:
        """Start a job now, on a node that has its kind, else as the largest kind to be had."""
        work = self.work
        found = []
        for v in self.alike(j, w):
            for n in range(len(work.node_kind)):
                if self.kind(n, 0.0) == work.kind[v] and (place := self.room(n, v, 0.0)) is not None:
                    left, gpu, together = place
                    found.append(((0 if together else 1 if self.at(n, 0.0) else 2, left, n), v, gpu))
        if not found:
            for v in self.alike(j, w):
                for n in range(len(work.node_kind)):
                    if not found and self.kind(n, 0.0) is None and (place := self.room(n, v, 0.0)) is not None:
                        found.append(((0, 0.0, n), v, place[1]))
        if not found:
            return None
        (_, _, n), v, gpu = min(found, key=lambda f: f[0])
        self.stays.append(Stay(n, v, 0.0, float(work.time[v]), gpu))
        return self.stays[-1]

    def reserve(self, j: int, ways: list[int]) -> float:
        """Reserve the earliest start; the best way, the first node and the largest kind of several."""
        work, best = self.work, (math.inf, NONE, NONE)
        times = sorted({0.0, *(t for s in self.stays for t in (s.start, s.end))})
        for w in ways:
            for n in range(len(work.node_kind)):
                for v in self.alike(j, w):
                    start = next((t for t in times if self.room(n, v, t) is not None), math.inf)
                    if start < best[0]:
                        best = (start, n, v)
        start, n, v = best
        if v != NONE:
            place = self.room(n, v, start)
            assert place is not None
            self.stays.append(Stay(n, v, start, start + float(work.time[v]), place[1]))
        return start
