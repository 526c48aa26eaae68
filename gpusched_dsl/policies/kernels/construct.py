"""One pass over a queue: every job gets the first place that the rules of a policy find for it.

Nodes in use are looked at in this order: those that are there in theirs, then those whose kind was chosen in that of
their opening. Nodes that are full leave the list, so that jobs for which there is no room cost little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.candidate_search import (
    FAMILY,
    FOUND,
    NEXT_RENTED,
    OPEN,
    OPENED,
    draw_node,
    find_suboptimal,
    first_empty_existing,
    fit,
    list_empty_existing,
    way_to_rent,
)
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place, compiled_inline
from gpusched_dsl.policies.kernels.free_capacity import has_capacity_when_empty, put
from gpusched_dsl.policies.kernels.ranking import order_rows
from gpusched_dsl.policies.kernels.row_guard import RowGuard, begin_turn, enter, note_refusal
from gpusched_dsl.policies.rules import PLACE_CODES
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule, Workload

# Compiled code takes no dictionaries.
BEST_FIT, FIRST_FIT = PLACE_CODES["best_fit"], PLACE_CODES["first_fit"]
NEW_NODE, NEW_NODE_EXCLUSIVE = PLACE_CODES["new_node"], PLACE_CODES["new_node exclusive"]
BEST_SUBOPTIMAL, FIRST_SUBOPTIMAL = PLACE_CODES["best_suboptimal"], PLACE_CODES["first_suboptimal"]
NEXT_CHOICE, WAIT, POSTPONE = PLACE_CODES["next_choice"], PLACE_CODES["wait"], PLACE_CODES["postpone"]
UNPLACED, PLACED, STOPPED = 0, 1, 2
_COUNTS = 4


class Lookups(NamedTuple):
    """Derived tables of a workload. `ways` of job j on kind k: from `ways_at[j * K + k]`, in way order."""

    largest_first: Ints  # (K,) kinds: most units, then lower price for a GPU, then kind order
    smallest_first: Ints  # (K,) kinds: fewest units, then lower price, then kind order
    ways_at: Ints  # (J * K + 1,)
    ways: Ints  # (W,)
    existing_from: Ints  # (K + 1,) existing nodes, by kind
    existing: Ints
    rented: Ints  # nodes whose kind is chosen on opening


class Scratch(NamedTuple):
    """The working arrays of a pass, without state after it."""

    queue: Ints  # (J,)
    nodes: Ints  # (N,) nodes in use that have units left, in order; `counts[OPEN]` of them
    kinds: Ints  # (K,) nodes of this kind
    heads: Ints  # (K,) of the existing nodes; those before are in use
    counts: Ints
    states: Ints  # (N,) of nodes in use: `state_of`, as one number, which takes one comparison
    odds: Floats  # (J,) the sum of the odds of the ways that a job draws from
    found: Ints  # (node_list, 3) the best places found by a rule: units left after, node, shared GPU


@compiled
def look_up(work: Workload) -> Lookups:
    """Kinds by size, ways by kind, nodes by kind."""
    kinds, jobs, nodes = len(work.units), len(work.due), len(work.node_kind)
    sizes = np.empty((kinds, 2))
    largest = np.empty((kinds, 2))
    for k in range(kinds):
        sizes[k, 0], sizes[k, 1] = work.units[k], work.price[k]
        largest[k, 0], largest[k, 1] = -work.units[k], work.price[k] / max(work.units[k], 1)
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
    existing_from = np.zeros(kinds + 1, np.int64)
    for n in range(nodes):
        if work.node_kind[n] != NONE:
            existing_from[work.node_kind[n] + 1] += 1
    for k in range(kinds):
        existing_from[k + 1] += existing_from[k]
    place = existing_from.copy()
    existing = np.empty(existing_from[kinds], np.int64)
    rented = np.empty(nodes - existing_from[kinds], np.int64)
    last = 0
    for n in range(nodes):
        if work.node_kind[n] == NONE:
            rented[last] = n
            last += 1
        else:
            existing[place[work.node_kind[n]]] = n
            place[work.node_kind[n]] += 1
    return Lookups(order_rows(largest), order_rows(sizes), ways_at, ways, existing_from, existing, rented)


@compiled
def make_scratch(work: Workload, node_list: int) -> Scratch:
    """Arrays for passes that draw nodes from lists of this length."""
    jobs, nodes, kinds = len(work.due), len(work.node_kind), len(work.units)
    return Scratch(
        np.empty(jobs, np.int64),
        np.empty(nodes, np.int64),
        np.empty(kinds, np.int64),
        np.empty(kinds, np.int64),
        np.zeros(_COUNTS, np.int64),
        np.empty(nodes, np.int64),
        np.empty(jobs),
        np.empty((max(node_list, 1), 3), np.int64),
    )


@compiled_in_place
def begin(work: Workload, look: Lookups, scratch: Scratch, plan: Schedule) -> None:
    """List the nodes in use, count those of every kind."""
    node_kind, existing_from, units = work.node_kind, look.existing_from, work.units
    nodes, kinds, heads, counts = scratch.nodes, scratch.kinds, scratch.heads, scratch.counts
    kind, jobs, opened, used, spare = plan.kind, plan.jobs, plan.opened, plan.used, plan.spare
    states, family = scratch.states, work.family
    for at in range(len(counts)):
        counts[at] = 0
    for k in range(len(kinds)):
        kinds[k] = 0
        heads[k] = existing_from[k]
    for n in range(len(kind)):
        if kind[n] != NONE:
            kinds[kind[n]] += 1
        if jobs[n] > 0:
            counts[OPENED] = max(counts[OPENED], opened[n] + 1)
            states[n] = state_of(units, family, used, kind, n)
            if used[n] < units[kind[n]] or has_part(spare, n):
                list_node(nodes, counts, node_kind, opened, n)


@compiled_inline
def state_of(units: Ints, family: Ints, used: Ints, kind: Ints, n: int) -> int:
    """The family of an open node and its units that no job has."""
    return int(family[kind[n]] * FAMILY + units[kind[n]] - used[n])


@compiled_in_place
def has_part(spare: Ints, n: int) -> bool:
    """Whether a shared GPU of the node has units left."""
    for gpu in range(spare.shape[1]):  # noqa: SIM110 - a generator is slow where it is compiled
        if spare[n, gpu] > 0:
            return True
    return False


@compiled_in_place
def list_node(nodes: Ints, counts: Ints, node_kind: Ints, opened: Ints, n: int) -> None:
    """Put a node into the list: those that are there in their order, then the others in that of their opening."""
    at = counts[OPEN]
    exists = node_kind[n] != NONE
    while at > 0:
        other = nodes[at - 1]
        other_exists = node_kind[other] != NONE
        if exists != other_exists:
            if other_exists:
                break
        elif (exists and other < n) or (not exists and opened[other] < opened[n]):
            break
        nodes[at] = other
        at -= 1
    nodes[at] = n
    counts[OPEN] += 1


@compiled_in_place
def unlist_node(nodes: Ints, counts: Ints, n: int) -> None:
    """Remove a node from the list."""
    at = 0
    while nodes[at] != n:
        at += 1
    counts[OPEN] -= 1
    while at < counts[OPEN]:
        nodes[at] = nodes[at + 1]
        at += 1


@compiled_in_place
def sum_odds(work: Workload, instructions: Instructions, scratch: Scratch) -> None:
    """Add up the odds of the ways from which each job of the queue draws."""
    for j in instructions.order:
        total, start = 0.0, work.first_way[j]
        for at in range(start, start + min(instructions.way_list[j], instructions.preferred[j])):
            total += instructions.way_odds[instructions.ranked[at]]
        scratch.odds[j] = total


@compiled_inline
def first_choice(
    first_way: Ints, ranked: Ints, preferred: Ints, way_list: Ints, odds: Floats, sums: Floats, j: int, drawing: bool,
    rng: np.random.Generator,
) -> int:  # fmt: skip
    """The best way of a job, or one drawn from the first of those by `choose`; NONE if it has none.

    `sums` by `sum_odds`.
    """
    start = first_way[j]
    if start == first_way[j + 1]:
        return NONE
    length = min(way_list[j], preferred[j])
    if drawing and length > 1:
        drawn = rng.random() * sums[j]
        for at in range(start, start + length):
            drawn -= odds[ranked[at]]
            if drawn < 0:
                return int(ranked[at])
    return int(ranked[start])


@compiled_in_place
def place_jobs(
    work: Workload, look: Lookups, instructions: Instructions, scratch: Scratch, plan: Schedule, queue: Ints,
    given: int, low: int, high: int, drawing: bool, rng: np.random.Generator, guard: RowGuard | None,
) -> int:  # fmt: skip
    """Place the jobs of the queue that do not run, one after the other, by the rules `low` to `high - 1`.

    Each in its first choice, or in the way `given`, unless a rule seeks its own; only in places that `guard` admits.
    Gives what became of the last job: PLACED, UNPLACED, or STOPPED if the queue stops at it.
    """
    place, ranked, first_way = instructions.place, instructions.ranked, work.first_way
    nodes, kinds, heads, counts, found = scratch.nodes, scratch.kinds, scratch.heads, scratch.counts, scratch.found
    states, sums = scratch.states, scratch.odds
    kind, used, jobs, left, spare = plan.kind, plan.used, plan.jobs, plan.left, plan.spare
    units, family, like_at, size, form = work.units, work.family, work.like_at, work.size, work.form
    needs, room, parts = work.needs, work.room, work.parts
    limit = instructions.node_list if drawing else 1
    preferred, way_list, way_odds = instructions.preferred, instructions.way_list, instructions.way_odds
    existing_from, existing, rented, way_kind = look.existing_from, look.existing, look.rented, work.kind
    ways_at, ways, largest_first = look.ways_at, look.ways, look.largest_first
    choose_rank, otherwise_rank, stock = instructions.choose_rank, instructions.otherwise_rank, work.stock
    node_kind, opened = work.node_kind, plan.opened
    outcome = UNPLACED
    for j in queue:
        if plan.node[j] != NONE:
            continue
        outcome = UNPLACED
        if guard is not None:
            begin_turn(guard, j)
        first = given
        if given == NONE:
            first = first_choice(first_way, ranked, preferred, way_list, way_odds, sums, j, drawing, rng)
        w, position, listing, at = first, first_way[j], NONE, low
        while at < high:
            code = place[at]
            at += 1
            if code == POSTPONE:
                break
            if code == WAIT:
                if guard is not None:
                    note_refusal(guard, j)
                return STOPPED
            if code == NEXT_CHOICE:
                if listing == NONE:
                    listing, position = at, first_way[j]
                elif at < listing:
                    continue  # a later one goes through the list, with the other rules before it
                while position < first_way[j + 1] and ranked[position] == first:
                    position += 1
                if (
                    position < first_way[j + 1]
                    and ranked[position] != NONE
                    and may_have_room(counts, rented, heads, existing_from)
                ):
                    w = ranked[position]
                    position += 1
                    at = low
                else:
                    w, listing = first, NONE
                continue
            counts[FOUND] = 0
            if code in (BEST_SUBOPTIMAL, FIRST_SUBOPTIMAL):
                if listing != NONE or counts[OPEN] == 0:
                    continue  # while ways are listed, the nodes are those that were looked at before
                way = find_suboptimal(
                    nodes[: counts[OPEN]], ways_at, ways, choose_rank, otherwise_rank, size, units, parts, needs,
                    room, kind, used, left, spare, counts, found, j, code == FIRST_SUBOPTIMAL,
                    guard,
                )  # fmt: skip
                if way == NONE:
                    continue
            elif w == NONE:
                continue
            else:
                way = NONE
                if code in (BEST_FIT, FIRST_FIT) and counts[OPEN] > 0:
                    first_only = code == FIRST_FIT and limit == 1
                    fit(
                        nodes[: counts[OPEN]], states, like_at, parts, needs, room, kind, left, spare, counts, found,
                        j, family[way_kind[w]], size[w], form[w], first_only, limit,
                        guard,
                    )  # fmt: skip
                    follows = at < len(place) and place[at] == NEW_NODE
                    if follows and 0 < counts[FOUND] < limit and found[0, 2] == NONE:
                        list_empty_existing(
                            existing_from, existing, heads, jobs, family, like_at, units, parts, needs, room, counts,
                            found, j, family[way_kind[w]], size[w], form[w], limit, guard,
                        )  # fmt: skip
                elif code == NEW_NODE and len(existing) > 0:
                    list_empty_existing(
                        existing_from, existing, heads, jobs, family, like_at, units, parts, needs, room, counts, found,
                        j, family[way_kind[w]], size[w], form[w], limit, guard,
                    )  # fmt: skip
                elif code == NEW_NODE_EXCLUSIVE and has_capacity_when_empty(
                    units, parts, needs, room, way_kind[w], size[w], w
                ):
                    n = first_empty_existing(existing_from, existing, heads, jobs, way_kind[w], w, guard)
                    if n != NONE:
                        found[0, 0], found[0, 1], found[0, 2] = 0, n, NONE
                        counts[FOUND] = 1
                if counts[FOUND] == 0 and code in (NEW_NODE, NEW_NODE_EXCLUSIVE):
                    while counts[NEXT_RENTED] < len(rented) and jobs[rented[counts[NEXT_RENTED]]] > 0:
                        counts[NEXT_RENTED] += 1
                    if counts[NEXT_RENTED] < len(rented):
                        way = way_to_rent(
                            largest_first, family, like_at, units, parts, needs, room, kinds, stock, j, way_kind[w],
                            size[w], form[w], code == NEW_NODE_EXCLUSIVE, rented[counts[NEXT_RENTED] :], jobs, found,
                            guard,
                        )  # fmt: skip
                        if way != NONE:
                            kinds[way_kind[way]] += 1
                            counts[FOUND] = 1
            if counts[FOUND] == 0:
                continue
            chosen = 0
            if counts[FOUND] > 1:
                chosen = draw_node(found, counts[FOUND], parts, instructions.node_odds, rng)
            n = found[chosen, 1]
            if way == NONE:
                way = like_at[j, kind[n], form[w]]
            opens = jobs[n] == 0
            put(work, plan, j, n, way, found[chosen, 2], counts[OPENED])
            if guard is not None:
                enter(guard, way, n)
            states[n] = state_of(units, family, used, kind, n)
            full = used[n] == units[kind[n]] and not has_part(spare, n)
            if opens:
                counts[OPENED] += 1
                if code != NEW_NODE_EXCLUSIVE and not full:
                    list_node(nodes, counts, node_kind, opened, n)
            elif full:
                unlist_node(nodes, counts, n)
            outcome = PLACED
            break
        if guard is not None and outcome == UNPLACED:
            note_refusal(guard, j)
    return outcome


@compiled_in_place
def may_have_room(counts: Ints, rented: Ints, heads: Ints, existing_from: Ints) -> bool:
    """Whether there may be room for any job: a node in use with units left, or one not in use."""
    if counts[OPEN] > 0 or counts[NEXT_RENTED] < len(rented):
        return True
    for k in range(len(heads)):  # noqa: SIM110 - a generator is slow where it is compiled
        if heads[k] < existing_from[k + 1]:
            return True
    return False
