"""The search of one controller: passes, the pool of the best schedules, moves.

The kernels run in short calls, so that Ctrl-C, a time limit or whoever watches can stop them; how long the calls are
has no influence on the result. `stop` is asked between calls; the best schedule so far is what a stopped run gives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.policies.kernels.construct import look_up, make_scratch
from gpusched_dsl.policies.kernels.drawing import draw_passes, has_finish, make_pool, pooled_schedule
from gpusched_dsl.policies.kernels.pricing import PRICES, price_by_term
from gpusched_dsl.policies.kernels.row_guard import RowGuard
from gpusched_dsl.policies.plug_ins import plug_ins, run_passes, uses_added
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule, Workload, copy_of, tables_of

_CALL_SECONDS = 0.05  # about how long one call of the kernels takes

UNLIMITED: Final = np.iinfo(np.int64).max  # rounds: until no change is for the better


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The search effort. `keep`: length of the pool; `improve`: the number of its schedules from which `moves` start.

    A move is a name of `rules.MOVE_CODES` and the length of the list of jobs that it looks at (0: all of them).
    `controllers`: groups of jobs and nodes that are planned apart, on at most `threads` threads.
    """

    iterations: int = 0
    keep: int = 1
    price: str = "total"
    moves: tuple[tuple[str, int], ...] = ()
    rounds: int = 1
    improve: int = 1
    controllers: int = 1
    threads: int | None = None


def never() -> bool:
    """The stop function of a run that nothing stops."""
    return False


_Schedule = TypeVar("_Schedule")


@dataclass(frozen=True, eq=False, slots=True)
class SearchResult(Generic[_Schedule]):
    """The schedules of a search or of rules, the cheapest first.

    `iterations`: drawn passes done, in the group that did the fewest. `stopped`: it was asked to end early. `terms` are
    those of the price of the first schedule (lateness, postponement, idle GPUs, running costs, in money), None where
    nothing was priced. `compile_seconds` are those in which it waited for kernels to be compiled or loaded. `unproven`
    counts the slots whose serving nodes may not be the cheapest ones.
    """

    elite: Sequence[_Schedule]
    iterations: int = 0
    stopped: bool = False
    terms: Floats | None = None
    compile_seconds: float = 0.0
    unproven: int = 0

    @property
    def schedule(self) -> _Schedule:
        """The best schedule."""
        return self.elite[0]

    @property
    def price(self) -> float | None:
        """The price of the best schedule."""
        return None if self.terms is None else float(self.terms.sum())


def search(
    work: Workload,
    instructions: Instructions,
    settings: SearchSettings,
    rng: np.random.Generator,
    start: Schedule,
    stop: Callable[[], bool],
    tell: Callable[[int, float], None] | None = None,
    guard: RowGuard | None = None,
) -> SearchResult[Schedule]:
    """Passes and moves for one controller; pass 0 is done even if the run is to stop at once.

    All of them obey the rows of `guard`.
    """
    kind_of_price = PRICES[settings.price]
    plan = copy_of(start)
    pool = make_pool(plan, max(settings.keep, 1))
    look, scratch = look_up(work), make_scratch(work, instructions.node_list)
    passes = run_passes if uses_added(instructions) else draw_passes
    more = () if uses_added(instructions) else (has_finish(instructions),)
    done, length, stopped = 0, 1, False
    while done <= settings.iterations and not (stopped := done > 0 and stop()):
        until = min(done + length, settings.iterations + 1)
        before = time.perf_counter()
        passes(work, look, instructions, scratch, start, plan, pool, done, until, kind_of_price, rng, guard, *more)
        taken = time.perf_counter() - before
        length = max(1, min(2 * length, int(length * _CALL_SECONDS / max(taken, 1e-9))))
        done = until
        if tell is not None:
            tell(done - 1, float(pool.price[0]))
    held = [at for at in range(int(pool.held[0])) if at == 0 or np.isfinite(pool.price[at])]
    elite = [pooled_schedule(pool, at, plan) for at in held]
    if settings.moves and not stopped:
        elite, stopped = _improve(work, instructions, start, elite, settings, stop, guard)
    return SearchResult(elite, done - 1, stopped)


def _improve(
    work: Workload,
    instructions: Instructions,
    start: Schedule,
    elite: list[Schedule],
    settings: SearchSettings,
    stop: Callable[[], bool],
    guard: RowGuard | None,
) -> tuple[list[Schedule], bool]:
    """The first schedules of the pool after the moves, put in order with the rest.

    Moves leave alone the jobs that do not queue and those that ran before: they have no way to go anywhere else.
    """
    from gpusched_dsl.policies.local_search import improve

    movable = np.zeros(len(work.due), dtype=np.bool_)
    movable[instructions.order] = True
    movable[start.node >= 0] = False
    pressure = np.full(len(work.due), -np.inf)
    pressure[instructions.order] = -np.arange(len(instructions.order), dtype=np.float64)
    loose = work
    if not movable.all():
        tables = [np.where(movable[:, None, None], table, NONE) for table in tables_of(work)]
        loose = work._replace(way_at=tables[0], like_at=tables[-1])
    listed = instructions.ranked[instructions.ranked != NONE]
    usable = np.zeros(len(work.job), dtype=np.int64)
    usable[listed] = movable[work.job[listed]] & (work.size[listed] <= work.units[work.kind[listed]])
    moves = [
        (plug_ins().moves[name].function if name in plug_ins().moves else name, length)
        for name, length in settings.moves
    ]
    stopped = False
    found = []
    for plan in elite[: settings.improve]:
        if stopped := stop():
            break
        found.append(improve(loose, [plan], moves, settings.rounds, settings.price, pressure, stop, guard, usable))
    found += elite[len(found) :]
    costs = [float(price_by_term(work, plan, PRICES[settings.price]).sum()) for plan in found]
    return [found[at] for at in np.argsort(costs, kind="stable")], stopped
