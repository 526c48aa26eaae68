"""The policies for any model, written out slowly on lists: one decision, and a run over time.

Independent of the package: it knows nothing of kernels, placements or the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from generic_clusters import Cluster, Job, Node

NEAR = 1e-9


@dataclass
class Load:
    """What runs on one node: whole GPUs, the parts taken of each shared GPU, memory."""

    node: Node
    whole: float = 0.0
    shared: list[dict[int, float]] = field(default_factory=list)
    memory: float = 0.0
    jobs: int = 0

    def free(self) -> float:
        return self.node.gpus - self.whole - len([gpu for gpu in self.shared if gpu])

    def gpu_for(self, job: Job) -> tuple[float, int | None] | None:
        """What is left after a job, and the shared GPU for a part of one (None: a whole one, or a new one)."""
        if job.takes > self.node.memory - self.memory + NEAR:
            return None
        if job.needs >= 1:
            return (self.free() - job.needs, None) if job.needs <= self.free() else None
        left = [(1 - sum(gpu.values()) - job.needs, at) for at, gpu in enumerate(self.shared) if gpu]
        fitting = [found for found in left if found[0] >= -NEAR]
        if fitting:
            return min(fitting)
        return (self.free() - 1, None) if self.free() >= 1 else None

    def put(self, number: int, job: Job, gpu: int | None) -> None:
        self.memory += job.takes
        self.jobs += 1
        if job.needs >= 1:
            self.whole += job.needs
        elif gpu is not None:
            self.shared[gpu][number] = job.needs
        else:
            self.shared.append({number: job.needs})


@dataclass
class State:
    """A time of the run, in hours: present jobs in their order, and the nodes that are up."""

    cluster: Cluster
    now: float
    up: list[int]
    present: list[int]
    remaining: list[float]
    attained: list[float]
    place: dict[int, int]  # of running jobs

    def time(self, j: int, n: int) -> float:
        return self.remaining[j] * self.cluster.jobs[j].length / self.cluster.nodes[n].pace

    def can(self, j: int, n: int) -> bool:
        return self.cluster.jobs[j].takes <= self.cluster.nodes[n].memory

    def shortest(self, j: int) -> float:
        return min((self.time(j, n) for n in self.up if self.can(j, n)), default=math.inf)

    def loads(self) -> dict[int, Load]:
        return {n: Load(self.cluster.nodes[n]) for n in self.up}

    def kinds(self, j: int) -> list[list[int]]:
        """The nodes of each kind that can have a job, the fastest kind first."""
        by_kind: dict[tuple[float, ...], list[int]] = {}
        for n in self.up:
            if self.can(j, n):
                by_kind.setdefault(self.cluster.nodes[n].kind, []).append(n)
        return sorted(by_kind.values(), key=lambda nodes: (round(self.time(j, nodes[0]), 10), nodes[0]))


Plan = dict[int, int]


def seat(state: State, loads: dict[int, Load], j: int) -> int | None:
    """Put a job on the fastest kind with room: on the node in use with the fewest free GPUs after, else on an empty."""
    job = state.cluster.jobs[j]
    for nodes in state.kinds(j):
        in_use = [n for n in nodes if loads[n].jobs]
        places = [(found, n) for n in in_use if (found := loads[n].gpu_for(job)) is not None]
        if job.needs < 1:  # a GPU that is shared already comes before one that is not
            places = [p for p in places if p[0][1] is not None] or places
        if places:
            (_, gpu), n = min(places, key=lambda p: (round(p[0][0], 9), p[1], p[0][1] or 0))
        else:
            empty = [n for n in nodes if not loads[n].jobs and loads[n].gpu_for(job) is not None]
            if not empty:
                continue
            n, gpu = empty[0], None
        loads[n].put(j, job, gpu)
        return n
    return None


def kept(state: State) -> tuple[Plan, dict[int, Load]]:
    loads, plan = state.loads(), {}
    for j in sorted(state.place):
        n = state.place[j]
        found = loads[n].gpu_for(state.cluster.jobs[j])
        if found is not None:
            loads[n].put(j, state.cluster.jobs[j], found[1])
            plan[j] = n
    return plan, loads


def in_queue(key: Callable[[State, int], tuple[float, ...]], *, keep: bool, wait: bool) -> Callable[[State], Plan]:
    """One job after the other by `key`; with `wait` no job overtakes one that has no place."""

    def plan(state: State) -> Plan:
        found, loads = kept(state) if keep else ({}, state.loads())
        for j in sorted(state.present, key=lambda j: (*key(state, j), j)):
            if j in found:
                continue
            n = seat(state, loads, j)
            if n is not None:
                found[j] = n
            elif wait:
                break
        return found

    return plan


def arrived(state: State, j: int) -> float:
    return state.cluster.jobs[j].submitted


POLICIES: dict[str, Callable[[State], Plan]] = {
    "FIFO": in_queue(lambda s, j: (arrived(s, j),), keep=True, wait=True),
    "SJF": in_queue(lambda s, j: (s.shortest(j), arrived(s, j)), keep=True, wait=True),
    "SRTF": in_queue(lambda s, j: (s.shortest(j), arrived(s, j)), keep=False, wait=False),
    "EDF": in_queue(lambda s, j: (s.cluster.jobs[j].due, arrived(s, j)), keep=True, wait=True),
    "LAS": in_queue(lambda s, j: (s.attained[j], arrived(s, j)), keep=False, wait=False),
}


def is_up(node: Node, down: float, now: float) -> bool:
    return not down or (now + NEAR) % (node.up + down) < node.up


def next_change(node: Node, down: float, now: float) -> float:
    if not down:
        return math.inf
    cycle = node.up + down
    first = math.floor((now + NEAR) / cycle) * cycle
    return min(t for t in (first + node.up, first + cycle, first + cycle + node.up) if t > now + NEAR)


def simulate(cluster: Cluster, policy: str | Callable[[State], Plan]) -> tuple[list[float], list[float]]:
    """The first start and the end of every job, in minutes; NaN for none."""
    plan = POLICIES[policy] if isinstance(policy, str) else policy
    jobs, nodes = cluster.jobs, cluster.nodes
    start, end = [math.nan] * len(jobs), [math.nan] * len(jobs)
    state = State(cluster, 0.0, [], [], [1.0] * len(jobs), [0.0] * len(jobs), {})
    future = set(range(len(jobs)))
    for _ in range(2000):
        times = [jobs[j].submitted / 60 for j in future]
        times += [state.now + state.time(j, n) for j, n in state.place.items()]
        if state.present:
            times += [next_change(node, cluster.down, state.now) for node in nodes]
        until = max(min(times, default=math.inf), state.now)
        if math.isinf(until):
            break
        for j, n in state.place.items():
            passed = until - state.now
            state.attained[j] += passed * jobs[j].needs
            state.remaining[j] -= passed * nodes[n].pace / jobs[j].length
        state.now = until
        over = [j for j in state.place if state.remaining[j] <= NEAR]
        for j in over:
            del state.place[j]
            state.present.remove(j)
            end[j] = until * 60
        before = state.up
        state.up = [n for n, node in enumerate(nodes) if is_up(node, cluster.down, until)]
        for j in [j for j, n in state.place.items() if n not in state.up]:
            del state.place[j]
        came = sorted(j for j in future if jobs[j].submitted / 60 <= until + NEAR)
        future -= set(came)
        state.present = sorted([*state.present, *came])
        if (over or came or before != state.up) and state.present:
            state.place = plan(state)
            for j in state.place:
                if math.isnan(start[j]):
                    start[j] = until * 60
    return start, end
