"""The rules that place all jobs by themselves, carried out slowly: `backfill`, `fair_share`, `max_min`.

A job that runs or has a reservation is a stay; what a node has left at a time follows from the list of all stays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from instance_reader import NEAR, Code, Instance, Kind, Way
from interpreter import Allows, Interpreter, has_capacities
from scipy.optimize import linprog

from gpusched_dsl.language.checked_policy import CheckedPolicy


class Undetermined(Exception):
    """The linear programme has several optima, so that plans may differ."""


@dataclass(frozen=True)
class Stay:
    """A job on a node, from a time to another from now; `gpu` is the GPU of which it has a part."""

    node: int
    way: Way
    start: float
    end: float
    gpu: int | None
    reserved: bool = False  # the job does not start now

    def is_at(self, time: float) -> bool:
        return self.start <= time and (self.end == math.inf or self.end > time + NEAR * max(1.0, self.end))


@dataclass(frozen=True)
class Seat:
    """A place of a job: `rank` is less where it shares a GPU, and where the node is in use."""

    rank: int
    left: Fraction
    node: int
    way: Way
    gpu: int | None


class AllJobs:
    """One plan. `facts` are the GPU time of each job so far and the time since its arrival."""

    def __init__(
        self,
        policy: CheckedPolicy,
        of: Instance,
        running: Sequence[Code] = (),
        allows: Allows | None = None,
        facts: Mapping[int, tuple[float, float]] | None = None,
    ) -> None:
        self.of, self.allows, self.facts = of, allows, facts or {}
        [rule] = policy.place
        self.rule = rule.text
        pinned = Interpreter(policy, of, running)
        self.stays = [
            Stay(node.number, way, 0.0, end_of(0.0, way), node.gpu.get(job))
            for node in pinned.nodes
            for job, way in node.jobs.items()
        ]
        self.kept = pinned.kept
        self.nodes = [node.number for node in pinned.nodes]
        self.waiting = [job for job in of.queue if job not in self.kept]

    def run(self) -> set[Code]:
        if self.rule == "fair_share":
            self.take_turns()
        elif self.rule == "max_min":
            for way in self.by_priority():
                if all(stay.way.job != way.job for stay in self.stays):
                    self.start(way)
        else:
            self.backfill(every="conservative" in self.rule)
        return set(self.plan())

    def plan(self) -> list[Code]:
        return [self.of.element(stay.way, stay.node) for stay in self.stays if not stay.reserved]

    # --- room --------------------------------------------------------------------------------------------------------

    def at(self, node: int, time: float) -> list[Stay]:
        return [stay for stay in self.stays if stay.node == node and stay.is_at(time)]

    def kind(self, node: int, time: float) -> Kind | None:
        there = self.of.node_kind.get(node)
        return there or next((stay.way.kind for stay in self.at(node, time)), None)

    def room_at(self, node: int, way: Way, gpu: int | None, time: float) -> tuple[bool, Fraction] | None:
        """Whether others share the GPU at a time, and what is left of it or of the node; None without room."""
        here, kind = self.at(node, time), self.kind(node, time)
        if kind is None and sum(self.kind(n, time) is way.kind for n in self.nodes) >= way.kind.stock:
            return None
        if kind not in (None, way.kind) or not has_capacities([stay.way for stay in here], way):
            return None
        parts: dict[int, Fraction] = {}
        for stay in here:
            if stay.gpu is not None:
                parts[stay.gpu] = parts.get(stay.gpu, Fraction(1)) - stay.way.size
        free = way.kind.gpus - sum(stay.way.size for stay in here if stay.gpu is None) - len(parts)
        if gpu in parts:
            shares, left = True, parts[gpu] - way.size
        else:
            shares, left = False, free - max(way.size, 1)
        return None if left < 0 else (shares, left)

    def seat(self, node: int, way: Way, start: float) -> Seat | None:
        """The place of a way on a node from a time to its end: the tightest GPU that is shared then, else the first."""
        end = end_of(start, way)
        times = [start, *(t for s in self.stays for t in (s.start, s.end) if start < t < end - NEAR * max(1.0, end))]
        found = []
        for gpu in range(int(way.kind.gpus)) if way.is_part else [None]:
            rooms = [self.room_at(node, way, gpu, time) for time in times]
            if rooms[0] is not None and all(rooms):
                shares, left = rooms[0]
                rank = 0 if shares else 1 if self.at(node, start) else 2
                found.append(Seat(rank, left, node, way, gpu))
        return min(found, key=lambda seat: (seat.rank, seat.left, seat.gpu), default=None)

    def alike(self, way: Way) -> list[Way]:
        """The same way on each kind of the family, the largest first."""
        kinds = sorted((k for k in self.of.kinds if k.family == way.kind.family), key=lambda k: k.size_first)
        return [found for kind in kinds if (found := self.of.on_kind(way, kind)) is not None]

    def start(self, way: Way) -> bool:
        """Start a job in a way: on a node that has its kind now, else on one to rent, as the largest kind to be had."""
        options = [(node, other) for other in self.alike(way) for node in self.nodes]
        open_now = [(node, other) for node, other in options if self.kind(node, 0.0) is other.kind]
        seats = [seat for seat in (self.admitted(*option) for option in open_now) if seat is not None]
        best = min(seats, key=lambda seat: (seat.rank, seat.left, seat.node), default=None)
        if best is None:
            empty = ((node, other) for node, other in options if self.kind(node, 0.0) is None)
            best = next((seat for option in empty if (seat := self.admitted(*option)) is not None), None)
        if best is not None:
            self.stays.append(Stay(best.node, best.way, 0.0, end_of(0.0, best.way), best.gpu))
        return best is not None

    def admitted(self, node: int, way: Way) -> Seat | None:
        seat = self.seat(node, way, 0.0)
        if seat is None or (self.allows and not self.allows([*self.plan(), self.of.element(way, node)])):
            return None
        return seat if self.is_allowed_later(node, way, 0.0) else None

    def is_allowed_later(self, node: int, way: Way, start: float) -> bool:
        """Whether rows allow a stay where it or a reserved one begins."""
        if self.allows is None:
            return True
        stay = Stay(node, way, start, end_of(start, way), None)
        begins = {start} if start > 0 else set()
        begins |= {other.start for other in self.stays if other.reserved and stay.is_at(other.start)}
        at = [[s for s in self.stays if s.is_at(time)] for time in begins]
        return all(self.allows([self.of.element(s.way, s.node) for s in [*stays, stay]]) for stays in at)

    # --- rules -------------------------------------------------------------------------------------------------------

    def backfill(self, *, every: bool) -> None:
        reserved = False
        for job in self.waiting:
            listed = self.of.listed(job)
            if not any(self.start(way) for way in listed) and (every or not reserved):
                reserved = self.reserve(listed) or reserved

    def reserve(self, listed: Sequence[Way]) -> bool:
        """Reserve the earliest start; of equal ones the best way, the first node and the largest kind."""
        best: tuple[float, Seat] | None = None
        times = sorted({0.0, *(t for s in self.stays for t in (s.start, s.end) if t < math.inf)})
        if self.allows:  # it may have refused the start now, whatever is free
            times = [time for time in times if time > 0]
        for way in listed:
            for node in self.nodes:
                for other in self.alike(way):
                    if (there := self.of.node_kind.get(node)) is not None and there is not other.kind:
                        continue
                    for time in times:
                        if best is not None and time >= best[0]:
                            break
                        seat = self.seat(node, other, time)
                        if seat is not None and self.is_allowed_later(node, other, time):
                            best = (time, seat)
                            break
        if best is not None:
            time, seat = best
            self.stays.append(Stay(seat.node, seat.way, time, end_of(time, seat.way), seat.gpu, reserved=True))
        return best is not None

    def take_turns(self) -> None:
        users = sorted(set(self.of.user.values()), key=str)
        share = {self.of.user[job]: self.of.share[job] for job in self.of.user}
        quota = {self.of.user[job]: self.of.quota[job] for job in self.of.user}
        used = dict.fromkeys(users, Fraction(0))
        for stay in self.stays:
            used[self.of.user[stay.way.job]] += stay.way.size
        queues = {u: [job for job in self.waiting if self.of.user.get(job) == u] for u in users}
        while any(queues.values()):
            having = [u for u in users if queues[u]]
            user = min(having, key=lambda u: (round(float(used[u]) / share[u], 8), users.index(u)))
            for way in self.of.listed(queues[user].pop(0)):
                if float(used[user] + way.size) <= quota[user] * (1 + NEAR) and self.start(way):
                    used[user] += self.stays[-1].way.size
                    break

    def by_priority(self) -> list[Way]:
        """The ways in the order of Gavel: by share over the part of the time that the job has run, then the others."""
        ways = [way for job in self.waiting for way in self.of.listed(job) if self.may_run(way)]
        shares = self.shares_of_time(ways)
        turns = []
        for at, (way, share) in enumerate(zip(ways, shares, strict=True)):
            attained, elapsed = self.facts.get(way.job, (0.0, 0.0))
            served = attained / float(way.size)
            priority = math.inf if served == 0 else share * max(elapsed, served) / served
            rank = way.choose if way.choose is not None else way.otherwise
            key = (0, -priority, -share, 0) if share > NEAR else (1, 0.0, 0.0, rank)
            turns.append((key, self.waiting.index(way.job), self.of.ways[way.job].index(way), at))
        return [ways[turn[-1]] for turn in sorted(turns)]

    def may_run(self, way: Way) -> bool:
        """Whether an empty node of the kind has room, and there is one or can be one."""
        nodes = len(way.kind.nodes) or min(way.kind.stock, len(self.of.to_rent))
        return nodes > 0 and max(way.size, 1 if way.is_part else 0) <= way.kind.gpus and has_capacities([], way)

    def shares_of_time(self, ways: Sequence[Way]) -> list[float]:
        """The shares that make the least normalised throughput largest, then the sum of all of them."""
        if not ways:
            return []
        kinds, jobs, width = self.of.kinds, sorted({way.job for way in ways}), len(ways) + len(self.of.kinds)
        rent = len(self.of.to_rent)
        there = [len(kind.nodes) for kind in kinds]
        to_rent = [min(kind.stock, rent) if rent else 0 for kind in kinds]
        serving = [any(way.kind is kind for way in ways) for kind in kinds]
        several = max(sum(s and bool(r) for s, r in zip(serving, to_rent, strict=True)), 1)
        equal = [
            (n + min(r, rent / several)) * float(kind.gpus) * s
            for n, r, kind, s in zip(there, to_rent, kinds, serving, strict=True)
        ]
        gain = []
        for way in ways:
            own = [other for other in ways if other.job == way.job]
            best = [max((1 / o.time for o in own if o.kind is kind), default=0.0) for kind in kinds]
            throughput = sum(b * e for b, e in zip(best, equal, strict=True)) / sum(equal)
            least = min(float(o.size) for o in own)
            gain.append(1 / way.time / throughput * least / self.of.share[way.job])
        rows, most = [], []
        for job in jobs:
            rows.append([float(way.job == job) for way in ways] + [0.0] * len(kinds))
            most.append(1.0)
        for k, kind in enumerate(kinds):
            amounts = [[float(way.size) for way in ways], *zip(*(way.needs for way in ways), strict=True)]
            for amount, of_node in zip(amounts, [float(kind.gpus), *kind.room], strict=True):
                own = [a * (way.kind is kind) for a, way in zip(amount, ways, strict=True)]
                rows.append(own + [-of_node * (i == k) for i in range(len(kinds))])
                most.append(there[k] * of_node)
            rows.append([0.0] * len(ways) + [float(i == k) for i in range(len(kinds))])
            most.append(float(to_rent[k]))
        rows.append([0.0] * len(ways) + [1.0] * len(kinds))
        most.append(float(rent))
        own_gain = np.array(
            [[g * (w.job == j) for w, g in zip(ways, gain, strict=True)] + [0.0] * len(kinds) for j in jobs]
        )
        limits = np.array(rows)
        least_rows = np.vstack([np.c_[limits, np.zeros(len(limits))], np.c_[-own_gain, np.ones(len(jobs))]])
        first = linprog([0.0] * width + [-1.0], least_rows, [*most, *[0.0] * len(jobs)])
        floor = first.x[-1] * (1 - NEAR)
        optima = []
        for tilt in (0.0, 1.0, -1.0):  # another optimum shows up under a small change of the objective
            change = 1 + tilt * 1e-4 * np.random.default_rng(1).random(len(ways))
            objective = np.append(-np.array(gain) * change, np.zeros(len(kinds)))
            optima.append(linprog(objective, np.vstack([limits, -own_gain]), [*most, *[-floor] * len(jobs)]).x)
        known = optima[0][: len(ways)]
        if any(np.abs(other[: len(ways)] - known).max() > 1e-6 for other in optima):
            raise Undetermined
        return [round(share, 6) for share in known]


def end_of(start: float, way: Way) -> float:
    """When a job ends that starts then; a little later even if it takes no time."""
    return start + max(way.time, 4 * NEAR * max(1.0, start))
