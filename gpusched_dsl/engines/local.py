"""Local processes: workers that live through many runs; the work of one that dies is started again."""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from types import TracebackType

from gpusched_dsl.engines.child import Child
from gpusched_dsl.engines.protocol import ATTEMPTS, DIED, Done, Failure, Shared, Stop, Work

POLL_SECONDS = 0.2
MEMORY_SHARE = 0.8  # of the machine for all workers together


class LocalEngine:
    """Processes of this machine, one per core unless `workers` says otherwise.

    `memory` in bytes is the limit of each worker, by default an equal share of four fifths of the machine: a worker
    that uses more is ended, and its work has failed. The work of a worker that dies otherwise is started again.
    """

    name = "local"

    def __init__(self, workers: int | None = None, memory: int | None = None, attempts: int = ATTEMPTS) -> None:
        self._workers = workers or cores()
        self._memory = memory if memory is not None else machine_share(self._workers)
        self._attempts = attempts
        self._children: list[Child] = []

    @property
    def workers(self) -> int:
        return self._workers

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """Return the numbers of the worker processes."""
        return [child.pid for child in self._children]

    def run(
        self, function: str, work: Sequence[Work], stop: Stop = lambda: False, shared: Shared | None = None
    ) -> Iterator[Done]:
        waiting, starts = deque(work), Counter[str]()
        finished = False
        try:
            while waiting or any(child.work is not None for child in self._children):
                if stop():
                    return
                self._assign(function, waiting, starts, shared)
                for done in self._results():
                    if isinstance(done.result, Failure) and done.result.kind == DIED and not stop():
                        again = next(each for each in work if each.key == done.key)
                        if starts[done.key] < self._attempts:
                            waiting.appendleft(again)
                            continue
                    yield Done(done.key, done.result, starts[done.key])
            finished = True
        finally:
            if not finished:
                self.close()  # whatever the workers still do

    def close(self) -> None:
        for child in self._children:
            child.close()
        self._children = []

    def _assign(self, function: str, waiting: deque[Work], starts: Counter[str], shared: Shared | None) -> None:
        """Give work to idle workers, and start workers while there is more work."""
        busy = sum(child.work is not None for child in self._children)
        while len(self._children) < min(self._workers, busy + len(waiting)):
            self._children.append(Child(self._memory))
        for child in self._children:
            if waiting and child.work is None:
                work = waiting.popleft()
                starts[work.key] += 1
                child.start(function, work, shared)

    def _results(self) -> Iterator[Done]:
        """Yield the results that are ready; wait a moment if there are none. Dead workers are removed."""
        ready = wait([child.pipe for child in self._children], POLL_SECONDS)
        for child in [child for child in self._children if child.pipe in ready]:
            done = child.receive()
            if child.work is None and not child.alive:  # what a dead worker still sent is read first
                self._children.remove(child)
                child.close()
            if done is not None:
                yield done
        for child in self._children:
            child.watch()


def cores() -> int:
    """Return the number of cores that this process may use."""
    if sys.platform == "linux":
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def machine_share(workers: int) -> int | None:
    """Return the memory in bytes for each of several workers; None if the system does not tell its memory."""
    if sys.platform == "win32":
        return None
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    return int(total * MEMORY_SHARE / workers)
