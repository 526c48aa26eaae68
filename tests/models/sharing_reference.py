"""GPU sharing without a solver: the cost of a schedule, and the cheapest schedule by enumeration.

Nothing of the compiler is used here: this is the yardstick that its answers are held against.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product

Way = tuple[int, int, int]
"""Node (by position), GPUs, and twentieths of each: 20, or fewer of one GPU that others may share."""
Schedule = dict[str, Way | None]
"""How each job runs; None: postponed."""


@dataclass(frozen=True)
class Kind:
    """A kind of node: `rate[k - 1]` in $/h while k of its GPUs are in use, `slowdown` by twentieths of a GPU."""

    memory: float
    rate: tuple[float, ...]
    slowdown: dict[int, float] = field(default_factory=dict)

    @property
    def gpus(self) -> int:
        return len(self.rate)


@dataclass(frozen=True)
class Job:
    """`time[kind, k]` in h for all `max_epochs`; `deadline` is the time left, from now."""

    memory: float
    deadline: float
    weight: float
    time: dict[tuple[str, int], float]
    max_epochs: float = 100
    done: float = 0


@dataclass(frozen=True, eq=False)
class Instance:
    """One decision of one moment; `nodes` gives the kind of each.

    `outcomes` are pairs of a probability and the epochs at which each job ends; without them all end at the last.
    Compared by identity, so that what follows from it is worked out once.
    """

    kinds: dict[str, Kind]
    nodes: tuple[str, ...]
    jobs: dict[str, Job]
    outcomes: tuple[tuple[float, dict[str, float]], ...] = ()
    postpone_factor: float = 10
    period: float = 1


@dataclass(frozen=True)
class Options:
    node_rule: str = "matching"
    energy_horizon: str = "node_first_end"
    expectation: str = "here_and_now"
    sharing: str = "on"


@dataclass(frozen=True)
class Cost:
    """The three parts of the objective, in $."""

    lateness: float
    postponed: float
    energy: float

    @property
    def total(self) -> float:
        return self.lateness + self.postponed + self.energy


@cache
def ways(instance: Instance, name: str, sharing: str) -> list[Way]:
    """Every way in which this job could run if it were alone."""
    job, found = instance.jobs[name], list[Way]()
    for node, kind_name in enumerate(instance.nodes):
        kind = instance.kinds[kind_name]
        if job.memory <= kind.memory:
            found += [(node, k, 20) for k in range(1, kind.gpus + 1) if (kind_name, k) in job.time]
        if sharing == "on" and (kind_name, 1) in job.time:
            found += [(node, 1, u) for u in kind.slowdown if job.memory <= u / 20 * kind.memory + 1e-9]
    return found


@cache
def worst_time(instance: Instance, name: str, way: Way) -> float:
    """Hours to the last epoch that the job may need."""
    job, (node, k, u) = instance.jobs[name], way
    kind = instance.nodes[node]
    slowdown = instance.kinds[kind].slowdown[u] if u < 20 else 1.0
    return job.time[kind, k] * slowdown * (job.max_epochs - job.done) / job.max_epochs


@cache
def outcomes(instance: Instance) -> list[tuple[float, dict[str, float]]]:
    """Probability, and the part of its worst time that each job takes."""
    cases = instance.outcomes or ((1.0, {name: job.max_epochs for name, job in instance.jobs.items()}),)
    return [
        (p, {name: (epochs[name] - job.done) / (job.max_epochs - job.done) for name, job in instance.jobs.items()})
        for p, epochs in cases
    ]


@cache
def planned(instance: Instance, name: str, expectation: str) -> float:
    if expectation == "worst_case":
        return 1.0
    return sum(p * part[name] for p, part in outcomes(instance))


@cache
def bins(sizes: tuple[int, ...]) -> int:
    """The fewest GPUs that hold parts of these sizes, in twentieths, none of them cut."""
    best = len(sizes)

    def place(position: int, loads: list[int]) -> None:
        nonlocal best
        if len(loads) >= best:
            return
        if position == len(sizes):
            best = len(loads)
            return
        size = sizes[position]
        for load in sorted(set(loads)):
            if load + size <= 20:
                k = loads.index(load)
                place(position + 1, [*loads[:k], load + size, *loads[k + 1 :]])
        place(position + 1, [*loads, size])

    place(0, [])
    return best


def gpus_in_use(instance: Instance, schedule: Schedule) -> list[range]:
    """For each node, how many of its GPUs may be in use (parts may share GPUs, or have one each); empty: too many."""
    found = []
    for node, kind in enumerate(instance.nodes):
        here = [way for way in schedule.values() if way is not None and way[0] == node]
        parts = tuple(sorted((u for _, _, u in here if u < 20), reverse=True))
        whole = sum(k for _, k, u in here if u == 20)
        most = min(whole + len(parts), instance.kinds[kind].gpus)
        found.append(range(whole + bins(parts), most + 1))
    return found


def evaluate(instance: Instance, schedule: Schedule, in_use: tuple[int, ...], options: Options) -> Cost:
    """What the schedule costs while each node has this many GPUs in use."""
    lateness = postponed = 0.0
    for name, job in instance.jobs.items():
        way = schedule[name]
        if way is None:
            slowest = max(worst_time(instance, name, w) for w in ways(instance, name, options.sharing))
            lateness += job.weight * max(0.0, -job.deadline)
            worst = max(0.0, instance.period + slowest - job.deadline)
            postponed += instance.postpone_factor * job.weight * worst
        elif options.expectation in ("worst_case", "mean_value"):
            time = planned(instance, name, options.expectation) * worst_time(instance, name, way)
            lateness += job.weight * max(0.0, time - job.deadline)
        else:
            for p, part in outcomes(instance):
                late = max(0.0, part[name] * worst_time(instance, name, way) - job.deadline)
                lateness += p * job.weight * late
    return Cost(lateness, postponed, energy(instance, schedule, in_use, options))


def energy(instance: Instance, schedule: Schedule, in_use: tuple[int, ...], options: Options) -> float:
    running = {name: way for name, way in schedule.items() if way is not None}
    plan = {name: planned(instance, name, options.expectation) for name in running}
    if options.energy_horizon == "full_run":
        return sum(
            u / 20 * instance.kinds[instance.nodes[n]].rate[k - 1] * plan[name] * worst_time(instance, name, (n, k, u))
            for name, (n, k, u) in running.items()
        )
    cases = outcomes(instance) if options.expectation == "by_outcome" else [(1.0, plan)]
    cost = 0.0
    for p, part in cases:
        ends = {name: part[name] * worst_time(instance, name, way) for name, way in running.items()}
        for node, count in enumerate(in_use):
            if count:
                together = options.energy_horizon == "system_first_end"
                first = min(end for name, end in ends.items() if together or running[name][0] == node)
                cost += p * instance.kinds[instance.nodes[node]].rate[count - 1] * first
    return cost


@cache
def most_nodes(instance: Instance, sharing: str) -> int:
    """How many nodes can have a job of their own: a largest matching, by augmenting paths."""
    reach = {name: sorted({node for node, _, _ in ways(instance, name, sharing)}) for name in instance.jobs}
    owner: dict[int, str] = {}

    def give(name: str, seen: set[int]) -> bool:
        for node in reach[name]:
            if node not in seen:
                seen.add(node)
                if node not in owner or give(owner[node], seen):
                    owner[node] = name
                    return True
        return False

    return sum(give(name, set()) for name in instance.jobs)


def allowed(instance: Instance, schedule: Schedule, in_use: tuple[int, ...], options: Options) -> bool:
    """Whether the node rule allows it; of `max_running` this tells nothing."""
    opened = sum(count > 0 for count in in_use)
    if options.node_rule == "printed":
        return opened == min(len(instance.jobs), len(instance.nodes))
    if options.node_rule == "matching":
        return opened == most_nodes(instance, options.sharing)
    if options.node_rule == "work_conserving":
        waiting = [name for name, way in schedule.items() if way is None]
        idle = [n for n, kind in enumerate(instance.nodes) if in_use[n] < instance.kinds[kind].gpus]
        return not any((n, 1, 20) in ways(instance, name, options.sharing) for name in waiting for n in idle)
    return True


def schedules(instance: Instance, sharing: str) -> Iterator[tuple[Schedule, tuple[int, ...]]]:
    """Every schedule that fits, with the GPUs in use on each node: parts packed as they may be."""
    choices = [[None, *ways(instance, name, sharing)] for name in instance.jobs]
    for chosen in product(*choices):
        schedule = dict(zip(instance.jobs, chosen, strict=True))
        for in_use in product(*gpus_in_use(instance, schedule)):
            yield schedule, in_use


def cheapest(instance: Instance, options: Options) -> tuple[float, list[Schedule]]:
    """The optimum in $ and all schedules that reach it (up to 1e-9); (inf, []) when the rules allow none."""
    best, winners, most = float("inf"), list[Schedule](), 0
    for schedule, in_use in schedules(instance, options.sharing):
        if not allowed(instance, schedule, in_use, options):
            continue
        running = sum(way is not None for way in schedule.values())
        if options.node_rule == "max_running" and running != most:
            if running < most:
                continue
            best, winners, most = float("inf"), [], running
        total = evaluate(instance, schedule, in_use, options).total
        if total < best - 1e-9:
            best, winners = total, []
        if total <= best + 1e-9 and schedule not in winners:
            winners.append(schedule)
    return best, winners
