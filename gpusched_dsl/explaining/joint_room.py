"""Whether parts of a job that start together fit, and why such a job waits: as the components of a het job of Slurm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpusched_dsl.explaining.free_room import ClusterRoom
from gpusched_dsl.explaining.job_reason import NEVER, NO_ROOM, ROOM, JobReason, Need, NextEnd
from gpusched_dsl.ir.arrays import Bools, Floats, Ints


def placing_order(suits: Bools, gpus: Ints, nodes: Ints) -> Ints:
    """Return the order in which M parts are placed: fewest nodes that suit (M, N) first, then a number of nodes before
    any number of them, then the most GPUs.
    """
    return np.lexsort((-gpus, nodes == 0, suits.sum(axis=1))).astype(np.int64)


def place_together(free: Ints, suits: Bools, gpus: Ints, nodes: Ints) -> Ints | None:
    """Return the GPUs of each node (N,) that parts take together, one after another; None if they do not fit so.

    Part m needs `gpus[m]` GPUs on each of `nodes[m]` nodes, or in all on any number of nodes if that is 0, on the nodes
    of `suits[m]`. Each takes the nodes with the fewest free GPUs that suffice, as the queue does.
    """
    left = np.maximum(free, 0)
    for m in placing_order(suits, gpus, nodes).tolist():
        usable = np.where(suits[m], left, 0)
        enough = np.flatnonzero((usable >= gpus[m]) & (usable > 0))
        count = max(int(nodes[m]), 1)
        if len(enough) >= count:
            left[enough[np.argsort(usable[enough], kind="stable")][:count]] -= gpus[m]
        elif nodes[m] > 0 or usable.sum() < gpus[m]:
            return None
        else:
            order = np.argsort(-usable, kind="stable")
            before = np.cumsum(usable[order]) - usable[order]
            left[order] -= np.clip(gpus[m] - before, 0, usable[order])
    taken: Ints = np.maximum(free, 0) - left
    return taken


def joint_reason(room: ClusterRoom, suits: Bools, gpus: Ints, nodes: Ints, alone: Sequence[JobReason]) -> JobReason:
    """Return why a job waits whose parts start together, on a cluster with GPUs only.

    The arguments are those of `place_together`, and the reason of each part `alone`.
    """
    needs = tuple(_need(room, *part) for part in zip(suits, gpus.tolist(), nodes.tolist(), strict=True))
    lacking = tuple(need for need, reason in zip(needs, alone, strict=True) if reason.kind != ROOM)
    own = suits, gpus, nodes
    any_suits: Bools = np.logical_or.reduce(suits, axis=0)
    waits = JobReason(NO_ROOM, room.resources, needs, int(any_suits.sum()), lacking=lacking)
    taken = place_together(_whole(room.free), *own)
    if taken is not None:
        return replace(waits, kind=ROOM, fitting=_names(room, taken > 0))
    if place_together(_whole(room.capacity), *own) is None:
        never = tuple(need for need, reason in zip(needs, alone, strict=True) if reason.kind == NEVER)
        return replace(waits, kind=NEVER, lacking=never)
    at = _room_at(room, any_suits, own)
    return replace(waits, next_end=_next_end(room, any_suits, at), room_at=at)


def _whole(amounts: Floats) -> Ints:
    return np.floor(amounts[:, 0] + 1e-6).astype(np.int64)


def _need(room: ClusterRoom, suits: Bools, gpus: int, nodes: int) -> Need:
    found = {room.types[place] for place in np.flatnonzero(suits).tolist()}
    types = tuple(name for name in room.all_types if name in found)
    return Need((float(gpus),), () if len(types) == len(room.all_types) else types, max(nodes, 1), spread=True)


def _names(room: ClusterRoom, places: Bools) -> tuple[str, ...]:
    return tuple(room.places[place] for place in np.flatnonzero(places).tolist())


def _room_at(room: ClusterRoom, suits: Bools, own: tuple[Bools, Ints, Ints]) -> float | None:
    """Return the first end of a running job after which all parts fit, by bisection: ends only add free GPUs."""
    parts = np.isfinite(room.end) & suits[room.place]
    ends = np.unique(room.end[parts])

    def fits(at: int) -> bool:
        gone = parts & (room.end <= ends[at])
        freed = np.bincount(room.place[gone], room.uses[gone, 0], minlength=len(room.places))
        return place_together(_whole(room.free + freed[:, None]), *own) is not None

    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return float(ends[low]) if low < len(ends) else None


def _next_end(room: ClusterRoom, suits: Bools, room_at: float | None) -> NextEnd | None:
    parts = np.flatnonzero(np.isfinite(room.end) & suits[room.place] & (room.uses[:, 0] > 0))
    if not len(parts):
        return None
    part = parts[np.lexsort((room.job[parts], room.end[parts]))[0]]
    job, time = int(room.job[part]), float(room.end[part])
    here = np.zeros(len(room.places), dtype=np.bool_)
    here[room.place[parts[room.job[parts] == job]]] = True
    return NextEnd(room.jobs[job], time, _names(room, here), room_at is not None and room_at <= time)
