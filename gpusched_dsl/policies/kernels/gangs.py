"""Gangs on nodes in racks: a job goes on one node, else in the fewest racks and there on the fewest nodes.

The order of preference is that of distance: one node, one rack, several racks. One node is chosen by best fit; of the
racks in which the job needs the fewest nodes, the one with the least room is chosen. On several racks, a dynamic
programme finds the fewest nodes: rack by rack, the most workers on k nodes of q racks, where a rack gives its largest
nodes.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.gangs.workload import GangSchedule, GangWorkload
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.future import NEVER, SLACK, Future, end_at, has_ended, segment_at, split
from gpusched_dsl.policies.workload import NONE

ONE_NODE, ONE_RACK, ANYWHERE = 0, 1, 2


# --- capacities ------------------------------------------------------------------------------------------------------


@compiled_in_place
def hold(work: GangWorkload, future: Future, n: int, w: int, workers: int, start: float, time: float) -> None:
    """Give workers of a way their GPUs and capacities of a node from `start` on for so long."""
    end = end_at(start, time)
    segment = segment_at(future, future.head[n], start)
    if future.start[segment] < start:
        segment = split(future, segment, start)
    while segment != NONE and not has_ended(future.start[segment], end):
        after = future.following[segment]
        if end < NEVER and (after == NONE or future.start[after] > end + SLACK * max(1.0, end)):
            split(future, segment, end)
        future.free[segment] -= workers * work.size[w]
        for r in range(work.needs.shape[1]):
            future.left[segment, r] -= workers * work.needs[w, r]
        segment = future.following[segment]


@compiled_in_place
def workers_on(work: GangWorkload, future: Future, n: int, w: int, start: float, time: float) -> int:
    """The most workers of a way that a node has room for from `start` on for so long."""
    end = end_at(start, time)
    segment = segment_at(future, future.head[n], start)
    found = int(min(work.most[w], work.workers[w]))
    room = work.room[work.kind[w]]
    while segment != NONE and found > 0 and not has_ended(future.start[segment], end):
        if work.size[w] > 0:
            found = min(found, int(future.free[segment] // work.size[w]))
        for r in range(work.needs.shape[1]):
            if work.needs[w, r] > 0:
                left = future.left[segment, r] + SLACK * abs(room[r])
                found = min(found, int(np.floor(max(left / work.needs[w, r], 0.0))))
        segment = future.following[segment]
    return max(found, 0)


# --- the nodes of one gang -------------------------------------------------------------------------------------------


@compiled
def fewest_racks(rack: Ints, most: Ints, used: Bools, rest: Ints, workers: int, span: int, counts: Ints) -> bool:
    """Put workers on nodes that have room for `most` each, on one node, in one rack, or on the fewest racks.

    `used`: nodes with jobs come first, `rest`: the GPUs that are free, fewest first. `counts` gets the workers on each
    node. False, and nothing of worth in `counts`, if there is no room.
    """
    counts[:] = 0
    if span == ONE_NODE:
        chosen = NONE
        for n in range(len(most)):
            if most[n] >= workers and (chosen == NONE or _is_tighter(used, rest, n, chosen)):
                chosen = n
        if chosen != NONE:
            counts[chosen] = workers
        return chosen != NONE
    racks = 0 if len(rack) == 0 else int(rack.max()) + 1
    total = np.zeros(racks, np.int64)
    for n in range(len(most)):
        total[rack[n]] += most[n]
    if total.sum() < workers:
        return False
    if span == ONE_RACK:
        return _in_one_rack(rack, total, most, used, rest, workers, counts)
    return _in_fewest_racks(rack, total, most, used, rest, workers, counts)


@compiled_in_place
def _is_tighter(used: Bools, rest: Ints, n: int, other: int) -> bool:
    """Whether a node comes before an earlier one: in use, then with fewer free GPUs."""
    return bool((used[n] and not used[other]) or (used[n] == used[other] and rest[n] < rest[other]))


@compiled
def _largest_first(rack: Ints, most: Ints, r: int) -> Ints:
    """The nodes of a rack that have room for a worker, those with room for most workers first."""
    nodes = np.flatnonzero((rack == r) & (most > 0))
    return nodes[np.argsort(-most[nodes], kind="mergesort")]


@compiled
def _in_one_rack(rack: Ints, total: Ints, most: Ints, used: Bools, rest: Ints, workers: int, counts: Ints) -> bool:
    chosen, fewest = NONE, np.int64(0)
    for r in range(len(total)):
        if total[r] < workers:
            continue
        needed, placed = np.int64(0), np.int64(0)
        for n in _largest_first(rack, most, r):
            if placed >= workers:
                break
            placed += most[n]
            needed += 1
        if chosen == NONE or needed < fewest or (needed == fewest and total[r] < total[chosen]):
            chosen, fewest = r, needed
    if chosen == NONE:
        return False
    taken = np.zeros(len(total), np.int64)
    taken[chosen] = fewest
    _fill(rack, most, used, rest, workers, taken, counts)
    return True


@compiled
def _in_fewest_racks(rack: Ints, total: Ints, most: Ints, used: Bools, rest: Ints, workers: int, counts: Ints) -> bool:
    """Put the workers on the fewest racks, and of these on the fewest nodes: see the text of the module."""
    largest = np.sort(total)[::-1]
    racks, reached = 0, np.int64(0)
    while reached < workers:
        reached += largest[racks]
        racks += 1
    nodes = min(len(most), workers)
    best = np.full((racks + 1, nodes + 1), np.int64(NONE))  # most workers on so many racks and nodes
    best[0, 0] = 0
    taken_at = np.zeros((len(total), racks + 1, nodes + 1), np.int64)  # nodes of the rack in the best choice
    for r in range(len(total)):
        own = _largest_first(rack, most, r)
        for q in range(racks, 0, -1):
            for k in range(nodes, 0, -1):
                sum_of_own = np.int64(0)
                for i in range(1, min(len(own), k) + 1):
                    sum_of_own += most[own[i - 1]]
                    if best[q - 1, k - i] != NONE and best[q - 1, k - i] + sum_of_own > best[q, k]:
                        best[q, k] = best[q - 1, k - i] + sum_of_own
                        taken_at[r, q, k] = i
    fewest = 1
    while fewest <= nodes and best[racks, fewest] < workers:
        fewest += 1
    if fewest > nodes:
        return False
    taken = np.zeros(len(total), np.int64)
    q, k = racks, fewest
    for r in range(len(total) - 1, -1, -1):
        if q > 0 and taken_at[r, q, k] > 0:
            taken[r] = taken_at[r, q, k]
            q, k = q - 1, k - taken[r]
    _fill(rack, most, used, rest, workers, taken, counts)
    return True


@compiled
def _fill(rack: Ints, most: Ints, used: Bools, rest: Ints, workers: int, taken: Ints, counts: Ints) -> None:
    """Fill the largest nodes of each rack, `taken` in all; replace the smallest by a tighter one."""
    last = NONE
    for r in range(len(taken)):
        if taken[r] == 0:
            continue
        own = _largest_first(rack, most, r)
        for i in range(taken[r]):
            counts[own[i]] = most[own[i]]
        node = own[taken[r] - 1]
        if last == NONE or most[node] < most[last]:
            last = node
    needed = workers - (counts.sum() - counts[last])
    counts[last] = 0
    chosen = last
    for n in range(len(most)):
        if rack[n] == rack[last] and counts[n] == 0 and most[n] >= needed and _is_tighter(used, rest, n, chosen):
            chosen = n
    counts[chosen] = needed


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


@compiled
def find(
    work: GangWorkload, future: Future, used: Bools, listed: int, start: float, way_on: Ints, most: Ints, rest: Ints,
    counts: Ints,
) -> float:  # fmt: skip
    """Find nodes for a job from `start` on, in the ways that each kind of node has; `listed` is one of them.

    Returns the time that it takes there, infinite times too, or -1 if there is no room. `counts` gets the workers on
    each node.
    """
    slowest = 0.0
    for k in range(len(way_on)):
        if way_on[k] != NONE:
            slowest = max(slowest, work.time[way_on[k]])
    for span in range(3):
        factor = 1.0
        if span == ONE_RACK:
            factor = work.across_nodes[listed]
        elif span == ANYWHERE:
            factor = work.across_racks[listed]
        for n in range(len(work.node_kind)):
            most[n] = 0
            w = way_on[work.node_kind[n]]
            if w != NONE:
                time = work.time[w] if span == ONE_NODE else slowest * factor
                most[n] = workers_on(work, future, n, w, start, time)
        if fewest_racks(work.rack, most, used, rest, work.workers[listed], span, counts):
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
    work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, j: int, listed: int, rest: Ints, most: Ints,
    counts: Ints, way_on: Ints,
) -> bool:  # fmt: skip
    """Start a job in the ways that each kind of node has, if there is room that no reservation needs."""
    for n in range(len(rest)):
        rest[n] = future.free[n]
    time = find(work, future, used, listed, 0.0, way_on, most, rest, counts)
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
    work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, j: int, limit: float, rest: Ints, most: Ints,
    counts: Ints, way_on: Ints,
) -> int:  # fmt: skip
    """Start a job in its best way with room, of at most so many GPUs; the way, or NONE."""
    for at in range(work.first_way[j], work.first_way[j + 1]):
        w = work.ranked[at]
        if w == NONE:
            break
        if work.size[w] * work.workers[w] > limit or not _is_end_of_level(work, j, at):
            continue
        _list_ways(work, j, at, way_on)
        if start_now(work, future, used, plan, j, w, rest, most, counts, way_on):
            return int(w)
    return int(NONE)


@compiled
def _reserve(
    work: GangWorkload, future: Future, used: Bools, j: int, rest: Ints, most: Ints, counts: Ints, way_on: Ints
) -> float:
    """Reserve the earliest start of a job, in its best way then. Infinite if there is none."""
    starts = np.unique(future.start[: future.taken[0]])
    for start in starts:
        for at in range(work.first_way[j], work.first_way[j + 1]):
            if work.ranked[at] == NONE:
                break
            if not _is_end_of_level(work, j, at):
                continue
            for n in range(len(rest)):
                rest[n] = work.units[work.node_kind[n]]
            _list_ways(work, j, at, way_on)
            time = find(work, future, used, work.ranked[at], start, way_on, most, rest, counts)
            if time >= 0.0:
                _take(work, future, start, time, way_on, counts)
                return float(start)
    return float(NEVER)


# --- all jobs --------------------------------------------------------------------------------------------------------


@compiled
def place_gangs(
    work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, queue: Ints, waits: bool, reservations: int,
    reserved: Floats,
) -> None:  # fmt: skip
    """Place the jobs of the queue that do not run.

    `waits`: the queue stops at the first job without a place. Else that job gets a reservation, if it is one of the
    first so many; jobs behind it start where they delay no reservation.
    """
    rest, most, counts = np.zeros_like(work.node_kind), np.zeros_like(work.node_kind), np.zeros_like(work.node_kind)
    way_on = np.full(len(work.units), np.int64(NONE))
    made = 0
    for j in queue:
        if plan.runs[j]:
            continue
        w = _start_in_best_way(work, future, used, plan, j, NEVER, rest, most, counts, way_on)
        if w == NONE and waits:
            return
        if w == NONE and made < reservations:
            reserved[j] = _reserve(work, future, used, j, rest, most, counts, way_on)
            made += reserved[j] < NEVER


@compiled
def take_turns_with_gangs(
    work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, queue: Ints, user: Ints, share: Floats,
    quota: Floats, gpus: Floats,
) -> None:  # fmt: skip
    """Place jobs as the users take turns: the next job is the first one, not yet tried, of the user with the fewest
    GPUs for its share. `user` of each job, `share`, `quota` and `gpus` in use of each user."""
    rest, most, counts = np.zeros_like(work.node_kind), np.zeros_like(work.node_kind), np.zeros_like(work.node_kind)
    way_on = np.full(len(work.units), np.int64(NONE))
    turn = np.zeros(len(share), np.int64)  # the place in the queue from which on jobs of the user were not tried
    for _ in range(len(queue)):
        next_user = NONE
        for u in range(len(share)):
            while turn[u] < len(queue) and user[queue[turn[u]]] != u:
                turn[u] += 1
            if turn[u] < len(queue) and (
                next_user == NONE
                or gpus[u] / share[u] < gpus[next_user] / share[next_user] - SLACK * (1.0 + gpus[u] / share[u])
            ):
                next_user = u
        if next_user == NONE:
            return
        j = queue[turn[next_user]]
        turn[next_user] += 1
        if plan.runs[j]:
            continue
        limit = quota[next_user] * (1.0 + SLACK) - gpus[next_user]
        w = _start_in_best_way(work, future, used, plan, j, limit, rest, most, counts, way_on)
        if w != NONE:
            gpus[next_user] += work.size[w] * work.workers[w]


@compiled
def place_ways_of_gangs(work: GangWorkload, future: Future, used: Bools, plan: GangSchedule, order: Ints) -> None:
    """Go through the ways of all jobs in an order; a gang runs on nodes of the kind of its way."""
    rest, most, counts = np.zeros_like(work.node_kind), np.zeros_like(work.node_kind), np.zeros_like(work.node_kind)
    way_on = np.full(len(work.units), np.int64(NONE))
    for w in order:
        if not plan.runs[work.job[w]]:
            way_on[:] = NONE
            way_on[work.kind[w]] = w
            start_now(work, future, used, plan, work.job[w], w, rest, most, counts, way_on)


@compiled_in_place
def hold_running(work: GangWorkload, future: Future, plan: GangSchedule, time: Floats) -> None:
    """Give the gangs that run their nodes; `time` to the end of the gang of each row."""
    for row in range(plan.rows[0]):
        hold(work, future, plan.node[row], plan.way[row], plan.workers[row], 0.0, time[row])
