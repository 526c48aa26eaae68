"""Queues of gangs: jobs whose workers start at once, on the nodes that `gang_nodes.py` finds.

Where rows of the model are asked, their nodes are those that `gang_candidates.py` finds.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.gangs.workload import GangSchedule, GangWorkload
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.future import NEVER, SLACK, Future
from gpusched_dsl.policies.kernels.gang_candidates import EXCLUDED, SEATED, GangSearch, make_search, seat
from gpusched_dsl.policies.kernels.gang_nodes import ANYWHERE, ONE_NODE, ONE_RACK, fewest_racks, hold, workers_on
from gpusched_dsl.policies.kernels.reservations import job_in_turn, next_in_turn, users_in_turn
from gpusched_dsl.policies.kernels.row_guard import REFUSING, RowGuard, begin_turn, commit, note_refusal
from gpusched_dsl.policies.workload import NONE

# --- one job ---------------------------------------------------------------------------------------------------------


@compiled_in_place
def _is_end_of_level(work: GangWorkload, j: int, at: int) -> bool:
    """Whether the next way in the list of a job is not an equal one on another kind of node."""
    if at + 1 == work.first_way[j + 1] or work.ranked[at + 1] == NONE:
        return True
    w, other = work.ranked[at], work.ranked[at + 1]
    return bool(work.mode[other] != work.mode[w] or work.level[other] != work.level[w])


@compiled_in_place
def _list_ways(work: GangWorkload, j: int, at: int, way_on: Ints) -> None:
    """Set the way on each kind of node: the one at this place of the list, and better ones of the same mode."""
    way_on[:] = NONE
    for before in range(work.first_way[j], at + 1):
        w = work.ranked[before]
        if work.mode[w] == work.mode[work.ranked[at]]:
            way_on[work.kind[w]] = w


@compiled_in_place
def _room_on_single_nodes(work: GangWorkload, future: Future, start: float, search: GangSearch) -> int:
    """Set for how many workers each node has room from `start` on if all are on one node; the number for all nodes."""
    total = 0
    for n in range(len(work.node_kind)):
        search.most[n] = 0
        w = search.way_on[work.node_kind[n]]
        if w != NONE and (start > 0.0 or work.size[w] <= future.free[n]):
            search.most[n] = workers_on(work, future, n, w, start, work.time[w])
            total += search.most[n]
    return total


@compiled
def find(
    work: GangWorkload, future: Future, used: Bools, listed: int, start: float, search: GangSearch,
    guard: RowGuard | None,
) -> float:  # fmt: skip
    """Find nodes for a job from `start` on, in the ways that each kind of node has; `listed` is one of them.

    Returns the time that it takes there, infinite times too, or -1 if there is no room. `search.counts` gets the
    workers on each node, which are entered into the guard.
    """
    slowest, way_on, most, counts = 0.0, search.way_on, search.most, search.counts
    total, slows = _room_on_single_nodes(work, future, start, search), work.across_nodes[listed] >= 1.0
    if total < work.workers[listed] and slows and work.across_racks[listed] >= 1.0:
        return -1.0  # nor is there for gangs that take longer
    for k in range(len(way_on)):
        if way_on[k] != NONE:
            slowest = max(slowest, work.time[way_on[k]])
    factor = 1.0
    for span in range(3):
        before = factor
        if span == ONE_RACK:
            factor = work.across_nodes[listed]
        elif span == ANYWHERE:
            factor = work.across_racks[listed]
        if span != ONE_NODE:
            for n in range(len(work.node_kind)):
                if most[n] > 0 or factor < before or guard is not None:  # the guard changes `most`
                    w = way_on[work.node_kind[n]]
                    most[n] = 0 if w == NONE else workers_on(work, future, n, w, start, slowest * factor)
        if guard is None:
            found = fewest_racks(work.rack, most, used, search.rest, work.workers[listed], span, counts)
        else:
            outcome = seat(work, used, work.job[listed], work.workers[listed], span, search, guard)
            if outcome == EXCLUDED:
                return -1.0
            found = outcome == SEATED
        if found:
            time = 0.0
            for n in range(len(counts)):
                if counts[n] > 0:
                    time = max(time, work.time[way_on[work.node_kind[n]]])
            return float(time * factor)
    return -1.0


@compiled_in_place
def _take(work: GangWorkload, future: Future, start: float, time: float, way_on: Ints, counts: Ints) -> None:
    for n in range(len(counts)):
        if counts[n] > 0:
            hold(work, future, n, way_on[work.node_kind[n]], counts[n], start, time)


@compiled
def start_now(
    work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, j: int, listed: int, search: GangSearch,
    guard: RowGuard | None,
) -> bool:  # fmt: skip
    """Start a job in the ways that each kind of node has, if there is room that no reservation needs."""
    counts, way_on = search.counts, search.way_on
    for n in range(len(counts)):
        search.rest[n] = future.free[n]
    if guard is not None:
        guard.ints[REFUSING] = NONE
    time = find(work, future, used, listed, 0.0, search, guard)
    if guard is not None:
        if time >= 0.0:
            begin_turn(guard, j)
            commit(guard)
        elif guard.ints[REFUSING] != NONE:
            note_refusal(guard, j)
    if time < 0.0:
        return False
    _take(work, future, 0.0, time, way_on, counts)
    plan.runs[j] = True
    for n in range(len(counts)):
        if counts[n] > 0:
            row = plan.rows[0]
            plan.job[row], plan.node[row], plan.workers[row] = j, n, counts[n]
            plan.way[row] = way_on[work.node_kind[n]]
            plan.rows[0] += 1
            used[n] = True
    return True


@compiled
def _start_in_best_way(
    work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, j: int, limit: float, search: GangSearch,
    guard: RowGuard | None,
) -> int:  # fmt: skip
    """Start a job in its best way with room, of at most so many GPUs; the way, or NONE."""
    for at in range(work.first_way[j], work.first_way[j + 1]):
        w = work.ranked[at]
        if w == NONE:
            break
        if work.size[w] * work.workers[w] > limit or not _is_end_of_level(work, j, at):
            continue
        _list_ways(work, j, at, search.way_on)
        if start_now(work, future, used, plan, j, w, search, guard):
            return int(w)
    return int(NONE)


@compiled
def _find_later(work: GangWorkload, future: Future, used: Bools, j: int, start: float, search: GangSearch) -> float:
    """Find nodes for a job from a later start on, in its best way then; the time that it takes there, -1 without room.

    `search` gets the way on each kind of node, and the workers.
    """
    for at in range(work.first_way[j], work.first_way[j + 1]):
        if work.ranked[at] == NONE:
            break
        if not _is_end_of_level(work, j, at):
            continue
        for n in range(len(search.rest)):
            search.rest[n] = work.units[work.node_kind[n]]
        _list_ways(work, j, at, search.way_on)
        time = find(work, future, used, work.ranked[at], start, search, None)
        if time >= 0.0:
            return float(time)
    return -1.0


@compiled
def _reserve(
    work: GangWorkload, future: Future, used: Bools, j: int, search: GangSearch, asks: bool, is_first: bool
) -> float:
    """Reserve the earliest start of a job, in its best way then. Infinite if there is none.

    `asks`: rows may have refused its start now, however much room there is. They are not known for later. `is_first`:
    there is no reservation yet, so no node has less room later, and what has room once has it from then on.
    """
    starts = np.unique(future.start[: future.taken[0]])
    first, last = 1 if asks else 0, len(starts) - 1
    if first > last:
        return float(NEVER)
    if is_first:
        if _find_later(work, future, used, j, starts[last], search) < 0.0:
            return float(NEVER)
        while first < last:
            middle = (first + last) // 2
            if _find_later(work, future, used, j, starts[middle], search) < 0.0:
                first = middle + 1
            else:
                last = middle
    for at in range(first, last + 1):
        time = _find_later(work, future, used, j, starts[at], search)
        if time >= 0.0:
            _take(work, future, starts[at], time, search.way_on, search.counts)
            return float(starts[at])
    return float(NEVER)


# --- all jobs --------------------------------------------------------------------------------------------------------


@compiled
def place_gangs(
    work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, queue: Ints, waits: bool, reservations: int,
    reserved: Floats, guard: RowGuard | None,
) -> None:  # fmt: skip
    """Place the jobs of the queue that do not run.

    `waits`: the queue stops at the first job without a place. Else that job gets a reservation, if it is one of the
    first so many; jobs behind it start where they delay no reservation. Jobs start where `guard` admits them.
    """
    search = make_search(work, guard)
    made = 0
    for j in queue:
        if plan.runs[j]:
            continue
        w = _start_in_best_way(work, future, used, plan, j, NEVER, search, guard)
        if w == NONE and waits:
            return
        if w == NONE and made < reservations:
            reserved[j] = _reserve(work, future, used, j, search, guard is not None, made == 0)
            made += reserved[j] < NEVER


@compiled
def take_turns_with_gangs(
    work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, queue: Ints, user: Ints, share: Floats,
    quota: Floats, gpus: Floats, guard: RowGuard | None,
) -> None:  # fmt: skip
    """Place jobs as the users take turns, with `gpus` in use of each; otherwise as `reservations.take_turns`."""
    search = make_search(work, guard)
    turns = users_in_turn(queue, user, len(share))
    for _ in range(len(queue)):
        next_user = next_in_turn(turns, gpus, share)
        j = job_in_turn(turns, next_user)
        if plan.runs[j]:
            continue
        limit = quota[next_user] * (1.0 + SLACK) - gpus[next_user]
        w = _start_in_best_way(work, future, used, plan, j, limit, search, guard)
        if w != NONE:
            gpus[next_user] += work.size[w] * work.workers[w]


@compiled
def place_ways_of_gangs(
    work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, order: Ints, guard: RowGuard | None
) -> None:
    """Go through the ways of all jobs in an order; a gang runs on nodes of the kind of its way."""
    search = make_search(work, guard)
    for w in order:
        if not plan.runs[work.job[w]]:
            search.way_on[:] = NONE
            search.way_on[work.kind[w]] = w
            start_now(work, future, used, plan, work.job[w], w, search, guard)


@compiled_in_place
def hold_running(work: GangWorkload, future: Future, plan: GangSchedule, time: Floats) -> None:
    """Give the gangs that run their nodes; `time` to the end of the gang of each row."""
    for row in range(plan.rows[0]):
        hold(work, future, plan.node[row], plan.way[row], plan.workers[row], 0.0, time[row])
