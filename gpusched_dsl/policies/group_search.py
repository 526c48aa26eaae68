"""The search of a controller in a worker of an engine."""

from __future__ import annotations

import time

import numpy as np

from gpusched_dsl.policies.group_messages import answer_bytes, task_from
from gpusched_dsl.policies.search import SearchSettings, search, warm_up


def search_group(message: bytes) -> bytes:
    """Search for the best schedule of the controller of a message; the function of a worker."""
    task = task_from(message)
    group, given = task.group, dict(task.settings)
    given["moves"] = tuple((str(name), int(length)) for name, length in given["moves"])
    settings = SearchSettings(**given)
    until = None if task.until is None else task.until + warm_up(group.work, group.instructions, settings, group.start)

    def stop() -> bool:
        return until is not None and time.time() > until

    rng = np.random.default_rng(task.stream)
    found = search(group.work, group.instructions, settings, rng, group.start, stop)
    return answer_bytes(found.elite[0], found.iterations, found.stopped)
