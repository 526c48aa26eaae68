"""One pass over a queue: every job takes the first place that the rules of a policy find for it.

Nodes in use are looked at in this order: those that are there in theirs, then those whose kind was chosen in that of
their opening. Nodes that are full leave the list, so that jobs for which there is no room cost little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.kernels.ranking import order_rows
from gpusched_dsl.policies.kernels.rooms import (
    capacities_hold,
    fits_empty,
    has_room,
    is_full,
    put,
    shared_gpu,
)
from gpusched_dsl.policies.workload import NEVER, NONE, Instructions, Ints, Schedule, Workload

# The codes of `rules.PLACE_CODES`; compiled code takes no dictionaries.
BEST_FIT, FIRST_FIT, NEW_NODE, NEW_NODE_EXCLUSIVE = 0, 1, 2, 3
BEST_SUBOPTIMAL, FIRST_SUBOPTIMAL, NEXT_CHOICE, WAIT, POSTPONE = 4, 5, 6, 7, 8
INVERSE_IDLE, IDLE = 1, 2  # of `rules.NODE_ODDS`
OPEN, OPENED, NEXT_RENTED, FOUND = 0, 1, 2, 3  # places in `Scratch.count`
_COUNTS = 4


class Lookups(NamedTuple):
    """What is read off a workload once. `ways` of job j on kind k: from `ways_at[j * K + k]` on, in way order."""

    largest_first: Ints  # (K,) kinds: most units, then lower price for a GPU, then kind order
    smallest_first: Ints  # (K,) kinds: fewest units, then lower price, then kind order
    ways_at: Ints  # (J * K + 1,)
    ways: Ints  # (W,)
    there_at: Ints  # (K + 1,) nodes that are there, by kind
    there: Ints
    rented: Ints  # nodes whose kind is chosen on opening


class Scratch(NamedTuple):
    """Arrays that a pass works on; they hold nothing that outlives it."""

    queue: Ints  # (J,)
    nodes: Ints  # (N,) nodes in use that have units left, in order; `count[OPEN]` of them
    kinds: Ints  # (K,) nodes of this kind
    heads: Ints  # (K,) of the nodes that are there, those before are in use
    counts: Ints
    found_node: Ints  # (node_list,) the best nodes found by a rule
    found_gpu: Ints
    found_left: Ints


@compiled
def look_up(work: Workload) -> Lookups:
    """Kinds by size, ways by kind, nodes by kind."""
    kinds, jobs, nodes = len(work.units), len(work.due), len(work.node_kind)
    sizes = np.empty((kinds, 2))
    largest = np.empty((kinds, 2))
    for k in range(kinds):
        sizes[k, 0], sizes[k, 1] = work.units[k], work.price[k]
        largest[k, 0], largest[k, 1] = -work.units[k], work.price[k] / max(work.units[k], 1)
    everything = np.ones(kinds, np.int64)
    ways_at = np.zeros(jobs * kinds + 1, np.int64)
    for w in range(len(work.job)):
        ways_at[work.job[w] * kinds + work.kind[w] + 1] += 1
    for at in range(jobs * kinds):
        ways_at[at + 1] += ways_at[at]
    ends = ways_at.copy()
    ways = np.empty(len(work.job), np.int64)
    for w in range(len(work.job)):
        at = work.job[w] * kinds + work.kind[w]
        ways[ends[at]] = w
        ends[at] += 1
    there_at = np.zeros(kinds + 1, np.int64)
    for n in range(nodes):
        if work.node_kind[n] != NONE:
            there_at[work.node_kind[n] + 1] += 1
    for k in range(kinds):
        there_at[k + 1] += there_at[k]
    place = there_at.copy()
    there = np.empty(there_at[kinds], np.int64)
    rented = np.empty(nodes - there_at[kinds], np.int64)
    last = 0
    for n in range(nodes):
        if work.node_kind[n] == NONE:
            rented[last] = n
            last += 1
        else:
            there[place[work.node_kind[n]]] = n
            place[work.node_kind[n]] += 1
    return Lookups(
        order_rows(largest, everything), order_rows(sizes, everything), ways_at, ways, there_at, there, rented
    )


@compiled
def make_scratch(work: Workload, node_list: int) -> Scratch:
    """Arrays for passes that draw nodes from lists of this length."""
    length = max(node_list, 1)
    return Scratch(
        np.empty(len(work.due), np.int64),
        np.empty(len(work.node_kind), np.int64),
        np.empty(len(work.units), np.int64),
        np.empty(len(work.units), np.int64),
        np.zeros(_COUNTS, np.int64),
        np.empty(length, np.int64),
        np.empty(length, np.int64),
        np.empty(length, np.int64),
    )


@compiled
def construct(
    work: Workload, look: Lookups, instructions: Instructions, scratch: Scratch, plan: Schedule, queue: Ints,
    drawing: bool, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Place the jobs of the queue that do not run yet. With `drawing`, ways and nodes are drawn as told."""
    begin(work, look, scratch, plan)
    for j in queue:
        if plan.node[j] == NONE and not place_job(work, look, instructions, scratch, plan, j, drawing, rng):
            break


@compiled
def begin(work: Workload, look: Lookups, scratch: Scratch, plan: Schedule) -> None:
    """List the nodes in use, count those of every kind."""
    scratch.counts[:] = 0
    scratch.kinds[:] = 0
    for k in range(len(work.units)):
        scratch.heads[k] = look.there_at[k]
    for n in range(len(plan.kind)):
        if plan.kind[n] != NONE:
            scratch.kinds[plan.kind[n]] += 1
        if plan.jobs[n] > 0:
            scratch.counts[OPENED] = max(scratch.counts[OPENED], plan.opened[n] + 1)
            if not is_full(work, plan, n):
                list_node(work, scratch, plan, n)


@compiled
def list_node(work: Workload, scratch: Scratch, plan: Schedule, n: int) -> None:
    """Put a node into the list of those in use."""
    at = scratch.counts[OPEN]
    while at > 0 and comes_before(work, plan, n, scratch.nodes[at - 1]):
        scratch.nodes[at] = scratch.nodes[at - 1]
        at -= 1
    scratch.nodes[at] = n
    scratch.counts[OPEN] += 1


@compiled
def comes_before(work: Workload, plan: Schedule, n: int, other: int) -> bool:
    """Nodes that are there in their order, then the others in that of their opening."""
    there, other_there = work.node_kind[n] != NONE, work.node_kind[other] != NONE
    if there != other_there:
        return bool(there)
    if there:
        return n < other
    return bool(plan.opened[n] < plan.opened[other])


@compiled
def place_job(
    work: Workload, look: Lookups, instructions: Instructions, scratch: Scratch, plan: Schedule, j: int,
    drawing: bool, rng: np.random.Generator,
) -> bool:  # fmt: skip
    """Try the rules in their order; False if the queue stops at this job."""
    first = first_choice(work, instructions, j, drawing, rng)
    place = instructions.place
    for at in range(len(place)):
        if place[at] == WAIT:
            return False
        if place[at] == POSTPONE:
            return True
        if place[at] == NEXT_CHOICE:
            for position in range(work.first_way[j], work.first_way[j + 1]):
                w = instructions.ranked[position]
                if w == NONE or not anything_left(look, scratch):
                    break
                if w == first:
                    continue
                for before in range(at):
                    if place[before] < BEST_SUBOPTIMAL and place_by(
                        work, look, instructions, scratch, plan, before, j, w, drawing, rng
                    ):
                        return True
        elif place_by(work, look, instructions, scratch, plan, at, j, first, drawing, rng):
            return True
    return True


@compiled
def anything_left(look: Lookups, scratch: Scratch) -> bool:
    """Whether there may be room for any job: a node in use with units left, or one not in use."""
    if scratch.counts[OPEN] > 0 or scratch.counts[NEXT_RENTED] < len(look.rented):
        return True
    for k in range(len(scratch.heads)):  # noqa: SIM110 - a generator is slow where it is compiled
        if scratch.heads[k] < look.there_at[k + 1]:
            return True
    return False


@compiled
def first_choice(work: Workload, instructions: Instructions, j: int, drawing: bool, rng: np.random.Generator) -> int:
    """The best way of a job, or one drawn from the first of those by `choose`; NONE if it has none."""
    start = work.first_way[j]
    if start == work.first_way[j + 1]:
        return NONE
    length = min(instructions.way_list[j], instructions.preferred[j])
    if drawing and length > 1:
        total = 0.0
        for at in range(length):
            total += instructions.way_odds[instructions.ranked[start + at]]
        drawn = rng.random() * total
        for at in range(length):
            drawn -= instructions.way_odds[instructions.ranked[start + at]]
            if drawn < 0:
                return int(instructions.ranked[start + at])
    return int(instructions.ranked[start])


@compiled
def place_by(
    work: Workload, look: Lookups, instructions: Instructions, scratch: Scratch, plan: Schedule, at: int, j: int,
    w: int, drawing: bool, rng: np.random.Generator,
) -> bool:  # fmt: skip
    """Place a job by the rule at a place of the policy's list, and in the way `w` unless it seeks its own; False: no room."""
    code = instructions.place[at]
    if code in (BEST_SUBOPTIMAL, FIRST_SUBOPTIMAL):
        return suboptimal(work, look, instructions, scratch, plan, j, code == FIRST_SUBOPTIMAL)
    if w == NONE:
        return False
    limit = instructions.node_list if drawing else 1
    scratch.counts[FOUND] = 0
    if code == BEST_FIT or (code == FIRST_FIT and limit > 1):
        fit(work, scratch, plan, j, w, limit)
        follows = at + 1 < len(instructions.place) and instructions.place[at + 1] == NEW_NODE
        if follows and 0 < scratch.counts[FOUND] < limit and scratch.found_gpu[0] == NONE:
            empty_there(work, look, scratch, plan, j, w, limit)
    elif code == FIRST_FIT:
        first_fit(work, scratch, plan, j, w)
    elif code == NEW_NODE:
        empty_there(work, look, scratch, plan, j, w, limit)
        if scratch.counts[FOUND] == 0:
            return rent(work, look, scratch, plan, j, w, False)
    elif code == NEW_NODE_EXCLUSIVE:
        n = next_there(look, scratch, plan, work.kind[w])
        if n == NONE or not fits_empty(work, work.kind[w], w):
            return rent(work, look, scratch, plan, j, w, True)
        put(work, plan, j, n, w, NONE, scratch.counts[OPENED])
        scratch.counts[OPENED] += 1
        return True
    if scratch.counts[FOUND] == 0:
        return False
    chosen = 0
    if scratch.counts[FOUND] > 1:
        chosen = draw_node(work, scratch, instructions.node_odds, rng)
    n = scratch.found_node[chosen]
    settle(work, scratch, plan, j, n, work.way_at[j, plan.kind[n], work.size[w]], scratch.found_gpu[chosen])
    return True


@compiled
def settle(work: Workload, scratch: Scratch, plan: Schedule, j: int, n: int, w: int, gpu: int) -> None:
    """Put a job on a node that others may join, and keep the list of nodes."""
    if plan.jobs[n] == 0:
        put(work, plan, j, n, w, gpu, scratch.counts[OPENED])
        scratch.counts[OPENED] += 1
        if not is_full(work, plan, n):
            list_node(work, scratch, plan, n)
        return
    put(work, plan, j, n, w, gpu, NONE)
    if is_full(work, plan, n):
        last = scratch.counts[OPEN] - 1
        at = 0
        while scratch.nodes[at] != n:
            at += 1
        while at < last:
            scratch.nodes[at] = scratch.nodes[at + 1]
            at += 1
        scratch.counts[OPEN] = last


@compiled
def note(scratch: Scratch, limit: int, left: int, n: int, gpu: int) -> None:
    """Keep a place among the `limit` best, by the units left, of equal ones the first noted."""
    at = scratch.counts[FOUND]
    if at == limit:
        at -= 1
        if scratch.found_left[at] <= left:
            return
    else:
        scratch.counts[FOUND] += 1
    while at > 0 and scratch.found_left[at - 1] > left:
        scratch.found_left[at] = scratch.found_left[at - 1]
        scratch.found_node[at] = scratch.found_node[at - 1]
        scratch.found_gpu[at] = scratch.found_gpu[at - 1]
        at -= 1
    scratch.found_left[at], scratch.found_node[at], scratch.found_gpu[at] = left, n, gpu


@compiled
def fit(work: Workload, scratch: Scratch, plan: Schedule, j: int, w: int, limit: int) -> None:
    """Note the nodes in use of the family with the least units left after; a part looks at shared GPUs first."""
    size, family = work.size[w], work.family[work.kind[w]]
    if size < work.parts:
        for at in range(scratch.counts[OPEN]):
            n = scratch.nodes[at]
            k = plan.kind[n]
            if work.family[k] == family and work.way_at[j, k, size] != NONE:
                if not capacities_hold(work, plan, n, work.way_at[j, k, size]):
                    continue
                for gpu in range(plan.spare.shape[1]):
                    if plan.spare[n, gpu] >= size:
                        note(scratch, limit, plan.spare[n, gpu] - size, n, gpu)
        if scratch.counts[FOUND] > 0:
            return
    whole = max(size, work.parts)
    for at in range(scratch.counts[OPEN]):
        n = scratch.nodes[at]
        k = plan.kind[n]
        if work.family[k] == family:
            left = work.units[k] - plan.used[n] - whole
            if left >= 0 and work.way_at[j, k, size] != NONE:
                if limit == 1 and scratch.counts[FOUND] > 0 and scratch.found_left[0] <= left:
                    continue
                if capacities_hold(work, plan, n, work.way_at[j, k, size]):
                    note(scratch, limit, left, n, NONE)


@compiled
def first_fit(work: Workload, scratch: Scratch, plan: Schedule, j: int, w: int) -> None:
    """Note the first node in use of the family that has room."""
    size, family = work.size[w], work.family[work.kind[w]]
    for at in range(scratch.counts[OPEN]):
        n = scratch.nodes[at]
        k = plan.kind[n]
        w_there = work.way_at[j, k, size]
        if work.family[k] == family and w_there != NONE and has_room(work, plan, n, w_there):
            note(scratch, 1, 0, n, shared_gpu(plan, n, size) if size < work.parts else NONE)
            return


@compiled
def next_there(look: Lookups, scratch: Scratch, plan: Schedule, k: int) -> int:
    """The first node of the kind that is there and not in use."""
    while scratch.heads[k] < look.there_at[k + 1]:
        n = look.there[scratch.heads[k]]
        if plan.jobs[n] == 0:
            return int(n)
        scratch.heads[k] += 1
    return NONE


@compiled
def empty_there(work: Workload, look: Lookups, scratch: Scratch, plan: Schedule, j: int, w: int, limit: int) -> None:
    """Note the nodes of the family that are there and not in use, by the units left after, then by number."""
    if len(look.there) == 0:
        return
    size, family = work.size[w], work.family[work.kind[w]]
    whole = max(size, work.parts)
    start = scratch.counts[FOUND]  # what was noted before comes first: nodes in use
    for k in range(len(work.units)):
        if work.family[k] != family or work.way_at[j, k, size] == NONE or next_there(look, scratch, plan, k) == NONE:
            continue
        if not fits_empty(work, k, work.way_at[j, k, size]):
            continue
        for at in range(scratch.heads[k], look.there_at[k + 1]):
            n = look.there[at]
            if plan.jobs[n] > 0:
                continue
            left = work.units[k] - whole
            if not note_after(scratch, start, limit, left, n):
                break


@compiled
def note_after(scratch: Scratch, start: int, limit: int, left: int, n: int) -> bool:
    """Keep an empty node among the best behind the first `start` places; False if it is worse than all."""
    at = scratch.counts[FOUND]
    if at == limit:
        at -= 1
        if at < start or (scratch.found_left[at], scratch.found_node[at]) <= (left, n):
            return False
    else:
        scratch.counts[FOUND] += 1
    while at > start and (scratch.found_left[at - 1], scratch.found_node[at - 1]) > (left, n):
        scratch.found_left[at] = scratch.found_left[at - 1]
        scratch.found_node[at] = scratch.found_node[at - 1]
        scratch.found_gpu[at] = scratch.found_gpu[at - 1]
        at -= 1
    scratch.found_left[at], scratch.found_node[at], scratch.found_gpu[at] = left, n, NONE
    return True


@compiled
def rent(work: Workload, look: Lookups, scratch: Scratch, plan: Schedule, j: int, w: int, exclusive: bool) -> bool:
    """Open a node whose kind is chosen: the largest of the family that is to be had, else the way's own kind.

    The way's own kind at once where the job is to have the node for itself.
    """
    count = scratch.counts
    while count[NEXT_RENTED] < len(look.rented) and plan.jobs[look.rented[count[NEXT_RENTED]]] > 0:
        count[NEXT_RENTED] += 1
    if count[NEXT_RENTED] == len(look.rented):
        return False
    own = work.kind[w]
    chosen = NONE
    if not exclusive:
        for k in look.largest_first:
            if work.family[k] == work.family[own] and scratch.kinds[k] < work.stock[k]:
                chosen = work.way_at[j, k, work.size[w]]
                if chosen != NONE and not fits_empty(work, k, chosen):
                    chosen = NONE
                break
    if chosen == NONE:
        if scratch.kinds[own] >= work.stock[own] or not fits_empty(work, own, w):
            return False
        chosen = w
    n = look.rented[count[NEXT_RENTED]]
    scratch.kinds[work.kind[chosen]] += 1
    if exclusive:
        put(work, plan, j, n, chosen, NONE, count[OPENED])
        count[OPENED] += 1
    else:
        settle(work, scratch, plan, j, n, chosen, NONE)
    return True


@compiled
def suboptimal(
    work: Workload, look: Lookups, instructions: Instructions, scratch: Scratch, plan: Schedule, j: int, first: bool
) -> bool:
    """The best of all ways for which nodes in use have room, or of those of the first node that has room for any.

    Best by `choose` if it lets one of them in, else by `otherwise`; then by the order of nodes, then of ways.
    """
    best_node, best_way = NONE, NONE
    best_choose, best_otherwise = NEVER, NEVER
    for at in range(scratch.counts[OPEN]):
        n = scratch.nodes[at]
        pair = j * len(work.units) + plan.kind[n]
        for place in range(look.ways_at[pair], look.ways_at[pair + 1]):
            w = look.ways[place]
            choose, otherwise = instructions.choose_rank[w], instructions.otherwise_rank[w]
            if choose > best_choose or (choose == best_choose and (choose != NEVER or otherwise >= best_otherwise)):
                continue
            if has_room(work, plan, n, w):
                best_node, best_way, best_choose, best_otherwise = n, w, choose, otherwise
        if first and best_node != NONE:
            break
    if best_node == NONE:
        return False
    size = work.size[best_way]
    gpu = shared_gpu(plan, best_node, size) if size < work.parts else NONE
    settle(work, scratch, plan, j, best_node, best_way, gpu)
    return True


@compiled
def draw_node(work: Workload, scratch: Scratch, odds: int, rng: np.random.Generator) -> int:
    """The place of a noted node, drawn by the GPUs left idle: with odds 1 / (1 + idle), 1 + idle, or all alike."""
    total = 0.0
    for at in range(scratch.counts[FOUND]):
        total += _odds_of(scratch.found_left[at] / work.parts, odds)
    drawn = rng.random() * total
    for at in range(scratch.counts[FOUND]):
        drawn -= _odds_of(scratch.found_left[at] / work.parts, odds)
        if drawn < 0:
            return at
    return 0


@compiled
def _odds_of(idle: float, odds: int) -> float:
    if odds == INVERSE_IDLE:
        return 1.0 / (1.0 + idle)
    return 1.0 + idle if odds == IDLE else 1.0
