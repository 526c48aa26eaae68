"""Runs a policy's instructions on a workload, for one controller or several."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import numpy as np

from gpusched_dsl.engines.active import active_engine
from gpusched_dsl.engines.protocol import Engine, Failure, Work, failure_diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.controllers import Group, GroupTask, answer_from, merge, split, task_bytes
from gpusched_dsl.policies.kernels.compiled import ready_seconds
from gpusched_dsl.policies.kernels.pricing import PRICES, price_by_term
from gpusched_dsl.policies.kernels.row_guard import RowGuard
from gpusched_dsl.policies.search import SearchResult, SearchSettings, never, search
from gpusched_dsl.policies.verifying import verify
from gpusched_dsl.policies.workload import Instructions, Schedule, Workload, empty_schedule

SEARCH = "gpusched_dsl.policies.controllers:search_group"  # the function of a worker
GRACE_SECONDS = 10.0  # after the time limit, in which workers return their schedules
EARLY_SECONDS = 0.5  # before the time limit: a stop that is earlier has another reason


def run(
    work: Workload,
    instructions: Instructions,
    settings: SearchSettings,
    seed: int | Sequence[int] | np.random.SeedSequence = 0,
    initial: Schedule | None = None,
    stop: Callable[[], bool] = never,
    tell: Callable[[int, float], None] | None = None,
    seconds: float | None = None,
    guard: RowGuard | None = None,
) -> SearchResult[Schedule]:
    """The best schedule found. Jobs that `initial` runs stay where they are; with a seed the result is always the same.

    It obeys the rows of `guard`. Controllers cannot share these: one plans for all then.

    `tell` hears now and then of the passes done and the best price; not where several controllers plan. These search in
    threads, or on the active engine (`engines/active.py`), with the same result; workers end by themselves after
    `seconds`, with the best schedules so far.
    Raises BrokenSchedule if a kernel makes a schedule that is none, ValueError for a price or move that there is not.
    """
    if settings.price not in PRICES:
        raise ValueError(f"unknown price `{settings.price}`; the prices are {', '.join(PRICES)}")
    start = empty_schedule(work) if initial is None else initial
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    began = time.perf_counter()
    ready = ready_seconds()
    if settings.controllers <= 1 or guard is not None:
        done = [search(work, instructions, settings, np.random.default_rng(root), start, stop, tell, guard)]
        elite: Sequence[Schedule] = done[0].elite
    else:
        groups = split(work, instructions, start, settings.controllers)
        streams = root.spawn(len(groups))

        use = active_engine()
        if use is None:
            done = _search_in_threads(groups, settings, streams, stop)
        else:
            left = None if seconds is None else seconds - (time.perf_counter() - began)
            done = _search_on(use.for_work(), groups, settings, streams, stop, left)
        elite = [merge(work, groups, [found.elite[0] for found in done])]
    terms = price_by_term(work, elite[0], PRICES[settings.price])
    for plan in elite:
        verify(work, plan)
    return SearchResult(
        elite,
        iterations=min((found.iterations for found in done), default=0),
        stopped=any(found.stopped for found in done),
        terms=terms,
        compile_seconds=ready_seconds() - ready,
    )


def _search_in_threads(
    groups: Sequence[Group],
    settings: SearchSettings,
    streams: Sequence[np.random.SeedSequence],
    stop: Callable[[], bool],
) -> list[SearchResult[Schedule]]:
    def one(group: Group, stream: np.random.SeedSequence) -> SearchResult[Schedule]:
        return search(group.work, group.instructions, settings, np.random.default_rng(stream), group.start, stop)

    with ThreadPoolExecutor(settings.threads) as threads:
        return list(threads.map(one, groups, streams))


def _search_on(
    engine: Engine,
    groups: Sequence[Group],
    settings: SearchSettings,
    streams: Sequence[np.random.SeedSequence],
    stop: Callable[[], bool],
    seconds: float | None,
) -> list[SearchResult[Schedule]]:
    """Search on workers. A controller whose worker had no time has its first pass. Raises DiagnosticError."""
    until = None if seconds is None else time.time() + seconds

    def ends() -> bool:
        if not stop():
            return False
        now = time.time()
        return until is None or now < until - EARLY_SECONDS or now > until + GRACE_SECONDS

    work = [
        Work.of(SEARCH, task_bytes(GroupTask(group, asdict(settings), stream, until)))
        for group, stream in zip(groups, streams, strict=True)
    ]
    found: dict[str, SearchResult[Schedule]] = {}
    for done in engine.run(SEARCH, work, ends):
        if isinstance(done.result, Failure):
            again, more_memory = "solve without `--engine`", "start fewer workers with `--workers`"
            raise DiagnosticError([failure_diagnostic(done, done.result, "a controller", again, more_memory)])
        schedule, iterations, stopped = answer_from(done.result)
        found[done.key] = SearchResult([schedule], iterations, stopped)
    for each, group, stream in zip(work, groups, streams, strict=True):
        if each.key not in found:
            rng = np.random.default_rng(stream)
            found[each.key] = search(group.work, group.instructions, settings, rng, group.start, lambda: True)
    return [found[each.key] for each in work]
