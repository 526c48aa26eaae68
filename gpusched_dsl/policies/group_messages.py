"""The search of a controller in a worker: its part as a message, and the schedule that the worker answers with."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.engines.arrays import pack, unpack
from gpusched_dsl.policies.controllers import Group
from gpusched_dsl.policies.kernels.compiled import ready_seconds
from gpusched_dsl.policies.search import SearchSettings, search
from gpusched_dsl.policies.workload import Instructions, Schedule, Workload

if TYPE_CHECKING:
    from collections.abc import Mapping

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
