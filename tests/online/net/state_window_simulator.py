"""The simulator for accumulated values with a window, from `docs/reference/state.md` and `docs/online.md` alone.

It follows the plans that were made, after it has checked them against the rows of the model and the best plan.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import product
from typing import Any

from state_cases import HOLIDAYS, TEAMS
from state_simulator import WallClock
from state_windows import StateWindowCase
from window_simulator import NEAR, Running, WindowSimulation

SMALL = 1e-6
Train = dict[tuple[int, int, int], int]  # workers by job, node and slot; 1 of a job that has one node
State = dict[str, Any]


def active(train: Train, j: int, h: int) -> int:
    """The workers of a job in a slot."""
    return sum(count for (i, _, slot), count in train.items() if (i, slot) == (j, h))


class StateWindowSimulation(WindowSimulation):
    """A run to its end; `known` has what each plan knew: `top`, `used`, `last_load` and by team `had`."""

    case: Any  # StateWindowCase, with the attributes of a case of windows

    def __post_init__(self) -> None:
        super().__post_init__()
        self.known: list[State] = []
        self.state: State = {}
        self.begun = 0
        self.outages_at: list[tuple[float, int, bool]] = []  # time, node, whether it is up
        self.train: Train = {}  # type: ignore[assignment]
        self.terms_before: list[dict[str, float]] = []  # what was paid before each slot

    @cached_property
    def wall(self) -> WallClock:
        return WallClock.of(*self.case.calendar)

    @cached_property
    def moments(self) -> list[float]:
        return self.wall.moments(*self.case.clocks) if self.case.clocks else []

    @cached_property
    def tariff(self) -> tuple[float, ...]:
        """The prices of all slots, by the clock at their beginning."""
        case: StateWindowCase = self.case

        def factor(hours: float) -> float:
            if case.tariff == "basic":
                return 1.0
            day, hour = self.wall.at(hours), self.wall.hour_of_day(hours)
            return {
                "hour": 1 + hour / 24,
                "weekday": float(day.isoweekday()),
                "office": 3.0 if day.isoweekday() <= 5 and 9 <= hour < 18 else 1.0,
                "holiday": 4.0 if day.date().isoformat() in HOLIDAYS else 1.0,
            }[case.tariff]

        return tuple(price * factor(h * case.slot) for h, price in enumerate(case.basic))

    # --- the loop ----------------------------------------------------------------------------------------------------

    def note(self, begun: int, slot: int) -> None:
        self.terms_before.append({**self.terms, **self.charges(begun, slot)})

    def reasons(self, slot: int, happened: set[str]) -> set[str]:
        any_event = self.case.triggers is None and not self.case.clocks
        found = happened if any_event else happened & set(self.case.triggers or ())
        return found | ({"clock"} if self.clock_shows(slot) else set())

    def clock_shows(self, slot: int) -> bool:
        """Whether the clock has shown one of the times since the last slot began."""
        end = self.now + NEAR
        return any(end - self.case.slot < moment <= end for moment in self.moments)

    # --- accumulated values ------------------------------------------------------------------------------------------

    def load(self, train: Train, h: int) -> float:
        case = self.case
        return sum(case.power[j] * case.nodes[k].power * count for (j, k, slot), count in train.items() if slot == h)

    def happen(self, slot: int) -> set[str]:
        up = list(self.up)
        found = super().happen(slot)
        self.outages_at += [(self.now, k, now) for k, now in enumerate(self.up) if now != up[k]]
        return found

    def carry(self, slot: int) -> State:
        """The right-hand sides, from the state of the last plan and the slots executed since then."""
        case, last = self.case, self.state
        top, used, had = case.start
        there = [one for one in self.jobs if one.state != "future"]
        done = {t: sum(one.done for one in there if case.teams[one.number] == t) for t in TEAMS}
        if not self.known:
            shares = done if case.share == "done" else dict.fromkeys(TEAMS, had)
            zero: dict[int, float] = {}
            return {
                "top": top,
                "used": used,
                "had": shares,
                "last_load": 0.0,
                "was": zero,
                "restarts": zero,
                "since": zero,
            }
        slots, hours = range(self.begun, slot), (slot - self.begun) * case.slot
        loads = [self.load(self.train, h) for h in slots]
        amounts = dict.fromkeys(TEAMS, 0.0)
        for (j, _, h), count in self.train.items():
            if h in slots:
                dear = self.tariff[h] * (1 + last["used"] / 10) if case.share == "dear" else 1.0
                amounts[case.teams[j]] += dear * count
        decay = 0.5 ** (hours / case.half)
        shares = done
        if case.share != "done":
            shares = {t: last["had"][t] * (decay if case.share == "decay" else 1.0) + amounts[t] for t in TEAMS}
        highest = {
            "last": max(last["top"], loads[-1]),
            "slots": max(last["top"], *loads),
            "executed": max(last["top"], *loads),
            "month": top if slot % case.month == 0 else max(last["top"], *loads),
            "decays": max(last["top"] * decay, *loads),
        }[case.peak]
        energy = last["used"] + case.slot * sum(loads)
        if case.usage == "day" and self.wall.hour_of_day(self.now) < 6:
            energy = used
        was = {one.number: float(active(self.train, one.number, slot - 1)) for one in there}
        restarts = {j: last["restarts"].get(j, 0.0) + max(0.0, last["was"].get(j, 0.0) - was[j]) for j in was}
        since = {j: last["since"].get(j, 0.0) + hours if was[j] else 0.0 for j in was}
        return {
            "top": highest, "used": energy, "had": shares, "last_load": loads[-1], "was": was, "restarts": restarts,
            "since": since,
        }  # fmt: skip

    # --- plans -------------------------------------------------------------------------------------------------------

    def plan(self, slot: int, why: set[str]) -> None:
        case, number = self.case, len(self.asked)
        self.asked.append((self.now, why))
        if number >= len(self.plans) or self.plans[number].time != self.now:
            self.wrong.append(f"plan {number} is due at {self.now}: {why}")
            return
        self.state = self.carry(slot)
        self.known.append(self.state)
        taken = self.plans[number]
        train = {key: round(value) for key, value in taken.values["train"].items() if round(value)}
        slots = range(slot, min(slot + case.lookahead, case.horizon))
        there = [one for one in self.jobs if one.state in ("waiting", "running")]
        if not all(self.allowed(train, h, there) for h in slots):
            self.wrong.append(f"plan {number} breaks rows: {sorted(train)}")
        self.wrong += [f"plan {number}: {text}" for text in self.refuted(train, slots, there, taken.objective)]
        self.train, self.begun = train, slot

    def refuted(self, train: Train, slots: range, there: list[Running], objective: float | None) -> list[str]:
        """Why a plan is not the best one, or costs something else."""
        costs, least = self.costs(train, slots, there), self.best(slots, there)
        wrong = []
        if objective is None or not math.isclose(costs, objective, rel_tol=SMALL, abs_tol=SMALL):
            wrong.append(f"costs {costs}, not {objective}, by {self.state}")
        if not math.isclose(costs, least, rel_tol=SMALL, abs_tol=SMALL):
            wrong.append(f"costs {costs}, the best one {least}, by {self.state}")
        return wrong

    def allowed(self, train: Train, h: int, there: list[Running]) -> bool:
        """Whether a slot of a plan keeps the rows."""
        case, first = self.case, h == round(self.now / self.case.slot)
        now = {(j, k): count for (j, k, slot), count in train.items() if slot == h}
        numbers = {one.number for one in there}
        if not all(j in numbers and self.up[k] for j, k in now) or not self.fits(now):
            return False
        before = self.state["last_load"] if first else self.load(train, h - 1)
        if case.rise and self.load(train, h) - before > case.rise + SMALL:
            return False
        bound = {
            one.number
            for one in there
            if case.guaranteed
            and NEAR < self.state["since"].get(one.number, 0.0) < case.guaranteed
            and one.job.length - one.done > SMALL
        }
        return not first or bound <= {j for j, _ in now}

    def fits(self, now: dict[tuple[int, int], int]) -> bool:
        """Whether nodes have room for what runs in a slot, and jobs run in one place."""
        return len({j for j, _ in now}) == len(now) == len({k for _, k in now})

    def done_by(self, j: int, train: Train, slots: range) -> float:
        """The work of a job in a plan, as the model counts it."""
        return sum(self.case.nodes[k].pace for i, k, h in train if i == j and h in slots)

    def costs(self, train: Train, slots: range, there: list[Running]) -> float:
        case, state = self.case, self.state
        loads = [self.load(train, h) for h in slots]
        found = sum(self.tariff[h] * case.slot * load for h, load in zip(slots, loads, strict=True))
        for one in there:
            done = self.done_by(one.number, train, slots)
            left = max(0.0, max(one.job.length - one.done, 0.0) - done)
            found += one.job.price * (1 + 0.1 * state["had"][case.teams[one.number]]) * left
        found += case.demand * max(0.0, max(loads) - state["top"])
        steps = zip(loads, [state["last_load"], *loads], strict=False)
        found += case.climb * sum(max(0.0, load - before) for load, before in steps)
        if case.budget:
            found += 50 * max(0.0, state["used"] + case.slot * sum(loads) - case.budget)
        if case.restarts:
            for one in there:
                j, before = one.number, state["was"].get(one.number, 0.0)
                for h in slots:
                    now = active(train, j, h)
                    found += case.restarts * (1 + state["restarts"].get(j, 0.0)) * max(0.0, now - before)
                    before = now
        return found

    def best(self, slots: range, there: list[Running]) -> float:
        """The least cost of a plan, by trying all of them, slot by slot."""
        layouts = [dict(pair for way in ways for pair in way) for ways in product(*map(self.ways, there))]
        plans: list[Train] = [{}]
        for h in slots:
            longer = [
                plan | {(j, k, h): count for (j, k), count in layout.items()} for plan in plans for layout in layouts
            ]
            plans = [plan for plan in longer if self.allowed(plan, h, there)]
        return min((self.costs(plan, slots, there) for plan in plans), default=math.inf)

    def ways(self, one: Running) -> list[list[tuple[tuple[int, int], int]]]:
        """All places of a job, and none."""
        return [[], *([((one.number, k), 1)] for k, up in enumerate(self.up) if up)]

    def skip(self, keys: set[tuple[int, int, int]]) -> None:
        self.train = {key: count for key, count in self.train.items() if key not in keys}

    def charge(self, begin: int, end: int) -> None:
        self.terms |= self.charges(begin, end)

    def charges(self, begin: int, end: int) -> dict[str, float]:
        """The stated charges, with those of a plan for the slots that were executed."""
        case, state = self.case, self.state
        found = {name: self.terms.get(name, 0.0) for name in case.charges if self.known}
        for h in range(begin, end) if self.known else ():
            load = self.load(self.train, h)
            before = state["last_load"] if h == begin else self.load(self.train, h - 1)
            amounts = {
                "energy": self.tariff[h] * case.slot * load,
                "climbing": max(0.0, load - before),
                "shares": sum(state["had"].values()),
                "usage": case.slot * load * (1 + state["used"] / 10),
            }
            found = {name: amount + amounts[name] for name, amount in found.items()}
        return found
