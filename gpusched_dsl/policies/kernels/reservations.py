"""Backfilling: jobs start in the order of the queue, and jobs without a place reserve the earliest possible start.

A job starts now only if it delays no reservation; so it may overtake. EASY backfilling has one reservation, that of the
first job without a place (D. A. Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995); conservative backfilling has one
for each such job (A. W. Mu'alem, D. G. Feitelson, Utilization, Predictability, Workloads, and User Runtime Estimates in
Scheduling the IBM SP2 with Backfilling, IEEE TPDS 12(6), 2001).

A job has one node and, with a part of a GPU, one GPU from its start to its end (`future.py`). Where the types of nodes
are chosen, a job may rent a node that is empty from its start to its end: one of the largest type of the family of its
way that is in stock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.future import (
    NEVER,
    SLACK,
    Future,
    earliest_start,
    gpu_for,
    make_future,
    occupy,
    segment_at,
)
from gpusched_dsl.policies.kernels.later_rows import (
    LaterRows,
    LinkedRows,
    begin_later_rows,
    first_start,
    leave_room,
    no_later_rows,
    no_linked_rows,
    stay,
)
from gpusched_dsl.policies.kernels.row_guard import RowGuard, admits, column_of, enter
from gpusched_dsl.policies.workload import NONE, Schedule


class Ways(NamedTuple):
    """Nodes, and the ways to run jobs: the arrays of a `Workload` that the rules here read."""

    parts: int
    node_kind: Ints  # (N,)
    units: Ints  # (K,)
    family: Ints  # (K,)
    stock: Ints  # (K,)
    room: Floats  # (K, R)
    largest_first: Ints  # (K,) kinds: most units, then lower price for a GPU, then kind order
    first_way: Ints  # (J + 1,)
    job: Ints  # (W,)
    kind: Ints  # (W,)
    size: Ints  # (W,)
    time: Floats  # (W,)
    needs: Floats  # (W, R)
    form: Ints  # (W,)
    like_at: Ints  # (J, K, forms)


class OpenNodes(NamedTuple):
    """The nodes that may have room now: row `_USED` those with jobs, row `_EMPTY` those without.

    Each row is in the order of nodes. Nodes never get room back during a pass, so a scan drops those without any.
    """

    nodes: Ints  # (2, N)
    counts: Ints  # (3,) of each row; the fewest units of a way


_USED, _EMPTY, _FEWEST_UNITS = 0, 1, 2


@compiled
def backfill(
    ways: Ways,
    ranked: Ints,
    queue: Ints,
    every: bool,
    plan: Schedule,
    reserved: Floats,
    guard: RowGuard | None,
    linked: LinkedRows,
) -> None:
    """Place the jobs of the queue; the plan has those that run.

    A job is tried in its ways as they are `ranked`, each on the nodes of the family of the way: the node in use that
    then has the fewest free units, else a node not in use. `every`: each job without a place gets a reservation, not
    only the first one. `reserved` gets the time from now to the start of a reservation.
    """
    future, open_nodes, any_reserved = _future_of(ways, plan), _open_nodes(ways, plan), False
    later = no_later_rows(guard, linked, len(plan.node))
    for j in queue:
        if plan.node[j] != NONE:
            continue
        for at in range(ways.first_way[j], ways.first_way[j + 1]):
            if ranked[at] != NONE and _place(future, open_nodes, ways, plan, j, ranked[at], later, linked, guard):
                break
        if plan.node[j] == NONE and (every or not any_reserved):
            if guard is not None and later.taken[0] == 0:
                begin_later_rows(later, guard, linked, plan.node, plan.way, ways.time)
            reserved[j] = _reserve(future, ways, ranked, j, later, linked, guard)
            any_reserved = any_reserved or reserved[j] < NEVER


@compiled
def take_turns(
    ways: Ways, ranked: Ints, queue: Ints, user: Ints, share: Floats, quota: Floats, used: Floats, plan: Schedule,
    guard: RowGuard | None = None,
) -> None:  # fmt: skip
    """Place jobs as `backfill` does, without reservations, but let the users take turns.

    The next job is the first waiting one, in the order of `queue`, of the user with the fewest GPUs for its share; ties
    go to the first user. `user` of each job, `share`, `quota` and `used` GPUs of each user: a job that would exceed the
    quota waits, as one without a place does, and the user's next job has its turn.
    """
    future, open_nodes, linked = _future_of(ways, plan), _open_nodes(ways, plan), no_linked_rows()
    later = no_later_rows(None, linked, 0)
    turns = users_in_turn(queue, user, len(share))
    for _ in range(len(queue)):
        next_user = next_in_turn(turns, used, share)
        j = job_in_turn(turns, next_user)
        if plan.node[j] != NONE:
            continue
        for at in range(ways.first_way[j], ways.first_way[j + 1]):
            listed = ranked[at]
            if listed == NONE:
                continue
            gpus = ways.size[listed] / ways.parts
            if used[next_user] + gpus > quota[next_user] * (1.0 + SLACK):
                continue
            if _place(future, open_nodes, ways, plan, j, listed, later, linked, guard):
                used[next_user] += gpus
                break


class UserQueues(NamedTuple):
    """The jobs of each user in the order of the queue; `turn` of a user is the place of the first not yet tried."""

    job: Ints  # (Q,) those of user u from first[u] on
    first: Ints  # (U + 1,)
    turn: Ints  # (U,)


@compiled
def users_in_turn(queue: Ints, user: Ints, users: int) -> UserQueues:
    """The queues of all users, of which no job is tried yet."""
    first = np.zeros(users + 1, np.int64)
    for j in queue:
        first[user[j] + 1] += 1
    for u in range(users):
        first[u + 1] += first[u]
    ends, job = first[:-1].copy(), np.empty(len(queue), np.int64)
    for j in queue:
        job[ends[user[j]]] = j
        ends[user[j]] += 1
    return UserQueues(job, first, first[:-1].copy())


@compiled_in_place
def next_in_turn(turns: UserQueues, used: Floats, share: Floats) -> int:
    """The first user with the fewest GPUs in use for its share, of those with jobs not yet tried; NONE: none has."""
    found = NONE
    for u in range(len(share)):
        if turns.turn[u] < turns.first[u + 1] and (
            found == NONE or used[u] / share[u] < used[found] / share[found] - SLACK * (1.0 + used[u] / share[u])
        ):
            found = u
    return int(found)


@compiled_in_place
def job_in_turn(turns: UserQueues, u: int) -> int:
    """The first job of a user that is not yet tried, which it is now."""
    turns.turn[u] += 1
    return int(turns.job[turns.turn[u] - 1])


@compiled
def place_ways(ways: Ways, order: Ints, plan: Schedule, guard: RowGuard | None = None) -> None:
    """Place jobs as `backfill` does, without reservations, but go through the ways of all jobs in an order."""
    future, open_nodes, linked = _future_of(ways, plan), _open_nodes(ways, plan), no_linked_rows()
    later = no_later_rows(None, linked, 0)
    for listed in order:
        if plan.node[ways.job[listed]] == NONE:
            _place(future, open_nodes, ways, plan, ways.job[listed], listed, later, linked, guard)


@compiled
def _future_of(ways: Ways, plan: Schedule) -> Future:
    """The future of the nodes with the jobs that run."""
    gpus = 0 if ways.parts == 1 or len(ways.units) == 0 else int(ways.units.max()) // ways.parts
    future = make_future(ways.units, ways.room, ways.stock, ways.node_kind, gpus, len(plan.node))
    for j in range(len(plan.node)):
        if plan.node[j] != NONE:
            _occupy(future, ways, plan.node[j], 0.0, plan.way[j], plan.gpu[j])
    return future


@compiled_in_place
def _occupy(future: Future, ways: Ways, n: int, start: float, w: int, gpu: int) -> None:
    occupy(future, n, start, ways.time[w], ways.kind[w], ways.size[w], ways.parts, ways.needs, w, gpu, 1)


@compiled
def _open_nodes(ways: Ways, plan: Schedule) -> OpenNodes:
    """All nodes, at the start of a pass."""
    open_nodes = OpenNodes(np.empty((2, len(plan.jobs)), np.int64), np.zeros(3, np.int64))
    for n in range(len(plan.jobs)):
        row = _USED if plan.jobs[n] > 0 else _EMPTY
        open_nodes.nodes[row, open_nodes.counts[row]] = n
        open_nodes.counts[row] += 1
    if len(ways.size) > 0:
        open_nodes.counts[_FEWEST_UNITS] = int(ways.size.min())
    return open_nodes


@compiled_in_place
def _note_use(open_nodes: OpenNodes, n: int) -> None:
    """Add a node to those with jobs; scans drop it from those without."""
    nodes, at = open_nodes.nodes, open_nodes.counts[_USED]
    while at > 0 and nodes[_USED, at - 1] > n:
        nodes[_USED, at] = nodes[_USED, at - 1]
        at -= 1
    nodes[_USED, at] = n
    open_nodes.counts[_USED] += 1


@compiled_in_place
def _place(
    future: Future, open_nodes: OpenNodes, ways: Ways, plan: Schedule, j: int, listed: int, later: LaterRows,
    linked: LinkedRows, guard: RowGuard | None,
) -> bool:  # fmt: skip
    """Start a job in a way, if a node has room that no reservation needs."""
    chosen, w, g = _best_in_use(future, open_nodes, ways, plan.jobs, j, listed, later, linked, guard)
    if chosen == NONE:
        chosen, w, g = _best_to_rent(future, open_nodes, ways, j, listed, later, linked, guard)
    if chosen == NONE:
        return False
    plan.node[j], plan.way[j] = chosen, w
    plan.gpu[j] = g if ways.size[w] < ways.parts else NONE
    if plan.jobs[chosen] == 0:
        _note_use(open_nodes, chosen)
    plan.jobs[chosen] += 1
    if guard is not None:
        enter(guard, w, chosen)
        if later.taken[0] > 0:
            stay(later, guard, linked, column_of(guard, w, chosen), 0.0, ways.time[w])
    _occupy(future, ways, chosen, 0.0, w, g)
    return True


@compiled_in_place
def _best_in_use(
    future: Future, open_nodes: OpenNodes, ways: Ways, jobs: Ints, j: int, listed: int, later: LaterRows,
    linked: LinkedRows, guard: RowGuard | None,
) -> tuple[int, int, int]:  # fmt: skip
    """The node that has its type for a way now, the way there, and its GPU; NONE without room for it until its end.

    A part goes to a GPU that is shared already, if there is room on one; then nodes in use come first.
    """
    chosen, chosen_way, chosen_gpu, shared, least = NONE, NONE, NONE, False, np.int64(0)
    parts, size, family = ways.parts, ways.size[listed], ways.family[ways.kind[listed]]
    form, free, kind = ways.form[listed], future.free, future.kind
    whole = size >= parts
    fewest = open_nodes.counts[_FEWEST_UNITS]
    for row in range(2):
        nodes, kept, count = open_nodes.nodes[row], 0, open_nodes.counts[row]
        for at in range(count):
            n = nodes[at]
            gone = jobs[n] > 0 if row == _EMPTY else free[n] < parts and not _has_part(future.spare, n, fewest)
            if gone:
                continue
            if kept < at:
                nodes[kept] = n
            kept += 1
            k = kind[n]
            if k == NONE or (whole and chosen != NONE and free[n] - size >= least):
                continue
            if ways.family[k] != family:
                continue
            if free[n] < max(size, parts) and (whole or not _has_part(future.spare, n, size)):
                continue
            w = ways.like_at[j, k, form]
            if w == NONE:
                continue
            g = gpu_for(future, n, 0.0, ways.time[w], k, size, parts, ways.needs, w)
            if g == NONE:
                continue
            if whole:
                rest, shares = free[n] - size, False
            else:
                shares = future.spare[n, g] != NONE
                rest = future.spare[n, g] - size if shares else free[n] - parts
            if chosen == NONE or (shares and not shared) or (shares == shared and rest < least):
                if guard is not None and not _may_start(later, linked, guard, w, n, ways.time[w]):
                    continue
                chosen, chosen_way, chosen_gpu, shared, least = n, w, g, shares, rest
        open_nodes.counts[row] = kept
        if chosen != NONE:
            break
    return chosen, chosen_way, chosen_gpu


@compiled_in_place
def _best_to_rent(
    future: Future,
    open_nodes: OpenNodes,
    ways: Ways,
    j: int,
    listed: int,
    later: LaterRows,
    linked: LinkedRows,
    guard: RowGuard | None,
) -> tuple[int, int, int]:
    """The first empty node for a way now, as the largest type of the family that is in stock until the job ends."""
    size, family, form = ways.size[listed], ways.family[ways.kind[listed]], ways.form[listed]
    for k in ways.largest_first:
        w = NONE if ways.family[k] != family or size > ways.units[k] else ways.like_at[j, k, form]
        if w == NONE:
            continue
        untouched = False
        for at in range(open_nodes.counts[_EMPTY]):
            n = open_nodes.nodes[_EMPTY, at]
            if future.kind[n] != NONE:
                continue
            if guard is not None:
                if not _may_start(later, linked, guard, w, n, ways.time[w]):
                    continue
            elif untouched and future.following[n] == NONE:
                continue
            untouched = untouched or future.following[n] == NONE
            g = gpu_for(future, n, 0.0, ways.time[w], k, size, ways.parts, ways.needs, w)
            if g != NONE:
                return n, w, g
    return NONE, NONE, NONE


@compiled_in_place
def _may_start(later: LaterRows, linked: LinkedRows, guard: RowGuard, w: int, n: int, time: float) -> bool:
    """Whether rows let a job start in a way on a node, beside those that run now and those that are reserved."""
    return admits(guard, w, n) and leave_room(later, guard, linked, column_of(guard, w, n), time)


@compiled_in_place
def _has_part(spare: Ints, segment: int, size: int) -> bool:
    """Whether a shared GPU has so many units left."""
    for g in range(spare.shape[1]):  # noqa: SIM110 - a generator is slow where it is compiled
        if spare[segment, g] >= size:
            return True
    return False


@compiled_in_place
def _reserve(
    future: Future, ways: Ways, ranked: Ints, j: int, later: LaterRows, linked: LinkedRows, guard: RowGuard | None
) -> float:  # fmt: skip
    """Reserve the earliest start of a job; by its best way and the first node where several start then.

    Infinite if there is none. Rows may have refused its start now, however much room there is. Not all of them are
    known for later (`later_rows.py`), so the earliest start is when the first job ends.
    """
    after = 0.0
    if guard is not None:
        after = NEVER
        for segment in range(future.taken[0]):
            if 0.0 < future.start[segment] < after:
                after = future.start[segment]
        if after == NEVER:
            return NEVER
    best, chosen, chosen_way = NEVER, NONE, NONE
    following, begins, kind, free = future.following, future.start, future.kind, future.free
    for at in range(ways.first_way[j], ways.first_way[j + 1]):
        listed = ranked[at]
        if listed == NONE:
            continue
        size, family, untouched = ways.size[listed], ways.family[ways.kind[listed]], False
        form = ways.form[listed]
        whole, least = size >= ways.parts, max(size, ways.parts)
        for n in range(len(ways.node_kind)):
            rented, segment = ways.node_kind[n] == NONE, n
            if rented and kind[n] == NONE and following[n] == NONE:
                if untouched:
                    continue  # all such nodes are alike
                untouched = True
            if guard is not None:
                segment = segment_at(future, n, after)
            while segment != NONE and kind[segment] != NONE and free[segment] < least:
                if not whole and _has_part(future.spare, segment, size):
                    break
                segment = following[segment]
            if segment == NONE or max(begins[segment], after) >= best:
                continue
            for place in range(len(ways.units) if rented else 1):
                k = ways.largest_first[place] if rented else ways.node_kind[n]
                if ways.family[k] != family or size > ways.units[k]:
                    continue
                w = ways.like_at[j, k, form]
                if w == NONE:
                    continue
                start = earliest_start(future, segment, ways.time[w], k, size, ways.parts, ways.needs, w, after, best)
                if guard is not None:
                    start = _start_by_rows(future, ways, segment, k, w, n, start, best, later, linked, guard)
                if start < best:
                    best, chosen, chosen_way = start, n, w
    if chosen != NONE:
        if guard is not None:
            stay(later, guard, linked, column_of(guard, chosen_way, chosen), best, ways.time[chosen_way])
        w, segment = chosen_way, segment_at(future, future.head[chosen], best)
        g = gpu_for(future, segment, best, ways.time[w], ways.kind[w], ways.size[w], ways.parts, ways.needs, w)
        _occupy(future, ways, chosen, best, w, g)
    return float(best)


@compiled_in_place
def _start_by_rows(
    future: Future, ways: Ways, segment: int, k: int, w: int, n: int, start: float, best: float, later: LaterRows,
    linked: LinkedRows, guard: RowGuard,
) -> float:  # fmt: skip
    """The first start of a way on a node, from one on that has room and before `best`, for which rows have room too."""
    size, c = ways.size[w], column_of(guard, w, n)
    while start < best:
        by_rows = first_start(later, guard, linked, c, start, ways.time[w], best)
        if by_rows <= start or by_rows >= best:
            return by_rows
        segment = segment_at(future, segment, by_rows)
        start = earliest_start(future, segment, ways.time[w], k, size, ways.parts, ways.needs, w, by_rows, best)
    return NEVER
