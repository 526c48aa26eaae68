"""The best plan of one small window by enumeration, and the cost of a plan by the printed formula."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

from window_cases import WindowCase

SMALL = 1e-6
Values = dict[str, dict[tuple, float]]
Pairs = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class View:
    """What a plan knows: slots and nodes by their places in the run, jobs by number, and what was carried."""

    slots: tuple[int, ...]
    nodes: tuple[int, ...]
    jobs: tuple[int, ...]
    work: dict[int, float]
    tariff: tuple[float, ...]  # of all slots of the run
    was_on: tuple[int, ...]  # how many of each of the nodes were on
    was_at: Pairs
    held: Pairs


def best(case: WindowCase, view: View) -> float:
    """The least cost of a plan of the window.

    Slot by slot: which job is on which node, and which other nodes are on. What matters later is the work left, the
    homes of jobs, where each job was and which nodes were on.
    """
    bound = {j: {k for i, k in view.held if i == j} for j in view.jobs}
    if any(len(nodes) > 1 for nodes in bound.values()):
        raise AssertionError("a job has two homes")
    places = [(None, *view.nodes) for _ in view.jobs]
    room = {k: case.room * case.nodes[k].count for k in view.nodes}
    layouts = [where for where in product(*places) if all(where.count(k) <= room[k] for k in view.nodes)]
    others = list(product(*(range(case.nodes[k].count + 1) for k in view.nodes)))

    @cache
    def rest(
        at: int, left: tuple[float, ...], homes: tuple[int | None, ...], was: tuple, on_before: tuple[int, ...]
    ) -> float:
        if at == len(view.slots):
            return sum(case.jobs[j].price * work for j, work in zip(view.jobs, left, strict=True))
        h, found = view.slots[at], float("inf")
        for where in layouts:
            if case.homes and any(
                k is not None and home not in (None, k) for k, home in zip(where, homes, strict=True)
            ):
                continue
            if (
                at == 0
                and case.goes_on
                and not all(
                    view.work[j] <= SMALL or (j, k) not in view.was_at or where[view.jobs.index(j)] == k
                    for j in view.jobs
                    for k in view.nodes
                )
            ):
                continue
            busy = [where.count(k) for k in view.nodes]
            cost = 0.0
            for place, (j, k) in enumerate(zip(view.jobs, where, strict=True)):
                if k is not None:
                    cost += view.tariff[h] * case.slot * case.nodes[k].power
                    cost += case.jobs[j].weight * max(0, case.first + h - case.jobs[j].due)
                    cost += case.jobs[j].restart if case.starts and was[place] != k else 0.0
            after = tuple(
                work if k is None else max(0.0, work - case.nodes[k].pace) for work, k in zip(left, where, strict=True)
            )
            new_homes = (
                tuple(home if k is None else k for home, k in zip(homes, where, strict=True)) if case.homes else homes
            )
            for on in others:
                if all(jobs <= case.room * number for jobs, number in zip(busy, on, strict=True)):
                    idle = (
                        view.tariff[h]
                        * case.slot
                        * sum(case.nodes[k].idle * n for k, n in zip(view.nodes, on, strict=True))
                    )
                    more = zip(view.nodes, on, on_before, strict=True)
                    boots = sum(case.nodes[k].boot * max(0, n - b) for k, n, b in more) if case.boots else 0.0
                    new_was = where if case.starts else was
                    found = min(
                        found,
                        cost + idle + boots + rest(at + 1, after, new_homes, new_was, on if case.boots else on_before),
                    )
        return found

    homes = tuple(next(iter(bound[j]), None) for j in view.jobs)
    was = tuple(next((k for i, k in view.was_at if i == j), None) for j in view.jobs)
    return rest(0, tuple(view.work[j] for j in view.jobs), homes, was, view.was_on)


def objective(case: WindowCase, view: View, values: Values) -> float:
    """What a plan costs by the objective of the model."""
    cost = 0.0
    for (k, h), on in values.get("on", {}).items():
        cost += view.tariff[h] * case.slot * case.nodes[k].idle * on
    for (j, k, h), trains in values.get("train", {}).items():
        cost += view.tariff[h] * case.slot * case.nodes[k].power * trains
        cost += case.jobs[j].weight * max(0, case.first + h - case.jobs[j].due) * trains
    cost += sum(case.nodes[k].boot * amount for (k, _), amount in values.get("boots", {}).items())
    cost += sum(case.jobs[j].restart * amount for (j, _, _), amount in values.get("starts", {}).items())
    return cost + sum(case.jobs[j].price * amount for (j,), amount in values.get("left", {}).items())


def broken_rows(case: WindowCase, view: View, values: Values) -> list[str]:
    """The constraints of the model that a plan breaks."""
    train, on, home = (values.get(name, {}) for name in ("train", "on", "home"))
    wrong = []

    def is_(good: bool, what: str) -> None:
        if not good:
            wrong.append(what)

    for j, k, h in train:
        is_(j in view.jobs and k in view.nodes and h in view.slots, f"train[{j}, {k}, {h}] does not exist")
    for name, most in (("train", 1), ("on", 2), ("home", 1)):
        is_(
            all(abs(v - round(v)) <= SMALL and 0 <= round(v) <= most for v in values.get(name, {}).values()),
            f"{name} whole",
        )
    for name in ("boots", "starts", "left"):
        is_(all(v >= -SMALL for v in values.get(name, {}).values()), f"{name} >= 0")
    for j in view.jobs:
        done = sum(case.nodes[k].pace * v for (i, k, _), v in train.items() if i == j)
        is_(done + values.get("left", {}).get((j,), 0.0) >= view.work[j] - SMALL, f"enough[{j}]")
        for h in view.slots:
            is_(sum(train.get((j, k, h), 0.0) for k in view.nodes) <= 1 + SMALL, f"one_place[{j}, {h}]")
        if case.homes:
            is_(sum(home.get((j, k), 0.0) for k in view.nodes) <= 1 + SMALL, f"one_home[{j}]")
    for k, h in product(view.nodes, view.slots):
        is_(on.get((k, h), 0.0) <= case.nodes[k].count + SMALL, f"on[{k}, {h}]")
        is_(
            sum(train.get((j, k, h), 0.0) for j in view.jobs) <= case.room * on.get((k, h), 0.0) + SMALL,
            f"fits[{k}, {h}]",
        )
        if case.boots:
            before = view.was_on[view.nodes.index(k)] if h == view.slots[0] else on.get((k, h - 1), 0.0)
            is_(values.get("boots", {}).get((k, h), 0.0) >= on.get((k, h), 0.0) - before - SMALL, f"booted[{k}, {h}]")
    for j, k, h in product(view.jobs, view.nodes, view.slots):
        now, first = train.get((j, k, h), 0.0), h == view.slots[0]
        if case.starts:
            before = float((j, k) in view.was_at) if first else train.get((j, k, h - 1), 0.0)
            is_(values.get("starts", {}).get((j, k, h), 0.0) >= now - before - SMALL, f"started[{j}, {k}, {h}]")
        if case.homes:
            is_(now <= home.get((j, k), 0.0) + SMALL, f"stays[{j}, {k}, {h}]")
            is_((j, k) not in view.held or home.get((j, k), 0.0) >= 1 - SMALL, f"as_before[{j}, {k}]")
        if case.goes_on and first and (j, k) in view.was_at and view.work[j] > SMALL:
            is_(now >= 1 - SMALL, f"goes_on[{j}, {k}]")
    return wrong
