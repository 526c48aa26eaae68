"""A queue on a cluster event by event: jobs of several nodes, types, limits, dependencies and closed times of nodes.

Jobs that start together (the components of a het job of Slurm) wait as one: they are placed one after another, and none
starts unless all have a place. Each then ends by itself.

At each event the jobs that wait are tried in their order. A job that fits starts on the nodes that then have the fewest
free GPUs. What follows for the others if it does not fit is the rule: `STRICT`, no job behind it may use the classes of
nodes that suit it; `SKIP`, all others are tried; `EASY`, the first job without a place of each set of classes reserves
the earliest time at which it fits by the estimated ends and the closed times of nodes, and jobs that are tried later
must not delay it (D. A. Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995). A job that only a limit stops delays
nobody. Like the backfilling of Slurm, an event tries at most `depth` jobs (`bf_max_job_test`); jobs of shapes without
room do not count.

Most events free no room for those who wait, and change nothing. In the others reservations are computed when a job with
room is tried: only such a job could delay them.

A look at a cluster has no model, placement or policy, only the facts of a queue, so it does not use the loop of runs.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place

STRICT: Final = 0
SKIP: Final = 1
EASY: Final = 2
NEVER: Final = np.inf


class QueueNodes(NamedTuple):
    """N nodes in the order of their C classes, D kinds of demands, and W times at which classes are closed."""

    node_class: Ints  # (N,) ascending
    first_node: Ints  # (C + 1,)
    gpus: Ints  # (N,) all GPUs of the node, 0 if it starts no jobs
    fits: Bools  # (D, C) whether the class suits the demand
    first_window: Ints  # (C + 1,)
    window_start: Floats  # (W,)
    window_end: Floats  # (W,)


class QueueJobs(NamedTuple):
    """J jobs in S shapes and Q queues, with G limits. A job that runs already has a start, and its GPUs by node.

    Jobs of one shape have the same demand, GPUs by node and number of nodes. The queues of a shape have jobs with
    different ranges of estimates. Of jobs that start together the first one waits for all of them: the others are its
    `members`, and never wait by themselves. Its shape is that of such jobs with the same shapes in the same order.
    """

    submitted: Floats  # (J,) time from which it waits
    rank: Ints  # (J,) place in the order, each once
    shape: Ints  # (J,)
    queue: Ints  # (J,)
    length: Floats  # (J,) real length from its start
    estimate: Floats  # (J,) the length by which reservations are made
    span: Floats  # (J,) the largest estimate of a job and its members: for so long they need their places
    started: Floats  # (J,) NaN if it does not run yet
    before: Ints  # (J,) jobs that must end first
    first_after: Ints  # (J + 1,) the jobs that wait for its end
    after: Ints
    first_limit: Ints  # (J + 1,) the limits that count it, with its amounts
    limit: Ints
    amount: Ints
    first_part: Ints  # (J + 1,) room for its nodes; those of running jobs are filled
    first_member: Ints  # (J + 1,) the jobs that start together with it
    member: Ints
    shape_head: Ints  # (S,) a job of the shape with members, -1 for single jobs
    shape_demand: Ints  # (S,)
    shape_gpus: Ints  # (S,) on each node, or in all if the number of nodes is 0
    shape_nodes: Ints  # (S,) 0: any number of nodes
    queue_shape: Ints  # (Q,)
    queue_least: Floats  # (Q,) the smallest estimate
    most: Ints  # (G,) the largest sum of amounts at one time


class QueueRun(NamedTuple):
    """What the run fills: starts (NaN: never), and the nodes of each job with their GPUs."""

    start: Floats  # (J,)
    part_node: Ints
    part_gpus: Ints
    parts: Ints  # (J,)


@compiled
def run_queue(
    nodes: QueueNodes, jobs: QueueJobs, rule: int, depth: int, until: float, awaited: Bools, run: QueueRun
) -> int:
    """Run up to the time `until`, or until all jobs that are `awaited` have started; return the number of events."""
    count, shapes = len(jobs.submitted), len(jobs.shape_demand)
    free, most = nodes.gpus.copy(), int(nodes.gpus.max()) if len(nodes.gpus) > 0 else 0
    levels_of = np.zeros((nodes.fits.shape[1], most + 1), dtype=np.int64)  # nodes of a class by their free GPUs
    for n in range(len(free)):
        if nodes.gpus[n] > 0:
            levels_of[nodes.node_class[n], free[n]] += 1
    used = np.zeros(len(jobs.most), dtype=np.int64)
    before = jobs.before.copy()
    queues = [[(0, 0)] for _ in range(len(jobs.queue_shape))]
    for queue in queues:
        queue.pop()
    ends = [(0.0, 0)]
    ends.pop()
    line_end, line_job, running = np.empty(count), np.empty(count, dtype=np.int64), 0  # by estimated end
    line_bits = np.zeros(count, dtype=np.int64)
    has_come = np.zeros(count, dtype=np.bool_)
    for j in range(count):
        if not np.isnan(jobs.started[j]):
            has_come[j] = True
            run.start[j] = jobs.started[j]
            _change(nodes, jobs, run, j, -1, free, levels_of, used)
            running = _insert(
                line_end,
                line_job,
                line_bits,
                running,
                jobs.started[j] + jobs.estimate[j],
                j,
                _bits(nodes, jobs, run, j),
            )
            heappush(ends, (jobs.started[j] + jobs.length[j], j))
    for at in range(len(jobs.member)):
        has_come[jobs.member[at]] = True  # with the first one
    left = 0
    for j in range(count):
        left += awaited[j] and np.isnan(jobs.started[j])
    arrivals = np.argsort(jobs.submitted, kind="mergesort")
    openings = np.sort(nodes.window_end)
    closed, failed = np.zeros(len(queues), dtype=np.bool_), np.empty(shapes)
    waits, roomy = np.zeros(shapes, dtype=np.int64), np.zeros(shapes, dtype=np.bool_)  # waiting jobs; room now
    shape_least = np.empty(shapes)  # the smallest estimate of waiting jobs
    open_queues, pending = np.zeros(shapes, dtype=np.int64), np.empty(shapes, dtype=np.int64)
    pending_job, of_class = np.empty(shapes, dtype=np.int64), np.empty((2, nodes.fits.shape[1]), dtype=np.int64)
    heads, head_rank = np.empty(len(queues), dtype=np.int64), np.empty(len(queues), dtype=np.int64)
    barred = np.zeros(nodes.fits.shape[1], dtype=np.bool_)
    late_of = levels_of.copy()  # nodes of a class by the GPUs that a job may use beyond a reservation
    shadow, spare = np.empty(nodes.fits.shape[1]), np.empty(len(free), dtype=np.int64)
    suits, nothing_barred = np.zeros(len(shadow), dtype=np.bool_), np.zeros(len(shadow), dtype=np.bool_)
    no_shadow = np.full(len(shadow), NEVER)
    later, usable = np.empty(len(free), dtype=np.int64), np.empty(len(free), dtype=np.int64)
    levels, where = np.empty(most + 1, dtype=np.int64), np.empty(len(free), dtype=np.int64)
    come, opened, events, waiting, last = 0, 0, 0, 0, -NEVER
    while True:
        now = NEVER
        if len(ends) > 0:
            now = ends[0][0]
        if come < count and jobs.submitted[arrivals[come]] < now:
            now = jobs.submitted[arrivals[come]]
        while opened < len(openings) and openings[opened] <= last:
            opened += 1
        if waiting > 0 and opened < len(openings) and openings[opened] < now:
            now = openings[opened]
        if now == NEVER or now > until or left == 0:
            return events
        events, last = events + 1, now
        while len(ends) > 0 and ends[0][0] <= now:
            j = heappop(ends)[1]
            _change(nodes, jobs, run, j, 1, free, levels_of, used)
            running = _remove(line_end, line_job, line_bits, running, j)
            for at in range(jobs.first_after[j], jobs.first_after[j + 1]):
                other = jobs.after[at]
                before[other] -= 1
                if before[other] == 0 and has_come[other]:
                    heappush(queues[jobs.queue[other]], (jobs.rank[other], other))
                    waits[jobs.shape[other]] += 1
                    waiting += 1
        while come < count and jobs.submitted[arrivals[come]] <= now:
            j = arrivals[come]
            come += 1
            if not has_come[j]:
                has_come[j] = True
                if before[j] == 0:
                    heappush(queues[jobs.queue[j]], (jobs.rank[j], j))
                    waits[jobs.shape[j]] += 1
                    waiting += 1

        # One pass over the queues. All queues of a shape without room are closed; jobs with an estimate of at least
        # `failed` would delay a reservation, or run into a closed time, as another one of the shape.
        barred[:] = False
        possible = 0  # queues with room
        for s in range(shapes):
            open_queues[s], shape_least[s] = 0, NEVER
            roomy[s] = waits[s] > 0 and _has_room(
                nodes, jobs.shape_demand[s], barred, levels_of, jobs.shape_gpus[s], jobs.shape_nodes[s]
            )
            if roomy[s] and jobs.shape_head[s] >= 0:
                roomy[s] = _members_have_room(nodes, jobs, s, barred, levels_of)
        active = 0
        for q in range(len(queues)):
            closed[q] = len(queues[q]) == 0
            if not closed[q]:
                heads[active], head_rank[active] = q, queues[q][0][0]
                active += 1
                best = jobs.queue_shape[q]
                shape_least[best] = min(shape_least[best], jobs.queue_least[q])
                if roomy[best]:
                    open_queues[best] += 1
                    possible += 1
        if possible == 0:
            continue
        failed[:] = NEVER
        shadow[:] = NEVER
        spare[:] = most
        late_of[:] = levels_of
        tested, reserving = 0, 0
        stash = [(0, 0)]
        stash.pop()
        while tested < depth and possible > 0:
            at, place = 0, -1
            while at < active:
                if closed[heads[at]]:
                    active -= 1
                    heads[at], head_rank[at] = heads[active], head_rank[active]
                else:
                    if place < 0 or head_rank[at] < head_rank[place]:
                        place = at
                    at += 1
            q = heads[place]
            best, j = jobs.queue_shape[q], queues[q][0][1]
            demand, gpus, wanted = jobs.shape_demand[best], jobs.shape_gpus[best], jobs.shape_nodes[best]
            is_single = jobs.shape_head[best] < 0
            if roomy[best] and jobs.queue_least[q] >= failed[best]:
                closed[q] = True
                open_queues[best] -= 1
                possible -= 1
                continue
            leaves = _is_limited(jobs, j, used) or jobs.span[j] >= failed[best]
            if not leaves and not is_single:
                leaves = _are_limited(jobs, j, used)
            if leaves:
                tested += 1
                stash.append(heappop(queues[q]))
            else:
                has_room = _has_room(nodes, demand, barred, levels_of, gpus, wanted)
                if has_room and not is_single:
                    has_room = _members_have_room(nodes, jobs, best, barred, levels_of)
                if not has_room:
                    closed[q] = True
                    if roomy[best]:
                        possible -= open_queues[best]
                        roomy[best] = False
                    if rule == EASY:
                        pending[reserving], pending_job[reserving] = best, j
                        reserving += 1
                    for other in range(len(queues)):
                        closed[other] |= jobs.queue_shape[other] == best
                    if rule == STRICT:
                        for c in range(len(barred)):
                            barred[c] |= nodes.fits[demand, c]
                        if not is_single:
                            _add_members_classes(nodes, jobs, best, barred)
                    continue
                for at in range(reserving):
                    _make_reservation(
                        nodes, jobs, run, pending[at], pending_job[at], now, free, line_end, line_job, line_bits,
                        running, later, levels, of_class, spare, shadow, late_of, usable, where,
                        suits, nothing_barred, no_shadow,
                    )  # fmt: skip
                reserving = 0
                tested += 1
                until_end = now + jobs.span[j]
                if is_single:
                    has_place = _has_place(
                        nodes, demand, barred, now, until_end, shadow, levels_of, late_of, gpus, wanted
                    )
                else:
                    has_place = _have_places(
                        nodes, jobs, run, j, barred, now, until_end, shadow, spare, free, usable, where, levels
                    )
                if has_place:
                    if is_single:
                        number = _fill(nodes, demand, barred, now, until_end, shadow, spare, free, usable, where)
                        _choose(number, usable, where, gpus, wanted, levels, run, jobs.first_part[j], j)
                    waiting -= 1
                    waits[best] -= 1
                    heappop(queues[q])
                    for each in range(jobs.first_member[j] - 1, jobs.first_member[j + 1]):
                        part = j if each < jobs.first_member[j] else jobs.member[each]
                        run.start[part] = now
                        left -= awaited[part]
                        first = jobs.first_part[part]
                        for at in range(first, first + run.parts[part]):
                            n = run.part_node[at]
                            late_of[nodes.node_class[n], max(min(free[n], spare[n]), 0)] -= 1
                        _change(nodes, jobs, run, part, -1, free, levels_of, used)
                        for at in range(first, first + run.parts[part]):
                            n = run.part_node[at]
                            if until_end > shadow[nodes.node_class[n]]:
                                spare[n] -= run.part_gpus[at]
                            late_of[nodes.node_class[n], max(min(free[n], spare[n]), 0)] += 1
                        running = _insert(
                            line_end, line_job, line_bits, running, now + jobs.estimate[part], part,
                            _bits(nodes, jobs, run, part),
                        )  # fmt: skip
                        heappush(ends, (now + jobs.length[part], part))
                elif rule == STRICT:
                    possible -= open_queues[best]
                    roomy[best] = False
                    for other in range(len(queues)):
                        closed[other] |= jobs.queue_shape[other] == best
                    for c in range(len(barred)):
                        barred[c] |= nodes.fits[demand, c]
                    if not is_single:
                        _add_members_classes(nodes, jobs, best, barred)
                    continue
                else:  # a reservation or a closed time prevents it: shorter ones of its shape may fit
                    if rule == EASY:
                        _make_reservation(
                            nodes, jobs, run, best, j, now, free, line_end, line_job, line_bits,
                            running, later, levels, of_class, spare, shadow, late_of, usable, where,
                        suits, nothing_barred, no_shadow,
                        )  # fmt: skip
                    soonest = now + shape_least[best]
                    if is_single:
                        has_place = _has_place(
                            nodes, demand, barred, now, soonest, shadow, levels_of, late_of, gpus, wanted
                        )
                    else:
                        has_place = _have_places(
                            nodes, jobs, run, j, barred, now, soonest, shadow, spare, free, usable, where, levels
                        )
                    if not has_place:
                        possible -= open_queues[best]
                        roomy[best] = False
                        for other in range(len(queues)):
                            closed[other] |= jobs.queue_shape[other] == best
                        continue
                    failed[best] = min(failed[best], jobs.span[j])
                    stash.append(heappop(queues[q]))
            if len(queues[q]) > 0:
                head_rank[place] = queues[q][0][0]
            else:
                closed[q] = True
                if roomy[best]:
                    open_queues[best] -= 1
                    possible -= 1
        for at in range(len(stash)):
            heappush(queues[jobs.queue[stash[at][1]]], stash[at])


@compiled_in_place
def _make_reservation(
    nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, shape: int, j: int, now: float, free: Ints,
    line_end: Floats, line_job: Ints, line_bits: Ints, running: int, later: Ints, levels: Ints, of_class: Ints,
    spare: Ints, shadow: Floats, late_of: Ints, usable: Ints, where: Ints, suits: Bools, nothing_barred: Bools,
    no_shadow: Floats,
) -> None:  # fmt: skip
    """Reserve the earliest time for a job of a shape without a place, if none of its classes has a reservation."""
    span, demand = jobs.span[j], jobs.shape_demand[shape]
    for c in range(len(shadow)):
        suits[c] = nodes.fits[demand, c]
    if jobs.shape_head[shape] >= 0:
        _add_members_classes(nodes, jobs, shape, suits)
    for c in range(len(shadow)):
        if suits[c] and shadow[c] < NEVER:
            return
    if jobs.shape_head[shape] < 0:
        time = _reserve(
            nodes, jobs, run, demand, jobs.shape_gpus[shape], jobs.shape_nodes[shape], span, now,
            free, line_end, line_job, line_bits, running, later, levels, of_class, spare,
        )  # fmt: skip
    else:
        time = _reserve_together(
            nodes, jobs, run, j, suits, span, now, free, line_end, line_job, line_bits, running,
            later, levels, spare, usable, where, nothing_barred, no_shadow,
        )  # fmt: skip
    if time < NEVER:
        for c in range(len(shadow)):
            if suits[c]:
                shadow[c] = max(time, now)
                late_of[c, :] = 0
                for n in range(nodes.first_node[c], nodes.first_node[c + 1]):
                    if nodes.gpus[n] > 0:
                        late_of[c, max(min(free[n], spare[n]), 0)] += 1


@compiled_in_place
def _add_members_classes(nodes: QueueNodes, jobs: QueueJobs, shape: int, classes: Bools) -> None:
    """Add the classes that suit the members of a job of a shape."""
    head = jobs.shape_head[shape]
    for at in range(jobs.first_member[head], jobs.first_member[head + 1]):
        demand = jobs.shape_demand[jobs.shape[jobs.member[at]]]
        for c in range(len(classes)):
            classes[c] |= nodes.fits[demand, c]


@compiled_in_place
def _is_limited(jobs: QueueJobs, j: int, used: Ints) -> bool:
    for at in range(jobs.first_limit[j], jobs.first_limit[j + 1]):
        if used[jobs.limit[at]] + jobs.amount[at] > jobs.most[jobs.limit[at]]:
            return True
    return False


@compiled_in_place
def _are_limited(jobs: QueueJobs, j: int, used: Ints) -> bool:
    """Whether a job and its members together would exceed a limit."""
    limited = False
    for sign in (1, -1):
        for place in range(jobs.first_member[j] - 1, jobs.first_member[j + 1]):
            part = j if place < jobs.first_member[j] else jobs.member[place]
            for at in range(jobs.first_limit[part], jobs.first_limit[part + 1]):
                used[jobs.limit[at]] += sign * jobs.amount[at]
                limited |= sign > 0 and used[jobs.limit[at]] > jobs.most[jobs.limit[at]]
    return limited


@compiled_in_place
def _change(
    nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, j: int, sign: int, free: Ints, levels_of: Ints, used: Ints
) -> None:
    """Take the GPUs and amounts of a job (-1), or give them back (1)."""
    for at in range(jobs.first_part[j], jobs.first_part[j] + run.parts[j]):
        n = run.part_node[at]
        if nodes.gpus[n] > 0:
            levels_of[nodes.node_class[n], max(free[n], 0)] -= 1
        free[n] += sign * run.part_gpus[at]
        if nodes.gpus[n] > 0:
            levels_of[nodes.node_class[n], max(free[n], 0)] += 1
    for at in range(jobs.first_limit[j], jobs.first_limit[j + 1]):
        used[jobs.limit[at]] -= sign * jobs.amount[at]


@compiled_in_place
def _bits(nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, j: int) -> int:
    """A set of bits with those of the classes of a running job; several classes may share a bit."""
    found = 0
    for at in range(jobs.first_part[j], jobs.first_part[j] + run.parts[j]):
        found |= 1 << (nodes.node_class[run.part_node[at]] % 62)
    return found


@compiled_in_place
def _insert(
    line_end: Floats, line_job: Ints, line_bits: Ints, running: int, end: float, j: int, bits: int
) -> int:  # fmt: skip
    """Put a job into the line of running jobs by its estimated end; return their number."""
    at = running
    while at > 0 and line_end[at - 1] > end:
        line_end[at], line_job[at], line_bits[at] = line_end[at - 1], line_job[at - 1], line_bits[at - 1]
        at -= 1
    line_end[at], line_job[at], line_bits[at] = end, j, bits
    return running + 1


@compiled_in_place
def _remove(line_end: Floats, line_job: Ints, line_bits: Ints, running: int, j: int) -> int:
    at = 0
    while line_job[at] != j:
        at += 1
    for later in range(at, running - 1):
        line_end[later], line_job[later] = line_end[later + 1], line_job[later + 1]
        line_bits[later] = line_bits[later + 1]
    return running - 1


@compiled_in_place
def _is_closed(nodes: QueueNodes, c: int, now: float, end: float) -> bool:
    """Whether the class is closed at a time between `now` and `end`."""
    closed = False
    for w in range(nodes.first_window[c], nodes.first_window[c + 1]):
        closed |= now < nodes.window_end[w] and end > nodes.window_start[w]
    return closed


@compiled_in_place
def _fill(
    nodes: QueueNodes, demand: int, barred: Bools, now: float, end: float, shadow: Floats, spare: Ints, free: Ints,
    usable: Ints, where: Ints,
) -> int:  # fmt: skip
    """Fill `where` with the nodes on which a job may run now, and `usable` with their GPUs; return their number."""
    number = 0
    for c in range(len(barred)):
        if not nodes.fits[demand, c] or barred[c] or _is_closed(nodes, c, now, end):
            continue
        delays = end > shadow[c]
        for n in range(nodes.first_node[c], nodes.first_node[c + 1]):
            gpus = min(free[n], spare[n]) if delays else free[n]
            if gpus > 0 and nodes.gpus[n] > 0:
                where[number], usable[number] = n, gpus
                number += 1
    return number


@compiled_in_place
def _cut(gpus: int, wanted: int, levels: Ints) -> tuple[int, int]:
    """The largest level of free GPUs that a job needs if it takes the fullest nodes, and how many of that level.

    The level is -1 if not enough nodes have the GPUs.
    """
    enough, number = 0, max(wanted, 1)
    for level in range(gpus, len(levels)):
        enough += levels[level]
        if enough >= number:
            return level, number - (enough - levels[level])
    return -1, 0


@compiled_in_place
def _choose(
    number: int, usable: Ints, where: Ints, gpus: int, wanted: int, levels: Ints, run: QueueRun, first: int, j: int
) -> bool:
    """Fill the nodes of a job with the fewest usable GPUs that suffice, or return False.

    Without a number of nodes it takes one node if one suffices, else those with the most usable GPUs.
    """
    levels[:] = 0
    total, found = 0, 0
    for at in range(number):
        levels[usable[at]] += 1
        total += usable[at]
    cut, last = _cut(gpus, wanted, levels)
    if cut >= 0:
        found = _take_cut(number, usable, where, gpus, cut, last, run, first)
    elif wanted > 0 or total < gpus:
        return False
    else:
        left = gpus
        for level in range(len(levels) - 1, 0, -1):
            for at in range(number):
                if left > 0 and usable[at] == level:
                    run.part_node[first + found], run.part_gpus[first + found] = where[at], min(level, left)
                    left -= min(level, left)
                    found += 1
    run.parts[j] = found
    return True


@compiled_in_place
def _take_cut(number: int, usable: Ints, where: Ints, gpus: int, cut: int, last: int, run: QueueRun, first: int) -> int:
    """Take all nodes with at least `gpus` below the level `cut`, and the first `last` ones of that level."""
    found = 0
    for at in range(number):
        if gpus <= usable[at] < cut or (usable[at] == cut and last > 0):
            last -= usable[at] == cut
            run.part_node[first + found], run.part_gpus[first + found] = where[at], gpus
            found += 1
    return found


@compiled_in_place
def _has_room(nodes: QueueNodes, demand: int, barred: Bools, levels_of: Ints, gpus: int, wanted: int) -> bool:
    """Whether the job would fit now, if there were no reservations and closed times."""
    number, total = 0, 0
    for c in range(len(barred)):
        if nodes.fits[demand, c] and not barred[c]:
            for level in range(1, levels_of.shape[1]):
                total += level * levels_of[c, level]
                if level >= gpus:
                    number += levels_of[c, level]
    return number >= max(wanted, 1) or (wanted == 0 and total >= gpus)


@compiled_in_place
def _has_place(
    nodes: QueueNodes, demand: int, barred: Bools, now: float, end: float, shadow: Floats, levels_of: Ints,
    late_of: Ints, gpus: int, wanted: int,
) -> bool:  # fmt: skip
    """Whether the job fits now and delays no reservation."""
    number, total = 0, 0
    for c in range(len(barred)):
        if nodes.fits[demand, c] and not barred[c] and not _is_closed(nodes, c, now, end):
            delays = end > shadow[c]
            for level in range(1, levels_of.shape[1]):
                count = late_of[c, level] if delays else levels_of[c, level]
                total += level * count
                if level >= gpus:
                    number += count
    return number >= max(wanted, 1) or (wanted == 0 and total >= gpus)


@compiled_in_place
def _members_have_room(nodes: QueueNodes, jobs: QueueJobs, shape: int, barred: Bools, levels_of: Ints) -> bool:
    """Whether each member of a job of a shape would fit alone without reservations and closed times."""
    head = jobs.shape_head[shape]
    for at in range(jobs.first_member[head], jobs.first_member[head + 1]):
        other = jobs.shape[jobs.member[at]]
        if not _has_room(
            nodes, jobs.shape_demand[other], barred, levels_of, jobs.shape_gpus[other], jobs.shape_nodes[other]
        ):
            return False
    return True


@compiled_in_place
def _have_places(
    nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, j: int, barred: Bools, now: float, end: float, shadow: Floats,
    spare: Ints, free: Ints, usable: Ints, where: Ints, levels: Ints,
) -> bool:  # fmt: skip
    """Whether a job fits now with all its members and delays no reservation; it fills their nodes."""
    found = _place_together(nodes, jobs, run, j, barred, now, end, shadow, spare, free, usable, where, levels)
    _put_back(nodes, jobs, run, j, end, shadow, spare, free, found)
    return found


@compiled_in_place
def _place(
    nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, j: int, shape: int, barred: Bools, now: float, end: float,
    shadow: Floats, spare: Ints, free: Ints, usable: Ints, where: Ints, levels: Ints,
) -> bool:  # fmt: skip
    """Fill the nodes of one job, or return False."""
    number = _fill(nodes, jobs.shape_demand[shape], barred, now, end, shadow, spare, free, usable, where)
    return _choose(
        number, usable, where, jobs.shape_gpus[shape], jobs.shape_nodes[shape], levels, run, jobs.first_part[j], j
    )


@compiled_in_place
def _place_together(
    nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, j: int, barred: Bools, now: float, end: float, shadow: Floats,
    spare: Ints, free: Ints, usable: Ints, where: Ints, levels: Ints,
) -> bool:  # fmt: skip
    """Fill the nodes of a job and its members, one after another, and take their GPUs from `free` and `spare`."""
    for place in range(jobs.first_member[j] - 1, jobs.first_member[j + 1]):
        run.parts[j if place < jobs.first_member[j] else jobs.member[place]] = 0
    for place in range(jobs.first_member[j] - 1, jobs.first_member[j + 1]):
        part = j if place < jobs.first_member[j] else jobs.member[place]
        if not _place(
            nodes, jobs, run, part, jobs.shape[part], barred, now, end, shadow, spare, free, usable, where, levels
        ):
            return False
        _take(nodes, jobs, run, part, -1, end, shadow, spare, free)
    return True


@compiled_in_place
def _take(
    nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, j: int, sign: int, end: float, shadow: Floats, spare: Ints,
    free: Ints,
) -> None:  # fmt: skip
    for at in range(jobs.first_part[j], jobs.first_part[j] + run.parts[j]):
        n = run.part_node[at]
        free[n] += sign * run.part_gpus[at]
        if end > shadow[nodes.node_class[n]]:
            spare[n] += sign * run.part_gpus[at]


@compiled_in_place
def _put_back(
    nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, j: int, end: float, shadow: Floats, spare: Ints, free: Ints,
    keeps: bool,
) -> None:  # fmt: skip
    """Give back what `_place_together` has taken; unless it `keeps` them, the jobs have no nodes."""
    for place in range(jobs.first_member[j] - 1, jobs.first_member[j + 1]):
        part = j if place < jobs.first_member[j] else jobs.member[place]
        _take(nodes, jobs, run, part, 1, end, shadow, spare, free)
        if not keeps:
            run.parts[part] = 0


@compiled_in_place
def _next_opening(nodes: QueueNodes, demand: int, last: float) -> float:
    """The first end of a closed time after `last` of a class that suits the demand, NEVER if there is none."""
    found = NEVER
    for c in range(nodes.fits.shape[1]):
        if nodes.fits[demand, c]:
            for w in range(nodes.first_window[c], nodes.first_window[c + 1]):
                if last < nodes.window_end[w] < found:
                    found = nodes.window_end[w]
    return found


@compiled_in_place
def _reserve(
    nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, demand: int, gpus: int, wanted: int, estimate: float, now: float,
    free: Ints, line_end: Floats, line_job: Ints, line_bits: Ints, running: int, later: Ints, levels: Ints,
    of_class: Ints, spare: Ints,
) -> float:  # fmt: skip
    """The earliest time at which a job without a place fits, NEVER if it does not.

    It fits by the estimated ends of running jobs, on classes that are not closed from then to its own end. `spare`
    becomes what others may use beyond that time on the nodes that the job then takes. `of_class` gets for each class
    the nodes with enough GPUs, and all GPUs.
    """
    bits, number, total = 0, 0, 0
    of_class[:] = 0
    for c in range(nodes.fits.shape[1]):
        if nodes.fits[demand, c]:
            bits |= 1 << (c % 62)
            for n in range(nodes.first_node[c], nodes.first_node[c + 1]):
                later[n] = max(free[n], 0) if nodes.gpus[n] > 0 else 0
                of_class[0, c] += later[n] >= gpus
                of_class[1, c] += later[n]
            number += of_class[0, c]
            total += of_class[1, c]
    time, at, last, found = now, 0, now, False
    opening = _next_opening(nodes, demand, last)
    has_windows = opening < NEVER
    while not found:
        if at < running and line_end[at] <= opening:
            at += 1
            if line_bits[at - 1] & bits == 0:  # frees nothing for it
                continue
            time, j = max(line_end[at - 1], now), line_job[at - 1]
            for part in range(jobs.first_part[j], jobs.first_part[j] + run.parts[j]):
                n = run.part_node[part]
                c = nodes.node_class[n]
                if nodes.fits[demand, c] and nodes.gpus[n] > 0:
                    enough = later[n] < gpus <= later[n] + run.part_gpus[part]
                    later[n] += run.part_gpus[part]
                    number += enough
                    total += run.part_gpus[part]
                    of_class[0, c] += enough
                    of_class[1, c] += run.part_gpus[part]
        elif opening < NEVER:
            time = last = opening
            opening = _next_opening(nodes, demand, last)
        else:
            return NEVER
        if has_windows:
            number, total = 0, 0
            for c in range(nodes.fits.shape[1]):
                if nodes.fits[demand, c] and not _is_closed(nodes, c, time, time + estimate):
                    number += of_class[0, c]
                    total += of_class[1, c]
        found = number >= max(wanted, 1) or (wanted == 0 and total >= gpus)
    for c in range(nodes.fits.shape[1]):
        if has_windows and nodes.fits[demand, c] and _is_closed(nodes, c, time, time + estimate):
            later[nodes.first_node[c] : nodes.first_node[c + 1]] = 0
    levels[:] = 0
    for c in range(nodes.fits.shape[1]):
        if nodes.fits[demand, c]:
            for n in range(nodes.first_node[c], nodes.first_node[c + 1]):
                levels[min(later[n], len(levels) - 1)] += 1
    cut, last = _cut(gpus, wanted, levels)
    left = gpus
    for level in range(len(levels) - 1, 0, -1):
        if levels[level] == 0 or (cut >= 0 and level > cut):
            continue
        for c in range(nodes.fits.shape[1]):
            if nodes.fits[demand, c]:
                for n in range(nodes.first_node[c], nodes.first_node[c + 1]):
                    if later[n] != level or (cut >= 0 and level < gpus):
                        continue
                    if cut < 0:
                        spare[n] = level - min(level, left)
                        left -= min(level, left)
                    elif level < cut or last > 0:
                        spare[n] = level - gpus
                        last -= level == cut
        if (cut < 0 and left == 0) or (cut >= 0 and level == gpus):
            break
    return time


@compiled_in_place
def _reserve_together(
    nodes: QueueNodes, jobs: QueueJobs, run: QueueRun, j: int, suits: Bools, span: float, now: float, free: Ints,
    line_end: Floats, line_job: Ints, line_bits: Ints, running: int, later: Ints, levels: Ints, spare: Ints,
    usable: Ints, where: Ints, nothing_barred: Bools, no_shadow: Floats,
) -> float:  # fmt: skip
    """The earliest time at which a job fits with its members, as `_reserve` finds it for one job."""
    bits, total, needed = 0, 0, 0
    for c in range(len(suits)):
        if suits[c]:
            bits |= 1 << (c % 62)
    for n in range(len(free)):
        later[n] = free[n] if nodes.gpus[n] > 0 else 0  # negative where jobs use more than the node has
        total += max(later[n], 0) if suits[nodes.node_class[n]] else 0
    for place in range(jobs.first_member[j] - 1, jobs.first_member[j + 1]):
        shape = jobs.shape[j if place < jobs.first_member[j] else jobs.member[place]]
        needed += jobs.shape_gpus[shape] * max(jobs.shape_nodes[shape], 1)
    time, at, last, found = now, 0, now, False
    while not found:
        opening = NEVER
        for c in range(len(suits)):
            if suits[c]:
                for w in range(nodes.first_window[c], nodes.first_window[c + 1]):
                    if last < nodes.window_end[w] < opening:
                        opening = nodes.window_end[w]
        if at < running and line_end[at] <= opening:
            at += 1
            if line_bits[at - 1] & bits == 0:  # frees nothing for it
                continue
            time, other = max(line_end[at - 1], now), line_job[at - 1]
            for part in range(jobs.first_part[other], jobs.first_part[other] + run.parts[other]):
                n = run.part_node[part]
                if nodes.gpus[n] > 0:
                    later[n] += run.part_gpus[part]
                    total += run.part_gpus[part] if suits[nodes.node_class[n]] else 0
        elif opening < NEVER:
            time = last = opening
        else:
            return NEVER
        if total < needed:
            continue
        found = _place_together(
            nodes, jobs, run, j, nothing_barred, time, time + span, no_shadow, spare, later, usable, where, levels
        )
        if found:
            for place in range(jobs.first_member[j] - 1, jobs.first_member[j + 1]):
                own = j if place < jobs.first_member[j] else jobs.member[place]
                for part in range(jobs.first_part[own], jobs.first_part[own] + run.parts[own]):
                    spare[run.part_node[part]] = later[run.part_node[part]]
        _put_back(nodes, jobs, run, j, time + span, no_shadow, spare, later, False)
    return time
