"""Small random cases of defragmentation: their text for both models, and the least cost by trying every change."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

HALT = -1


@dataclass(frozen=True)
class Job:
    node: int
    size: int
    tenant: int
    priority: int
    unsaved: int
    restart: int
    away: int
    may_move: bool
    may_halt: bool

    @property
    def lost(self) -> int:
        return self.size * (self.unsaved + self.restart)


@dataclass(frozen=True)
class Gang:
    workers: int
    size: int
    value: int
    priority: int
    one_rack: bool


@dataclass(frozen=True)
class Case:
    gpus: tuple[int, ...]
    rack: tuple[int, ...]
    jobs: tuple[Job, ...]
    gangs: tuple[Gang, ...]
    most_moves: int
    most_of_tenant: int
    most_at_rack: int

    def least(self, *, at_once: bool) -> int:
        """The least lost GPU hours and value of waiting gangs."""
        waiting = sum(gang.value for gang in self.gangs)
        return min(
            cost + waiting - gained
            for places in product(range(HALT, len(self.gpus)), repeat=len(self.jobs))
            if (cost := self._cost(places, at_once=at_once)) is not None
            for gained in self._gained(places)
        )

    def _cost(self, places: tuple[int, ...], *, at_once: bool) -> int | None:
        """The GPU hours lost by a change, None if it breaks a limit that does not concern gangs."""
        after, during = [0] * len(self.gpus), [0] * len(self.gpus)
        of_tenant, at_rack = [0, 0], [0, 0]
        lost = moves = 0
        for job, place in zip(self.jobs, places, strict=True):
            if place == HALT:
                if not job.may_halt:
                    return None
                lost += job.lost + job.size * job.away
                continue
            after[place] += job.size
            during[place] += job.size
            if place != job.node:
                if not job.may_move:
                    return None
                lost += job.lost
                moves += 1
                during[job.node] += job.size
                of_tenant[job.tenant] += 1
                at_rack[self.rack[job.node]] += 1
                at_rack[self.rack[place]] += 1
        used = during if at_once else after
        fits = all(load <= room for load, room in zip(used, self.gpus, strict=True))
        few = moves <= self.most_moves and max(of_tenant) <= self.most_of_tenant and max(at_rack) <= self.most_at_rack
        return lost if fits and few else None

    def _gained(self, places: tuple[int, ...]) -> Iterator[int]:
        """The value of each set of gangs that may start beside these jobs."""
        room = list(self.gpus)
        for job, place in zip(self.jobs, places, strict=True):
            if place != HALT:
                room[place] -= job.size
        needed = max((job.priority for job, place in zip(self.jobs, places, strict=True) if place == HALT), default=-1)
        for started in product((False, True), repeat=len(self.gangs)):
            gangs = [gang for gang, starts in zip(self.gangs, started, strict=True) if starts]
            if max((gang.priority for gang in gangs), default=-1) <= needed and needed >= 0:
                continue
            if self._fits(gangs, room):
                yield sum(gang.value for gang in gangs)

    def _fits(self, gangs: list[Gang], room: list[int]) -> bool:
        if not gangs:
            return True
        gang, rest = gangs[0], gangs[1:]
        for nodes in product(range(len(room)), repeat=gang.workers):
            if gang.one_rack and len({self.rack[n] for n in nodes}) > 1:
                continue
            left = list(room)
            for n in nodes:
                left[n] -= gang.size
            if min(left) >= 0 and self._fits(rest, left):
                return True
        return False

    def text(self) -> str:
        """A scenario of `Defragmentation`."""
        workers = [(f"g{g}", f"w{g}_{w}") for g, gang in enumerate(self.gangs) for w in range(gang.workers)]
        rows = [
            f"j{at} {j.size} t{j.tenant} {j.priority} {j.unsaved} {j.restart} {j.away} {j.may_move:d} {j.may_halt:d}"
            for at, j in enumerate(self.jobs)
        ]
        for g, name in workers:
            gang = self.gangs[int(g[1:])]
            rows.append(f"{name} {gang.size} t0 {gang.priority} 0 0 0 1 1")
        gangs = " ".join(f"g{g} {gang.value} {gang.one_rack:d}" for g, gang in enumerate(self.gangs))
        return f"""scenario S for Defragmentation {{
          {self._cluster()}
          table Jobs: size tenant priority unsaved[h] restart[h] away[h] may_move may_halt = {" ".join(rows)};
          {" ".join(f'was["j{at}", "n{job.node}"] = 1;' for at, job in enumerate(self.jobs))}
          table Gangs: value[h] one_rack = {gangs};
          Workers = {{ {", ".join(f"({g}, {w})" for g, w in workers)} }};
          most_moves_at[r in Racks] = {self.most_at_rack};
        }}"""

    def text_by_size(self) -> str:
        """A scenario of `DefragmentationBySize`."""
        rows = " ".join(
            f"j{at} n{j.node} {j.size} t{j.tenant} {j.priority} {j.unsaved} {j.restart} {j.away} "
            f"{j.may_move:d} {j.may_halt:d}"
            for at, j in enumerate(self.jobs)
        )
        gangs = " ".join(
            f"g{g} {gang.workers} {gang.size} {gang.value} {gang.priority} {gang.one_rack:d}"
            for g, gang in enumerate(self.gangs)
        )
        return f"""scenario S for DefragmentationBySize {{
          {self._cluster()}
          table Jobs: node size tenant priority unsaved[h] restart[h] away[h] may_move may_halt = {rows};
          table Gangs: workers worker_size value[h] gang_priority one_rack = {gangs};
          most_moves_at[r in Racks] = {self.most_at_rack};
        }}"""

    def _cluster(self) -> str:
        nodes = " ".join(f"n{n} r{self.rack[n]} a {gpus}" for n, gpus in enumerate(self.gpus))
        return f"""Racks = {{ r0, r1 }};  Types = {{ a }};  Tenants = {{ t0, t1 }};
          table Nodes: rack type gpus = {nodes};
          most_moves = {self.most_moves};
          most_moves_of[t in Tenants] = {self.most_of_tenant};"""


def draw(seed: int) -> Case:
    """Three or four nodes, at most five jobs, one or two gangs; each fourth may need one move after another."""
    rng = random.Random(seed)
    if seed % 4 == 3:
        return _chain(rng)
    gpus = tuple(rng.choice((3, 4, 4, 5)) for _ in range(rng.choice((3, 3, 4))))
    rack = tuple(rng.randint(0, 1) for _ in gpus)
    room, jobs, most = list(gpus), list[Job](), 8 - len(gpus)
    for _ in range(10):
        size, node = rng.choice((1, 1, 2, 3)), rng.randrange(len(gpus))
        if room[node] >= size and len(jobs) < most:
            room[node] -= size
            jobs.append(_job(rng, node, size, may_move=rng.random() < 0.9, may_halt=rng.random() < 0.6))
    gangs = tuple(
        Gang(rng.choice((1, 1, 2)), rng.choice((2, 3, 4)), rng.randint(5, 60), rng.randint(0, 3), rng.random() < 0.3)
        for _ in range(rng.choice((1, 1, 2)))
    )
    budgets = (rng.choice((1, 2, 9, 9)), rng.choice((1, 9, 9)), rng.choice((1, 2, 9, 9)))
    return Case(gpus, rack, tuple(jobs), gangs, *budgets)


def _job(rng: random.Random, node: int, size: int, *, may_move: bool = True, may_halt: bool = True) -> Job:
    times = rng.randint(0, 4), rng.randint(0, 2), rng.randint(0, 6)
    return Job(node, size, rng.randint(0, 1), rng.randint(0, 2), *times, may_move, may_halt)


def _chain(rng: random.Random) -> Case:
    """The job on the last node has room on the second one, once a job has moved from there to the first one."""
    fixed = [_job(rng, node, size, may_move=False, may_halt=False) for node, size in ((0, 3), (1, 1))]
    jobs = (*fixed, _job(rng, 1, 1), _job(rng, 2, 3))
    return Case((4, 4, 4), (0, 0, 1), jobs, (Gang(1, 4, rng.randint(5, 60), 3, False),), 9, 9, 9)
