"""The candidate sets of the seven neighbourhoods, written plainly; each candidate is a schedule of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from move_clusters import Places, read, written

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.policies.workload import NONE, Schedule, Workload


def candidates(work: Workload, plan: Schedule, move: int, length: int, pressure: Floats) -> Iterator[Schedule]:
    """Every schedule that the move, by its place in `MOVE_CODES`, may make of this one, in the order of the text."""
    kinds, places = read(plan)
    for new_kinds, new_places in _CANDIDATES[move](work, kinds, places, length, pressure):
        if all(w >= 0 for _, w, _ in new_places.values()):
            made = written(work, new_kinds, new_places)
            if made is not None:
                yield made


def _late(work: Workload, places: Places, length: int) -> list[int]:
    late = [j for j, (_, w, _) in places.items() if work.time[w] > work.due[j] + 1e-9]
    late.sort(key=lambda j: (work.due[j] - work.time[places[j][1]], j))
    return late[:length] if length else late


def _way(work: Workload, j: int, kind: int, size: int) -> int:
    return int(work.way_at[j, kind, size]) if size < work.way_at.shape[2] else NONE


def _moved(work: Workload, kinds: list[int], places: Places, j: int, of: int) -> tuple[int, int, int]:
    """Where job j stands in the place of another."""
    n, w, gpu = places[of]
    return n, _way(work, j, kinds[n], work.size[w]), gpu


def _exchanges(work, kinds, places, pairs):
    for a, b in pairs:
        if places[a][0] != places[b][0]:
            yield (
                kinds,
                places
                | {
                    a: _moved(work, kinds, places, a, b),
                    b: _moved(work, kinds, places, b, a),
                },
            )


def _tardy_costly(work, kinds, places, length, pressure):
    late = _late(work, places, 0)
    on_time = [j for j in places if j not in late]
    on_time.sort(key=lambda j: (-work.rate[places[j][1]] * work.time[places[j][1]], j))
    chosen = on_time[:length] if length else on_time
    yield from _exchanges(work, kinds, places, product(_late(work, places, length), chosen))


def _tardy_any(work, kinds, places, length, pressure):
    running = sorted(places, key=lambda j: (-pressure[j], j))
    pairs = ((a, b) for a, b in product(_late(work, places, length), running) if a != b)
    yield from _exchanges(work, kinds, places, pairs)


def _postponed_running(work, kinds, places, length, pressure):
    waiting = sorted(set(range(len(work.due))) - set(places), key=lambda j: (-pressure[j], j))
    for a in waiting[:length] if length else waiting:
        for b in sorted(places, key=lambda j: (pressure[j], j)):
            if pressure[b] < pressure[a]:
                rest = {j: place for j, place in places.items() if j != b}
                yield kinds, rest | {a: _moved(work, kinds, places, a, b)}


def _nodes(work, places, length):
    return list(dict.fromkeys(places[j][0] for j in _late(work, places, length)))


def _reshaped(work, kinds, places, n, kind, size_of):
    new_kinds = [kind if m == n else k for m, k in enumerate(kinds)]
    here = {j: (n, _way(work, j, kind, size_of(work.size[w], j)), gpu) for j, (m, w, gpu) in places.items() if m == n}
    return new_kinds, places | here


def _faster(work, kinds, places, length, pressure):
    for n in _nodes(work, places, length):
        if work.node_kind[n] >= 0:
            continue
        here = {j: w for j, (m, w, _) in places.items() if m == n}
        for kind in range(len(work.units)):
            if kind == kinds[n] or work.units[kind] != work.units[kinds[n]]:
                continue
            ways = {j: _way(work, j, kind, work.size[w]) for j, w in here.items()}
            if all(w >= 0 for w in ways.values()):
                saved = sum(work.time[here[j]] - work.time[ways[j]] for j in here)
                if saved > 1e-9:
                    yield _reshaped(work, kinds, places, n, kind, lambda size, j: size)
    for a in _late(work, places, length):
        n, w, gpu = places[a]
        if work.node_kind[n] < 0 or gpu != NONE:
            continue
        for m in np.flatnonzero(work.node_kind >= 0).tolist():
            new = _way(work, a, kinds[m], work.size[w])
            if kinds[m] != kinds[n] and new >= 0 and work.time[new] < work.time[w] - 1e-9:
                yield kinds, places | {a: (m, new, NONE)}


def _resizing(times, over):
    def resized(work, kinds, places, length, pressure):
        for n in _nodes(work, places, length):
            here = [(j, w, gpu) for j, (m, w, gpu) in places.items() if m == n]
            gpus = [int(work.size[w]) // work.parts for _, w, _ in here]
            if any(gpu != NONE for _, _, gpu in here) or any(g % over for g in gpus):
                continue
            if work.node_kind[n] >= 0:
                choices = [kinds[n]]
            else:
                choices = [
                    kind
                    for kind in range(len(work.units))
                    if kind != kinds[n]
                    and work.family[kind] == work.family[kinds[n]]
                    and work.units[kind] * over == work.units[kinds[n]] * times
                ]
            for kind in choices:
                yield _reshaped(work, kinds, places, n, kind, lambda size, j: size * times // over)

    return resized


def _regrouped(work, kinds, places, length, pressure):
    for n in _nodes(work, places, length):
        here = [(j, w, gpu) for j, (m, w, gpu) in places.items() if m == n]
        if any(gpu != NONE for _, _, gpu in here):
            continue
        gpus = int(work.units[kinds[n]]) // work.parts
        now = {j: int(work.size[w]) // work.parts for j, w, _ in here}
        for sizes in product(range(1, gpus + 1), repeat=len(here)):
            chosen = dict(zip(sorted(now), sizes, strict=True))
            if sum(sizes) <= gpus and chosen != now:
                yield _reshaped(work, kinds, places, n, kinds[n], lambda size, j, c=chosen: c[j] * work.parts)


_CANDIDATES = (
    _tardy_costly,
    _tardy_any,
    _postponed_running,
    _faster,
    _resizing(2, 1),
    _resizing(1, 2),
    _regrouped,
)
