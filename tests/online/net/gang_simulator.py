"""The simulator for gangs by events, from online.md, language.md#gangs, policies_in_detail.md#gangs and live.md alone.

The pages leave open which of equally good nodes a gang gets. So the simulator takes the nodes from the plans that were
made, after it has checked them against the rules of the page; who runs, and all that follows, it finds by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from typing import Any

from gang_cases import RACKS, GangCase, GangJob
from net_simulator import Running, in_order
from state_simulator import Decisions, StateGiven, StateSimulation, of_job

SMALL = 1e-6
Spread = Mapping[int, int]  # workers on each node
Stay = tuple[int, tuple[tuple[int, int], ...], float, float]  # job, workers on nodes, start, end


@dataclass
class Absence:
    """A withdrawal of a job, and its return; `state` is `comes`, `out`, or `never` again."""

    number: int
    at: float
    back: float
    state: str = "comes"


class GangSimulation(StateSimulation):
    """A run to its end; `stays` has who ran where and when, `wrong` the plans that break a rule."""

    case: GangCase

    def __init__(self, case: GangCase) -> None:
        self.wrong: list[str] = []
        self.stays: list[Stay] = []
        self.since: dict[int, float] = {}
        self.paid = dict.fromkeys(range(len(case.jobs)), 0.0)  # by job, for its own execution
        self.absences = [Absence(*one) for one in case.gone]
        self.events: list[dict[str, object]] = []  # of this time, for a live run
        super().__init__(case)

    @property
    def groups(self) -> dict[str, Iterable[str]]:
        return {**super().groups, "r": RACKS}

    def names(self, j: int, n: int) -> dict[str, object]:
        return {**super().names(j, n), "r": self.case.racks[n]}

    def work_of(self, job: Any) -> float:
        return float(job.length) if self.case.work else 1.0

    # --- where gangs are: a place is the set of nodes, a way the workers on them -------------------------------------

    def nodes_at(self, place: Any) -> set[int]:
        return set(place)

    def in_effect(self) -> Decisions:
        return {(one.number, n): float(count) for one in self.running() for n, count in spread_of(one).items()}

    def change(self, one: Running, node: Any, way: object, booting: set[int]) -> None:
        if (one.node, one.way) != (node, way):
            self.leave(one)
            self.since[one.number] = self.now
        super().change(one, node, way, booting)

    def halt(self, one: Running) -> None:
        self.leave(one)
        super().halt(one)
        one.node, one.way = frozenset(), None

    def leave(self, one: Running) -> None:
        start = self.since.pop(one.number, math.nan)
        if start < self.now:
            self.stays.append((one.number, tuple(sorted(spread_of(one).items())), start, self.now))

    # --- money by job ------------------------------------------------------------------------------------------------

    def accrue(self, passed: float) -> None:
        super().accrue(passed)
        case, running = self.case, self.in_effect()
        if case.charged == "nodes":
            used = used_by(case, {one.number: spread_of(one) for one in self.running()})
            for (j, n), count in running.items():
                self.paid[j] += passed * case.rent[n] * count * case.jobs[j].gpus / used[n]
        elif case.charged == "jobs" or not (case.shown or case.clocked):
            for one in self.running():
                self.paid[one.number] += passed * one.rate

    # --- what happens ------------------------------------------------------------------------------------------------

    def next_time(self) -> float:
        times = [one.at if one.state == "comes" else one.back for one in self.absences if one.state in ("comes", "out")]
        return max(min(super().next_time(), *times, math.inf), self.now)

    def happen(self) -> list[str]:
        before, seen = self.running(), len(self.outages_at)
        self.events = []
        why = super().happen()
        for one in before:
            if one.state == "done":
                self.leave(one)
                self.events.append({"kind": "completion", "job": f"j{one.number}"})
        for _, n, up in self.outages_at[seen:]:
            self.events.append({"kind": "node_up" if up else "node_down", "node": f"n{n}"})
        return why

    def withdrawn(self) -> list[str]:
        found = []
        for absence in self.absences:
            if absence.state == "comes" and absence.at <= self.now + self.near():
                one = self.jobs[absence.number]
                absence.state = "never"
                if one.state in ("waiting", "running"):
                    returns, decided = absence.back < math.inf, self.decided
                    if one.state == "running":
                        self.halt(one)
                        self.counts["halt"] -= not returns
                        self.decided = decided  # no failure halted it
                    one.state, absence.state = "absent", "out" if returns else "never"
                    one.end = one.end if returns else self.now
                    self.events.append({"kind": "withdrawal", "job": f"j{one.number}", "returns": returns})
                    found = ["completion"]
        return found

    def arriving(self) -> list[Running]:
        found = super().arriving()
        for absence in self.absences:
            if absence.state == "out" and absence.back <= self.now + self.near():
                absence.state = "never"
                found.append(self.jobs[absence.number])
                self.events.append({"kind": "arrival", "job": f"j{absence.number}"})
        return found

    # --- changes -----------------------------------------------------------------------------------------------------

    def fare(self, kind: str, nodes: Iterable[int]) -> float:
        return max(self.case.fare[n] for n in nodes) if kind in self.case.by_node else 1.0

    def delay(self, kind: str, nodes: set[int]) -> float:
        return self.case.delays.get(kind, 0.0) * self.fare(kind, nodes)

    def cost(self, kind: str, one: Running) -> None:
        self.pay(kind, one.node)

    def boot(self, node: int, one: Running) -> None:
        self.pay("boot", [node])

    def pay(self, kind: str, nodes: Iterable[int]) -> None:
        if kind in self.case.costs:
            self.add(kind, self.case.costs[kind] * self.fare(kind, nodes))

    # --- plans -------------------------------------------------------------------------------------------------------

    def given(self, one: Running, there: Any) -> GangGiven:
        return GangGiven(self, one)

    def placed(self, there: list[Running], given: dict[int, Any]) -> dict[int, tuple[Any, object]]:
        number = self.plans - 1
        if number >= len(self.case.taken):
            self.ended = "interrupt"
            return {}
        taken: dict[int, dict[int, int]] = self.case.taken[number]
        unknown = taken.keys() - {one.number for one in there}
        wrong = [f"jobs {sorted(unknown)} are not present"] if unknown else []
        wrong += self.solver_plan(there, taken) if self.case.solved else self.queue_plan(there, given, taken)
        wrong += self.moved_in_vain(taken) if self.case.alike and not wrong else []
        self.wrong += [f"plan {number} at {self.now}: {text}" for text in wrong]
        if wrong:
            self.ended = "wrong"
            return {}
        return {j: (frozenset(spread), tuple(sorted(spread.items()))) for j, spread in taken.items()}

    def moved_in_vain(self, taken: dict[int, dict[int, int]]) -> list[str]:
        """A plan whose nodes, which are all alike, have other names could let more gangs keep more of their nodes."""
        before = {one.number: set(one.node) for one in self.running()}
        up = [n for n, node in enumerate(self.nodes) if node.up]

        def kept(name: Mapping[int, int]) -> int:
            return sum(len(before.get(j, set()) & {name[n] for n in spread}) for j, spread in taken.items())

        most = max(kept(dict(zip(up, names, strict=True))) for names in permutations(up))
        now = kept({n: n for n in up})
        return [] if now == most else [f"{now} nodes are kept, not {most}: {before}, then {taken}"]

    def open_nodes(self, j: int) -> list[int]:
        """The nodes that a job may have by the rows of the model."""
        return [n for n, node in enumerate(self.nodes) if node.up and self.may(j, n)]

    def room(self, n: int, job: GangJob, used: Mapping[int, int]) -> int:
        """The workers of a job for which a node has room."""
        found = (self.case.rooms[n] - used.get(n, 0)) // job.gpus
        return min(found, 1 if self.case.binary else job.workers)

    def queue_plan(self, there: list[Running], given: dict[int, Any], taken: dict[int, dict[int, int]]) -> list[str]:
        """What is wrong with a plan of the policy."""
        case = self.case
        expected = {one.number: spread_of(one) for one in there if one.state == "running" and case.keeps}
        used = used_by(case, expected)
        stopped = False
        for j in in_order([(one.number, given[one.number].keys) for one in there]):
            if j in expected:
                if taken.get(j) != expected[j]:
                    return [f"j{j} does not stay on {expected[j]}"]
                continue
            job: GangJob = case.jobs[j]
            level = None if stopped else self.level(j, used)
            if (level is None) != (j not in taken):
                return [f"j{j} {'runs' if j in taken else 'does not run'}, beside {used}, in {taken}"]
            if level is None:
                stopped = case.stops
                continue
            told = self.spread_is_wrong(j, taken[j], level, used)
            if told:
                return [f"j{j} on {taken[j]}: {told}, beside {used}"]
            for n, count in taken[j].items():
                used[n] = used.get(n, 0) + count * job.gpus
        return []

    def level(self, j: int, used: Mapping[int, int]) -> set[int] | None:
        """The nodes of the types that a job may use, the first ones that have room for all workers."""
        job = self.case.jobs[j]
        room = {n: self.room(n, job, used) for n in self.open_nodes(j)}
        allowed: set[int] = set()
        for key in sorted({self.type_of(n) for n in room}):
            allowed |= {n for n in room if self.type_of(n) == key}
            if sum(room[n] for n in allowed) >= job.workers and self.obeys_caps(job, room, allowed, used):
                return allowed
        return None

    def obeys_caps(self, job: GangJob, room: Mapping[int, int], allowed: set[int], used: Mapping[int, int]) -> bool:
        """Whether the racks of these nodes may have so many workers more."""
        if not self.case.cap:
            return True
        fit = 0
        for rack in RACKS:
            nodes = [n for n in allowed if self.case.racks[n] == rack]
            fit += min(sum(room[n] for n in nodes), self.left_in_rack(rack, used) // job.gpus)
        return fit >= job.workers

    def left_in_rack(self, rack: str, used: Mapping[int, int]) -> int:
        return self.case.cap - sum(amount for n, amount in used.items() if self.case.racks[n] == rack)

    def type_of(self, n: int) -> tuple[float, ...]:
        """The keys of `choose` on a node."""
        return tuple({"speed": 1 / self.case.speed[n], "rent": self.case.rent[n]}[key] for key in self.case.choose)

    def spread_is_wrong(self, j: int, spread: Spread, level: set[int], used: Mapping[int, int]) -> str:
        """Why the workers of a job cannot be so, or should be elsewhere."""
        case, job = self.case, self.case.jobs[j]
        room = {n: c for n in level if (c := self.room(n, job, used))}
        if sum(spread.values()) != job.workers or not all(0 < c <= room.get(n, 0) for n, c in spread.items()):
            return f"not all workers, or too many, with room {room}"
        now = {r: sum(c * job.gpus for n, c in spread.items() if case.racks[n] == r) for r in RACKS}
        if case.cap and any(gpus > self.left_in_rack(rack, used) for rack, gpus in now.items() if gpus):
            return "a rack has too many"
        if case.cap or len(self.open_nodes(j)) < sum(node.up for node in self.nodes):
            return ""  # rows refuse nodes or workers: the page does not say where exactly it goes
        single = [n for n in room if room[n] >= job.workers]
        if single:
            begun = [n for n in single if used.get(n)]
            free = {n: case.rooms[n] - used.get(n, 0) for n in begun or single}
            return "" if spread.keys() <= {n for n in free if free[n] == min(free.values())} else f"best {free}"
        sets = [s for size in range(1, len(room) + 1) for s in combinations(room, size)]
        fits = {s: (self.racks_of(s), len(s)) for s in sets if sum(room[n] for n in s) >= job.workers}
        least = min(fits.values())
        if (self.racks_of(spread), len(spread)) != least:
            return f"needs {least} racks and nodes only"
        if least[0] == 1 and case.racked:
            rooms = {rack: sum(room[n] for n in room if case.racks[n] == rack) for rack in RACKS}
            able = {rooms[case.racks[s[0]]] for s, found in fits.items() if found == least}
            if rooms[case.racks[next(iter(spread))]] != min(able):
                return f"another rack has less room: {rooms}"
        return ""

    def racks_of(self, nodes: Iterable[int]) -> int:
        return len({self.case.racks[n] for n in nodes}) if self.case.racked else 1

    def solver_plan(self, there: list[Running], taken: dict[int, dict[int, int]]) -> list[str]:
        """What is wrong with a plan of a solver: it breaks a row, or another one is better."""
        case = self.case
        if any(n >= len(case.rooms) or not self.nodes[n].up for spread in taken.values() for n in spread):
            return [f"nodes that are down, in {taken}"]
        options = {one.number: self.options(one) for one in there}
        for j, spread in taken.items():
            if spread not in options.get(j, []):
                return [f"j{j} on {spread}"]
        amounts = used_by(case, taken)
        if not self.has_room([amounts.get(n, 0) for n in range(len(case.rooms))]):
            return [f"more than there is room for: {taken}"]
        kept = [j for j, spreads in options.items() if {} not in spreads]
        if not all(j in taken for j in kept):
            return [f"{kept} must stay, in {taken}"]
        best: dict[tuple[int, ...], float] = {(0,) * len(case.rooms): 0.0}
        for j, spreads in options.items():
            found: dict[tuple[int, ...], float] = {}
            for used, gain in best.items():
                for spread in spreads:
                    after = tuple(u + spread.get(n, 0) * case.jobs[j].gpus for n, u in enumerate(used))
                    if self.has_room(after):
                        found[after] = max(found.get(after, -math.inf), gain + self.worth(j, spread))
            best = found
        gain, most = sum(self.worth(j, spread) for j, spread in taken.items()), max(best.values())
        return [] if math.isclose(gain, most, rel_tol=SMALL, abs_tol=SMALL) else [f"gains {gain}, not {most}: {taken}"]

    def has_room(self, used: Sequence[int]) -> bool:
        """Whether nodes and racks have so many GPUs."""
        case = self.case
        if any(u > most for u, most in zip(used, case.rooms, strict=True)):
            return False
        racks = [sum(u for u, own in zip(used, case.racks, strict=True) if own == rack) for rack in RACKS]
        return not case.cap or all(u <= case.cap for u in racks)

    def options(self, one: Running) -> list[dict[int, int]]:
        """All spreads of the workers of a job that the rows of it alone allow; the empty one if it may wait."""
        case, job = self.case, self.case.jobs[one.number]
        if case.keeps and one.state == "running":
            return [spread_of(one)]
        nodes = self.open_nodes(one.number)
        counts = product(*(range(self.room(n, job, {}) + 1) for n in nodes))
        found = [{n: c for n, c in zip(nodes, row, strict=True) if c} for row in counts if sum(row) == job.workers]
        return [{}, *found]

    def worth(self, j: int, spread: Spread) -> float:
        """The objective of a job with these workers."""
        case, job = self.case, self.case.jobs[j]
        if not spread:
            return 0.0
        factor = 1.0
        if case.key not in ("submitted", "clock"):
            factor += 0.125 * of_job(self, case.named(case.key), j)
        return job.value * factor - sum(job.value / job.workers * case.toll[n] * c for n, c in spread.items())


class GangGiven(StateGiven):
    """What a plan knows of a gang: its slowest node, and the factor for its nodes and racks, give its time."""

    def __init__(self, at: GangSimulation, one: Running) -> None:
        super().__init__(at, one)
        self.case, self.job = at.case, one.job
        self.whole = one.job.length if at.case.work else self.hours

    def lasts(self, place: Any, way: object) -> float:
        return self.time(place, self.whole)

    def time(self, place: Any, hours: float) -> float:
        return hours / min(self.case.speed[n] for n in place) * self.case.factor(place)

    def rate(self, place: Any, way: Any) -> float:
        """Costs are those of one worker; an amount is for the rest of the job."""
        if not self.case.amounts:
            return sum(count for _, count in way) * self.money
        amount = sum(count * self.money * self.hours / self.case.speed[n] for n, count in way)
        return amount / self.time(place, self.hours)


def spread_of(one: Running) -> dict[int, int]:
    way: Any = one.way
    return dict(way) if one.node else {}


def used_by(case: GangCase, plan: Mapping[int, Spread]) -> dict[int, int]:
    """GPUs in use on each node."""
    used: dict[int, int] = {}
    for j, spread in plan.items():
        for n, count in spread.items():
            used[n] = used.get(n, 0) + count * case.jobs[j].gpus
    return used


def simulated_gangs(case: GangCase, taken: list[dict[int, dict[int, int]]]) -> GangSimulation:
    run = GangSimulation(replace(case, taken=tuple(taken)))
    run.run()
    return run
