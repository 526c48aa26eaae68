"""Local search on the best schedules that were made: exact prices of small changes, the best one at a time.

Source: Kiros, Analysis of Scheduling Algorithms for Deep Learning Training Jobs (Politecnico di Milano), section 3.1.5.
Other packages may add moves: Python functions of `Workload`, `Schedule`, `Books`, a length and a `Change` that they
write their candidate into, as those of `kernels/moves/swaps.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpusched_dsl.policies.kernels.moves.books import Books, empty_books, keep_books, tolerance
from gpusched_dsl.policies.kernels.moves.change import Change, apply, copy_change, empty_change
from gpusched_dsl.policies.kernels.moves.climb import best_of_all, climb
from gpusched_dsl.policies.kernels.pricing import PRICES, price
from gpusched_dsl.policies.rules import MOVE_NAMES
from gpusched_dsl.policies.workload import Floats, Schedule, Workload

Move = Callable[[Workload, Schedule, Books, int, Change], float]

UNLIMITED = np.iinfo(np.int64).max  # rounds: until no change is for the better


def improve(
    work: Workload,
    plans: Sequence[Schedule],
    moves: Sequence[tuple[str | Move, int]],
    rounds: int = 1,
    price_kind: str = "first_end",
    pressure: Floats | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Schedule:
    """The best schedule seen while each of the plans, best first, is changed for the better up to `rounds` times.

    `moves` are names of `rules.MOVE_NAMES` or functions, each with the length of its lists (0: all). Of moves equally
    good the first by `MOVE_NAMES` is made, then functions in the order given. `pressure` (J,) is higher for jobs that
    are more urgent, by default the shortest time minus the time left. `stopped` is asked between plans. The plans stay
    as they are. Raises ValueError without a plan, KeyError for a name that is none.
    """
    if not plans:
        raise ValueError("there is no plan to improve")
    books = empty_books(work, PRICES[price_kind], shortest_minus_due(work) if pressure is None else pressure)
    numbers = {name: number for number, name in enumerate(MOVE_NAMES)}
    named = sorted((numbers[move], length) for move, length in moves if isinstance(move, str))
    added = [(move, length) for move, length in moves if not isinstance(move, str)]
    built_in = np.array([number for number, _ in named], dtype=np.int64)
    lengths = np.array([length for _, length in named], dtype=np.int64)
    change, trial = empty_change(work), empty_change(work)
    best, least = plans[0], np.inf
    for plan in plans:
        now = copied(plan)
        if added:
            _climb_with(work, now, books, (built_in, lengths), added, rounds, (change, trial))
        else:
            climb(work, now, books, built_in, lengths, rounds, change, trial)
        if books.sums[0] < least - tolerance(least if np.isfinite(least) else 0.0):
            best, least = now, float(books.sums[0])
        if stopped():
            break
    return best


def shortest_minus_due(work: Workload) -> Floats:
    """How much more time each job needs at least than it has, (J,)."""
    shortest = np.full(len(work.due), np.inf)
    np.minimum.at(shortest, work.job, work.time)
    return shortest - work.due


def copied(plan: Schedule) -> Schedule:
    """A schedule that may be changed without changing the given one."""
    return Schedule._make(array.copy() for array in plan)


def _climb_with(
    work: Workload,
    plan: Schedule,
    books: Books,
    built_in: tuple[np.ndarray, np.ndarray],
    added: Sequence[tuple[Move, int]],
    rounds: int,
    buffers: tuple[Change, Change],
) -> None:
    """`climb` with functions among the moves. What they say they gain is not believed: it is priced in full."""
    change, trial = buffers
    keep_books(work, plan, books)
    for _ in range(rounds):
        best = best_of_all(work, plan, books, *built_in, change, trial)
        margin = tolerance(books.sums[0])
        for move, length in added:
            if not np.isfinite(move(work, plan, books, length, trial)):
                continue
            after = copied(plan)
            apply(work, after, trial)
            gain = price(work, after, books.price_kind) - books.sums[0]
            if gain < best - margin:
                best = gain
                copy_change(change, trial)
        if not best < -margin:
            return
        apply(work, plan, change)
        keep_books(work, plan, books)
