"""A simulator of blocks with windows, from `docs/online.md` and `docs/policies.md` alone.

It takes the decisions of the plans that were made, executes them slot by slot, and charges them by the formulas that
the case states. Plans of policies it makes by itself. Times are hours, money is $.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Self

from window_cases import WindowCase, WindowJob
from window_optimum import View, best, broken_rows, objective

NEAR, SMALL = 1e-9, 1e-6
Values = dict[str, dict[tuple, float]]  # by variable and labels; what is not there is 0


@dataclass(frozen=True)
class Taken:
    """A plan that was made: when, values of variables, and the objective that a solver claims."""

    time: float
    values: Values
    objective: float | None


@dataclass
class Running:
    """A job as it is: `state` is `future`, `waiting`, `running` or `done`; `done` is its work that is done."""

    number: int
    job: WindowJob
    comes: int  # place of its slot; the horizon if it never comes
    ends: float
    state: str = "future"
    done: float = 0.0
    node: Any = -1  # of a gang the set of its nodes
    pace: float = 0.0  # true work by hour
    hold: float = 0.0
    owed: float = 0.0
    due: float = math.inf
    weight: float = 0.0
    start: float = math.nan
    end: float = math.nan


@dataclass
class WindowSimulation:
    """A run to its end: `terms` of money and energy, the jobs, `asked` (time and reasons of each plan), `wrong`."""

    case: WindowCase
    plans: list[Taken]
    now: float = 0.0
    terms: dict[str, float] = field(default_factory=dict)
    asked: list[tuple[float, set[str]]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        case = self.case
        self.jobs = []
        for number, job in enumerate(case.jobs):
            comes = max(0, math.ceil(job.arrives - case.first))
            ends = job.length * (job.ends if case.ends else 1.0)
            self.jobs.append(Running(number, job, comes, ends))
        self.up = [True] * len(case.nodes)
        self.next = [node.mtbf if case.outages else math.inf for node in case.nodes]
        self.used: set[int] = set()
        self.view: View | None = None
        self.train: set[tuple[int, int, int]] = set()  # of the plan that holds: job, node, slot
        self.values: Values = {}

    # --- the loop ----------------------------------------------------------------------------------------------------

    def run(self) -> Self:
        case, until, begun, ended = self.case, 0, 0, False
        for slot in range(case.horizon):
            self.note(begun, slot)
            why = self.reasons(slot, self.happen(slot) | ({"completion"} if ended else set()))
            if slot >= until:
                why.add("window")
            if why:
                self.charge(begun, slot)
                self.plan(slot, why)
                begun, until = slot, slot + (case.every or case.commit)
                ended = False
            if self.wrong:
                return self
            ended = self.execute(slot) or (ended and not why)
        self.charge(begun, case.horizon)
        return self

    def note(self, begun: int, slot: int) -> None:
        """Nothing is noted before a slot here."""

    def reasons(self, slot: int, happened: set[str]) -> set[str]:
        """Which events ask for a plan at the beginning of a slot."""
        return happened if self.case.triggers is None else happened & set(self.case.triggers)

    def happen(self, slot: int) -> set[str]:
        """Failures and recoveries by the beginning of the slot, then arrivals."""
        before, happened = list(self.up), set()
        for k, node in enumerate(self.case.nodes):
            while self.next[k] <= self.now + NEAR * max(1.0, self.now):
                self.up[k] = not self.up[k]
                self.next[k] += node.mtbf if self.up[k] else self.case.repair
            if before[k] and not self.up[k]:
                happened.add("failure")
                for one in self.running():
                    if k in self.nodes_at(one.node):
                        self.halt(one)
            if self.up[k] and not before[k]:
                happened.add("recovery")
        self.used = self.in_use()
        for one in self.jobs:
            if one.state == "future" and one.comes <= slot:
                one.state = "waiting"
                happened.add("arrival")
        return happened

    def running(self) -> list[Running]:
        return [one for one in self.jobs if one.state == "running"]

    def halt(self, one: Running) -> None:
        one.state, one.node, one.owed = "waiting", -1, max(one.hold - self.now, 0.0)

    def add(self, term: str, amount: float) -> None:
        self.terms[term] = self.terms.get(term, 0.0) + amount

    # --- plans -------------------------------------------------------------------------------------------------------

    def plan(self, slot: int, why: set[str]) -> None:
        """Look at the next plan that was made, and let it hold."""
        case = self.case
        number = len(self.asked)
        self.asked.append((self.now, why))
        if number >= len(self.plans):
            self.wrong.append(f"one more plan is due at {self.now}: {why}")
            return
        if self.plans[number].time != self.now:
            self.wrong.append(f"plan {number} is at {self.plans[number].time}, not at {self.now}: {why}")
            return
        view = self.seen(slot)
        for one in self.jobs:
            if one.number in view.jobs and case.tardy and one.due == math.inf and one.weight == 0:
                left = one.job.until - (self.now if case.clock else 0.0)
                one.due, one.weight = self.now + left, one.job.weight
        taken = self.plans[number]
        values = {name: {key: value for key, value in given.items() if value} for name, given in taken.values.items()}
        if case.method == "highs":
            self.wrong += [f"plan {number}: {row}" for row in broken_rows(case, view, values)]
            costs, least = objective(case, view, values), best(case, view)
            if taken.objective is None or not math.isclose(costs, taken.objective, rel_tol=1e-6, abs_tol=1e-6):
                self.wrong.append(f"plan {number}: costs {costs}, not {taken.objective}")
            if not math.isclose(costs, least, rel_tol=1e-6, abs_tol=1e-6):
                self.wrong.append(f"plan {number}: costs {costs}, the best one {least}")
        else:
            train = by_policy(case, view)
            if train != chosen(values, "train"):
                self.wrong.append(f"plan {number}: trains {sorted(chosen(values, 'train'))}, not {sorted(train)}")
            on = {(k, h) for _, k, h in train}
            if on != chosen(values, "on"):
                self.wrong.append(f"plan {number}: on {sorted(chosen(values, 'on'))}, not {sorted(on)}")
            home = {(j, k) for j, k, _ in train} | view.held
            if case.homes and home != chosen(values, "home"):
                self.wrong.append(f"plan {number}: home {sorted(chosen(values, 'home'))}, not {sorted(home)}")
        self.view, self.values, self.train = view, values, chosen(values, "train")

    def seen(self, slot: int) -> View:
        """What the plan of a window knows."""
        case, last = self.case, self.values
        there = [one for one in self.jobs if one.state in ("waiting", "running")]
        nodes = [k for k, up in enumerate(self.up) if up]
        held = set()
        if case.homes:
            held = {
                (one.number, k)
                for one in there
                if one.done > 0
                for k in nodes
                if (one.number, k) in chosen(last, "home")
            }
        return View(
            slots=tuple(range(slot, min(slot + case.lookahead, case.horizon))),
            nodes=tuple(nodes),
            jobs=tuple(one.number for one in there),
            work={one.number: max(one.job.length - one.done, case.least) for one in there},
            tariff=tuple(self.expected(h, slot) for h in range(case.horizon)),
            was_on=tuple(round(last.get("on", {}).get((k, slot - 1), 0.0)) * case.boots for k in nodes),
            was_at=frozenset((j, k) for j, k, h in self.train if h == slot - 1 and k in nodes)
            if case.starts
            else frozenset(),
            held=frozenset(held),
        )

    def expected(self, h: int, slot: int) -> float:
        """The tariff of slot h for a plan from `slot` on."""
        case, known = self.case, slot - 1
        if case.tariff == "persists" and known >= 0:
            return case.actual[known]
        if case.tariff == "seen" and 0 <= h - 2 <= known:
            return case.actual[h - 2]
        return case.forecast[h]

    # --- execution ---------------------------------------------------------------------------------------------------

    def execute(self, slot: int) -> bool:
        """One slot as planned; whether a job came to its end in it."""
        end = (slot + 1) * self.case.slot
        there = {one.number: one for one in self.jobs if one.state in ("waiting", "running")}
        where = self.places(slot, set(there))
        for one in self.running():
            if one.number not in where:
                self.halt(one)
                self.cost("halt")
        booting = {k for place in where.values() for k in self.nodes_at(place)} - self.used
        for _ in booting:
            self.cost("boot")
        for number, k in where.items():
            self.put(there[number], k, bool(self.nodes_at(k) & booting), slot)
        ended = False
        while True:
            times = [max(self.now, one.hold) + max(one.ends - one.done, 0.0) / one.pace for one in self.running()]
            first = min(times, default=math.inf)
            until = end if first > end - NEAR * max(1.0, end) else first
            self.advance(until, slot)
            for one in self.running():
                if one.ends - one.done <= NEAR * max(1.0, one.ends, one.pace) and one.hold <= self.now + NEAR:
                    one.state, one.end, one.done, ended = "done", self.now, one.ends, True
                    if one.weight:
                        self.add("tardiness", one.weight * max(0.0, self.now - one.due))
            if until == end:
                break
        self.used = self.in_use()
        return ended

    def places(self, slot: int, there: set[int]) -> dict[int, Any]:
        """Where jobs run in a slot; what a plan has on failed nodes, or of other jobs, is taken out of it."""
        planned = {(j, k) for j, k, h in self.train if h == slot}
        where = {j: k for j, k in planned if j in there and self.up[k]}
        self.skip({(j, k, slot) for j, k in planned if where.get(j) != k})
        return where

    def skip(self, keys: set[tuple[int, int, int]]) -> None:
        self.train -= keys

    def nodes_at(self, place: Any) -> set[int]:
        """The nodes of a place: of a job one."""
        return {place}

    def in_use(self) -> set[int]:
        return {k for one in self.running() for k in self.nodes_at(one.node)}

    def put(self, one: Running, k: Any, booting: bool, slot: int) -> None:
        """The job has this node for the slot: what changes, and how fast it is."""
        case, ran = self.case, one.state == "running"
        kinds = [] if ran else ["start" if math.isnan(one.start) else "resume"]
        if ran and one.node != k:
            kinds.append(self.move(one.node, k))
        for kind in kinds:
            self.cost(kind)
        delays = [case.delays[kind] for kind in (*kinds, *(["boot"] if booting else [])) if kind in case.delays]
        wait = max([0.0 if ran else one.owed, *delays])
        one.hold = max(one.hold if ran else 0.0, self.now + wait)
        one.start = self.now if math.isnan(one.start) else one.start
        one.state, one.node, one.owed = "running", k, 0.0
        one.pace = self.pace_at(k) / case.slot / (one.job.stretch if case.stretch else 1.0)

    def move(self, before: Any, after: Any) -> str:
        """The kind of change from one place to another."""
        return "migration"

    def pace_at(self, place: Any) -> float:
        """The work of a slot."""
        return self.case.nodes[place].pace

    def cost(self, kind: str) -> None:
        if kind in self.case.costs:
            self.add(kind, self.case.costs[kind])

    def advance(self, until: float, slot: int) -> None:
        case, passed = self.case, until - self.now
        for one in self.running():
            one.done += one.pace * max(until - max(self.now, one.hold), 0.0)
            if case.charged == "jobs" or not (case.charged or case.charges):
                self.add("execution", passed * case.actual[slot] * case.nodes[one.node].power)
        if case.charged == "nodes":
            for k in {one.node for one in self.running()}:
                self.add("execution", passed * case.nodes[k].rent)
        self.now = until

    def charge(self, begin: int, end: int) -> None:
        """The charges of a plan for the slots that were executed."""
        if self.view is None:
            return
        case, view, train, on = self.case, self.view, self.train, self.values.get("on", {})
        for h in range(begin, end):
            drawn = {k: case.nodes[k].idle * on.get((k, h), 0.0) for k in view.nodes}
            for _, k, slot in train:
                drawn[k] += case.nodes[k].power * (slot == h)
            energy = case.slot * sum(drawn.values())
            late = sum(case.jobs[j].weight * lateness(case, j, h) for j, _, slot in train if slot == h)
            was_on = dict(zip(view.nodes, view.was_on, strict=True))
            if h > view.slots[0]:
                was_on = {k: on.get((k, h - 1), 0.0) for k in view.nodes}
            was_at = {(j, k) for j, k, slot in train if slot == h - 1} if h > view.slots[0] else view.was_at
            boots = {k: max(0.0, on.get((k, h), 0.0) - was_on[k]) for k in view.nodes}
            starts = {(j, k, h): 1.0 for j, k, slot in train if slot == h and (j, k) not in was_at}
            if not case.differences:
                boots = {k: self.values.get("boots", {}).get((k, h), 0.0) for k in view.nodes}
                starts = {key: value for key, value in self.values.get("starts", {}).items() if key[2] == h}
            amounts = {
                "energy": case.actual[h] * energy,
                "kwh": energy,
                "lateness": late,
                "booting": sum(case.nodes[k].boot * amount for k, amount in boots.items()),
                "starting": sum(case.jobs[j].restart * amount for (j, _, _), amount in starts.items()),
            }
            for name in case.charges:
                self.add(name, amounts[name])


def chosen(values: Values, name: str) -> set[tuple]:
    """The indices of a binary variable that are 1."""
    return {key for key, value in values.get(name, {}).items() if value > 0.5}


def lateness(case: WindowCase, j: int, h: int) -> int:
    return max(0, case.first + h - case.jobs[j].due)


# --- policies --------------------------------------------------------------------------------------------------------


def by_policy(case: WindowCase, view: View) -> set[tuple[int, int, int]]:
    """Which job trains where and when, by the policy of the case."""
    train: set[tuple[int, int, int]] = set()
    keys = {
        "due": lambda job: (job.due,),
        "length": lambda job: (-job.length,),
        "arrives": lambda job: (job.arrives, -job.weight),
    }[case.key]
    queue = sorted(view.jobs, key=lambda j: (keys(case.jobs[j]), j))
    bound = {j: {k for i, k in view.held if i == j} for j in view.jobs}
    nodes = {j: [k for k in view.nodes if not bound[j] or k in bound[j]] for j in view.jobs}
    slots = {
        (j, k): max(1, math.ceil(view.work[j] / case.nodes[k].pace - SMALL)) for j in view.jobs for k in view.nodes
    }

    def free(k: int) -> list[int]:
        return [h for h in view.slots if not any((k, h) == (node, slot) for _, node, slot in train)]

    if case.method == "Valleys":
        for j in queue:
            found = []
            for k in nodes[j]:
                blocks = [tuple(range(h, h + slots[j, k])) for h in view.slots]
                found += [(k, block) for block in blocks if set(block) <= set(free(k))]
            if not found:
                for k in nodes[j]:
                    cheap = sorted(free(k), key=lambda h: (view.tariff[h] * case.nodes[k].power, h))[: slots[j, k]]
                    found += [(k, tuple(cheap))] if len(cheap) == slots[j, k] else []
            price = {(k, hs): sum(view.tariff[h] * case.nodes[k].power for h in hs) for k, hs in found}
            if found:
                k, hs = min(found, key=lambda one: (price[one], one))
                train |= {(j, k, h) for h in hs}
        return train
    started: set[int] = set()
    for h in view.slots:
        for j in queue:
            if j in started:
                continue
            best_first = sorted(nodes[j], key=lambda k: (case.nodes[k].power / case.nodes[k].pace, k))
            open_nodes = [k for k in best_first if h in free(k)]
            if open_nodes:
                started.add(j)
                k = open_nodes[0]
                train |= {(j, k, slot) for slot in range(h, min(h + slots[j, k], view.slots[-1] + 1))}
            elif case.blocking:
                break
    return train
