"""A queue event by event in the plainest Python, the reference of the compiled one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Node:
    gpus: int
    kind: str
    windows: list[tuple[float, float]] = field(default_factory=list)
    free: int = 0


@dataclass(eq=False)
class Job:
    submitted: float
    gpus: int
    nodes: int
    kinds: frozenset[str]
    length: float
    estimate: float
    owner: str = ""
    after: list[int] = field(default_factory=list)
    members: list[int] = field(default_factory=list)  # jobs that start together with it
    is_member: bool = False
    start: float = math.nan
    places: dict[int, int] = field(default_factory=dict)

    @property
    def end(self) -> float:
        return self.start + self.length


def run(nodes: Sequence[Node], jobs: Sequence[Job], most: int, rule: str) -> None:
    """Fill starts and places; jobs are in the order of the queue; `most` GPUs at once for an owner that is not ""."""
    for node in nodes:
        node.free = node.gpus
    running = [j for j in jobs if not math.isnan(j.start)]
    for job in running:
        for n, g in job.places.items():
            nodes[n].free -= g
    times = sorted({w[1] for n in nodes for w in n.windows})
    done: set[int] = set()
    last = -math.inf
    while True:
        waiting = [j for j in jobs if math.isnan(j.start) and j.submitted <= last and set(j.after) <= done]
        upcoming = [j.end for j in running] + [j.submitted for j in jobs if math.isnan(j.start) and j.submitted > last]
        upcoming += [t for t in times if t > last and waiting]
        now = min(upcoming, default=math.inf)
        if now == math.inf:
            return
        last = now
        for job in [j for j in running if j.end <= now]:
            running.remove(job)
            done.add(jobs.index(job))
            for n, g in job.places.items():
                nodes[n].free += g
        one_pass(nodes, jobs, running, done, now, most, rule)


def one_pass(
    nodes: Sequence[Node], jobs: Sequence[Job], running: list[Job], done: set[int], now: float, most: int, rule: str
) -> None:
    barred: set[str] = set()
    shadow: dict[str, float] = {}
    spare: dict[int, int] = {}
    for job in jobs:
        if not math.isnan(job.start) or job.submitted > now or not set(job.after) <= done or job.is_member:
            continue
        parts = placing_order([job, *(jobs[at] for at in job.members)], nodes)
        limited = [part for part in parts if part.owner]
        total = sum(part.gpus * max(part.nodes, 1) for part in limited)
        if limited and sum(sum(r.places.values()) for r in running if r.owner) + total > most:
            continue
        kinds = frozenset().union(*(part.kinds for part in parts))
        estimate = max(part.estimate for part in parts)
        end = now + estimate
        room = {n: node.free for n, node in enumerate(nodes) if node.kind in kinds and node.kind not in barred}
        usable = dict(room)
        for n in room:
            if end > shadow.get(nodes[n].kind, math.inf):
                usable[n] = min(usable[n], spare.get(n, 10**9))
            if any(now < w[1] and end > w[0] for w in nodes[n].windows):
                usable[n] = 0
        found = choose_all(usable, parts, nodes)
        if found is not None:
            for part, places in zip(parts, found, strict=True):
                part.start, part.places = now, places
                running.append(part)
                for n, g in places.items():
                    nodes[n].free -= g
                    if n in spare and end > shadow.get(nodes[n].kind, math.inf):
                        spare[n] -= g
        elif rule == "strict":
            barred |= kinds
        elif rule == "easy" and not kinds & set(shadow):
            later = dict(room)
            ends = [(r.start + r.estimate, 0, r.places) for r in sorted(running, key=lambda r: r.start + r.estimate)]
            openings = sorted({w[1] for n in room for w in nodes[n].windows if w[1] > now})
            for moment, _, freed in sorted([*ends, *((w, 1, {}) for w in openings)], key=lambda e: e[:2]):
                for n, g in freed.items():
                    if n in later:
                        later[n] += g
                if freed and not set(freed) & set(later):
                    continue
                time = max(moment, now)
                closed = {n for n in room if any(time < w[1] and time + estimate > w[0] for w in nodes[n].windows)}
                reserved = choose_all({n: 0 if n in closed else g for n, g in later.items()}, parts, nodes)
                if reserved is not None:
                    for kind in kinds:
                        shadow[kind] = time
                    for places in reserved:
                        for n, g in places.items():
                            later[n] -= g
                            spare[n] = later[n]
                    break


def placing_order(parts: list[Job], nodes: Sequence[Node]) -> list[Job]:
    """Fewest nodes that suit first, then those with a number of nodes, then the most GPUs."""
    suits = [sum(node.kind in part.kinds for node in nodes) for part in parts]
    order = sorted(range(len(parts)), key=lambda at: (suits[at], parts[at].nodes == 0, -parts[at].gpus, at))
    return [parts[at] for at in order]


def choose_all(usable: dict[int, int], parts: list[Job], nodes: Sequence[Node]) -> list[dict[int, int]] | None:
    """The nodes of jobs that start together, one after another; None unless all have a place."""
    left, found = dict(usable), []
    for part in parts:
        own = {n: g for n, g in left.items() if nodes[n].kind in part.kinds}
        places = choose(own, part.gpus, part.nodes)
        if places is None:
            return None
        for n, g in places.items():
            left[n] -= g
        found.append(places)
    return found


def choose(usable: dict[int, int], gpus: int, wanted: int) -> dict[int, int] | None:
    """Nodes with the fewest usable GPUs that suffice; without a number of nodes, one or those with the most."""
    fits = sorted((g, n) for n, g in usable.items() if g >= gpus)
    if len(fits) >= max(wanted, 1):
        return {n: gpus for _, n in fits[: max(wanted, 1)]}
    if wanted > 0 or sum(usable.values()) < gpus:
        return None
    places, left = {}, gpus
    for free, n in sorted(((g, n) for n, g in usable.items()), key=lambda pair: (-pair[0], pair[1])):
        if left > 0 and free > 0:
            places[n] = min(free, left)
            left -= places[n]
    return places
