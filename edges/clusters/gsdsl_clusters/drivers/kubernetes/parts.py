"""Distributes the parts of a job (pods, pod sets) to the nodes of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from gsdsl_clusters.drivers.protocol import Allocation

_Counts: TypeAlias = tuple[int, ...]  # parts of each size


def nodes_of_parts(sizes: Sequence[int], allocation: Allocation) -> tuple[str, ...] | None:
    """A node for each part, so that the parts of a node use exactly its GPUs; None if that is impossible.

    `sizes` are the GPUs of each part, at least 1. Equal parts are interchangeable: the search is over their numbers,
    node by node, and never tries the same rest twice.
    """
    nodes = [(node, gpus) for node, gpus in allocation.items() if gpus]
    if sum(sizes) != sum(gpus for _, gpus in nodes):
        return None
    amounts = Counter(sizes)
    kinds = sorted(amounts, reverse=True)
    filled = _fill([gpus for _, gpus in nodes], kinds, tuple(amounts[size] for size in kinds))
    if filled is None:
        return None
    parts = {size: iter([at for at, other in enumerate(sizes) if other == size]) for size in kinds}
    chosen = [""] * len(sizes)
    for (node, _), counts in zip(nodes, filled, strict=True):
        for size, number in zip(kinds, counts, strict=True):
            for _ in range(number):
                chosen[next(parts[size])] = node
    return tuple(chosen)


def _fill(rooms: Sequence[int], kinds: Sequence[int], left: _Counts) -> list[_Counts] | None:
    """The numbers of parts of each kind in each room, so that all rooms are full; None if that is impossible."""
    rests = [left]
    choices = [_combinations(rooms[0], kinds, left)] if rooms else []
    found: list[_Counts] = []
    failed: set[tuple[int, _Counts]] = set()
    while choices:
        counts = next(choices[-1], None)
        if counts is None:
            choices.pop()
            failed.add((len(found), rests[-1]))
            if found:
                found.pop()
                rests.pop()
            continue
        rest = tuple(has - uses for has, uses in zip(rests[-1], counts, strict=True))
        if (len(found) + 1, rest) in failed:
            continue
        found.append(counts)
        if len(found) == len(rooms):
            return found
        rests.append(rest)
        choices.append(_combinations(rooms[len(found)], kinds, rest))
    return None if rooms else found


def _combinations(room: int, kinds: Sequence[int], left: _Counts) -> Iterator[_Counts]:
    """All numbers of parts that fill a room, with the most of the largest parts first."""
    if not kinds:
        if room == 0:
            yield ()
        return
    for number in range(min(left[0], room // kinds[0]), -1, -1):
        for others in _combinations(room - number * kinds[0], kinds[1:], left[1:]):
            yield (number, *others)
