"""The simulator for accumulated values and the clock, from the pages state.md, dates.md and online.md alone."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import cached_property
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

from net_simulator import Running, Simulation, in_order
from state_cases import DAYS, HOLIDAYS, KINDS, LEAST, TEAMS, Accumulator, Rate, StateCase

Element = tuple[Any, ...]
Decisions = dict[tuple[int, int], float]  # workers by job and node; 1 of a job that has one node
RUN_DAYS = 40


@dataclass(frozen=True)
class WallClock:
    """Dates of times in hours since time 0."""

    start: datetime

    @staticmethod
    def of(written: str, zone: str) -> WallClock:
        naive = datetime.fromisoformat(written)
        if zone[0] in "+-":
            hours, minutes = zone[1:].split(":")
            offset = timedelta(hours=int(hours), minutes=int(minutes))
            return WallClock(naive.replace(tzinfo=timezone(offset if zone[0] == "+" else -offset)))
        return WallClock(naive.replace(tzinfo=ZoneInfo(zone)))

    def at(self, hours: float) -> datetime:
        moment = self.start.astimezone(UTC) + timedelta(microseconds=round(hours * 3.6e9))
        return moment.astimezone(self.start.tzinfo)

    def hour_of_day(self, hours: float) -> float:
        there = self.at(hours)
        return there.hour + (there.minute + (there.second + there.microsecond / 1e6) / 60) / 60

    def function(self, name: str, hours: float) -> float:
        there, hour = self.at(hours), self.hour_of_day(hours)
        return {
            "hour": 1 + hour,
            "office": 3.0 if there.isoweekday() <= 5 and 9 <= hour < 18 else 1.0,
            "holiday": 4.0 if there.date().isoformat() in HOLIDAYS else 1.0,
            "day": float(there.day),
            "month": float(there.month),
            "weekday": float(there.isoweekday()),
        }[name]

    def moments(self, times: Iterable[str], days: Iterable[str]) -> list[float]:
        """Hours at which the clock on the wall shows the times, on these days."""
        named = {"weekdays": DAYS[:5], "weekends": DAYS[5:]}
        wanted = {day for word in days for day in named.get(word, (word,))} or set(DAYS)
        first = self.start.date() - timedelta(days=1)
        every = (first + timedelta(days=k) for k in range(RUN_DAYS))
        found = [self.moment(day, t) for day in every if DAYS[day.weekday()] in wanted for t in times]
        return sorted({hours for hours in found if hours >= 0})

    def moment(self, day: date, written: str) -> float:
        hour, minute = map(int, written.split(":"))
        naive = datetime.combine(day, time(hour, minute))
        there = naive.replace(tzinfo=self.start.tzinfo).astimezone(UTC)
        if there.astimezone(self.start.tzinfo).replace(tzinfo=None) != naive:  # the clock jumps over it
            after = there.astimezone(self.start.tzinfo).utcoffset()
            while (there - timedelta(minutes=1)).astimezone(self.start.tzinfo).utcoffset() == after:
                there -= timedelta(minutes=1)
        return (there - self.start.astimezone(UTC)) / timedelta(hours=1)


class StateSimulation(Simulation):
    """A run of a case to its end; `seen` has the time of each plan and what it knew of each accumulator."""

    case: StateCase

    def __init__(self, case: StateCase) -> None:
        self.values: dict[str, dict[Element, float]] = {}  # of the last plan
        self.price = 1.0
        self.clock = 0.0
        self.was: dict[int, float] = {}
        self.decided: Decisions = {}
        self.grown: dict[tuple[str, Element], float] = {}  # integrals since the last plan
        self.planned_at = math.nan
        self.seen: list[tuple[float, dict[str, dict[Element, float]]]] = []
        super().__init__(case)

    @property
    def node_count(self) -> int:
        return len(self.case.kinds)

    @property
    def boots(self) -> bool:
        return True

    def work_of(self, job: object) -> float:
        return 1.0

    @cached_property
    def wall(self) -> WallClock:
        assert self.case.calendar is not None
        return WallClock.of(*self.case.calendar)

    @cached_property
    def moments(self) -> list[float]:
        """Times of `replan at`, on the clock of the run."""
        found = {m * self.case.per_hour for times, days in self.case.clocks for m in self.wall.moments(times, days)}
        return sorted(found)

    # --- the loop ----------------------------------------------------------------------------------------------------

    def next_time(self) -> float:
        found = super().next_time()
        if self.present() and self.moments:
            at = bisect_right(self.moments, self.now + self.near())
            found = min(found, self.moments[at] if at < len(self.moments) else math.inf)
        return found

    def happen(self) -> list[str]:
        why = super().happen()
        if self.present() and any(abs(moment - self.now) <= self.near() for moment in self.moments):
            why.append("clock")
        return why

    def accrue(self, passed: float) -> None:
        case = self.case
        running = self.in_effect()
        hours = passed / case.per_hour
        if self.plans:
            for a in case.accumulators:
                for element in self.all_elements(a.index):
                    rate = self.rate(a.rate, a.index, element, running, inside=True)
                    before, counts = self.grown.get((a.name, element), 0.0), hours
                    if a.fades:
                        before *= 0.5 ** (hours / a.half)
                        counts = a.half / math.log(2) * (1 - 0.5 ** (hours / a.half))
                    self.grown[a.name, element] = before + rate * counts
            for one in self.running():
                self.grown["was", (one.number,)] = self.grown.get(("was", (one.number,)), 0.0) + hours
        if not running:
            return
        self.show(hours, running)
        stated = bool(case.shown or case.clocked)
        if case.charged == "nodes":
            self.add("execution", passed * sum(case.rent[n] for n in self.in_use()))
        elif case.charged == "jobs" or not stated:
            self.add("execution", passed * sum(one.rate for one in self.running()))

    def in_effect(self) -> Decisions:
        """The decisions of the jobs that run."""
        return {(one.number, one.node): 1.0 for one in self.running()}

    def show(self, hours: float, running: Decisions) -> None:
        """The charges by accumulated values, and by the clock."""
        case = self.case
        for name in case.shown:
            a, values = case.named(name), self.values[name]
            if set(a.index) & set("jn"):
                amount = sum(
                    value * workers
                    for element, value in values.items()
                    for (j, n), workers in running.items()
                    if self.belongs(a.index, element, j, n, groups=False)
                )
            else:
                amount = sum(values.values())
            self.add(f"of_{name}", hours * amount)
        if case.clocked:
            level = self.wall.function(case.clocked, self.clock / case.per_hour)
            self.add(
                "clocked", hours * level * sum(case.jobs[j].watts * workers for (j, _), workers in running.items())
            )

    def halt(self, one: Running) -> None:
        self.decided = {(j, n): workers for (j, n), workers in self.decided.items() if j != one.number}
        super().halt(one)

    # --- accumulated values ------------------------------------------------------------------------------------------

    def all_elements(self, index: str) -> list[Element]:
        """Elements of all jobs that have arrived, and of all nodes."""
        arrived = [one.number for one in self.jobs if one.state != "future"]
        of = {**self.groups, "j": arrived, "n": range(self.node_count)}
        return list(product(*(of[name] for name in index)))

    @property
    def groups(self) -> dict[str, Iterable[str]]:
        return {"t": TEAMS, "k": KINDS}

    def belongs(self, index: str, element: Element, j: int, n: int, *, groups: bool = True) -> bool:
        """Whether a job on a node counts for an element; without `groups` for all groups of nodes."""
        mine = self.names(j, n)
        named = zip(index, element, strict=True)
        return all(mine[name] == value for name, value in named if groups or name in "jnt")

    def names(self, j: int, n: int) -> dict[str, object]:
        return {"j": j, "n": n, "t": self.case.jobs[j].team, "k": self.case.kinds[n]}

    def rate(self, rate: Rate, index: str, element: Element, decisions: Decisions, *, inside: bool) -> float:
        """What decisions amount to; within `executed` with what the last plan knew."""
        case = self.case
        weigh: Callable[[int, int], float] = {
            "one": lambda j, n: 1.0,
            "gpus": lambda j, n: case.jobs[j].gpus,
            "speed": lambda j, n: case.jobs[j].gpus * case.speed[n],
            "watts": lambda j, n: case.jobs[j].watts,
        }[rate.coefficient]
        counted = [(jn, workers) for jn, workers in decisions.items() if self.belongs(index, element, *jn)]
        found = sum(weigh(*jn) * workers for jn, workers in counted)
        found = {"plain": found, "excess": max(0.0, found - LEAST), "flag": float(found > LEAST)}[rate.shape]
        if not inside or not rate.factor:
            return found
        return found * (self.price if rate.factor == "price" else 1 + self.values[rate.factor][()])

    def carry(self) -> None:
        """All right-hand sides, from the values of the last plan."""
        case, last = self.case, self.values
        elapsed = (self.now - self.planned_at) / case.per_hour
        found: dict[str, dict[Element, float]] = {}
        for a in case.accumulators:
            found[a.name] = {}
            for element in self.all_elements(a.index):
                known = element in last.get(a.name, {}) or not a.reads_itself
                begins = not (self.plans and known) and not a.first
                found[a.name][element] = a.start if begins else self.right(a, element, elapsed)
        self.values, self.grown = found, {}
        hour = math.floor(self.now / case.per_hour)
        self.price = float(case.tariff[hour]) if hour < len(case.tariff) else 0.0
        self.was = {one.number: float(one.state == "running") for one in self.jobs}
        self.clock, self.planned_at = self.now, self.now
        self.seen.append((self.now, found))

    def right(self, a: Accumulator, element: Element, elapsed: float) -> float:
        before = self.values.get(a.name, {}).get(element, a.start)
        grown = self.grown.get((a.name, element), 0.0)
        decided = self.rate(a.rate, a.index, element, self.decided, inside=False)
        if a.form == "sum":
            return before + grown
        if a.form == "decay":
            return before * 0.5 ** (elapsed / a.half) + grown
        if a.form == "peak":
            return max(before, decided)
        if a.form == "slice":
            return max(before, grown)
        if a.form == "since":
            return before + elapsed if decided > 0.5 else 0.0
        if a.form == "last":
            return decided
        if a.form == "reset":
            return a.start if self.wall.hour_of_day(self.now / self.case.per_hour) < a.hour else before + grown
        if a.form == "cross":
            names = dict(zip(a.index, element, strict=True))
            other = self.case.named(a.other)
            value = self.values[a.other].get(tuple(names[i] for i in other.index), other.start)
            return before + value * elapsed / 4
        if a.form == "gap":
            return max(before, elapsed)
        if a.form == "restarts":
            ran = max(self.was.get(element[0], 0.0), float(self.grown.get(("was", element), 0.0) > 0))
            return before + max(0.0, ran - (self.jobs[element[0]].state == "running"))
        members = [one for one in self.jobs if one.state != "future" and self.belongs(a.index, element, one.number, 0)]
        if a.form == "done":
            return sum(one.job.gpus * one.done for one in members)
        if a.form == "arrived":
            return before + elapsed * sum(one.job.gpus for one in members)
        assert a.form == "jobs"
        other = self.case.named(a.other)
        return max(before, sum(self.values[a.other].get((one.number,), other.start) for one in members))

    # --- plans -------------------------------------------------------------------------------------------------------

    def plan(self) -> None:
        if not self.present():
            self.last_plan = -math.inf
            return
        self.carry()
        super().plan()
        self.decided = self.in_effect()

    def given(self, one: Running, there: int) -> StateGiven:
        return StateGiven(self, one)

    def placed(self, there: list[Running], given: dict[int, Any]) -> dict[int, tuple[int, object]]:
        case = self.case
        up = [n for n, node in enumerate(self.nodes) if node.up]
        where = {one.number: one.node for one in there if one.state == "running" and case.keeps}
        used = dict.fromkeys(up, 0)
        for number, node in where.items():
            used[node] += case.jobs[number].gpus
        for number in in_order([(one.number, given[one.number].keys) for one in there]):
            if number in where:
                continue
            needs = case.jobs[number].gpus
            open_to = [n for n in up if self.may(number, n)]
            fits = [n for n in open_to if used[n] and used[n] + needs <= case.gpus]
            empty = [n for n in open_to if not used[n]]
            if case.fit == "best_fit":
                fits.sort(key=lambda n: (-used[n], n))
            if not fits and not empty:
                if case.stops:
                    break
                continue
            node = (fits or empty)[0]
            used[node] += needs
            where[number] = node
        return {number: (node, None) for number, node in where.items()}

    def may(self, number: int, node: int) -> bool:
        """Whether the rows of budgets and of rest allow a job on a node."""
        case = self.case
        if not case.hard and self.jobs[number].state == "running":
            return True
        name, limit = case.limit
        if name:
            a = case.named(name)
            if self.values[name][(case.jobs[number].team,) if a.index else ()] >= limit:
                return False
        name, limit = case.resting
        return not name or self.values[name][node,] < limit


class StateGiven:
    """What a plan knows of a job."""

    def __init__(self, at: StateSimulation, one: Running) -> None:
        case, job = at.case, one.job
        self.hours = one.left * job.length
        self.due = job.deadline - at.now
        self.money = job.rate
        if case.cost:
            self.money *= 1 + of_job(at, case.named(case.cost), one.number)
        if case.cost_clock:
            self.money *= at.wall.function(case.cost_clock, at.now / case.per_hour)
        if case.key == "submitted":
            first = job.submitted
        elif case.key == "clock":
            hours = at.now / case.per_hour
            sign = 1 if at.wall.hour_of_day(hours) < 12 else -1
            first = sign * at.wall.at(hours).isoweekday() * case.jobs[one.number].gpus
        else:
            first = of_job(at, case.named(case.key), one.number)
        self.keys = (-first if case.descending else first, job.submitted)

    def lasts(self, node: int, way: object) -> float:
        return self.hours

    def rate(self, node: int, way: object) -> float:
        return self.money


def of_job(at: StateSimulation, a: Accumulator, number: int) -> float:
    """The value that a key of the queue reads for a job: of the nodes that there are."""
    case, values = at.case, at.values[a.name]
    up = [n for n, node in enumerate(at.nodes) if node.up]
    mine = {**at.groups, "t": (case.jobs[number].team,), "j": (number,), "n": up}
    found = sum(values[element] for element in product(*(mine[name] for name in a.index)))
    return found if set(a.index) & set("tj") else case.jobs[number].gpus * found
