"""A complete run event by event: completions, then arrivals, then the queue, repeated.

One function, interpreted on views of arrays, which Python reads several times as fast as the arrays, or compiled on the
arrays themselves. It calls nothing but heaps, so that it compiles by itself and is read from its cache in a moment.

Jobs wait in one heap for each group: of jobs with the same ways, none finds a place where another one has found none
and no job has ended since. So with rules that let jobs overtake one another an instant costs as many attempts as there
are groups, not as there are jobs waiting. Where nobody overtakes, all jobs are one group. An attempt looks at the nodes
of the kinds that the job may have.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from heapq import heappop, heappush
from typing import Final

from gpusched_dsl.online.replay.trace import FIRST_FIT, FITS_NOWHERE

TOLERANCE: Final = 1e-9  # of the time, at least of one unit: events that are no further apart are simultaneous


def run_events(
    submitted: Sequence[float], arrivals: Sequence[int], rank: Sequence[int], by_rank: Sequence[int],
    group: Sequence[int], groups: int,
    first_way: Sequence[int], ranked: Sequence[int], kind: Sequence[int], size: Sequence[int], time: Sequence[float],
    nodes_at: Sequence[int], nodes: Sequence[int], units: Sequence[int], family: Sequence[int],
    fit: int, opens: bool, opens_first: bool, alone: bool, next_choice: bool, waits: bool,
    start: MutableSequence[float], end: MutableSequence[float], at_node: MutableSequence[int],
    at_way: MutableSequence[int], free: MutableSequence[int],
) -> int:  # fmt: skip
    """Fill `start`, `end`, `at_node` and `at_way` of the jobs that start; gives the number of instants.

    `arrivals` lists the jobs of the queue by time of submission, `by_rank` those of each rank; the nodes of kind k are
    `nodes[nodes_at[k]]` to `nodes[nodes_at[k + 1]]`, in ascending order; `free` are the GPUs of each node.
    """
    queues = [[0] for _ in range(groups)]
    for queue in queues:
        queue.pop()
    blocked = [False for _ in range(groups)]
    spare = [units[k] * (nodes_at[k + 1] - nodes_at[k]) for k in range(len(units))]  # free GPUs of a kind
    running = [(0.0, 0)]
    running.pop()
    ready = [(0, 0)]
    ready.pop()
    come, instants = 0, 0
    while come < len(arrivals) or len(running) > 0:
        now = running[0][0] if len(running) > 0 else submitted[arrivals[come]]
        if come < len(arrivals) and submitted[arrivals[come]] < now:
            now = submitted[arrivals[come]]
        until = now + TOLERANCE * max(1.0, abs(now))
        instants += 1
        ended = False
        while len(running) > 0 and running[0][0] <= until:
            j = heappop(running)[1]
            end[j] = now
            free[at_node[j]] += size[at_way[j]]
            spare[kind[at_way[j]]] += size[at_way[j]]
            ended = True
        while come < len(arrivals) and submitted[arrivals[come]] <= until:
            j = arrivals[come]
            heappush(queues[group[j]], rank[j])
            if waits and queues[group[j]][0] == rank[j]:
                blocked[group[j]] = False  # a new head
            come += 1
        for g in range(groups):
            if ended:
                blocked[g] = False
            if len(queues[g]) > 0 and not blocked[g]:
                heappush(ready, (queues[g][0], g))
        while len(ready) > 0:
            head, g = heappop(ready)
            j = by_rank[head]
            # The best place for the job: GPUs left over, node, way.
            left, node, way = -1, -1, -1
            for place in range(first_way[j], first_way[j + 1]):
                w = ranked[place]
                if w < 0:
                    break
                for turn in range(2):
                    opening = (turn == 0) == opens_first
                    if (opening and not opens) or (not opening and fit == FITS_NOWHERE):
                        continue
                    for v in range(first_way[j], first_way[j + 1]):
                        k = kind[v]
                        if size[v] != size[w] or size[v] > spare[k] or family[k] != family[kind[w]]:
                            continue
                        if alone and kind[v] != kind[w]:
                            continue
                        for at in range(nodes_at[k], nodes_at[k + 1]):
                            n = nodes[at]
                            rest = free[n] - size[v]
                            if rest < 0 or (free[n] == units[k]) != opening:
                                continue
                            if not opening and fit == FIRST_FIT:
                                if node < 0 or n < node:
                                    left, node, way = rest, n, v
                                break
                            if node < 0 or rest < left or (rest == left and n < node):
                                left, node, way = rest, n, v
                            if opening or rest == 0:
                                break  # the first of the emptiest, or of the fullest: none of this kind is better
                    if node >= 0:
                        break
                if node >= 0 or not next_choice:
                    break
            if node < 0:
                blocked[g] = True
                continue
            start[j], at_node[j], at_way[j] = now, node, way
            free[node] -= size[way]
            spare[kind[way]] -= size[way]
            heappush(running, (now + time[way], j))
            heappop(queues[g])
            if len(queues[g]) > 0:
                heappush(ready, (queues[g][0], g))
    return instants
