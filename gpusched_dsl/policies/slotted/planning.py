"""The loops over slots and jobs: kernels choose within one, and the guard is updated after each placement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.blocks.policies.rule_table import MAIN_SLOT_RULES
from gpusched_dsl.language.checked_policy import CheckedRule
from gpusched_dsl.policies.kernels import slotted_serving
from gpusched_dsl.policies.kernels.row_guard import commit, restart
from gpusched_dsl.policies.kernels.slotted import next_start
from gpusched_dsl.policies.kernels.slotted_cluster import (
    CHEAPEST,
    EQUAL,
    IN_TURN,
    ONE_SERVICE_EACH,
    POOLS,
    UNGUARDED,
    Guard,
    Serving,
    SlottedCluster,
    SlottedSchedule,
    SlottedState,
    empty_plan,
    empty_state,
)
from gpusched_dsl.policies.kernels.slotted_cover import Cover, cost_of, greedy, search
from gpusched_dsl.policies.kernels.slotted_guard import ask, ask_one_service_each
from gpusched_dsl.policies.kernels.slotted_pools import begin_slot, new_turns, split, take_turns
from gpusched_dsl.policies.kernels.slotted_rows import SlottedRows, enters, take_single_slots
from gpusched_dsl.policies.rows.guard import Running
from gpusched_dsl.policies.search import SearchResult
from gpusched_dsl.policies.slotted.cheapest import put_cheapest

Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Placing:
    """How jobs are placed: `start_now` with or without `blocking` and `first_only`, `by_performance`, or
    `cheapest_block` with or without single slots where there is no block (`singly`)."""

    rule: str
    blocking: bool = False
    first_only: bool = False
    singly: bool = False

    @classmethod
    def of(cls, rules: Sequence[CheckedRule]) -> Placing:
        """Return how the rules of a line `place` place jobs."""
        names = {rule.name for rule in rules}
        return cls(
            rule=next(name for name in MAIN_SLOT_RULES if name in names),
            blocking="block" in names,
            first_only=any("first_free" in rule.modifiers for rule in rules),
            singly="cheapest_slots" in names,
        )


def make_plan(
    cluster: SlottedCluster,
    guard: Guard,
    serving: Serving,
    placing: Placing,
    stop: Stop | None = None,
    rows: SlottedRows | None = None,
    placed: Running | None = None,
) -> SearchResult[SlottedSchedule]:
    """Compute a plan by the rules of a policy; equal calls return equal plans. No job starts where `rows` refuse it.

    The jobs of `placed` have their slots before all others, where loads and `rows` allow them.
    """
    if rows is not None:
        restart(rows.guard)
    plan = empty_plan(cluster, len(serving.load))
    state = empty_state(cluster, guard)
    slots = plan.job.shape[1]
    _ask(guard, state, 0, slots)

    def update_guard(job: int, begin: int) -> None:
        _ask(guard, state, begin, int(plan.last[job]) + 1)

    if rows is not None and placed is not None:
        for job in np.unique(placed.job).tolist():
            if _put_placed(cluster, plan, state, rows, job, placed.node[placed.job == job]):
                update_guard(job, 0)
    unproven = 0
    if placing.rule == "cheapest_block":
        for job in cluster.order.tolist():
            if stop is not None and stop():
                return SearchResult([plan], stopped=True, unproven=unproven)
            if plan.node[job] < 0 and put_cheapest(cluster, plan, state, job, singly=placing.singly, rows=rows) >= 0:
                update_guard(job, int(cluster.first[job]))
    turns = new_turns(cluster, len(serving.load)) if placing.rule == "by_performance" else None
    for h in range(slots):
        if stop is not None and stop():
            return SearchResult([plan], stopped=True, unproven=unproven)
        if serving.kind == CHEAPEST:
            unproven += not _cheapest(cluster, serving, plan, state, h)
        if turns is not None:
            begin_slot(cluster, serving, plan, state, turns, h)
            while (job := take_turns(cluster, serving, plan, state, turns, h, rows)) >= 0:
                update_guard(job, h)
        elif placing.rule == "start_now":
            how = (placing.blocking, placing.first_only)
            job, place = next_start(cluster, plan, state, h, 0, *how, rows)
            while job >= 0:
                update_guard(job, h)
                job, place = next_start(cluster, plan, state, h, place, *how, rows)
        if serving.kind == EQUAL:
            slotted_serving.serve_equal_parts(cluster, serving, plan, h)
        elif serving.kind == IN_TURN:
            slotted_serving.deal_in_turn(cluster, serving, plan, h)
        elif serving.kind == POOLS:
            assert turns is not None, "pools are formed in turns"
            split(cluster, serving, plan, state, turns, h)
    return SearchResult([plan], unproven=unproven)


def _put_placed(
    cluster: SlottedCluster, plan: SlottedSchedule, state: SlottedState, rows: SlottedRows, job: int, place: Ints
) -> bool:
    """Give a job the slots of its places, as rows number them; whether loads and rows allow it."""
    slots = plan.job.shape[1]
    node, begin = divmod(int(place.min()), slots)
    kind = int(cluster.class_of[node])
    length = int(cluster.length[job, kind])
    own = np.sort(place) % slots
    if rows.starts or len(own) < length:
        own = np.arange(begin, min(begin + length, slots))
    checked = own[:1] if state.here_only else own
    if (state.known[kind, checked] != 1).any() or (plan.job[node, own] >= 0).any():
        return False
    if rows.starts:
        entered = enters(rows, cluster, job, node, begin)
    else:
        entered = take_single_slots(rows, job, node, slots, own, own.copy())
    if not entered:
        return False
    commit(rows.guard)
    plan.node[job], plan.last[job] = node, max(int(own[-1]), begin + length - 1)
    plan.job[node, own] = job
    state.left[kind, own] -= 1
    return True


def _ask(guard: Guard, state: SlottedState, begin: int, end: int) -> None:
    """Update the guard's answers for some slots. The two kernels are separate because compiling the second
    takes seconds.
    """
    if guard.kind == ONE_SERVICE_EACH:
        ask_one_service_each(guard, state.left, state.known, begin, end)
    elif guard.kind != UNGUARDED:
        ask(guard, state.left, state.known, begin, end)


def _cheapest(cluster: SlottedCluster, serving: Serving, plan: SlottedSchedule, state: SlottedState, h: int) -> bool:
    """Put the loads of a slot on the cheapest nodes without jobs, one service per node; return whether that is proved
    optimal. If they cannot serve all loads, use the nodes of least excess.
    """
    state.taken[:] = 0
    load = np.ascontiguousarray(serving.load[:, h])
    if load.sum() <= 0:
        return True
    services, classes = serving.capacity.shape
    free = np.zeros(classes, dtype=np.int64)
    class_by_id = np.zeros(len(cluster.class_of), dtype=np.int64)
    found = slotted_serving.free_by_class(cluster, plan, h, free, class_by_id)
    count = np.zeros((services, classes), dtype=np.int64)
    excess, proven = greedy(free, serving.capacity, load, count), True
    if excess > 0:
        nothing = np.zeros((services, classes))
        cover = Cover(free, serving.capacity, load, nothing, nothing, 1.0)
        excess, proven = search(cover, class_by_id[:0], count, excess)
    if excess == 0:
        cover = Cover(free, serving.capacity, load, serving.whole, serving.unit, np.inf)
        _, proven = search(cover, class_by_id[:found], count, cost_of(cover, count))
    slotted_serving.spread_loads(cluster, serving, plan, h, count)
    state.taken[:] = (plan.share[:, :, h] > 0).any(axis=0)
    return proven
