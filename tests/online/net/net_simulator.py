"""A simulator of a subset of online blocks, from `online.md` and `running.md` of the docs alone, without engine code.

One Python loop over events, one object for each job. Times are hours, money is $.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from net_cases import Case, Job

NEAR = 1e-9


@dataclass
class Running:
    """A job as it is: `state` is `future`, `waiting`, `running` or `done`; `done` is the work that it has done."""

    number: int
    job: Job
    work: float
    ends: float
    state: str = "future"
    done: float = 0.0
    node: Any = -1  # of a gang the set of its nodes
    way: object = None  # how it runs on its node
    pace: float = 0.0  # true work by hour
    request: float = math.inf  # when its policy wants a plan
    asked: bool = False  # whether this plan was wanted because of it
    hold: float = 0.0  # no progress before this time
    rate: float = 0.0
    due: float = math.inf
    weight: float = 0.0
    begun: bool = False
    owed: float = 0.0  # what was left of a delay when it was halted
    start: float = math.nan
    end: float = math.nan

    @property
    def left(self) -> float:
        """The fraction of the stated work left, which stays above 0."""
        return min(max(1.0 - self.done / self.work, NEAR), 1.0)


@dataclass
class Node:
    up: bool = True
    next: float = math.inf
    flips: Iterator[float] = field(default_factory=lambda: repeat(math.inf))


@dataclass
class Simulation:
    """A run to its end: `ended`, `terms` of money, and the jobs."""

    case: Case
    now: float = 0.0
    last_plan: float = -math.inf
    plans: int = 0
    ended: str = ""
    terms: dict[str, float] = field(default_factory=dict)
    outages_at: list[tuple[float, int, bool]] = field(default_factory=list)  # time, node, whether it is up
    done_at: list[tuple[float, dict[int, float]]] = field(default_factory=list)  # work done before each plan
    counts: Counter[str] = field(default_factory=Counter)  # of changes
    lamps: int = 0  # nodes of the last plan

    def __post_init__(self) -> None:
        self.jobs = []
        for number, job in enumerate(self.case.jobs):
            work = self.work_of(job)
            ends = (job.ends if self.case.ends else 1.0) * work
            self.jobs.append(Running(number, job, work, ends))
        self.nodes = [Node() for _ in range(self.node_count)]
        for n, node in enumerate(self.nodes):
            node.flips = self.flips(n)
            node.next = next(node.flips)

    @property
    def node_count(self) -> int:
        return self.case.nodes

    def work_of(self, job: Job) -> float:
        return job.length if self.case.work else 1.0

    def flips(self, n: int) -> Iterator[float]:
        """When a node fails and is there again, in turn."""
        case = self.case
        if case.outage_times:
            yield from case.outage_times[n]
        elif case.mtbf:
            time, up = 0.0, True
            while True:
                time += case.mtbf[n] if up else case.repair
                up = not up
                yield time
        yield from repeat(math.inf)

    # --- the loop ----------------------------------------------------------------------------------------------------

    def run(self) -> Simulation:
        while self.go_on():
            why = self.happen()
            if why:
                self.plan()
        return self

    def go_on(self) -> bool:
        """Advance to the next time at which something happens; False if the run has ended."""
        until = math.inf if self.ended else self.next_time()
        if until == math.inf:
            self.ended = self.ended or ("stuck" if self.present() else "finished")
            return False
        self.advance(until)
        return True

    def present(self) -> list[Running]:
        return [one for one in self.jobs if one.state in ("waiting", "running")]

    def running(self) -> list[Running]:
        return [one for one in self.jobs if one.state == "running"]

    def near(self) -> float:
        return NEAR * max(1.0, abs(self.now))

    def next_time(self) -> float:
        times = [one.job.submitted for one in self.jobs if one.state == "future"]
        for one in self.running():
            left = max(one.ends - one.done, 0.0)
            times.append(max(self.now, one.hold) + (left / one.pace if left else 0.0))
        if self.present():
            times += [node.next for node in self.nodes]
            times += [one.request for one in self.jobs]
            if self.case.every:
                times.append(self.last_plan + self.case.every)
        return max(min(times, default=math.inf), self.now)

    def advance(self, until: float) -> None:
        self.accrue(until - self.now)
        for one in self.running():
            one.done += one.pace * max(until - max(self.now, one.hold), 0.0)
        self.now = until

    def accrue(self, passed: float) -> None:
        """The money of a span of time."""
        for one in self.running():
            if self.case.charges_jobs or not self.case.fee:
                self.add("execution", passed * one.rate)
            if self.case.fee:
                self.add("extra", passed * self.case.fee)
        if self.case.lamp and self.running():  # no job, nothing to charge
            self.add("lamps", passed * self.case.lamp * self.lamps)
            self.add("several", passed * self.case.lamp * (self.lamps > 1))

    def happen(self) -> list[str]:
        """Completions, failures and recoveries, arrivals; those that ask for a plan."""
        happened = []
        ended = [one for one in self.running() if self.is_over(one)]
        for one in ended:
            one.state, one.end, one.request = "done", self.now, math.inf
            self.add("tardiness", one.weight * max(0.0, self.now - one.due) if one.weight else 0.0)
        if ended:
            happened.append("completion")
        happened += self.withdrawn()
        if not self.present():
            self.last_plan = -math.inf  # those that come to an empty cluster are planned for at once
        happened += self.outages()
        came = self.arriving()
        for one in came:
            one.state = "waiting"
        if came:
            happened.append("arrival")
        why = [event for event in happened if event in self.case.replans]
        if self.case.every:
            first = self.last_plan == -math.inf and not why and bool(self.present())
            if first or (self.last_plan > -math.inf and self.now >= self.last_plan + self.case.every - self.near()):
                why.append("period")
        if any(one.request <= self.now + self.near() for one in self.jobs):
            why.append("request")
        return why

    def withdrawn(self) -> list[str]:
        """Jobs that are withdrawn now: none in a simulated run."""
        return []

    def arriving(self) -> list[Running]:
        """Jobs that arrive now."""
        return [one for one in self.jobs if one.state == "future" and one.job.submitted <= self.now + self.near()]

    def is_over(self, one: Running) -> bool:
        left = one.ends - one.done
        reached = left <= NEAR * max(1.0, one.ends) or left <= one.pace * self.near()
        return reached and one.hold <= self.now + self.near()

    def outages(self) -> list[str]:
        before = [node.up for node in self.nodes]
        for node in self.nodes:
            while node.next <= self.now + self.near():
                node.up = not node.up
                node.next = next(node.flips)
        happened = []
        changed = [n for n, node in enumerate(self.nodes) if node.up != before[n]]
        self.outages_at += [(self.now, n, self.nodes[n].up) for n in changed]
        failed = {n for n, node in enumerate(self.nodes) if before[n] and not node.up}
        for one in self.running():
            if failed & self.nodes_at(one.node):
                self.halt(one)
        if failed:
            happened.append("failure")
        if any(node.up and not up for node, up in zip(self.nodes, before, strict=True)):
            happened.append("recovery")
        return happened

    def halt(self, one: Running) -> None:
        one.state, one.node, one.request = "waiting", -1, math.inf
        one.owed = max(one.hold - self.now, 0.0)
        self.counts["halt"] += 1

    def in_use(self) -> set[int]:
        return {n for one in self.running() for n in self.nodes_at(one.node)}

    def nodes_at(self, place: Any) -> set[int]:
        """The nodes of a place: of a job one."""
        return {place}

    def add(self, term: str, amount: float) -> None:
        self.terms[term] = self.terms.get(term, 0.0) + amount

    # --- plans -------------------------------------------------------------------------------------------------------

    def plan(self) -> None:
        case, there = self.case, self.present()
        if not there:
            self.last_plan = -math.inf
            return
        self.plans += 1
        if self.case.stretch:  # else jobs progress as planned
            self.done_at.append((self.now, {one.number: one.done for one in self.running()}))
        self.last_plan = self.now
        for one in there:
            one.asked = one.request <= self.now + self.near()
        given = {one.number: self.given(one, len(there)) for one in there}
        for one in there:
            one.request = math.inf
            if one.due == math.inf and one.weight == 0:
                one.due, one.weight = self.now + given[one.number].due, one.job.weight
        ran = {one.number for one in self.running()}
        where = self.placed(there, given)
        taken = {number: self.nodes_at(place) for number, (place, _) in where.items()}
        booting = set().union(*taken.values()) - self.in_use() if self.boots else set()
        for one in there:
            if one.number not in where and one.number in ran:
                self.cost("halt", one)
                self.halt(one)
        for node in booting:
            self.boot(node, next(one for one in there if node in taken.get(one.number, ())))
        for number, (node, way) in where.items():
            one = self.jobs[number]
            self.change(one, node, way, booting & taken[number])
            lasts = given[number].lasts(node, way)
            planned = one.work / lasts if case.work else max(one.work - one.done, NEAR * one.work) / lasts
            one.pace = planned / (one.job.stretch if case.stretch else 1.0)
            one.rate = given[number].rate(node, way)
        self.lamps = len(self.in_use())

    @property
    def boots(self) -> bool:
        """Whether it is stated which nodes are in use."""
        return self.case.keeps

    def given(self, one: Running, there: int) -> Given:
        """What the plan knows of a job."""
        return Given(self, one, there)

    def placed(self, there: list[Running], given: dict[int, Given]) -> dict[int, tuple[Any, object]]:
        """The node of each job that runs from now on, and how it runs there."""
        case = self.case
        up = [n for n, node in enumerate(self.nodes) if node.up]
        order = in_order([(one.number, given[one.number].keys) for one in there])
        where = {one.number: one.node for one in there if one.state == "running" and case.keeps}
        used = dict.fromkeys(up, 0)
        for number, node in where.items():
            used[node] += self.jobs[number].job.needs
        started = []
        for number in order:
            if number in where:
                continue
            needs = self.jobs[number].job.needs
            fits = [n for n in up if used[n] and used[n] + needs <= case.gpus and not case.exclusive]
            empty = [n for n in up if not used[n]]
            if case.fit == "best_fit":
                fits.sort(key=lambda n: (-used[n], n))
            if not fits and not empty:
                if case.stops:
                    break
                continue
            node = (fits or empty)[0]
            used[node] += needs
            where[number] = node
            started.append(number)
        return {number: (node, None) for number, node in (where if case.keeps else self.named(started)).items()}

    def named(self, chosen: list[int]) -> dict[int, int]:
        """Nodes that are all alike, one job each: as many jobs as can stay where they are."""
        stay = {number: self.jobs[number].node for number in chosen if self.jobs[number].state == "running"}
        free = [n for n in range(len(self.nodes)) if n not in stay.values()]
        return {**stay, **dict(zip((n for n in chosen if n not in stay), free, strict=False))}

    def change(self, one: Running, node: Any, way: object, booting: set[int]) -> None:
        """Let a job run on a node from now on, with what that takes and costs."""
        ran, kinds = one.state == "running", []
        if not ran:
            kinds = ["resume" if one.begun else "start"]
        elif one.node != node:
            kinds = ["migration"]
        elif one.way != way:
            kinds = ["resize"]
        one.state, one.node, one.way = "running", node, way
        for kind in kinds:
            self.counts[kind] += 1
            self.cost(kind, one)
        kinds += ["boot"] if booting else []
        waits = [self.delay(kind, booting if kind == "boot" else self.nodes_at(node)) for kind in kinds]
        wait = max(0.0 if ran else one.owed, *waits, 0.0)
        one.hold = max(one.hold if ran else -math.inf, self.now + wait)
        one.start = one.start if one.begun else self.now
        one.begun = True

    def delay(self, kind: str, nodes: set[int]) -> float:
        """How long a change of a job takes on these nodes."""
        return self.case.delays.get(kind, 0.0)

    def boot(self, node: int, one: Running) -> None:
        """A node is booted for a job."""
        self.cost("boot", one)

    def cost(self, kind: str, one: Running) -> None:
        """What a change of a job costs, by how it runs."""
        if kind in self.case.costs:
            self.add(kind, self.case.costs[kind])


class Given:
    """What a plan knows of a job: parameters as they are carried, else as the scenario states them."""

    def __init__(self, at: Simulation, one: Running, there: int) -> None:
        case, job, carries = at.case, one.job, at.case.carries
        hour = math.floor(at.now)
        left = one.left if "remaining" in carries else 1.0
        clock = at.now if "clock" in carries else 0.0
        ran = float(one.state == "running") if "ran" in carries else 0.0
        deadline = job.deadline - at.now if "deadline" in carries else job.deadline
        price = (case.tariff[hour] if hour < len(case.tariff) else 0) if "price" in carries else 1
        factors = {
            "constant": 1.0, "tariff": price, "clock": 1 + clock, "left": 1 + left, "ran": 1 + ran, "there": there,
        }  # fmt: skip
        self.money = factors[case.factor] * job.rate
        self.left = left * job.length
        self.hours = job.length if case.work else self.left
        self.due = deadline - clock if case.due == "clock" else deadline
        self.keys = {
            "submitted": (job.submitted,),
            "left": (self.left, job.submitted),
            "deadline": (deadline,),
            "weight": (-job.weight, job.submitted),
            "needs": (-float(job.needs),),
            "age": (at.now - job.submitted,),
            "remaining": (-left, job.weight),
        }[case.key]

    def lasts(self, node: int, way: object) -> float:
        return self.hours

    def rate(self, node: int, way: object) -> float:
        return self.money


def in_order(listed: list[tuple[int, tuple[float, ...]]]) -> list[int]:
    """Jobs by their keys, smallest first; values are the same within 1e-9 of the larger one, then the next key."""
    if not listed:
        return []
    if not listed[0][1]:
        return [number for number, _ in sorted(listed)]
    found: list[int] = []
    rest = sorted(listed, key=lambda pair: (pair[1][0], pair[0]))
    while rest:
        low = rest[0][1][0]
        alike = [(n, keys[1:]) for n, keys in rest if abs(keys[0] - low) <= NEAR * max(abs(keys[0]), abs(low))]
        found += in_order(alike)
        rest = rest[len(alike) :]
    return found
