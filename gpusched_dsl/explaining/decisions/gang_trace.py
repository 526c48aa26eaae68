"""The turn of a gang in the queue of a policy: the room that is left for its workers, and whether it is placed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.policies.gangs.reader import GangCluster
from gpusched_dsl.policies.gangs.run import plan_gangs, run_gangs
from gpusched_dsl.policies.gangs.workload import GangSchedule
from gpusched_dsl.policies.workload import Instructions

MOST_NODES = 8


def trace_gang(
    policy: CheckedPolicy,
    gangs: GangCluster,
    lines: Instructions,
    start: GangSchedule,
    number: int,
    names: tuple[Sequence[str], Sequence[str]],
    store: ValueStore,
    limits: MemoryLimits,
) -> tuple[str, tuple[str, ...], bool]:
    """Return why a job (its number) waits, "" if it does not, the free GPUs at its turn, and whether it is placed.

    `names` are those of jobs and nodes. The rule places jobs one by one, in the order of the queue.
    """
    asked = plan_gangs(policy, gangs, lines, start, store, limits)[1]
    rows, guard = asked.found, None if asked.found is None else asked.found.guard
    queue = lines.order if asked.lines is None else asked.lines.order
    if number not in queue:
        return "constraints that want other jobs too leave it out", (), False
    before = queue[: int(np.flatnonzero(queue == number)[0])]
    earlier = run_gangs(policy, gangs, lines._replace(order=before), start, store, limits, guard=guard)
    free = _free_text(gangs, earlier, names[1])
    waiting = before[~earlier.runs[before]]
    if len(waiting) and any(rule.name == "wait" for rule in policy.place):
        return f"the queue stops at `{names[0][int(waiting[0])]}`, which waits by the rule `wait`", free, False
    plan = run_gangs(policy, gangs, lines._replace(order=queue[: len(before) + 1]), start, store, limits, guard=guard)
    if plan.runs[number]:
        return "", free, True
    work = gangs.work
    ways = np.arange(work.first_way[number], work.first_way[number + 1])
    if not len(ways):
        return "the policy lists no way to run it", free, False
    reason = f"no room for its {int(work.workers[ways].min())} workers at once"
    refusal = "" if rows is None else rows.refusal_text(rows.refusal(number), number)
    if refusal:
        reason += f" that the constraints of the model allow: {refusal}"
    return reason, free, False


def _free_text(gangs: GangCluster, plan: GangSchedule, nodes: Sequence[str]) -> tuple[str, ...]:
    """The free GPUs of the nodes that have some."""
    work, rows = gangs.work, slice(0, int(plan.rows[0]))
    gpus = plan.workers[rows] * work.size[plan.way[rows]]
    used = np.bincount(plan.node[rows], weights=gpus, minlength=len(work.node_kind))
    free = work.units[work.node_kind] - used.astype(np.int64)
    some = np.flatnonzero(free > 0)
    texts = [f"{nodes[n]} {int(free[n])} free" for n in some[:MOST_NODES].tolist()]
    if len(some) > MOST_NODES:
        texts.append(f"{int(free[some[MOST_NODES:]].sum())} free on {len(some) - MOST_NODES} more nodes")
    return tuple(texts) or ("no GPU is free",)
