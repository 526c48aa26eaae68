"""The nodes of one gang: a job goes on one node, else in the fewest racks and there on the fewest nodes.

The order of preference is that of distance: one node, one rack, several racks. One node is chosen by best fit; of the
racks in which the job needs the fewest nodes, the one with the least room is chosen. On several racks, a dynamic
programme finds the fewest nodes: rack by rack, the most workers on k nodes of q racks, where a rack gives its largest
nodes.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Ints
from gpusched_dsl.policies.gangs.workload import GangWorkload
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.kernels.future import SLACK, Future, end_at, has_ended, occupy, segment_at
from gpusched_dsl.policies.workload import NONE

ONE_NODE, ONE_RACK, ANYWHERE = 0, 1, 2


# --- capacities ------------------------------------------------------------------------------------------------------


@compiled_in_place
def hold(work: GangWorkload, future: Future, n: int, w: int, workers: int, start: float, time: float) -> None:
    """Give workers of a way their GPUs and capacities of a node from `start` on for so long."""
    occupy(future, n, start, time, work.kind[w], workers * work.size[w], 0, work.needs, w, NONE, workers)


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
