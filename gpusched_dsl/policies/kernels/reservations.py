"""Backfilling: jobs start in the order of the queue, and jobs without a place reserve the earliest possible start.

A job starts now only if it delays no reservation; so it may overtake. EASY backfilling has one reservation, that of the
first job without a place (D. A. Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995); conservative backfilling has one
for each such job (A. W. Mu'alem, D. G. Feitelson, Utilization, Predictability, Workloads, and User Runtime Estimates in
Scheduling the IBM SP2 with Backfilling, IEEE TPDS 12(6), 2001).

The future of a node is a list of segments: from its start on, each has so many units free, so much of the further
capacities, and the rest of each shared GPU, until the next segment starts. A job has one node and, with a part of a
GPU, one GPU from its start to its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.workload import NONE

_SLACK = 1e-9  # of a capacity, and of a time
_NEVER = np.inf


class Future(NamedTuple):
    """The segments of all nodes: those of node n from `head[n]` on, each with its `following` one or NONE."""

    head: Ints  # (N,)
    following: Ints  # (S,)
    start: Floats  # (S,) time from now
    free: Ints  # (S,) units that no job has and that belong to no shared GPU
    left: Floats  # (S, R)
    spare: Ints  # (S, G) units left of each shared GPU, NONE where it is not shared
    taken: Ints  # (1,) segments in use


@compiled
def make_future(units: Ints, room: Floats, node_kind: Ints, gpus: int, most: int) -> Future:
    """The future of empty nodes, with space for `most` segments more."""
    nodes, size = len(node_kind), len(node_kind) + most
    future = Future(
        np.arange(nodes),
        np.full(size, NONE),
        np.zeros(size),
        np.zeros(size, np.int64),
        np.zeros((size, room.shape[1])),
        np.full((size, gpus), NONE),
        np.full(1, nodes),
    )
    for n in range(nodes):
        if node_kind[n] != NONE:
            future.free[n] = units[node_kind[n]]
            future.left[n] = room[node_kind[n]]
    return future


@compiled
def _split(future: Future, segment: int, at: float) -> int:
    """Begin a segment at a time within another one; return it."""
    new = future.taken[0]
    future.taken[0] += 1
    future.following[new], future.following[segment] = future.following[segment], new
    future.start[new], future.free[new] = at, future.free[segment]
    for r in range(future.left.shape[1]):
        future.left[new, r] = future.left[segment, r]
    for g in range(future.spare.shape[1]):
        future.spare[new, g] = future.spare[segment, g]
    return int(new)


@compiled
def _has_ended(start: float, end: float) -> bool:
    """Whether a job is over where a segment starts."""
    return end < _NEVER and start >= end - _SLACK * max(1.0, end)


@compiled
def _end(start: float, time: float) -> float:
    """The end of a job, so long after its start that it is not over there."""
    return start + max(time, 4.0 * _SLACK * max(1.0, start))


@compiled
def occupy(
    future: Future, n: int, start: float, time: float, size: int, parts: int, needs: Floats, w: int, gpu: int
) -> None:
    """Give a job its units, capacities and GPU of a node from `start` on for so long."""
    segment, end = future.head[n], _end(start, time)
    while future.following[segment] != NONE and future.start[future.following[segment]] <= start:
        segment = future.following[segment]
    if future.start[segment] < start:
        segment = _split(future, segment, start)
    while segment != NONE and not _has_ended(future.start[segment], end):
        after = future.following[segment]
        if end < _NEVER and (after == NONE or future.start[after] > end + _SLACK * max(1.0, end)):
            _split(future, segment, end)
        for r in range(needs.shape[1]):
            future.left[segment, r] -= needs[w, r]
        if size >= parts:
            future.free[segment] -= size
        else:
            if future.spare[segment, gpu] == NONE:
                future.spare[segment, gpu] = parts
                future.free[segment] -= parts
            future.spare[segment, gpu] -= size
        segment = future.following[segment]


@compiled
def _fits(
    future: Future, segment: int, size: int, parts: int, needs: Floats, room: Floats, k: int, w: int, gpu: int
) -> bool:
    """Whether a segment has room for a way, with a part on this GPU."""
    if size >= parts:
        if future.free[segment] < size:
            return False
    elif future.spare[segment, gpu] == NONE:
        if future.free[segment] < parts:
            return False
    elif future.spare[segment, gpu] < size:
        return False
    for r in range(needs.shape[1]):  # noqa: SIM110 - a generator is slow where it is compiled
        if needs[w, r] > future.left[segment, r] + _SLACK * abs(room[k, r]):
            return False
    return True


@compiled
def _fits_until(
    future: Future, segment: int, time: float, size: int, parts: int, needs: Floats, room: Floats, k: int, w: int,
    gpu: int,
) -> bool:  # fmt: skip
    """Whether there is room from the start of a segment for so long."""
    end = _end(future.start[segment], time)
    while segment != NONE and not _has_ended(future.start[segment], end):
        if not _fits(future, segment, size, parts, needs, room, k, w, gpu):
            return False
        segment = future.following[segment]
    return True


@compiled
def _gpu_for(
    future: Future, segment: int, time: float, size: int, parts: int, needs: Floats, room: Floats, k: int, w: int
) -> int:
    """The GPU for a part of one: of those that are shared then the one with the least left, else the first other.

    NONE if there is no room; for whole GPUs 0.
    """
    if size >= parts:
        return 0 if _fits_until(future, segment, time, size, parts, needs, room, k, w, 0) else NONE
    found, least = NONE, parts
    for g in range(future.spare.shape[1]):
        rest = future.spare[segment, g]
        if rest == NONE:
            rest = parts
        if (found == NONE or rest < least) and _fits_until(future, segment, time, size, parts, needs, room, k, w, g):
            found, least = g, rest
    return int(found)


@compiled
def backfill(
    parts: int, node_kind: Ints, units: Ints, family: Ints, room: Floats, first_way: Ints, kind: Ints, size: Ints,
    time: Floats, needs: Floats, way_at: Ints, ranked: Ints, queue: Ints, every: bool, node: Ints, way: Ints,
    gpu: Ints, jobs: Ints, reserved: Floats,
) -> None:  # fmt: skip
    """Place the jobs of the queue; `node`, `way` and `gpu` have those that run, `jobs` how many a node has.

    A job is tried in its ways as they are `ranked`, each on the nodes of the family of the way: the node in use that
    then has the fewest free units, else a node not in use. `every`: each job without a place gets a reservation, not
    only the first one. `reserved` gets the time from now to the start of a reservation.
    """
    count = len(node)
    gpus = 0 if parts == 1 or len(units) == 0 else int(units.max()) // parts
    future = make_future(units, room, node_kind, gpus, 2 * count)
    _occupy_running(future, parts, size, time, needs, node, way, gpu)
    full, any_reserved = _most_free_of_all(future, node_kind, units), False
    for j in queue:
        if node[j] != NONE:
            continue
        for at in range(first_way[j], first_way[j + 1]):
            listed = ranked[at]
            if listed != NONE and _place(
                future, node_kind, family, full, jobs, kind, size, time, needs, room, way_at, parts, node, way, gpu, j,
                listed,
            ):  # fmt: skip
                break
        if node[j] == NONE and (every or not any_reserved):
            reserved[j] = _reserve(
                future, node_kind, units, family, kind, size, time, needs, room, way_at, parts, ranked, first_way, j
            )
            any_reserved = any_reserved or reserved[j] < _NEVER


@compiled
def take_turns(
    parts: int, node_kind: Ints, units: Ints, family: Ints, room: Floats, first_way: Ints, kind: Ints, size: Ints,
    time: Floats, needs: Floats, way_at: Ints, ranked: Ints, queue: Ints, user: Ints, share: Floats, quota: Floats,
    used: Floats, node: Ints, way: Ints, gpu: Ints, jobs: Ints,
) -> None:  # fmt: skip
    """Place jobs as `backfill` does, without reservations, but let the users take turns.

    The next job is the first waiting one, in the order of `queue`, of the user with the fewest GPUs for its share; ties
    go to the first user. `user` of each job, `share`, `quota` and `used` GPUs of each user: a job that would exceed the
    quota waits, as one without a place does, and the user's next job has its turn.
    """
    gpus = 0 if parts == 1 or len(units) == 0 else int(units.max()) // parts
    future = make_future(units, room, node_kind, gpus, 2 * len(node))
    _occupy_running(future, parts, size, time, needs, node, way, gpu)
    full = _most_free_of_all(future, node_kind, units)
    # The queues of the users one after the other: those of user u from first[u] on.
    first = np.zeros(len(share) + 1, np.int64)
    for j in queue:
        first[user[j] + 1] += 1
    for u in range(len(share)):
        first[u + 1] += first[u]
    ends, waiting = first[:-1].copy(), np.empty(len(queue), np.int64)
    for j in queue:
        waiting[ends[user[j]]] = j
        ends[user[j]] += 1
    turn = first[:-1].copy()
    for _ in range(len(queue)):
        next_user = NONE
        for u in range(len(share)):
            if turn[u] < first[u + 1] and (
                next_user == NONE
                or used[u] / share[u] < used[next_user] / share[next_user] - _SLACK * (1.0 + used[u] / share[u])
            ):
                next_user = u
        j = waiting[turn[next_user]]
        turn[next_user] += 1
        if node[j] != NONE:
            continue
        for at in range(first_way[j], first_way[j + 1]):
            listed = ranked[at]
            if listed == NONE or used[next_user] + size[listed] / parts > quota[next_user] * (1.0 + _SLACK):
                continue
            if _place(
                future, node_kind, family, full, jobs, kind, size, time, needs, room, way_at, parts, node, way, gpu, j,
                listed,
            ):  # fmt: skip
                used[next_user] += size[listed] / parts
                break


@compiled
def place_ways(
    parts: int, node_kind: Ints, units: Ints, family: Ints, room: Floats, first_way: Ints, kind: Ints, size: Ints,
    time: Floats, needs: Floats, way_at: Ints, order: Ints, job: Ints, node: Ints, way: Ints, gpu: Ints, jobs: Ints,
) -> None:  # fmt: skip
    """Place jobs as `backfill` does, without reservations, but go through the ways of all jobs in an order."""
    gpus = 0 if parts == 1 or len(units) == 0 else int(units.max()) // parts
    future = make_future(units, room, node_kind, gpus, 2 * len(node))
    _occupy_running(future, parts, size, time, needs, node, way, gpu)
    full = _most_free_of_all(future, node_kind, units)
    for listed in order:
        j = job[listed]
        if node[j] == NONE:
            _place(
                future, node_kind, family, full, jobs, kind, size, time, needs, room, way_at, parts, node, way, gpu, j,
                listed,
            )  # fmt: skip


@compiled
def _occupy_running(
    future: Future, parts: int, size: Ints, time: Floats, needs: Floats, node: Ints, way: Ints, gpu: Ints
) -> None:
    for j in range(len(node)):
        if node[j] != NONE:
            w = way[j]
            occupy(future, node[j], 0.0, time[w], size[w], parts, needs, w, gpu[j])


@compiled
def _place(
    future: Future, node_kind: Ints, family: Ints, full: Ints, jobs: Ints, kind: Ints, size: Ints, time: Floats,
    needs: Floats, room: Floats, way_at: Ints, parts: int, node: Ints, way: Ints, gpu: Ints, j: int, listed: int,
) -> bool:  # fmt: skip
    """Start a job in a way, if a node has room that no reservation needs."""
    chosen, w, g = _best_now(
        future, node_kind, family, full, jobs, kind, size, time, needs, room, way_at, parts, j, listed
    )
    if chosen == NONE:
        return False
    node[j], way[j] = chosen, w
    gpu[j] = g if size[w] < parts else NONE
    jobs[chosen] += 1
    occupy(future, chosen, 0.0, time[w], size[w], parts, needs, w, g)
    full[kind[w]] = _most_free(future, node_kind, kind[w])
    return True


@compiled
def _most_free_of_all(future: Future, node_kind: Ints, units: Ints) -> Ints:
    full = np.zeros(len(units), np.int64)
    for k in range(len(units)):
        full[k] = _most_free(future, node_kind, k)
    return full


@compiled
def _most_free(future: Future, node_kind: Ints, k: int) -> int:
    """The most units that a job can have now on one node of a kind."""
    most = 0
    for n in range(len(node_kind)):
        if node_kind[n] == k:
            most = max(most, future.free[n])
            for g in range(future.spare.shape[1]):
                most = max(most, future.spare[n, g])
    return int(most)


@compiled
def _best_now(
    future: Future, node_kind: Ints, family: Ints, full: Ints, jobs: Ints, kind: Ints, size: Ints, time: Floats,
    needs: Floats, room: Floats, way_at: Ints, parts: int, j: int, listed: int,
) -> tuple[int, int, int]:  # fmt: skip
    """The node for a way now, the way there, and its GPU; NONE if there is no room that no reservation needs."""
    chosen, chosen_way, chosen_gpu, rank, least = NONE, NONE, NONE, 3, np.int64(0)
    whole = size[listed] >= parts
    for n in range(len(node_kind)):
        k = node_kind[n]
        if k == NONE or family[k] != family[kind[listed]] or size[listed] > full[k]:
            continue
        w = way_at[j, k, size[listed]]
        if w == NONE or (whole and future.free[n] < size[w]):
            continue
        g = _gpu_for(future, n, time[w], size[w], parts, needs, room, k, w)
        if g == NONE:
            continue
        if whole:
            rest, shares = future.free[n] - size[w], False
        else:
            shares = future.spare[n, g] != NONE
            rest = future.spare[n, g] - size[w] if shares else future.free[n] - parts
        # A part goes to a GPU that is shared already, if there is room on one; then nodes in use come first.
        place = 0 if shares else 1 if jobs[n] > 0 else 2
        if place < rank or (place == rank and rest < least):
            chosen, chosen_way, chosen_gpu, rank, least = n, w, g, place, rest
    return chosen, chosen_way, chosen_gpu


@compiled
def _reserve(
    future: Future, node_kind: Ints, units: Ints, family: Ints, kind: Ints, size: Ints, time: Floats, needs: Floats,
    room: Floats, way_at: Ints, parts: int, ranked: Ints, first_way: Ints, j: int,
) -> float:  # fmt: skip
    """Reserve the earliest start of a job; by its best way and the first node where several start then.

    Infinite if there is none.
    """
    best, chosen, chosen_way, chosen_gpu = _NEVER, NONE, NONE, NONE
    for at in range(first_way[j], first_way[j + 1]):
        listed = ranked[at]
        if listed == NONE:
            continue
        for n in range(len(node_kind)):
            k = node_kind[n]
            if k == NONE or family[k] != family[kind[listed]] or size[listed] > units[k]:
                continue
            w = way_at[j, k, size[listed]]
            segment = future.head[n]
            while w != NONE and segment != NONE and future.start[segment] < best:
                g = _gpu_for(future, segment, time[w], size[w], parts, needs, room, k, w)
                if g != NONE:
                    best, chosen, chosen_way, chosen_gpu = future.start[segment], n, w, g
                    break
                segment = future.following[segment]
    if chosen != NONE:
        w = chosen_way
        occupy(future, chosen, best, time[w], size[w], parts, needs, w, chosen_gpu)
    return float(best)
