"""Rounds of local search: each carries out the best change of all neighbourhoods, until none is for the better."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.moves.change import Change, apply, copy_change
from gpusched_dsl.policies.kernels.moves.delta_evaluation import Books, keep_books, tolerance
from gpusched_dsl.policies.kernels.moves.regroup import regroup_gpus
from gpusched_dsl.policies.kernels.moves.ruin_and_recreate import repack_node, repack_two
from gpusched_dsl.policies.kernels.moves.shapes import faster_type, resized
from gpusched_dsl.policies.kernels.moves.swaps import swap_postponed_running, swap_tardy_any, swap_tardy_costly
from gpusched_dsl.policies.workload import Ints, Schedule, Workload


@compiled
def climb(
    work: Workload, plan: Schedule, books: Books, moves: Ints, lengths: Ints, rounds: int, change: Change, trial: Change
) -> int:
    """Change a schedule for the better, in place, at most so many times; how often it was. The books are kept.

    `moves` are places in `rules.MOVE_NAMES`. Of changes equally good, that of the move named first is made.
    """
    keep_books(work, plan, books)
    for done in range(rounds):
        best, margin = 0.0, tolerance(books.sums[0])
        for i in range(len(moves)):
            gain = np.inf
            if moves[i] == 0:
                gain = swap_tardy_costly(work, plan, books, lengths[i], trial)
            elif moves[i] == 1:
                gain = swap_tardy_any(work, plan, books, lengths[i], trial)
            elif moves[i] == 2:
                gain = swap_postponed_running(work, plan, books, lengths[i], trial)
            elif moves[i] == 3:
                gain = faster_type(work, plan, books, lengths[i], trial)
            elif moves[i] <= 5:
                gain = resized(work, plan, books, lengths[i], trial, moves[i] == 4)
            elif moves[i] == 6:
                gain = regroup_gpus(work, plan, books, lengths[i], trial)
            elif moves[i] == 7:
                gain = repack_node(work, plan, books, lengths[i], trial)
            else:
                gain = repack_two(work, plan, books, lengths[i], trial)
            if gain < best - margin:
                best = gain
                copy_change(change, trial)
        if best == 0.0:
            return done
        apply(work, plan, change)
        keep_books(work, plan, books)
    return rounds
