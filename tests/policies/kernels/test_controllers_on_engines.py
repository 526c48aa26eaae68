"""Controllers on engines: the schedules of threads, whatever the workers do; ends in time."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from random_clusters import some_policy, some_workload

from gpusched_dsl.engines.active import use_engine
from gpusched_dsl.engines.inline import InlineEngine
from gpusched_dsl.engines.local import LocalEngine
from gpusched_dsl.engines.protocol import DIED, Done, Engine, Failure, Shared, Stop, Work
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.controlled_search import run
from gpusched_dsl.policies.controllers import GroupTask, split, task_bytes, task_from
from gpusched_dsl.policies.search import SearchResult, SearchSettings
from gpusched_dsl.policies.verifying import violations
from gpusched_dsl.policies.workload import Instructions, Workload, empty_schedule

MOVES = (("repack_node", 4), ("swap_postponed_running", 0))
SETTINGS = SearchSettings(iterations=20, keep=3, improve=2, controllers=3, moves=MOVES)


class Killing(LocalEngine):
    """Kills a worker that has work, once."""

    killed = False

    def _assign(self, function: str, waiting: deque[Work], starts: Counter[str], shared: Shared | None) -> None:
        super()._assign(function, waiting, starts, shared)
        busy = [child for child in self._children if child.work is not None]
        if busy and not self.killed:
            os.kill(busy[0].pid, signal.SIGKILL)
            self.killed = True


class Lost(InlineEngine):
    """Has no result for the first controller."""

    def __init__(self, result: Failure | None) -> None:
        self.result = result

    def run(
        self, function: str, work: Sequence[Work], stop: Stop = lambda: False, shared: Shared | None = None
    ) -> Iterator[Done]:
        if self.result is not None:
            yield Done(work[0].key, self.result, 3)
        yield from super().run(function, work[1:], stop, shared)


def cases(count: int) -> list[tuple[Workload, Instructions]]:
    found = []
    for number in range(count):
        work = some_workload(np.random.default_rng(number))
        found.append((work, some_policy(np.random.default_rng(number), work)[1]))
    return found


def same(one: SearchResult, other: SearchResult) -> bool:
    equal = all(np.array_equal(a, b) for a, b in zip(one.schedule, other.schedule, strict=True))
    return equal and (one.price, one.iterations, one.stopped) == (other.price, other.iterations, other.stopped)


def on(engine: Engine, work: Workload, lines: Instructions, number: int) -> SearchResult:
    with use_engine(engine) as use:
        found = run(work, lines, SETTINGS, seed=[3, number])
    assert use.used
    return found


def test_a_task_is_read_as_it_was_written() -> None:
    for number, (work, lines) in enumerate(cases(4)):
        for group in split(work, lines, empty_schedule(work), 2):
            stream = np.random.SeedSequence([2**70, number]).spawn(3)[1]
            task = task_from(task_bytes(GroupTask(group, {"iterations": 3}, stream, None)))
            for given, read in zip(
                (*group.work, *group.instructions, *group.start),
                (*task.group.work, *task.group.instructions, *task.group.start),
                strict=True,
            ):
                assert np.array_equal(given, read)
                assert np.asarray(given).dtype == np.asarray(read).dtype
            assert task.stream.generate_state(4).tolist() == stream.generate_state(4).tolist()


def test_an_engine_gives_the_schedules_of_threads() -> None:
    for number, (work, lines) in enumerate(cases(8)):
        expected = run(work, lines, SETTINGS, seed=[3, number])
        assert same(on(InlineEngine(), work, lines, number), expected)


def test_a_controller_without_time_has_its_first_pass() -> None:
    for number, (work, lines) in enumerate(cases(4)):
        with use_engine(Lost(None)):
            found = run(work, lines, SETTINGS, seed=[3, number], stop=lambda: True)
        assert found.stopped
        assert violations(work, found.schedule) == []
        with use_engine(InlineEngine()):
            over = run(work, lines, SETTINGS, seed=[3, number], seconds=-1.0)
        assert over.stopped
        assert over.iterations == 0


def test_workers_end_in_time_with_their_best_schedules() -> None:
    work, lines = cases(1)[0]
    settings = SearchSettings(iterations=10**9, controllers=2)
    start = time.monotonic()
    with use_engine(InlineEngine()):
        found = run(work, lines, settings, stop=lambda: time.monotonic() > start + 0.2, seconds=0.2)
    assert found.stopped
    assert time.monotonic() - start < 20


def test_a_lost_worker_is_an_error() -> None:
    work, lines = cases(1)[0]
    with use_engine(Lost(Failure(DIED, "it was ended"))), pytest.raises(DiagnosticError, match="GSM5308"):
        run(work, lines, SETTINGS)


@pytest.mark.slow
def test_processes_that_are_killed_change_no_schedule() -> None:
    expected = [run(work, lines, SETTINGS, seed=[3, number]) for number, (work, lines) in enumerate(cases(5))]
    for engine in (LocalEngine(1), LocalEngine(3), Killing(2)):
        with engine:
            for number, (work, lines) in enumerate(cases(5)):
                assert same(on(engine, work, lines, number), expected[number])
        assert not isinstance(engine, Killing) or engine.killed
