"""Candidates of single rules: nodes in use, empty nodes, kinds to rent, ways with room on nodes in use.

These functions take the arrays that they read one by one: whole workloads as arguments take the compiler seconds each.
`found` is a short list of places, the best first: units left after, node, shared GPU (NONE: none, or a new one).
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled_in_place, compiled_inline
from gpusched_dsl.policies.kernels.free_capacity import has_capacity, has_capacity_when_empty, tightest_gpu
from gpusched_dsl.policies.kernels.row_guard import RowGuard, admits
from gpusched_dsl.policies.rules import NODE_ODDS
from gpusched_dsl.policies.workload import NEVER, NONE

OPEN, OPENED, NEXT_RENTED, FOUND = 0, 1, 2, 3  # places in `Scratch.counts`
INVERSE_IDLE, IDLE = NODE_ODDS["inverse idle"], NODE_ODDS["idle"]
FAMILY = 1 << 40  # of `Scratch.states`: more than a node has units


@compiled_inline
def insert_place(found: Ints, counts: Ints, limit: int, left: int, n: int, gpu: int) -> None:
    """Keep a place among the `limit` best, by the units left, of equal ones the first noted."""
    at = counts[FOUND]
    if at == limit:
        at -= 1
        if found[at, 0] <= left:
            return
    else:
        counts[FOUND] += 1
    while at > 0 and found[at - 1, 0] > left:
        found[at, 0], found[at, 1], found[at, 2] = found[at - 1, 0], found[at - 1, 1], found[at - 1, 2]
        at -= 1
    found[at, 0], found[at, 1], found[at, 2] = left, n, gpu


@compiled_inline
def fit(
    nodes: Ints, states: Ints, like_at: Ints, parts: int, needs: Floats, room: Floats, kind: Ints, left: Floats,
    spare: Ints, counts: Ints, found: Ints, j: int, wanted: int, size: int, form: int, first: bool, limit: int,
    guard: RowGuard | None,
) -> None:  # fmt: skip
    """Note the nodes in use of the wanted family with the least units left after, or the first one that has room.

    A part goes to a shared GPU if one of any node has room, and to the first node with room for it if `first`.
    """
    whole = max(size, parts)
    if size < parts:
        for n in nodes:
            k = kind[n]
            if (
                states[n] // FAMILY != wanted
                or like_at[j, k, form] == NONE
                or not has_capacity(needs, left, room, like_at[j, k, form], n, k)
            ):
                continue
            if guard is not None and not admits(guard, like_at[j, k, form], n):
                continue
            if first:
                gpu = tightest_gpu(spare, n, size)
                if gpu != NONE or parts <= states[n] % FAMILY:
                    insert_place(found, counts, 1, 0, n, gpu)
                    return
                continue
            for gpu in range(spare.shape[1]):
                if spare[n, gpu] >= size:
                    insert_place(found, counts, limit, spare[n, gpu] - size, n, gpu)
        if first or counts[FOUND] > 0:
            return
    least = wanted * FAMILY + whole
    most = FAMILY - whole
    for n in nodes:
        rest = states[n] - least
        if rest < 0 or rest >= most:
            continue
        k = kind[n]
        if like_at[j, k, form] != NONE and has_capacity(needs, left, room, like_at[j, k, form], n, k):
            if guard is not None and not admits(guard, like_at[j, k, form], n):
                continue
            insert_place(found, counts, limit, rest, n, NONE)
            if first or (limit == 1 and rest == 0):
                return


@compiled_in_place
def next_existing(existing_from: Ints, existing: Ints, heads: Ints, jobs: Ints, k: int) -> int:
    """Return the first existing node of a kind that is not in use; `heads[k]` moves on to it."""
    while heads[k] < existing_from[k + 1]:
        if jobs[existing[heads[k]]] == 0:
            return int(existing[heads[k]])
        heads[k] += 1
    return NONE


@compiled_in_place
def first_empty_existing(
    existing_from: Ints, existing: Ints, heads: Ints, jobs: Ints, k: int, w: int, guard: RowGuard | None
) -> int:
    """Return the first existing node of a kind that is not in use and may take a way, NONE if there is none."""
    n = next_existing(existing_from, existing, heads, jobs, k)
    if guard is None or n == NONE:
        return n
    for place in range(heads[k], existing_from[k + 1]):
        n = existing[place]
        if jobs[n] == 0 and admits(guard, w, n):
            return int(n)
    return NONE


@compiled_inline
def list_empty_existing(
    existing_from: Ints, existing: Ints, heads: Ints, jobs: Ints, family: Ints, like_at: Ints, units: Ints, parts: int,
    needs: Floats, room: Floats, counts: Ints, found: Ints, j: int, wanted: int, size: int, form: int, limit: int,
    guard: RowGuard | None,
) -> None:  # fmt: skip
    """Append the existing unused nodes of the family to the list.

    By the units left after, then by number.
    """
    start = counts[FOUND]
    for k in range(len(units)):
        if (
            family[k] != wanted
            or like_at[j, k, form] == NONE
            or next_existing(existing_from, existing, heads, jobs, k) == NONE
        ):
            continue
        if not has_capacity_when_empty(units, parts, needs, room, k, size, like_at[j, k, form]):
            continue
        rest = units[k] - max(size, parts)
        for place in range(heads[k], existing_from[k + 1]):
            n = existing[place]
            if jobs[n] > 0:
                continue
            if guard is not None and not admits(guard, like_at[j, k, form], n):
                continue
            at = counts[FOUND]
            if at == limit:
                at -= 1
                if at < start or found[at, 0] < rest or (found[at, 0] == rest and found[at, 1] < n):
                    break
            else:
                counts[FOUND] += 1
            while at > start and (found[at - 1, 0] > rest or (found[at - 1, 0] == rest and found[at - 1, 1] > n)):
                found[at, 0], found[at, 1], found[at, 2] = found[at - 1, 0], found[at - 1, 1], found[at - 1, 2]
                at -= 1
            found[at, 0], found[at, 1], found[at, 2] = rest, n, NONE


@compiled_in_place
def way_to_rent(
    largest_first: Ints, family: Ints, like_at: Ints, units: Ints, parts: int, needs: Floats, room: Floats,
    kinds: Ints, stock: Ints, j: int, own: int, size: int, form: int, exclusive: bool, rented: Ints, jobs: Ints,
    found: Ints, guard: RowGuard | None,
) -> int:  # fmt: skip
    """The way on the kind of node to open, or NONE; the node is noted in `found`.

    The largest kind of the family that is to be had and has room for the job, only the way's own if the job is to have
    the node for itself. For rows nodes to rent are not alike, so that all are tried.
    """
    for k in largest_first:
        if family[k] != family[own] or kinds[k] >= stock[k] or (exclusive and k != own):
            continue
        way = like_at[j, k, form]
        if way == NONE or not has_capacity_when_empty(units, parts, needs, room, k, size, way):
            continue
        for n in rented:
            if jobs[n] > 0:
                continue
            if guard is not None and not admits(guard, way, n):
                continue
            found[0, 0], found[0, 1], found[0, 2] = 0, n, NONE
            return int(way)
    return NONE


@compiled_in_place
def find_suboptimal(
    nodes: Ints, ways_at: Ints, ways: Ints, choose_rank: Ints, otherwise_rank: Ints, size: Ints, units: Ints,
    parts: int, needs: Floats, room: Floats, kind: Ints, used: Ints, left: Floats, spare: Ints, counts: Ints,
    found: Ints, j: int, first: bool, guard: RowGuard | None,
) -> int:  # fmt: skip
    """The best of all ways for which nodes in use have room, or of those of the first node that has room for any.

    Best by `choose` if it lets one of them in, else by `otherwise`; then by the order of nodes, then of ways.
    """
    best, best_choose, best_otherwise = NONE, NEVER, NEVER
    for n in nodes:
        k = kind[n]
        free = units[k] - used[n]
        pair = j * len(units) + k
        for place in range(ways_at[pair], ways_at[pair + 1]):
            w = ways[place]
            choose, otherwise = choose_rank[w], otherwise_rank[w]
            if choose > best_choose or (choose == best_choose and (choose != NEVER or otherwise >= best_otherwise)):
                continue
            gpu = NONE
            if size[w] < parts:
                gpu = tightest_gpu(spare, n, size[w])
                if gpu == NONE and free < parts:
                    continue
            elif free < size[w]:
                continue
            if has_capacity(needs, left, room, w, n, k):
                if guard is not None and not admits(guard, w, n):
                    continue
                best, best_choose, best_otherwise = w, choose, otherwise
                found[0, 0], found[0, 1], found[0, 2] = 0, n, gpu
                counts[FOUND] = 1
        if first and best != NONE:
            break
    return int(best)


@compiled_inline
def draw_node(found: Ints, count: int, parts: int, odds: int, rng: np.random.Generator) -> int:
    """One of the places noted, by the GPUs left idle: with odds 1 / (1 + idle), 1 + idle, or all alike."""
    total = 0.0
    for at in range(count):
        total += odds_of(found[at, 0] / parts, odds)
    drawn = rng.random() * total
    for at in range(count):
        drawn -= odds_of(found[at, 0] / parts, odds)
        if drawn < 0:
            return at
    return 0


@compiled_inline
def odds_of(idle: float, odds: int) -> float:
    """The weight of a place that leaves so many GPUs idle."""
    if odds == INVERSE_IDLE:
        return 1.0 / (1.0 + idle)
    return 1.0 + idle if odds == IDLE else 1.0
