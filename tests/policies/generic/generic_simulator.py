"""The policies for any model, written out slowly on lists: one decision, and a run over time.

Independent of the package: it knows nothing of kernels, placements or the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from generic_clusters import Cluster, Job, Node
from scipy.optimize import linprog

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
    """Put a job on the fastest kind with room."""
    kinds = (seat_on(state, loads, j, nodes) for nodes in state.kinds(j))
    return next((n for n in kinds if n is not None), None)


def seat_on(state: State, loads: dict[int, Load], j: int, nodes: list[int]) -> int | None:
    """Put a job on one of these: the node in use with the fewest free GPUs after, else an empty one."""
    job = state.cluster.jobs[j]
    in_use = [n for n in nodes if loads[n].jobs]
    places = [(found, n) for n in in_use if (found := loads[n].gpu_for(job)) is not None]
    if job.needs < 1:  # a GPU that is shared already comes before one that is not
        places = [p for p in places if p[0][1] is not None] or places
    if places:
        (_, gpu), n = min(places, key=lambda p: (round(p[0][0], 9), p[1], p[0][1] or 0))
    else:
        empty = [n for n in nodes if not loads[n].jobs and loads[n].gpu_for(job) is not None]
        if not empty:
            return None
        n, gpu = empty[0], None
    loads[n].put(j, job, gpu)
    return n


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


def apparent_cost(state: State, j: int) -> float:
    """Weight by time, discounted by slack: the tardiness cost that a job seems to cause by waiting."""
    mean = sum(state.shortest(i) for i in state.present) / len(state.present)
    if math.isinf(state.shortest(j)):
        return 0.0
    slack = max(0.0, state.cluster.jobs[j].due - state.now - state.shortest(j))
    return state.cluster.jobs[j].weight / state.shortest(j) * math.exp(-slack / (2 * mean))


@dataclass(frozen=True)
class Stay:
    """A job on a node, times from now; `gpu` is the shared GPU of a part of one."""

    job: int
    node: int
    start: float
    end: float
    gpu: int | None


def room(state: State, stays: list[Stay], j: int, n: int, start: float) -> tuple[float, int | None, bool] | None:
    """What is left when a job starts, its shared GPU, and whether others share it; None without room to its end."""
    job, node = state.cluster.jobs[j], state.cluster.nodes[n]
    end = start + max(state.time(j, n), 4e-9)
    here = [s for s in stays if s.node == n]
    points = [start, *(s.start for s in here if start < s.start < end - NEAR)]
    choices = []
    for gpu in [None] if job.needs >= 1 else range(node.gpus):
        rests = []
        for at in points:
            now = [s for s in here if s.start <= at and s.end > at + NEAR]
            whole = sum(state.cluster.jobs[s.job].needs for s in now if s.gpu is None)
            parts: dict[int, float] = {}
            for s in now:
                if s.gpu is not None:
                    parts[s.gpu] = parts.get(s.gpu, 0.0) + state.cluster.jobs[s.job].needs
            free = node.gpus - whole - len(parts)
            if sum(state.cluster.jobs[s.job].takes for s in now) + job.takes > node.memory + NEAR:
                break
            if gpu is None:
                rests.append((free - job.needs, False))
            elif gpu in parts:
                rests.append((1 - parts[gpu] - job.needs, True))
            else:
                rests.append((free - 1, False))
            if rests[-1][0] < -NEAR:
                break
        else:
            rest, shared = rests[0]
            choices.append(((0, round(rest, 9)) if shared else (1, 0), gpu or 0, (rest, gpu, shared)))
    return min(choices, key=lambda c: c[:2])[2] if choices else None


def seat_now(state: State, stays: list[Stay], j: int) -> int | None:
    """Start a job on the fastest kind of node where nothing is in its way; it is a stay then."""
    for nodes in state.kinds(j):
        found = []
        for n in nodes:
            place = room(state, stays, j, n, 0.0)
            if place is not None:
                rest, gpu, shared = place
                in_use = any(s.node == n and s.start == 0 for s in stays)
                found.append(((0 if shared else 1 if in_use else 2, round(rest, 9), n), gpu))
        if found:
            (_, _, n), gpu = min(found, key=lambda f: f[0])
            stays.append(Stay(j, n, 0.0, max(state.time(j, n), 4e-9), gpu))
            return n
    return None


def running(state: State) -> tuple[Plan, list[Stay]]:
    plan, loads = kept(state)
    gpus = {j: g for n in loads for g, parts in enumerate(loads[n].shared) for j in parts}
    return plan, [Stay(j, n, 0.0, max(state.time(j, n), 4e-9), gpus.get(j)) for j, n in plan.items()]


def backfilling(*, every: bool) -> Callable[[State], Plan]:
    """Jobs start if they delay no reserved start; the first without a place, or `every` one, reserves the earliest."""

    def plan(state: State) -> Plan:
        found, stays = running(state)
        reserved = False
        for j in sorted(state.present, key=lambda j: (arrived(state, j), j)):
            if j in found:
                continue
            n = seat_now(state, stays, j)
            if n is not None:
                found[j] = n
            elif every or not reserved:
                options = []
                for rank, nodes in enumerate(state.kinds(j)):
                    for n in nodes:
                        times = sorted({0.0, *(t for s in stays if s.node == n for t in (s.start, s.end))})
                        for start in times:
                            place = room(state, stays, j, n, start)
                            if place is not None:
                                options.append((start, rank, n, place[1]))
                                break
                if options:
                    start, _, n, gpu = min(options, key=lambda o: o[:3])
                    stays.append(Stay(j, n, start, start + max(state.time(j, n), 4e-9), gpu))
                    reserved = True
        return found

    return plan


def fair_share(state: State) -> Plan:
    """The user with the fewest GPUs for its share has the next turn."""
    found, stays = running(state)
    jobs, shares = state.cluster.jobs, state.cluster.shares
    used = [sum(jobs[j].needs for j in found if jobs[j].owner == u) for u in range(len(shares))]
    queues = [
        sorted(
            (j for j in state.present if jobs[j].owner == u and j not in found), key=lambda j: (arrived(state, j), j)
        )
        for u in range(len(shares))
    ]
    while any(queues):
        user = min((u for u in range(len(shares)) if queues[u]), key=lambda u: (round(used[u] / shares[u][0], 7), u))
        j = queues[user].pop(0)
        if used[user] + jobs[j].needs > shares[user][1] + NEAR:
            continue
        n = seat_now(state, stays, j)
        if n is not None:
            found[j] = n
            used[user] += jobs[j].needs
    return found


class Undetermined(Exception):
    """The linear programme has several optima, so that runs may differ."""


def shares_of_time(state: State, pairs: list[tuple[int, int]], kinds: list[list[int]]) -> list[float]:
    """The share of each pair of a job and a kind of node: the least as large as possible, then the sum."""
    cluster = state.cluster
    nodes = [cluster.nodes[k[0]] for k in kinds]
    gpus = [sum(cluster.nodes[n].gpus for n in k) * any(i == at for _, i in pairs) for at, k in enumerate(kinds)]
    present = sorted({j for j, _ in pairs})
    gain = []
    for j, k in pairs:
        equal = sum(nodes[i].pace * gpus[i] for h, i in pairs if h == j) / sum(gpus)
        gain.append(nodes[k].pace / equal * cluster.jobs[j].needs / cluster.shares[cluster.jobs[j].owner][0])
    rows = [[float(h == j) for h, _ in pairs] for j in present]
    most = [1.0] * len(present)
    for i, k in enumerate(kinds):
        rows.append([cluster.jobs[j].needs * (i == at) for j, at in pairs])
        rows.append([cluster.jobs[j].takes * (i == at) for j, at in pairs])
        most += [gpus[i], sum(cluster.nodes[n].memory for n in k)]
    own = np.array([[g * (h == j) for (h, _), g in zip(pairs, gain, strict=True)] for j in present])
    limits = np.array(rows)
    least = np.vstack([np.c_[limits, np.zeros(len(limits))], np.c_[-own, np.ones(len(own))]])
    first = linprog([0.0] * len(pairs) + [-1.0], least, [*most, *[0.0] * len(own)])
    floor = first.x[-1] * (1 - 1e-9)
    both = np.vstack([limits, -own])
    optima = []
    for tilt in (0.0, 1.0, -1.0):  # another optimum shows up under a small change of the objective
        change = 1 + tilt * 1e-6 * np.random.default_rng(1).random(len(pairs))
        optima.append(linprog(-np.array(gain) * change, both, [*most, *[-floor] * len(own)]).x)
    if max(abs(optima[0] - optima[1]).max(), abs(optima[0] - optima[2]).max()) > 1e-6:
        raise Undetermined
    return list(optima[0])


def max_min(state: State) -> Plan:
    """The shares of time of Gavel, rounded by priorities; every job may be halted."""
    kinds: dict[tuple[float, ...], list[int]] = {}
    for n in state.up:
        kinds.setdefault(state.cluster.nodes[n].kind, []).append(n)
    groups = list(kinds.values())
    jobs, nodes = state.cluster.jobs, state.cluster.nodes
    fits = lambda j, k: state.can(j, k[0]) and jobs[j].needs <= nodes[k[0]].gpus  # noqa: E731
    pairs = [(j, i) for j in sorted(state.present) for i, k in enumerate(groups) if fits(j, k)]
    shares = shares_of_time(state, pairs, groups) if pairs else []
    turns = []
    for (j, i), solved in zip(pairs, shares, strict=True):
        share = round(solved, 6)  # as exact as the programme: what is equal goes by the queue
        served = state.attained[j] / jobs[j].needs
        elapsed = max(state.now - arrived(state, j) / 60, served)
        priority = math.inf if served == 0 else round(share * elapsed / served, 6)
        rank = sum(state.time(j, groups[h][0]) < state.time(j, groups[i][0]) for g, h in pairs if g == j)
        key = (0, -priority, -share, 0) if share > 1e-9 else (1, 0, 0, rank)
        turns.append(((*key, arrived(state, j), j, i), j, i))
    loads, found = state.loads(), {}
    for _, j, i in sorted(turns):
        if j not in found and (n := seat_on(state, loads, j, groups[i])) is not None:
            found[j] = n
    return found


POLICIES: dict[str, Callable[[State], Plan]] = {
    "FIFO": in_queue(lambda s, j: (arrived(s, j),), keep=True, wait=True),
    "SJF": in_queue(lambda s, j: (s.shortest(j), arrived(s, j)), keep=True, wait=True),
    "SRTF": in_queue(lambda s, j: (s.shortest(j), arrived(s, j)), keep=False, wait=False),
    "EDF": in_queue(lambda s, j: (s.cluster.jobs[j].due, arrived(s, j)), keep=True, wait=True),
    "ATC": in_queue(lambda s, j: (-apparent_cost(s, j), arrived(s, j)), keep=False, wait=False),
    "LAS": in_queue(lambda s, j: (s.attained[j], arrived(s, j)), keep=False, wait=False),
    "EASY": backfilling(every=False),
    "Conservative": backfilling(every=True),
    "FairShare": fair_share,
    "MaxMin": max_min,
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
