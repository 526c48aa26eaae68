"""Rounds of local search: each carries out the best change of all neighbourhoods, until none is for the better."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.moves.change import ScheduleChange, apply, copy_change
from gpusched_dsl.policies.kernels.moves.delta_evaluation import DeltaEvaluation, tolerance, update_delta_evaluation
from gpusched_dsl.policies.kernels.moves.insertion import insert_job
from gpusched_dsl.policies.kernels.moves.regroup import regroup_gpus
from gpusched_dsl.policies.kernels.moves.ruin_and_recreate import MANY_NODES, repack_node, repack_two
from gpusched_dsl.policies.kernels.moves.shapes import best_resize, faster_type
from gpusched_dsl.policies.kernels.moves.swaps import swap_postponed_running, swap_tardy_any, swap_tardy_costly
from gpusched_dsl.policies.rules import MOVE_CODES
from gpusched_dsl.policies.workload import Schedule, Workload

SWAP_TARDY_COSTLY, SWAP_TARDY_ANY = MOVE_CODES["swap_tardy_costly"], MOVE_CODES["swap_tardy_any"]
SWAP_POSTPONED_RUNNING, FASTER_TYPE = MOVE_CODES["swap_postponed_running"], MOVE_CODES["faster_type"]
DOUBLE_GPUS, HALVE_GPUS = MOVE_CODES["double_gpus"], MOVE_CODES["halve_gpus"]
REGROUP_GPUS, REPACK_NODE, REPACK_TWO = MOVE_CODES["regroup_gpus"], MOVE_CODES["repack_node"], MOVE_CODES["repack_two"]

INSERT_JOB = MOVE_CODES["insert_job"]


@compiled
def climb(
    work: Workload,
    plan: Schedule,
    delta: DeltaEvaluation,
    moves: Ints,
    lengths: Ints,
    rounds: int,
    change: ScheduleChange,
    trial: ScheduleChange,
) -> int:
    """Change a schedule for the better, in place, at most so many times; return how often. `delta` is updated.

    `moves` are places in `rules.MOVE_CODES`. Of changes equally good, that of the move named first is made. With many
    nodes pairs of them are repacked only where no other move gains, since a sweep takes as long as many other changes.
    """
    update_delta_evaluation(work, plan, delta)
    many = len(plan.kind) > MANY_NODES
    for done in range(rounds):
        best, margin = 0.0, tolerance(delta.sums[0])
        for i in range(len(moves)):
            gain = np.inf
            if moves[i] == SWAP_TARDY_COSTLY:
                gain = swap_tardy_costly(work, plan, delta, lengths[i], trial)
            elif moves[i] == SWAP_TARDY_ANY:
                gain = swap_tardy_any(work, plan, delta, lengths[i], trial)
            elif moves[i] == SWAP_POSTPONED_RUNNING:
                gain = swap_postponed_running(work, plan, delta, lengths[i], trial)
            elif moves[i] == FASTER_TYPE:
                gain = faster_type(work, plan, delta, lengths[i], trial)
            elif moves[i] in (DOUBLE_GPUS, HALVE_GPUS):
                gain = best_resize(work, plan, delta, lengths[i], trial, moves[i] == DOUBLE_GPUS)
            elif moves[i] == REGROUP_GPUS:
                gain = regroup_gpus(work, plan, delta, lengths[i], trial)
            elif moves[i] == REPACK_NODE:
                gain = repack_node(work, plan, delta, lengths[i], trial)
            elif moves[i] == REPACK_TWO and (best == 0.0 or not many):
                gain = repack_two(work, plan, delta, lengths[i], trial)
            elif moves[i] == INSERT_JOB:
                gain = insert_job(work, plan, delta, lengths[i], trial)
            if gain < best - margin:
                best = gain
                copy_change(change, trial)
        if best == 0.0:
            return done
        apply(work, plan, change)
        update_delta_evaluation(work, plan, delta)
    return rounds
