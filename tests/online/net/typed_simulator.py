"""The simulator for nodes of several types: the way of a job, its time and use, and the memory of a policy."""

from __future__ import annotations

import math

from net_simulator import NEAR, Running, Simulation, in_order
from typed_cases import PER_GPU, TypedCase

Way = tuple[int, int]  # a type and a number of GPUs


class TypedSimulation(Simulation):
    """A run of a typed case to its end."""

    case: TypedCase

    def __init__(self, case: TypedCase) -> None:
        self.remembered: dict[int, float] = {}  # by job
        super().__init__(case)

    @property
    def node_count(self) -> int:
        return len(self.case.nodes)

    @property
    def boots(self) -> bool:
        return True

    def given(self, one: Running, there: int) -> TypedGiven:
        return TypedGiven(self, one, there)

    def work_of(self, job: object) -> float:
        return 1.0

    # --- plans -------------------------------------------------------------------------------------------------------

    def placed(self, there: list[Running], given: dict[int, TypedGiven]) -> dict[int, tuple[int, Way]]:
        """One job of the queue after the other takes the first place that the rules find."""
        case = self.case
        self.price = next(iter(given.values())).price
        up = [n for n, node in enumerate(self.nodes) if node.up]
        where = {one.number: (one.node, one.way) for one in there if one.state == "running" and case.keeps}
        kept = set(where)
        self.used = dict.fromkeys(up, 0)
        for node, (_, gpus) in where.values():
            self.used[node] += gpus
        queue = in_order([(one.number, given[one.number].keys) for one in there])
        for number in queue:
            if number in where:
                continue
            found = self.place(given[number])
            if found is None and case.rules[-1] == "wait":
                break
            if found is not None:
                where[number] = found
                self.used[found[0]] += found[1][1]
        for number in where:
            if number not in kept and where[number][1] in given[number].preferred and case.remembers:
                self.remembered[number] = given[number].memory(where[number][1])
        if case.grows:
            self.grow(where, [number for number in queue if number in where and number not in kept], given)
        for number, (_, way) in where.items():
            if case.again and way[1] > 1:
                self.jobs[number].request = self.now + case.again * given[number].time(way)
        return where

    def place(self, given: TypedGiven) -> tuple[int, Way] | None:
        """A node for the best way; if there is none, as the rules say."""
        ways = given.ways
        if not ways:
            return None
        found = self.node_for(ways[0])
        if found is not None:
            return found, ways[0]
        if self.case.rules[0] == "best_suboptimal":
            for way in given.listed[1:]:
                fits = [n for n in self.of_type(way) if self.used[n] and self.has_room(n, way)]
                if fits:
                    return fits[0], way
        if self.case.rules[0] == "next_choice":
            for way in given.listed[1:]:
                found = self.node_for(way)
                if found is not None:
                    return found, way
        return None

    def node_for(self, way: Way) -> int | None:
        """The node in use with room for a way, by the rule of fitting, else one that is not in use."""
        fits = [n for n in self.of_type(way) if self.used[n] and self.has_room(n, way)]
        if self.case.fit == "best_fit":
            fits.sort(key=lambda n: (-self.used[n], n))
        empty = [n for n in self.of_type(way) if not self.used[n]]
        return next(iter([*fits, *empty]), None)

    def of_type(self, way: Way) -> list[int]:
        return [n for n in self.used if self.case.nodes[n] == way[0]]

    def has_room(self, n: int, way: Way) -> bool:
        return self.used[n] + way[1] <= self.case.gpus[way[0]]

    def grow(self, where: dict[int, tuple[int, Way]], queue: list[int], given: dict[int, TypedGiven]) -> None:
        """Idle GPUs of each node go one at a time to the job whose time they cut most."""
        for n in self.used:
            kind = self.case.nodes[n]
            while self.used[n] < self.case.gpus[kind]:
                gains = {}
                for number in queue:
                    node, way = where[number]
                    more = (kind, way[1] + 1)
                    if node == n and given[number].can(more):
                        gain = given[number].lasts_for(way) - given[number].lasts_for(more)
                        if gain > NEAR * given[number].lasts_for(way):
                            gains[number] = gain
                if not gains:
                    break
                most = max(gains.values())
                best = max(
                    gains, key=lambda j: (gains[j] >= most * (1 - NEAR), self.case.jobs[j].weight, -queue.index(j))
                )
                where[best] = n, (kind, where[best][1][1] + 1)
                self.used[n] += 1

    # --- money -------------------------------------------------------------------------------------------------------

    def accrue(self, passed: float) -> None:
        case, running = self.case, self.running()
        if case.fee:
            self.add("extra", passed * case.fee * sum(one.way[1] for one in running))
        if not running or (case.fee and not case.charged):
            return
        factor = self.price if case.moving_price else 1.0
        used: dict[int, int] = {}
        for one in running:
            used[one.node] = used.get(one.node, 0) + one.way[1]
        rent = {n: factor * case.rent[case.nodes[n]] for n in used}
        if case.charged == "nodes":
            rate = sum(rent.values())
        elif case.charged == "" and case.rated:
            rate = sum((1 + gpus) * rent[n] for n, gpus in used.items())
        else:
            rate = sum(gpus * rent[n] for n, gpus in used.items())
        self.add("execution", passed * rate)

    def cost(self, kind: str, one: Running) -> None:
        if kind in self.case.costs:
            self.add(kind, self.case.costs[kind] * (one.way[1] if kind in PER_GPU else 1))


class TypedGiven:
    """What a plan knows of a job."""

    def __init__(self, at: TypedSimulation, one: Running, there: int) -> None:
        case, job, carries = at.case, one.job, at.case.carries
        self.case, self.job = case, job
        hour = math.floor(at.now)
        self.left = one.left if "remaining" in carries else 1.0
        self.due = job.deadline - at.now if "deadline" in carries else job.deadline
        self.price = (case.tariff[hour] if hour < len(case.tariff) else 0) if "price" in carries else 1.0
        asked = float(one.asked) if "asked" in carries else 0.0
        self.planned = at.remembered.get(one.number, 2.0)
        self.there = there
        self.keys = {
            "submitted": (job.submitted,),
            "deadline": (self.due,),
            "weight": (-job.weight, job.submitted),
            "remaining": (self.left, job.weight),
            "planned": (-self.planned, job.submitted),
            "asked": (-asked, self.due),
        }[case.key]
        there_are = {case.nodes[n] for n, node in enumerate(at.nodes) if node.up}
        every = [(t, g + 1) for t in sorted(there_are) for g, hours in enumerate(job.hours[t]) if hours]
        few = [way for way in every if way[1] <= case.most]
        order = in_order([(number, self.way_keys(way)) for number, way in enumerate(few)])
        self.preferred = [few[number] for number in order]
        spare = in_order([(number, (self.time(way),)) for number, way in enumerate(every)])
        self.ways = self.preferred or [every[number] for number in spare]
        self.listed = [*self.ways, *(every[number] for number in spare if every[number] not in self.ways)]

    def way_keys(self, way: Way) -> tuple[float, ...]:
        time, cost = self.time(way), way[1] * self.case.rent[way[0]] * self.time(way)
        return {
            "time": (time,),
            "cost": (cost, float(way[1])),
            "switch": (time if self.left > 0.5123 else cost,),
            "planned": (abs(way[1] - self.planned), time),
            "turns": (time if self.there % 2 == 0 else -time,),
        }[self.case.ways]

    def time(self, way: Way) -> float:
        return self.job.hours[way[0]][way[1] - 1]

    def can(self, way: Way) -> bool:
        return way[1] <= self.case.gpus[way[0]] and self.time(way) > 0

    def lasts_for(self, way: Way) -> float:
        return self.left * self.time(way)

    def lasts(self, node: int, way: Way) -> float:
        return self.time(way) if self.case.work else self.lasts_for(way)

    def rate(self, node: int, way: Way) -> float:
        return 0.0

    def memory(self, way: Way) -> float:
        return {"gpus": float(way[1]), "hours": self.time(way), "twice": min(self.planned + 1, 4.0)}[
            self.case.remembers
        ]
