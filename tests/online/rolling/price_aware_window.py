"""One window of a longer run without a solver: the cheapest plan by trying them all, and random windows as scenarios.

The slots of `Window.instance` are those of the window, counted from 0; `arrives` and `due` of its jobs count from there
too, so they may lie before the window or behind it. What a job may leave, and at which price, follows from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from math import ceil, inf
from random import Random

from price_aware_reference import Instance, Plan, Rules, serving_cost
from price_aware_texts import random_instance, scenario


@dataclass(frozen=True)
class Window:
    """`first` is the label of its first slot, `after` how many slots come behind it.

    By job: `bound` is the type that holds the checkpoint of a job that has begun (None: it has not), `later` the price
    in $/MWh that left work expects, and prices in $ of rejecting it, of a slot late by one, of a slot never done.
    """

    instance: Instance
    first: int
    after: int
    bound: tuple[str | None, ...]
    later: tuple[float, ...]
    rejection: tuple[float, ...]
    overdue: tuple[float, ...]
    unfinished: tuple[float, ...]


def best(window: Window, rules: Rules) -> float:
    """The optimum in $; inf where requests would have to be shed."""
    instance = window.instance
    every = [list(_choices(window, number, rules)) for number in range(len(instance.jobs))]
    kinds = instance.types
    patterns = [frozenset(c) for n in range(len(kinds) + 1) for c in combinations(instance.nodes, n)]

    @cache
    def serve(h: int, free: frozenset[int]) -> float:
        return serving_cost(instance, h, tuple(sorted(free)), rules)

    @cache
    def rest(training: Plan) -> float:
        cost = {frozenset(k for k in instance.nodes if instance.was_on[k]): 0.0}
        for h in instance.slots:
            busy = frozenset(k for k, slot in training if slot == h)
            after = {}
            for on in patterns:
                if busy <= on:
                    switched = min(c + sum(instance.boot[kinds[k]] for k in on - b) for b, c in cost.items())
                    idle = instance.watt_price(h) * sum(instance.idle[kinds[k]] for k in on)
                    after[on] = switched + idle + serve(h, on - busy)
            cost = after
        return min(cost.values())

    found = inf

    def place(number: int, spent: float, taken: Plan) -> None:
        nonlocal found
        if number == len(every):
            found = min(found, spent + rest(taken))
            return
        for cost, plan in every[number]:
            if not plan & taken:
                place(number + 1, spent + cost, taken | plan)

    place(0, 0.0, frozenset())
    return found


def _choices(window: Window, number: int, rules: Rules) -> Iterator[tuple[float, Plan]]:
    """What may be done with a job, and what that costs: it is rejected, or trains in some slots on nodes of a type."""
    instance, job, bound = window.instance, window.instance.jobs[number], window.bound[number]
    if bound is None:
        yield window.rejection[number], frozenset()
    soft = rules.mode == "soft" or bound is not None
    now = [h for h in instance.slots if job.arrives <= h and (soft or h <= job.due)]
    behind = range(len(instance.prices), len(instance.prices) + window.after)
    in_time = sum(job.arrives <= n <= job.due for n in behind)
    late = sum(job.arrives <= n and n > job.due for n in behind) if soft else 0
    for kind in job.time if bound is None else [bound]:
        needed = ceil(job.epochs * job.time[kind] / instance.slot - 1e-9)
        if bound is None and needed > len(now) + in_time + late:
            continue
        nodes = [k for k in instance.nodes if instance.types[k] == kind]
        for count in range(len(now) + 1):
            if count > needed and rules.work_balance == "exact":
                break
            left = _left_cost(window, number, kind, max(needed - count, 0), (in_time, late), rules)
            for chosen in combinations(now, count):
                for where in product(nodes, repeat=count):
                    plan = frozenset(zip(where, chosen, strict=True))
                    yield left + _training_cost(window, number, kind, plan, rules), plan


def _left_cost(window: Window, number: int, kind: str, slots: int, room: tuple[int, int], rules: Rules) -> float:
    """Of the work that is left: what is cheapest first, as far as there is room; inf where it cannot be left."""
    instance, job = window.instance, window.instance.jobs[number]
    energy = window.later[number] * instance.slot / 60 * 1e-6 * (job.power[kind] + instance.idle[kind])
    late = max(1, len(instance.prices) - job.due)
    too_late = energy + job.lateness_weight * (late if rules.lateness_measure == "per_slot" else 1)
    too_late += window.overdue[number] * late if rules.mode == "hard" else 0.0
    never = (window.unfinished[number], slots if window.bound[number] is not None else 0)
    cost = 0.0
    for price, most in sorted([(energy, room[0]), (too_late, room[1]), never]):
        taken = min(slots, most)
        cost += price * taken
        slots -= taken
    return cost if slots == 0 else inf


def _training_cost(window: Window, number: int, kind: str, plan: Plan, rules: Rules) -> float:
    instance, job = window.instance, window.instance.jobs[number]
    cost = sum(instance.watt_price(h) * job.power[kind] for _, h in plan)
    before = set() if job.was_training_on is None else {(job.was_training_on, -1)}
    starts = sum((k, h - 1) not in plan | before for k, h in plan)
    free = rules.charge_first_start == "no" and window.bound[number] is None and starts > 0
    late = [max(h - job.due, 0) for _, h in plan]
    cost += job.restart[kind] * (starts - free)
    cost += job.lateness_weight * (sum(late) if rules.lateness_measure == "per_slot" else max(late, default=0))
    return cost + (window.overdue[number] * sum(late) if rules.mode == "hard" else 0.0)


# --- random windows, and their texts ----------------------------------------------------------------------------------


def random_window(random: Random) -> Window:
    """Two or three nodes of one or two types, 3 or 4 slots, up to two jobs, some of which have begun."""
    instance = random_instance(random, alike=True)
    first, after = random.randint(0, 5), random.choice((0, 1, 3))
    jobs, bound = [], []
    for job in instance.jobs[:2]:
        on = job.was_training_on
        kind = instance.types[on] if on is not None else random.choice([None, *job.time])
        if kind is not None and kind not in job.time:  # it cannot have trained there
            job, kind = replace(job, was_training_on=None), random.choice([*job.time])
        begins = random.choice((-1, 0, 0, 1, len(instance.prices) + 1)) if kind is None else -1
        begins = max(begins, -first)
        due = begins + random.randint(0, len(instance.prices) + 3)
        jobs.append(replace(job, arrives=begins, due=due, epochs=random.choice((1.0, 2.0, 3.0))))
        bound.append(kind)
    return Window(
        instance=replace(instance, jobs=tuple(jobs)),
        first=first,
        after=after,
        bound=tuple(bound),
        later=tuple(random.uniform(2, 60) for _ in jobs),
        rejection=tuple(random.uniform(0.01, 0.2) for _ in jobs),
        overdue=tuple(random.uniform(1e-3, 0.02) for _ in jobs),
        unfinished=tuple(random.choice((0.01, 0.5)) for _ in jobs),
    )


def random_window_rules(random: Random) -> Rules:
    return Rules(
        mode=random.choice(("hard", "soft")),
        inference_sharing=random.choice(("independent", "exclusive")),
        migration="within_type",
        charge_first_start=random.choice(("yes", "no")),
        work_balance=random.choice(("exact", "exact", "at_least")),
        lateness_measure=random.choice(("per_slot", "last_slot")),
    )


def window_text(name: str, window: Window) -> str:
    """A scenario of PriceAwareRolling; slots and the times of jobs by their labels."""
    instance = window.instance
    shifted = [replace(j, arrives=j.arrives + window.first, due=j.due + window.first) for j in instance.jobs]
    inner = scenario(f"{name}Given", replace(instance, jobs=tuple(shifted)))
    lines = [f"horizon = {window.first + len(instance.prices) + window.after};"]
    slots = " ".join(f"{window.first + h} {price}" for h, price in enumerate(instance.prices))
    lines.append(f"table Slots: tariff[$/MWh] = {slots};")
    loads = [
        f'"i{n}" {window.first + h} {load}' for n, s in enumerate(instance.services) for h, load in enumerate(s.load)
    ]
    lines.append(f"table Services, Slots: load[request/min] = {' '.join(loads)};")
    lines += [f'shedding_price["i{n}"] = 100[$/request];' for n in range(len(instance.services))]
    each = zip(window.bound, window.later, window.rejection, window.overdue, window.unfinished, strict=True)
    for n, (kind, later, rejection, overdue, unfinished) in enumerate(each):
        lines += [
            f'later_tariff["b{n}"] = {later}[$/MWh];',
            f'rejection_price["b{n}"] = {rejection}[$];',
            f'overdue_price["b{n}"] = {overdue}[$];',
            f'unfinished_price["b{n}"] = {unfinished}[$];',
            f'started["b{n}"] = {int(kind is not None)};',
            f'may_be_late["b{n}"] = {int(kind is not None)};',
        ]
        if kind is not None:
            lines.append(f'checkpoint["b{n}", "{kind}"] = 1;')
    body = "\n".join(f"  {line}" for line in lines)
    given = inner.split("\nscenario ", 1)[0]
    return f"{given}\nscenario {name} for PriceAwareRolling extends {name}Given {{\n{body}\n}}\n"
