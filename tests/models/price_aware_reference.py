"""Price-aware scheduling without a solver: the cheapest plan by trying them all.

Nothing of the compiler is used here: this is the yardstick that its answers are held against. Training schedules are
enumerated; given which nodes train in which slot, serving patterns are enumerated per slot and on/off patterns by
dynamic programming over all sets of nodes that are on. Requests are split by marginal cost, which is optimal because
the cost of each share is convex.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from math import ceil, inf

Plan = frozenset[tuple[int, int]]
"""The (node, slot) in which one job trains."""


@dataclass(frozen=True)
class Job:
    """`time` (min/epoch), `power` (W) and `restart` ($) by node type; a type that is not there does not fit."""

    arrives: int
    due: int
    epochs: float
    time: dict[str, float]
    power: dict[str, float]
    restart: dict[str, float]
    lateness_weight: float
    priority: int = 0
    was_training_on: int | None = None


@dataclass(frozen=True)
class Service:
    """`load` per slot in requests/min, `bound` in s; the others by node type: requests/min, W, W*min, $*min."""

    load: tuple[float, ...]
    bound: float
    rate: dict[str, float]
    base_power: dict[str, float]
    load_power: dict[str, float]
    latency_weight: dict[str, float]

    def threshold(self, kind: str) -> float | None:
        """The rate up to which the bound holds (C29, without its cut at 0); None where the node cannot serve."""
        rate = self.rate[kind]
        served = self.bound / 60 * rate
        return rate - rate / (served - 1) if served > 1 else None


@dataclass(frozen=True)
class Instance:
    """A cluster, its jobs and services; `types` has the type of each node, `slot` is in min, `prices` in $/MWh."""

    slot: float
    prices: tuple[float, ...]
    types: tuple[str, ...]
    idle: dict[str, float]
    boot: dict[str, float]
    was_on: tuple[bool, ...]
    jobs: tuple[Job, ...]
    services: tuple[Service, ...]

    @property
    def nodes(self) -> range:
        return range(len(self.types))

    @property
    def slots(self) -> range:
        return range(len(self.prices))

    @property
    def pays_to_waste(self) -> bool:
        return min(self.prices) < 0

    def watt_price(self, h: int) -> float:
        return self.prices[h] * self.slot / 60 * 1e-6


@dataclass(frozen=True)
class Rules:
    """The options of the models, by their names and choices."""

    mode: str = "hard"
    inference_sharing: str = "independent"
    migration: str = "forbidden"
    charge_first_start: str = "yes"
    work_balance: str = "exact"
    lateness_measure: str = "per_slot"


# --- training --------------------------------------------------------------------------------------------------------


def window(instance: Instance, job: Job, rules: Rules) -> list[int]:
    last = job.due if rules.mode == "hard" else len(instance.prices) - 1
    return [h for h in instance.slots if job.arrives <= h <= last]


def plans(instance: Instance, job: Job, rules: Rules) -> Iterator[Plan]:
    """Every way to train the job alone."""
    slots = window(instance, job, rules)
    if rules.migration == "anywhere":
        places = [k for k in instance.nodes if instance.types[k] in job.time]
        longest = max((instance.slot / job.time[instance.types[k]] for k in places), default=0.0)
        most = job.epochs + longest if instance.pays_to_waste else inf
        for choice in product([None, *places], repeat=len(slots)):
            plan = frozenset((k, h) for k, h in zip(choice, slots, strict=True) if k is not None)
            done = sum(instance.slot / job.time[instance.types[k]] for k, _ in plan)
            if job.epochs - 1e-9 <= done <= most + 1e-9:
                yield plan
        return
    kinds = [(kind, [k for k in instance.nodes if instance.types[k] == kind]) for kind in job.time]
    homes = [(kind, [k]) for kind, mine in kinds for k in mine] if rules.migration == "forbidden" else kinds
    for kind, home in homes:
        needed = ceil(job.epochs * job.time[kind] / instance.slot - 1e-9)
        most_slots = needed if rules.work_balance == "exact" else len(slots)
        for count in range(needed, most_slots + 1):
            for chosen in combinations(slots, count):
                for where in product(home, repeat=count):
                    yield frozenset(zip(where, chosen, strict=True))


def training_cost(instance: Instance, job: Job, plan: Plan, rules: Rules) -> float:
    """Electricity above idling, starts and lateness of one job, in $."""
    kind = instance.types
    cost = sum(instance.watt_price(h) * job.power[kind[k]] for k, h in plan)
    running_before = set() if job.was_training_on is None else {(job.was_training_on, -1)}
    cost += sum(job.restart[kind[k]] for k, h in plan if (k, h - 1) not in plan | running_before)
    if rules.charge_first_start == "no" and job.was_training_on is None:
        cost -= job.restart[kind[next(iter(plan))[0]]]
    late = [max(h - job.due, 0) for _, h in plan]
    return cost + job.lateness_weight * (sum(late) if rules.lateness_measure == "per_slot" else max(late))


# --- inference -------------------------------------------------------------------------------------------------------


def split_cost(instance: Instance, service: Service, h: int, serving: tuple[int, ...], rules: Rules) -> float:
    """The least cost in $ of serving all requests of the slot with exactly these nodes; inf if they cannot."""
    load, price = service.load[h], instance.watt_price(h)
    least = min(1 / instance.slot, load / len(instance.types)) if instance.pays_to_waste else 0.0
    cost, left = 0.0, load - least * len(serving)
    parts: list[tuple[float, float]] = []  # cost of one more request/min, room for it
    for k in serving:
        kind = instance.types[k]
        threshold, rate = service.threshold(kind), service.rate[kind]
        if threshold is None or (rules.mode == "hard" and threshold <= 0):
            return inf
        most = threshold if rules.mode == "hard" else max(0.99 * rate, threshold)
        if most < least:
            return inf
        slope, weight = price * service.load_power[kind], service.latency_weight[kind]
        cost += price * service.base_power[kind] + slope * least + weight * max(least - threshold, 0.0)
        bend = min(max(threshold, least), most)
        parts += [(slope, bend - least), (slope + weight, most - bend)]
    for slope, room in sorted(parts):
        taken = min(left, room)
        cost += slope * taken
        left -= taken
    return cost if abs(left) <= 1e-9 * max(1.0, load) else inf


def serving_cost(instance: Instance, h: int, free: tuple[int, ...], rules: Rules) -> float:
    """The least cost in $ of serving in slot `h` with some of the nodes that are on and do not train."""
    wanted = [service for service in instance.services if service.load[h] > 0]
    if rules.inference_sharing == "independent":
        every = [chosen for count in range(len(free) + 1) for chosen in combinations(free, count)]
        return sum(min(split_cost(instance, service, h, chosen, rules) for chosen in every) for service in wanted)
    best = inf
    for roles in product(range(-1, len(wanted)), repeat=len(free)):
        held = [tuple(k for k, role in zip(free, roles, strict=True) if role == i) for i in range(len(wanted))]
        pairs = zip(wanted, held, strict=True)
        best = min(best, sum(split_cost(instance, service, h, nodes, rules) for service, nodes in pairs))
    return best


# --- all together ----------------------------------------------------------------------------------------------------


def cheapest(instance: Instance, rules: Rules, jobs: tuple[Job, ...] | None = None) -> float:
    """The optimum in $, inf when there is no plan; for some of the jobs when they are given."""
    every = [
        [(training_cost(instance, job, plan, rules), plan) for plan in plans(instance, job, rules)]
        for job in (instance.jobs if jobs is None else jobs)
    ]
    everything_on = [frozenset(c) for n in range(len(instance.types) + 1) for c in combinations(instance.nodes, n)]

    @cache
    def serve(h: int, free: frozenset[int]) -> float:
        return serving_cost(instance, h, tuple(sorted(free)), rules)

    @cache
    def rest(training: Plan) -> float:
        """Idling, switching and serving, when these nodes train in these slots."""
        cost = {frozenset(k for k in instance.nodes if instance.was_on[k]): 0.0}
        for h in instance.slots:
            busy = frozenset(k for k, slot in training if slot == h)
            after: dict[frozenset[int], float] = {}
            for on in everything_on:
                if busy <= on:
                    switched = min(c + sum(instance.boot[instance.types[k]] for k in on - b) for b, c in cost.items())
                    idle = instance.watt_price(h) * sum(instance.idle[instance.types[k]] for k in on)
                    after[on] = switched + idle + serve(h, on - busy)
            cost = after
        return min(cost.values())

    best = inf

    def place(number: int, spent: float, taken: Plan) -> None:
        nonlocal best
        if number == len(every):
            best = min(best, spent + rest(taken))
            return
        for cost, plan in every[number]:
            if not plan & taken:
                place(number + 1, spent + cost, taken | plan)

    place(0, 0.0, frozenset())
    return best


def cheapest_rejecting(instance: Instance, rules: Rules) -> tuple[float, float]:
    """(weight rejected, cost in $): as little as possible is rejected, a job weighing 1 + its priority."""
    best = (inf, inf)
    for kept in product((False, True), repeat=len(instance.jobs)):
        weight = sum(1 + job.priority for job, keep in zip(instance.jobs, kept, strict=True) if not keep)
        if weight <= best[0]:
            cost = cheapest(instance, rules, tuple(j for j, keep in zip(instance.jobs, kept, strict=True) if keep))
            if cost < inf:
                best = min(best, (weight, cost))
    return best
