"""The search of a controller in a worker of an engine."""

from __future__ import annotations

import time

import numpy as np

from gpusched_dsl.policies.group_messages import answer_bytes, task_from
from gpusched_dsl.policies.kernels.compiled import ready_seconds
from gpusched_dsl.policies.search import SearchSettings, search


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
