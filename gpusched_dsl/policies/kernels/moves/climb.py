"""Rounds of local search: each carries out the best change of all neighbourhoods, until none is for the better."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.moves.books import Books, keep_books, tolerance
from gpusched_dsl.policies.kernels.moves.change import Change, apply, copy_change
from gpusched_dsl.policies.kernels.moves.regroup import regroup_gpus
from gpusched_dsl.policies.kernels.moves.shapes import double_gpus, faster_type, halve_gpus
from gpusched_dsl.policies.kernels.moves.swaps import swap_postponed_running, swap_tardy_any, swap_tardy_costly
from gpusched_dsl.policies.workload import Ints, Schedule, Workload


@compiled
def best_change(work: Workload, plan: Schedule, books: Books, move: int, length: int, change: Change) -> float:
    """The best candidate of a neighbourhood, by its place in `rules.MOVE_NAMES`, and what it adds to the price."""
    if move == 0:
        return swap_tardy_costly(work, plan, books, length, change)
    if move == 1:
        return swap_tardy_any(work, plan, books, length, change)
    if move == 2:
        return swap_postponed_running(work, plan, books, length, change)
    if move == 3:
        return faster_type(work, plan, books, length, change)
    if move == 4:
        return double_gpus(work, plan, books, length, change)
    if move == 5:
        return halve_gpus(work, plan, books, length, change)
    return regroup_gpus(work, plan, books, length, change)


@compiled
def best_of_all(
    work: Workload, plan: Schedule, books: Books, moves: Ints, lengths: Ints, change: Change, trial: Change
) -> float:
    """The best candidate of several neighbourhoods; of those equally good, that of the neighbourhood named first."""
    best, margin = np.inf, tolerance(books.sums[0])
    for i in range(len(moves)):
        gain = best_change(work, plan, books, moves[i], lengths[i], trial)
        if gain < best - margin:
            best = gain
            copy_change(change, trial)
    return best


@compiled
def climb(
    work: Workload, plan: Schedule, books: Books, moves: Ints, lengths: Ints, rounds: int, change: Change, trial: Change
) -> int:
    """Change a schedule for the better, in place, at most so many times; how often it was. The books are kept."""
    keep_books(work, plan, books)
    for done in range(rounds):
        gain = best_of_all(work, plan, books, moves, lengths, change, trial)
        if not gain < -tolerance(books.sums[0]):
            return done
        apply(work, plan, change)
        keep_books(work, plan, books)
    return rounds
