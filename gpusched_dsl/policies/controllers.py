"""Splits a workload among independent controllers, searches for their schedules in workers, and merges these.

The i-th job and the i-th node belong to controller i mod K, once for all (capacity planning, hierarchical method). A
job that runs already belongs to the controller of its node. Stocks of kinds are dealt out in the same way. A worker
gets the part of a controller as a message, and answers with its schedule.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.engines.arrays import pack, unpack
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.kernels.compiled import ready_seconds
from gpusched_dsl.policies.search import SearchSettings, search
from gpusched_dsl.policies.workload import NEVER, NONE, Instructions, Schedule, Workload, empty_schedule

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Group:
    """One controller's part. `jobs`, `nodes`, `ways`: the numbers of its own in the complete workload."""

    work: Workload
    instructions: Instructions
    start: Schedule
    jobs: Ints
    nodes: Ints
    ways: Ints


def split(work: Workload, instructions: Instructions, start: Schedule, controllers: int) -> list[Group]:
    """At most as many groups as there are nodes, so that each has one."""
    count = max(1, min(controllers, len(work.node_kind)))
    owner = np.arange(len(work.due)) % count
    owner[start.node != NONE] = start.node[start.node != NONE] % count
    return [_group(work, instructions, start, np.flatnonzero(owner == at), at, count) for at in range(count)]


def _group(work: Workload, instructions: Instructions, start: Schedule, jobs: Ints, at: int, count: int) -> Group:
    nodes = np.arange(at, len(work.node_kind), count)
    job_number = _numbers(jobs, len(work.due))
    node_number = _numbers(nodes, len(work.node_kind))
    counts = work.first_way[jobs + 1] - work.first_way[jobs]
    first_way = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    ways = np.arange(first_way[-1]) + np.repeat(work.first_way[jobs] - first_way[:-1], counts)
    way_number = _numbers(ways, len(work.job))
    stock = np.where(work.stock == NEVER, NEVER, work.stock // count + (at < work.stock % count))
    way_at = _translate(work.way_at[jobs], way_number)
    part = work._replace(
        node_kind=work.node_kind[nodes],
        stock=stock,
        due=work.due[jobs],
        weight=work.weight[jobs],
        postponed=work.postponed[jobs],
        first_way=first_way,
        job=job_number[work.job[ways]],
        kind=work.kind[ways],
        size=work.size[ways],
        time=work.time[ways],
        rate=work.rate[ways],
        late=work.late[ways],
        needs=work.needs[ways],
        way_at=way_at,
        form=work.form[ways],
        like_at=way_at if work.like_at is work.way_at else _translate(work.like_at[jobs], way_number),
    )
    order = job_number[instructions.order]
    lines = instructions._replace(
        order=order[order != NONE],
        choose_rank=instructions.choose_rank[ways],
        otherwise_rank=instructions.otherwise_rank[ways],
        ranked=_translate(instructions.ranked[ways], way_number),
        preferred=instructions.preferred[jobs],
        swap_chance=instructions.swap_chance[jobs],
        way_list=instructions.way_list[jobs],
        way_odds=instructions.way_odds[ways],
    )
    own = Schedule(
        node=_translate(start.node[jobs], node_number),
        way=_translate(start.way[jobs], way_number),
        gpu=start.gpu[jobs],
        kind=start.kind[nodes],
        used=start.used[nodes],
        jobs=start.jobs[nodes],
        opened=start.opened[nodes],
        left=start.left[nodes],
        spare=start.spare[nodes],
        chosen=_translate(start.chosen[jobs], way_number),
    )
    return Group(part, lines, own, jobs, nodes, ways)


def merge(work: Workload, groups: Sequence[Group], plans: Sequence[Schedule]) -> Schedule:
    """The schedules of all groups as one; nodes count as opened in turns, one of each group."""
    whole = empty_schedule(work)
    for group, plan in zip(groups, plans, strict=True):
        whole.node[group.jobs] = _translate(plan.node, group.nodes)
        whole.way[group.jobs] = _translate(plan.way, group.ways)
        whole.gpu[group.jobs] = plan.gpu
        whole.chosen[group.jobs] = _translate(plan.chosen, group.ways)
        for name in ("kind", "used", "jobs", "opened", "left", "spare"):
            getattr(whole, name)[group.nodes] = getattr(plan, name)
    owner = np.empty(len(work.node_kind), np.int64)
    for at, group in enumerate(groups):
        owner[group.nodes] = at
    used = np.flatnonzero(whole.opened != NONE)
    turns = used[np.lexsort((owner[used], whole.opened[used]))]
    whole.opened[turns] = np.arange(len(turns))
    return whole


def _numbers(chosen: Ints, total: int) -> Ints:
    """Return the new numbers of the chosen elements, NONE for the rest."""
    numbers = np.full(total, NONE)
    numbers[chosen] = np.arange(len(chosen))
    return numbers


def _translate(numbers: Ints, table: Ints) -> Ints:
    """Numbers looked up in a table; NONE stays."""
    return np.where(numbers == NONE, NONE, table[numbers]) if len(table) else np.full(numbers.shape, NONE)


NONE_OF_THEM = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class GroupTask:
    """The search of one controller; `until` is the time of the epoch at which it ends with its best schedule."""

    group: Group
    settings: Mapping[str, Any]
    stream: np.random.SeedSequence
    until: float | None


def task_bytes(task: GroupTask) -> bytes:
    """Return a task as bytes. The numbers of its jobs, nodes and ways stay here: a worker does not need them."""
    group = task.group
    parts = {
        "work.": group.work._asdict(),
        "instructions.": group.instructions._asdict(),
        "start.": group.start._asdict(),
    }
    values = {f"{prefix}{name}": value for prefix, part in parts.items() for name, value in part.items()}
    # Entropy has more than 64 bits.
    seed = json.dumps({"entropy": task.stream.entropy, "spawn_key": list(task.stream.spawn_key)})
    return pack({**values, "settings": dict(task.settings), "seed": seed, "until": task.until})


def task_from(data: bytes) -> GroupTask:
    """Return the task of `task_bytes`."""
    given = unpack(data)

    def fields(prefix: str) -> dict[str, Any]:
        return {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}

    work, instructions = Workload(**fields("work.")), Instructions(**fields("instructions."))
    seed = json.loads(given["seed"])
    stream = np.random.SeedSequence(seed["entropy"], spawn_key=tuple(seed["spawn_key"]))
    start = Schedule(**fields("start."))
    group = Group(work, instructions, start, NONE_OF_THEM, NONE_OF_THEM, NONE_OF_THEM)
    return GroupTask(group, given["settings"], stream, given["until"])


def answer_bytes(schedule: Schedule, iterations: int, stopped: bool) -> bytes:
    """Return the best schedule of a controller, its number of passes, and whether its time was over, as bytes."""
    return pack({**schedule._asdict(), "iterations": iterations, "stopped": stopped})


def answer_from(data: bytes) -> tuple[Schedule, int, bool]:
    """Return the answer of `answer_bytes`."""
    given = unpack(data)
    schedule = Schedule(**{name: given[name] for name in Schedule._fields})
    return schedule, int(given["iterations"]), bool(given["stopped"])


def search_group(message: bytes) -> bytes:
    """Search for the best schedule of the controller of a message; the function of a worker."""
    task = task_from(message)
    group, given = task.group, dict(task.settings)
    given["moves"] = tuple((str(name), int(length)) for name, length in given["moves"])
    settings = SearchSettings(**given)
    ready = ready_seconds()

    def stop() -> bool:
        """Whether the time is over; that of waiting for kernels does not count."""
        return task.until is not None and time.time() - (ready_seconds() - ready) > task.until

    rng = np.random.default_rng(task.stream)
    found = search(group.work, group.instructions, settings, rng, group.start, stop)
    return answer_bytes(found.elite[0], found.iterations, found.stopped)
