"""Orders by several keys: the ways of each job, and the queue of jobs.

Two values of a key are the same if they differ by at most 1e-9 of the larger one; then the next key decides, and at
last the place of the way or job. So that this is an order whatever the values, a key is sorted first and then cut into
groups, from the smallest value on: a group holds what is the same as its first value.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place
from gpusched_dsl.policies.workload import NEVER, NONE

TOLERANCE = 1e-9
Scratch = tuple[Floats, Ints]
_RUN, _FEW = 32, 8  # places


@compiled_in_place
def are_same(a: float, b: float) -> bool:
    """Whether two values of a key count as equal; infinite ones only if they are identical."""
    if a == b:
        return True
    difference = abs(a - b)
    return bool(difference <= TOLERANCE * max(abs(a), abs(b)) and difference < np.inf)


@compiled_in_place
def most_ways(first_way: Ints) -> int:
    """The ways of the job that has most."""
    most = 0
    for j in range(len(first_way) - 1):
        most = max(most, first_way[j + 1] - first_way[j])
    return most


@compiled
def rank_ways(first_way: Ints, keys: Floats, mask: Ints) -> Ints:
    """The ranks of the ways of every job, by the columns of `keys` (W, C) in ascending order.

    A rank is the number of ways of the job that come before, so that ways which are the same in all keys share one.
    Ways that `mask` leaves out have the rank NEVER.
    """
    ranks = np.full(len(keys), NEVER)
    most = most_ways(first_way)
    order, last, values = np.empty(most, np.int64), np.zeros(most, np.int64), np.empty(most)
    spare = (np.empty(most), np.empty(most, np.int64))
    for j in range(len(first_way) - 1):
        stop = 0
        for w in range(first_way[j], first_way[j + 1]):
            if mask[w]:
                order[stop] = w
                stop += 1
        arrange(keys, order, stop, values, spare, last)
        rank = 0
        for place in range(stop):
            ranks[order[place]] = rank
            if last[place]:
                rank = place + 1
    return ranks


@compiled
def list_ways(first_way: Ints, choose_rank: Ints, otherwise_rank: Ints) -> tuple[Ints, Ints]:
    """Return `ranked` and `preferred` of `Instructions`; NONE marks ways that both exclude."""
    ranked = np.full(len(choose_rank), NONE)
    preferred = np.zeros(len(first_way) - 1, np.int64)
    places = np.empty(most_ways(first_way), np.int64)
    for j in range(len(first_way) - 1):
        start, stop = first_way[j], first_way[j + 1]
        places[: stop - start] = NONE
        for w in range(start, stop):
            if choose_rank[w] != NEVER:
                place = start + choose_rank[w]
                while ranked[place] != NONE:
                    place += 1
                ranked[place] = w
                preferred[j] += 1
            if otherwise_rank[w] != NEVER:
                place = otherwise_rank[w]
                while places[place] != NONE:
                    place += 1
                places[place] = w
        end = start + preferred[j]
        for place in range(stop - start):
            w = places[place]
            if w != NONE and choose_rank[w] == NEVER:
                ranked[end] = w
                end += 1
    return ranked, preferred


@compiled
def order_rows(keys: Floats) -> Ints:
    """Return the rows of `keys` (J, C) in ascending order: the queue."""
    rows = len(keys)
    order = np.arange(rows)
    arrange(keys, order, rows, np.empty(rows), (np.empty(rows), np.empty(rows, np.int64)), np.zeros(rows, np.int64))
    return order


@compiled_in_place
def arrange(keys: Floats, order: Ints, stop: int, values: Floats, spare: Scratch, last: Ints) -> None:
    """Sort `order[:stop]`, rows of `keys`; `last` marks the ends of groups of rows with equal keys."""
    if stop == 0:
        return
    for place in range(stop):
        last[place] = 0
    last[stop - 1] = 1
    for column in range(keys.shape[1]):
        low = 0
        while low < stop:
            high = low + 1
            while last[high - 1] == 0:
                high += 1
            if high - low > 1:
                for place in range(low, high):
                    value = keys[order[place], column]
                    values[place] = value if value == value else np.inf
                if high - low > _FEW:
                    _sort(values, order, low, high, spare)
                else:  # by insertion: most groups are of two or three
                    for place in range(low + 1, high):
                        value, row, at = values[place], order[place], place
                        while at > low and values[at - 1] > value:
                            values[at], order[at] = values[at - 1], order[at - 1]
                            at -= 1
                        values[at], order[at] = value, row
                first = values[low]
                for place in range(low + 1, high):
                    if not are_same(first, values[place]):
                        last[place - 1] = 1
                        first = values[place]
            low = high
    low = 0
    for place in range(stop):  # the same in all keys: as they stand
        row, at = order[place], place
        while at > low and order[at - 1] > row:
            order[at] = order[at - 1]
            at -= 1
        order[at] = row
        if last[place]:
            low = place + 1


@compiled_in_place
def _sort(values: Floats, order: Ints, start: int, stop: int, spare: Scratch) -> None:
    """Sort `values[start:stop]` and with them `order`, stable.

    Short runs by counting what comes before each value, which processors do for several at a time; then merged.
    """
    spare_values, spare_order = spare
    for low in range(start, stop, _RUN):
        high = min(low + _RUN, stop)
        run, to = values[low:high], spare_values[low:high]
        rows, to_rows = order[low:high], spare_order[low:high]
        for place in range(len(run)):
            value = run[place]
            before = 0
            for other in range(len(run)):
                before += run[other] < value
            for other in range(place):
                before += run[other] == value
            to[before], to_rows[before] = value, rows[place]
        for place in range(len(run)):
            run[place], rows[place] = to[place], to_rows[place]
    width = _RUN
    while width < stop - start:
        for low in range(start, stop, 2 * width):
            middle, high = min(low + width, stop), min(low + 2 * width, stop)
            left, right = low, middle
            for place in range(low, high):
                if left < middle and (right == high or values[left] <= values[right]):
                    spare_values[place], spare_order[place] = values[left], order[left]
                    left += 1
                else:
                    spare_values[place], spare_order[place] = values[right], order[right]
                    right += 1
            for place in range(low, high):
                values[place], order[place] = spare_values[place], spare_order[place]
        width *= 2
