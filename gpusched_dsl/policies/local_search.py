"""Local search on the best schedules: exact prices of small changes, the best one at a time.

Source: Kiros, Analysis of Scheduling Algorithms for Deep Learning Training Jobs (Politecnico di Milano), section 3.1.5.
Other packages may add moves: Python functions of `Workload`, `Schedule`, `DeltaEvaluation`, a length and a
`ScheduleChange` that they write their candidate into, as those of `kernels/moves/swaps.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.moves.change import ScheduleChange, apply, copy_change, empty_change
from gpusched_dsl.policies.kernels.moves.delta_evaluation import (
    DeltaEvaluation,
    empty_delta_evaluation,
    tolerance,
    update_delta_evaluation,
)
from gpusched_dsl.policies.kernels.moves.hill_climbing import climb
from gpusched_dsl.policies.kernels.moves.insertion import insert_job
from gpusched_dsl.policies.kernels.moves.regroup import regroup_gpus
from gpusched_dsl.policies.kernels.moves.ruin_and_recreate import repack_node, repack_two
from gpusched_dsl.policies.kernels.moves.shapes import double_gpus, faster_type, halve_gpus
from gpusched_dsl.policies.kernels.moves.swaps import swap_postponed_running, swap_tardy_any, swap_tardy_costly
from gpusched_dsl.policies.kernels.pricing import PRICES, price
from gpusched_dsl.policies.kernels.row_guard import RowGuard, holds
from gpusched_dsl.policies.rules import MOVE_CODES
from gpusched_dsl.policies.workload import Schedule, Workload, copy_of

Move = Callable[[Workload, Schedule, DeltaEvaluation, int, ScheduleChange], float]

_FUNCTIONS: Final[Mapping[str, Move]] = {
    "swap_tardy_costly": swap_tardy_costly,
    "swap_tardy_any": swap_tardy_any,
    "swap_postponed_running": swap_postponed_running,
    "faster_type": faster_type,
    "double_gpus": double_gpus,
    "halve_gpus": halve_gpus,
    "regroup_gpus": regroup_gpus,
    "repack_node": repack_node,
    "repack_two": repack_two,
    "insert_job": insert_job,
}
BUILT_IN: Final[tuple[Move, ...]] = tuple(_FUNCTIONS[name] for name in MOVE_CODES)
CALL_SECONDS: Final = 0.05  # about how long one call of a kernel takes, so that it may change over to machine code


def improve(
    work: Workload,
    plans: Sequence[Schedule],
    moves: Sequence[tuple[str | Move, int]],
    rounds: int = 1,
    price_kind: str = "first_end",
    pressure: Floats | None = None,
    stopped: Callable[[], bool] = lambda: False,
    guard: RowGuard | None = None,
    usable: Ints | None = None,
) -> Schedule:
    """The best schedule seen while each of the plans, best first, is changed for the better up to `rounds` times.

    `moves` are names of `rules.MOVE_CODES` or functions, each with the length of its lists (0: all). Of moves equally
    good the first by `MOVE_CODES` is made, then functions in the order given. `pressure` (J,) is higher for jobs that
    are more urgent, by default the shortest time minus the time left. `usable` (W,) is 1 for the ways that jobs may be
    given one by one, by default all. `stopped` is asked between changes. The plans stay as they are. No change breaks a
    row of `guard`. Raises ValueError without a plan, KeyError for an unknown name.
    """
    if not plans:
        raise ValueError("no plan to improve")
    delta = empty_delta_evaluation(
        work, PRICES[price_kind], shortest_minus_due(work) if pressure is None else pressure, usable
    )
    delta = delta._replace(guard=guard)
    named = sorted((MOVE_CODES[move], length) for move, length in moves if isinstance(move, str))
    places, lengths = np.array(named, dtype=np.int64).reshape(-1, 2).T.copy()
    functions = [(BUILT_IN[number], length, True) for number, length in named]
    functions += [(move, length, False) for move, length in moves if not isinstance(move, str)]
    change, trial = empty_change(work), empty_change(work)
    best, least = plans[0], np.inf
    for plan in plans:
        now = copy_of(plan)
        if len(functions) > len(named):
            _climb_with(work, now, delta, functions, rounds, (change, trial), stopped)
        else:
            _climb(work, now, delta, (places, lengths), rounds, (change, trial), stopped)
        if delta.sums[0] < least - tolerance(least if np.isfinite(least) else 0.0):
            best, least = now, float(delta.sums[0])
        if stopped():
            break
    return best


def shortest_minus_due(work: Workload) -> Floats:
    """Return the shortest time of each job minus its time until the due date, (J,)."""
    shortest = np.full(len(work.due), np.inf)
    np.minimum.at(shortest, work.job, work.time)
    return shortest - work.due


def _climb(
    work: Workload,
    plan: Schedule,
    delta: DeltaEvaluation,
    moves: tuple[Ints, Ints],
    rounds: int,
    buffers: tuple[ScheduleChange, ScheduleChange],
    stopped: Callable[[], bool],
) -> None:
    """Run `climb` in short calls; how they are cut has no influence on the result."""
    length = 1
    while rounds > 0:
        asked = min(length, rounds)
        before = time.perf_counter()
        made = climb(work, plan, delta, *moves, asked, *buffers)
        if made < asked:
            return
        rounds -= made
        if stopped():
            return
        taken = time.perf_counter() - before
        length = max(1, min(2 * length, int(length * CALL_SECONDS / max(taken, 1e-9))))


def _climb_with(
    work: Workload,
    plan: Schedule,
    delta: DeltaEvaluation,
    moves: Sequence[tuple[Move, int, bool]],
    rounds: int,
    buffers: tuple[ScheduleChange, ScheduleChange],
    stopped: Callable[[], bool],
) -> None:
    """Run `climb` with functions among the moves: their stated gains are not trusted, but computed in full."""
    change, trial = buffers
    update_delta_evaluation(work, plan, delta)
    guard = delta.guard
    for _ in range(rounds):
        best, margin = 0.0, tolerance(delta.sums[0])
        for move, length, exact in moves:
            gain = move(work, plan, delta, length, trial)
            if not exact and np.isfinite(gain):
                after = copy_of(plan)
                apply(work, after, trial)
                if guard is not None and not holds(guard, after.node, after.way):
                    continue
                gain = price(work, after, delta.price_kind) - delta.sums[0]
            if gain < best - margin:
                best = gain
                copy_change(change, trial)
        if best == 0.0:
            return
        apply(work, plan, change)
        update_delta_evaluation(work, plan, delta)
        if stopped():
            return
