"""The policies for slots node by node in plain Python: the reference of the kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
from small_clusters import Case

Plan = dict[tuple[int, int], int]  # (node, slot): job
EXACT = 1e-9


def can_serve(case: Case, h: int, nodes: Iterable[int], kind: int) -> bool:
    """Whether some nodes can take the loads of a slot. Kinds: 1 all services, 2 one service each, 3 equal parts."""
    nodes = list(nodes)
    loads = case.load[:, h]
    if kind == 1:
        return all(
            sum(case.capacity[s, case.class_of[k]] for k in nodes) >= load * (1 - EXACT) for s, load in enumerate(loads)
        )
    if kind == 2:
        for choice in product(range(len(loads)), repeat=len(nodes)):
            taken = np.zeros(len(loads))
            for k, s in zip(nodes, choice, strict=True):
                taken[s] += case.capacity[s, case.class_of[k]]
            if (taken >= loads * (1 - EXACT)).all():
                return True
        return False
    for s, load in enumerate(loads):
        runs = [case.capacity[s, case.class_of[k]] for k in nodes if case.capacity[s, case.class_of[k]] > 0]
        if load > 0 and (not runs or load / len(runs) > min(runs) * (1 + EXACT)):
            return False
    return True


class Simulation:
    """What runs where as time goes on."""

    def __init__(self, case: Case, kind: int) -> None:
        self.case, self.kind = case, kind
        self.plan: Plan = {}
        self.node: dict[int, int] = {}
        self.last: dict[int, int] = {}

    def training(self, h: int) -> set[int]:
        return {k for (k, t) in self.plan if t == h}

    def free(self, h: int) -> list[int]:
        return [k for k in range(self.case.nodes) if (k, h) not in self.plan]

    def reserve(self, j: int, k: int, h: int) -> bool:
        """The loads of every slot that the job would take can be served without its node."""
        if self.kind == 0:
            return True
        length = 1 if self.kind == 3 else int(self.case.length[j, self.case.class_of[k]])
        return all(
            can_serve(self.case, t, [q for q in self.free(t) if q != k], self.kind)
            for t in range(h, min(h + length, self.case.slots))
        )

    def start(self, j: int, k: int, h: int) -> None:
        self.node[j] = k
        self.last[j] = h + int(self.case.length[j, self.case.class_of[k]]) - 1
        for t in range(h, min(self.last[j] + 1, self.case.slots)):
            self.plan[k, t] = j

    def waiting(self, h: int) -> list[int]:
        """By arrival, then by number; a job that fits on no node never arrives."""
        case = self.case
        runs = [j for j in range(case.jobs) if case.arrives[j] <= h and case.length[j][np.unique(case.class_of)].any()]
        return sorted((j for j in runs if j not in self.node), key=lambda j: (case.arrives[j], j))


def fifo(case: Case, kind: int) -> Simulation:
    run = Simulation(case, kind)
    for h in range(case.slots):
        for j in run.waiting(h):
            fitting = [k for k in run.free(h) if case.fits(j, k)]
            if not fitting or not run.reserve(j, fitting[0], h):
                break
            run.start(j, fitting[0], h)
    return run


def eprons(case: Case, kind: int, key: np.ndarray, serving: Sequence[set[int]]) -> Simulation:
    """`serving` are the nodes that the services of each slot have been given."""
    run = Simulation(case, kind)
    for h in range(case.slots):
        for j in run.waiting(h):
            nodes = [k for k in run.free(h) if case.fits(j, k) and k not in serving[h]]
            for k in sorted(nodes, key=lambda k: (key[j, case.class_of[k]], k)):
                if run.reserve(j, k, h):
                    run.start(j, k, h)
                    break
    return run


def cap(rate: float, time: float) -> float:
    return rate * (rate * time - 2) / (rate * time - 1) if rate * time > 2 else 0.0


def response_time(rates: Sequence[float], load: float) -> float:
    """The least time at which nodes of these rates take a load."""
    if sum(rates) <= load * (1 + EXACT):
        return np.inf
    low, high = 0.0, 1.0
    while sum(cap(r, high) for r in rates) < load:
        high *= 2
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(cap(r, middle) for r in rates) < load else (low, middle)
    return high


def pa_mbt(case: Case, kind: int) -> tuple[Simulation, list[list[set[int]]]]:
    """The simulation, and the pools of every slot."""
    run = Simulation(case, kind)
    pools_by_slot = []
    window = case.due - case.arrives + 1

    def performs(j: int, last: float) -> float:
        return round(float((case.due[j] - last) / window[j]), 9)

    for h in range(case.slots):
        loaded = [s for s in range(len(case.load)) if case.load[s, h] > 0]
        pools: list[set[int]] = [set() for _ in case.load]
        closed: set[int] = set()
        shut: set[int] = set()

        def free(h: int = h, pools: list[set[int]] = pools) -> list[int]:
            return [k for k in run.free(h) if not any(k in pool for pool in pools)]

        def value_of_service(s: int, h: int = h, pools: list[set[int]] = pools) -> float:
            time = response_time([case.rate[s, case.class_of[k]] for k in pools[s]], case.load[s, h])
            return round(float((case.bound[s] - time) / case.bound[s]), 9)

        def value_of_job(j: int, h: int = h) -> float:
            lengths = case.length[j][np.unique(case.class_of)]
            return performs(j, h + lengths[lengths > 0].min())

        def try_start(j: int, h: int = h) -> bool:
            nodes = sorted((k for k in free() if case.fits(j, k)), key=lambda k: (case.length[j, case.class_of[k]], k))
            for k in nodes:
                if run.reserve(j, k, h):
                    run.start(j, k, h)
                    return True
            return False

        while free():
            jobs = [j for j in run.waiting(h) if j not in closed]
            entities = [(value_of_service(s), 0, s) for s in loaded if s not in shut]
            entities += [(value_of_job(j), 1, place) for place, j in enumerate(jobs)]
            if not entities:
                break
            value, is_job, which = min(entities)
            fixed = [performs(j, run.last[j]) for j in run.node if run.last[j] >= h] + [value_of_job(j) for j in closed]
            if all(value_of_service(s) >= 0 for s in loaded) and any(f < value for f in fixed):
                break
            if is_job:
                if not try_start(jobs[which]):
                    closed.add(jobs[which])
                continue
            nodes = [k for k in free() if case.rate[which, case.class_of[k]] > 0]
            if not nodes:
                shut.add(which)
                continue
            pools[which].add(min(nodes, key=lambda k: (-case.rate[which, case.class_of[k]], k)))
        for j in sorted((j for j in run.waiting(h) if j not in closed), key=lambda j: value_of_job(j)):
            try_start(j)
        pools_by_slot.append(pools)
    return run, pools_by_slot


def valley(case: Case, kind: int, key: np.ndarray, singly: bool) -> Plan:
    """Every job in its cheapest block, else in the cheapest single slots of one node."""
    run = Simulation(case, kind)
    for j in sorted(range(case.jobs), key=lambda j: (case.arrives[j], j)):
        blocks, singles = [], []
        for k in range(case.nodes):
            c = case.class_of[k]
            length = int(case.length[j, c])
            slots = [
                h
                for h in range(int(case.arrives[j]), min(int(case.due[j]) + 1, case.slots))
                if length > 0 and (k, h) not in run.plan
                and (kind == 0 or can_serve(case, h, [q for q in run.free(h) if q != k], kind))
            ]  # fmt: skip
            for h in slots:
                if length > 0 and all(t in slots for t in range(h, h + length)):
                    blocks.append((round(sum(key[j, c, t] for t in range(h, h + length)), 6), k, h, length))
            if length > 0 and len(slots) >= length:
                cheapest = sorted(slots, key=lambda h: (key[j, c, h], h))[:length]
                singles.append((round(sum(key[j, c, h] for h in cheapest), 6), k, cheapest))
        if blocks:
            _, k, h, length = min(blocks)
            run.plan.update({(k, t): j for t in range(h, h + length)})
        elif singly and singles:
            _, k, cheapest = min(singles)
            run.plan.update({(k, t): j for t in cheapest})
    return run.plan
