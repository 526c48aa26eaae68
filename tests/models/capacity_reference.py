"""Capacity planning without a solver: the cost of a schedule, and the cheapest schedule by enumeration.

Nothing of the compiler is used here: this is the yardstick that its answers are held against.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

Placement = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""Open nodes, each a VM type and the (job, GPUs) on it."""


@dataclass(frozen=True)
class Instance:
    """One decision of one moment. Times in h, prices and weights in $/h; `deadline` is the time left, from now.

    `time[job, type, gpus]` holds only the configurations that exist. A job not in `postponed_weight` has 100 times
    its weight, one not in `remaining` all of its work to do; a type not in `stock` can be had without limit.
    """

    nodes: int
    gpus: dict[str, int]
    price: dict[str, float]
    deadline: dict[str, float]
    weight: dict[str, float]
    time: dict[tuple[str, str, int], float]
    postponed_weight: dict[str, float] = field(default_factory=dict)
    remaining: dict[str, float] = field(default_factory=dict)
    stock: dict[str, int] = field(default_factory=dict)
    period: float = 1.0
    idle_penalty: float = 1.0

    @property
    def nodes_to_rent(self) -> int:
        return min(self.nodes, len(self.deadline))

    def left(self, job: str, vm: str, gpus: int) -> float:
        return self.remaining.get(job, 1.0) * self.time[job, vm, gpus]

    def slowest(self, job: str) -> float:
        return max(self.left(*key) for key in self.time if key[0] == job)

    def price_of_postponing(self, job: str) -> float:
        return self.postponed_weight.get(job, 100 * self.weight[job])


@dataclass(frozen=True)
class Cost:
    """The four parts of the objective, in $."""

    lateness: float
    postponed: float
    idle: float
    rent: float

    @property
    def total(self) -> float:
        return self.lateness + self.postponed + self.idle + self.rent


def evaluate(instance: Instance, placement: Placement, deadline_terms: str = "corrected") -> Cost:
    """What the schedule costs; jobs on no node are postponed. `printed`: by rows (7), (8) of the paper."""
    lateness = postponed = idle = rent = 0.0
    running = set()
    for vm, jobs in placement:
        idle += instance.idle_penalty * (instance.gpus[vm] - sum(gpus for _, gpus in jobs))
        for job, gpus in jobs:
            running.add(job)
            left = instance.left(job, vm, gpus)
            lateness += instance.weight[job] * max(0.0, left - instance.deadline[job])
            rent += gpus / instance.gpus[vm] * instance.price[vm] * left
    for job, deadline in instance.deadline.items():
        if deadline_terms == "printed":
            overdue = max(0.0, -deadline)
            if job in running:
                postponed += instance.price_of_postponing(job) * overdue
            else:
                lateness += instance.weight[job] * overdue
        if job not in running:
            worst = max(0.0, instance.period + instance.slowest(job) - deadline)
            postponed += instance.price_of_postponing(job) * worst
    return Cost(lateness, postponed, idle, rent)


def placements(instance: Instance, node_rule: str) -> Iterator[Placement]:
    """Every schedule that the node rule allows, once up to the names of the nodes of one type that hold no job yet."""
    most = instance.nodes_to_rent
    fewest = 0 if node_rule == "at_most" else most
    must_run = 0 if node_rule == "paper" else most
    for count in range(fewest, most + 1):
        for types in combinations_with_replacement(sorted(instance.gpus), count):
            if any(types.count(vm) > most_of_type for vm, most_of_type in instance.stock.items()):
                continue
            yield from _fill(instance, types, list(instance.deadline), must_run)


def _fill(instance: Instance, types: tuple[str, ...], waiting: list[str], must_run: int) -> Iterator[Placement]:
    """Give each job, in order, one of its places on nodes of these types, or none."""
    held: list[list[tuple[str, int]]] = [[] for _ in types]
    free = [instance.gpus[vm] for vm in types]

    def place(position: int, running: int) -> Iterator[Placement]:
        if running + len(waiting) - position < must_run:
            return
        if position == len(waiting):
            yield tuple((vm, tuple(jobs)) for vm, jobs in zip(types, held, strict=True))
            return
        job = waiting[position]
        yield from place(position + 1, running)
        for node, vm in enumerate(types):
            if not held[node] and any(types[k] == vm and not held[k] for k in range(node)):
                continue  # an empty node of the same type was tried already
            for gpus in range(1, free[node] + 1):
                if (job, vm, gpus) in instance.time:
                    held[node].append((job, gpus))
                    free[node] -= gpus
                    yield from place(position + 1, running + 1)
                    free[node] += gpus
                    held[node].pop()

    yield from place(0, 0)


def conserves_work(instance: Instance, placement: Placement) -> bool:
    """No job waits, or no GPU is idle."""
    running = sum(len(jobs) for _, jobs in placement)
    idle = sum(instance.gpus[vm] - sum(gpus for _, gpus in jobs) for vm, jobs in placement)
    return running == len(instance.deadline) or idle == 0


def cheapest(
    instance: Instance, node_rule: str = "paper", deadline_terms: str = "corrected", work_conserving: str = "no"
) -> tuple[float, list[Placement]]:
    """The optimum in $ and all schedules that reach it (up to 1e-9); (inf, []) when the rules allow none."""
    best, winners = float("inf"), list[Placement]()
    for placement in placements(instance, node_rule):
        if work_conserving == "yes" and not conserves_work(instance, placement):
            continue
        total = evaluate(instance, placement, deadline_terms).total
        if total < best - 1e-9:
            best, winners = total, []
        if total <= best + 1e-9:
            winners.append(placement)
    return best, winners
